"""Comparisons and SELECT_V2 against the oracle: scales, plain types, broadcast of operands."""

from __future__ import annotations

import numpy as np
import pytest
from harness import differences
from test_kernel_binary import SHAPES

from lowtide.errors import ModelError
from lowtide.lower import lower_op
from lowtide.tflite.read import parse
from schema_models import Engine, plain_net, samples_of

ORDERED = ("LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
KINDS = ("EQUAL", "NOT_EQUAL", *ORDERED)


@pytest.mark.parametrize(
    ("dtype", "engine"),
    [("int8", "tflm"), ("uint8", "litert"), ("int32", "tflm"), ("int64", "tflm"), ("bool", "tflm")],
)
def test_comparisons(dtype: str, engine: Engine) -> None:
    net = plain_net()
    scaled = dtype in ("int8", "uint8")
    kinds = KINDS[:2] if dtype == "bool" else KINDS
    for left, right in SHAPES:
        shape = np.broadcast_shapes(left, right)
        if len(shape) > 4:
            continue
        a, b = (
            net.input(s, dtype, 0.04 if scaled else 1.0, 3 if scaled else 0) for s in (left, right)
        )
        for kind in kinds:
            net.add(kind, (a, b), net.tensor(shape, "bool"))
    zeros = ((0, 0), (127, 100), (1, 2)) if scaled else ()
    for a_scale, b_scale in ((0.5, 0.5), (0.03, 0.2), (0.999, 1e-3), (1e-6, 2e-6), (1e-9, 0.1)):
        for a_zero, b_zero in zeros:
            a = net.input((3, 80), dtype, a_scale, a_zero)
            b = net.input((3, 80), dtype, b_scale, b_zero)
            for kind in kinds:
                net.add(kind, (a, b), net.tensor((3, 80), "bool"))
    near = {} if scaled or dtype == "bool" else dict.fromkeys(net.inputs, (-2, 2))
    assert differences(net.build(), inputs=samples_of(net), engine=engine) == []
    assert differences(net.build(), inputs=samples_of(net, bounds=near), engine=engine) == []


@pytest.mark.parametrize(
    ("dtype", "engine"),
    [("int8", "tflm"), ("int16", "tflm"), ("float32", "tflm"), ("int32", "litert")],
)
def test_select(dtype: str, engine: Engine) -> None:
    net = plain_net()
    for left, right in SHAPES:
        shape = np.broadcast_shapes(left, right)
        if len(shape) > 4:
            continue
        a, b = net.input(left, dtype), net.input(right, dtype)
        for of in {shape, left, right}:
            c = net.input(of, "bool")
            net.add("SELECT_V2", (c, a, b), net.tensor(shape, dtype))
            net.add("SELECT_V2", (c, b, a), net.tensor(shape, dtype))
    assert differences(net.build(), inputs=samples_of(net), engine=engine) == []


@pytest.mark.parametrize(
    ("kind", "sources", "out", "cause"),
    [
        ("LESS", (("int8", 0.1), ("int16", 0.1)), "bool", "of different types"),
        ("LESS", (("int8", 0.1), ("int8", 0.1)), "int8", "its output is of type INT8"),
        ("LESS", (("int8", 2.0), ("int8", 0.1)), "bool", "a scale is 2, and must be below 1"),
        ("LESS", (("bool", 1.0), ("bool", 1.0)), "bool", "its type is BOOL"),
        ("EQUAL", (("int16", 0.1), ("int16", 0.1)), "bool", "its type is INT16"),
        (
            "SELECT_V2",
            (("int8", 1.0), ("int8", 1.0), ("int8", 1.0)),
            "int8",
            "its condition is of type INT8",
        ),
    ],
)
def test_refusals(kind: str, sources: tuple[tuple[str, float], ...], out: str, cause: str) -> None:
    net = plain_net()
    net.add(kind, [net.input((1, 4), *source) for source in sources], net.tensor((1, 4), out))
    graph = parse(net.build()).graph
    with pytest.raises(ModelError, match=cause):
        lower_op(graph, graph.ops[0])
