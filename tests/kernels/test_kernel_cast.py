"""CAST between all plain types, against the oracle."""

from __future__ import annotations

import pytest
from harness import differences

from lowtide.errors import ModelError
from lowtide.lower import lower_op
from lowtide.tflite.read import parse
from schema_models import Engine, plain_net, samples_of

MICRO = ("int8", "int16", "int32", "float32")
ALL = (*MICRO, "uint8", "int64", "bool")


@pytest.mark.parametrize("engine", ["tflm", "litert"])
def test_casts(engine: Engine) -> None:
    net = plain_net()
    kinds = ((*MICRO, "bool"), MICRO) if engine == "tflm" else (ALL, ALL)
    for source in kinds[0]:
        given = net.input((2, 3, 7), source, None)
        for target in kinds[1]:
            if source != target and (source, target) != ("float32", "bool"):
                net.add("CAST", (given,), net.tensor((2, 3, 7), target, None))
    bounds = {
        i: (-100.0, 100.0) for i in net.inputs if net.tensors[i].type == 0
    }  # floats within every type
    assert differences(net.build(), inputs=samples_of(net, bounds=bounds)[2:], engine=engine) == []


def test_ends() -> None:
    net = plain_net()
    for source in ("int8", "int16", "int32"):
        given = net.input((2, 3), source, None)
        for target in ("int8", "int16", "int32", "float32"):
            if source != target:
                net.add("CAST", (given,), net.tensor((2, 3), target, None))
    assert differences(net.build(), inputs=samples_of(net), engine="tflm") == []


def test_same_type_is_a_view() -> None:
    net = plain_net()
    given = net.input((2, 3), "int32")
    first = net.add("CAST", (given,), net.tensor((2, 3), "int32"))
    net.outputs.pop()
    net.add("ADD", (first, given), net.tensor((2, 3), "int32"))
    graph = parse(net.build()).graph
    assert lower_op(graph, graph.ops[0]).views == ((first, given),)


def test_refusals() -> None:
    net = plain_net()
    net.add("CAST", [net.input((1, 4), "float32")], net.tensor((1, 4), "bool"))
    graph = parse(net.build()).graph
    with pytest.raises(ModelError, match="no kernel from FLOAT32 to BOOL"):
        lower_op(graph, graph.ops[0])
