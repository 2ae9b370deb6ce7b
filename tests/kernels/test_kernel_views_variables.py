"""READ_VARIABLE and ASSIGN_VARIABLE after resolve_variables, against the reference kernels."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import harness
import numpy as np
import pytest

from assembled import assemble, refusal
from lowtide.errors import ModelError
from lowtide.ir.soundness import verify
from lowtide.oracle.interpreters import random_inputs, reference_tensors
from lowtide.passes import resolve_variables
from lowtide.tflite.read import parse
from schema_models import Net
from stateful import assign, handle, read, set_up


def streaming(dtype: Any) -> tuple[Net, list[int]]:
    """Two variables, read before and after they are assigned, one through two handles."""
    net = Net(dtype)
    image, row = net.input((1, 3, 2, 4)), net.input((1, 5))
    first, second, again = (handle(net, name) for name in ("a", "b", "a"))
    values = [read(net, first, (1, 3, 2, 4)), read(net, second, (1, 5))]
    assign(net, first, image)
    assign(net, second, row)
    values += [read(net, again, (1, 3, 2, 4)), read(net, second, (1, 5))]
    return net, values


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32])
def test_variables(dtype: Any) -> None:
    net, values = streaming(dtype)
    data = net.build()
    given = parse(data).graph
    graph = verify(resolve_variables(given))
    assert graph.tensors[: len(given.tensors)] == given.tensors
    assert [t.name for t in graph.tensors if t.is_variable] == ["a", "b"]
    assert resolve_variables(graph) == graph
    shapes = [(i, given.tensors[i].shape, np.dtype(dtype)) for i in given.inputs]
    inputs = random_inputs(shapes, 2, 1)
    wanted = reference_tensors(data, inputs, values, engine="tflm")
    assembly = assemble(graph, range(len(graph.ops)))
    with tempfile.TemporaryDirectory() as path:
        program = harness._build(Path(path), assembly)
        for number, sample in enumerate(inputs):
            rows = harness._run(Path(path), program, graph, sample)
            assert harness._compare(assembly, rows, wanted, number) == []


def test_users_that_disagree() -> None:
    net = Net()
    variable = handle(net, "a")
    assign(net, variable, net.input((1, 4)))
    read(net, variable, (1, 5))
    graph = parse(net.build()).graph
    assert resolve_variables(graph) == graph
    assert refusal(graph) == "the variable's users do not agree on its size or type"


FIRST = {
    "a": np.arange(24, dtype=np.int8).reshape(1, 3, 2, 4),
    "b": np.array([[5, -4, 3, -2, 1]], np.int8),
}


def test_call_once_gives_variables_their_first_values() -> None:
    net, values = streaming(np.int8)
    data = set_up(net.build(), FIRST)
    given = parse(data).graph
    graph = verify(resolve_variables(given))
    assert "CALL_ONCE" not in {op.type for op in graph.ops}
    initial = {t.name: t.initial for t in graph.tensors if t.is_variable}
    assert initial == {name: value.tobytes() for name, value in FIRST.items()}
    shapes = [(i, given.tensors[i].shape, np.dtype(np.int8)) for i in given.inputs]
    inputs = random_inputs(shapes, 2, 1)
    wanted = reference_tensors(data, inputs, values, engine="tflm")
    assert wanted.samples[0][values[0]].tobytes() == FIRST["a"].tobytes()  # read before assigned
    assembly = assemble(graph, range(len(graph.ops)))
    with tempfile.TemporaryDirectory() as path:
        program = harness._build(Path(path), assembly)
        for number, sample in enumerate(inputs):
            rows = harness._run(Path(path), program, graph, sample)
            assert harness._compare(assembly, rows, wanted, number) == []


def test_call_once_that_does_more_is_refused() -> None:
    net, _ = streaming(np.int8)
    graph = parse(set_up(net.build(), FIRST, odd=True)).graph
    assert graph.initial is None
    with pytest.raises(ModelError, match="CALL_ONCE"):
        assemble(resolve_variables(graph), range(len(resolve_variables(graph).ops)))


def test_call_once_without_its_subgraph_is_refused() -> None:
    net = Net()
    net.op("CALL_ONCE", [], options=schema.CallOnceOptionsT(initSubgraphIndex=1))
    net.op("PAD", [net.input((1, 4)), net.const([[0, 0], [0, 1]])], (1, 5))
    why = "it runs another subgraph, to set variables before the first run"
    assert refusal(net.build()) == why
