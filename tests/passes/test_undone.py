"""Operators that move what is there already, in the same order."""

from __future__ import annotations

import ai_edge_litert.schema_py_generated as schema
import numpy as np

from lowtide.ir.graph import Graph
from lowtide.passes.simplify.result import Dropped, Same
from lowtide.passes.simplify.undone import drop_moves
from lowtide.tflite.read import parse
from schema_models import Net


def _rows(net: Net, source: int, first: int, count: int) -> int:
    where = [0, first, 0, 0], [1, count, 2, 4]
    return net.op("SLICE", [source, *map(net.const, where)], (1, count, 2, 4))


def _slices(first: int) -> Graph:
    """Rows 2 and 3 of a map, as rows of its rows 1 to 4, joined with two rows from `first` on."""
    net = Net(np.int8)
    given = net.input((1, 6, 2, 4))
    parts = [_rows(net, _rows(net, given, 1, 4), 1, 2), _rows(net, given, first, 2)]
    along = schema.ConcatenationOptionsT(axis=1)
    net.outputs = [net.op("CONCATENATION", parts, (1, 4, 2, 4), options=along)]
    return parse(net.build()).graph


def test_rows_that_are_taken_twice_are_taken_once() -> None:
    graph = _slices(2)
    _, inner, other, _ = graph.ops
    result = drop_moves(graph)
    assert result.dropped == (Dropped(other.outputs[0], None, Same(inner.outputs[0])),)
    assert result.graph.ops[-1].inputs == (inner.outputs[0], inner.outputs[0])


def test_other_rows_are_others() -> None:
    graph = _slices(3)
    assert drop_moves(graph).graph == graph
