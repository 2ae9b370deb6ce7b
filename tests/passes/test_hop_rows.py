"""Flat inputs of windows, in the rows that a RESHAPE gives them; and the axis of these rows."""

from __future__ import annotations

import numpy as np
import pytest

from lowtide.errors import ModelError
from lowtide.ir.graph import Graph
from lowtide.passes.hop.rows import in_rows
from lowtide.tflite.read import parse
from schema_models import Net, Shape


def _reshaped(shape: Shape, *, is_output: bool = False) -> Graph:
    net = Net(np.int8)
    flat = net.input((1, 24))
    made = net.op("RESHAPE", [flat, net.const(shape)], shape)
    net.outputs = [net.op("RELU", [made], shape)] + [made] * is_output
    return parse(net.build()).graph


@pytest.mark.parametrize(
    "shape, axis", [((1, 6, 4), 1), ((1, 1, 6, 4), 2), ((1, 6, 1, 4), 1), ((1, 1, 1, 24), 3)]
)
def test_the_reshape_goes(shape: Shape, axis: int) -> None:
    graph, found = in_rows(_reshaped(shape))
    assert [op.type for op in graph.ops] == ["RELU"]
    assert graph.tensors[graph.inputs[0]].shape == shape
    assert graph.ops[0].inputs == graph.inputs
    assert found == axis


@pytest.mark.parametrize(
    "graph", [_reshaped((6, 1, 4)), _reshaped((24, 1)), _reshaped((1, 6, 4), is_output=True)]
)
def test_the_reshape_stays(graph: Graph) -> None:
    """Where it makes no batch of one, no rows, or an output."""
    same, axis = in_rows(graph)
    assert same == graph
    assert axis == 1


def test_a_batch_is_refused() -> None:
    net = Net(np.int8)
    net.op("RELU", [net.input((2, 6, 4))], (2, 6, 4))
    with pytest.raises(ModelError, match="time must be the first axis after a batch of 1"):
        in_rows(parse(net.build()).graph)
