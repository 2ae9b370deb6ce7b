"""Which rows of a window that slides are kept, and whether they lie apart from those at its edges."""

from __future__ import annotations

import ai_edge_litert.schema_py_generated as schema
import numpy as np

from lowtide.ir.windows import normalise_windows
from lowtide.passes.hop.cones import Rows, cones_of, rows_of
from lowtide.tflite.read import parse
from schema_models import Net

_ROWS, _WIDTH = 24, 4


def _pooled(layers: int) -> tuple[dict[int, Rows], list[int]]:
    """What becomes of the rows of so many layers of 3 x 1 with padding, when the window moves on by two
    of its 24; and the layers' outputs. The rows at the window's edges are made in every hop."""
    net = Net(np.int8)
    made = [net.input((1, _ROWS, 1, _WIDTH))]
    options = schema.Pool2DOptionsT(
        padding=schema.Padding.SAME, strideW=1, strideH=1, filterWidth=1, filterHeight=3
    )
    for _ in range(layers):
        made.append(net.op("MAX_POOL_2D", made[-1:], (1, _ROWS, 1, _WIDTH), options=options))
    graph = normalise_windows(parse(net.build()).graph)
    kept = [graph.inputs[0], *(op.outputs[0] for op in graph.ops)]
    return rows_of(graph, cones_of(graph, 1), 2, kept), kept[1:]


def test_few_rows_at_the_edges_stay_with_those_that_are_kept() -> None:
    """Two layers have 2 and 4 of them: fewer than an operator is taken to read at a time."""
    found, outputs = _pooled(2)
    assert [len(found[t].around) - len(found[t].stored) for t in outputs] == [2, 4]
    assert not any(of.apart for of in found.values())
    assert [found[t].slots(1, 2) for t in outputs] == [len(found[t].around) for t in outputs]


def test_more_rows_at_the_edges_are_apart() -> None:
    found, outputs = _pooled(3)
    assert [len(found[t].around) - len(found[t].stored) for t in outputs] == [2, 4, 6]
    assert [found[t].apart for t in outputs] == [True, True, True]
    # Those that are kept, and two new ones; without any that the edges have.
    assert [found[t].slots(1, 2) for t in outputs] == [len(found[t].kept) + 2 for t in outputs]
    assert all(found[t].slots(1, 2) < len(found[t].around) for t in outputs)


def test_rows_at_the_edges_are_weighed_in_bytes() -> None:
    """Of layers of 24 rows, 2 and 4 of them, and of layers of 12, 3 and 5: more than 8 rows, all equally
    wide. A row of a layer with less rows weighs no less."""
    net = Net(np.int8)
    made = [net.input((1, _ROWS, 1, _WIDTH))]
    for stride in (1, 1, 2, 1):
        options = schema.Pool2DOptionsT(
            padding=schema.Padding.SAME, strideW=1, strideH=stride, filterWidth=1, filterHeight=3
        )
        rows = net.tensors[made[-1]].shape[1] // stride
        made.append(net.op("MAX_POOL_2D", made[-1:], (1, rows, 1, _WIDTH), options=options))
    graph = normalise_windows(parse(net.build()).graph)
    kept = [graph.inputs[0], *(op.outputs[0] for op in graph.ops)]
    found = rows_of(graph, cones_of(graph, 1), 2, kept)
    outputs = kept[1:]
    assert [len(found[t].around) - len(found[t].stored) for t in outputs] == [2, 4, 3, 5]
    assert [found[t].apart for t in outputs] == [True] * 4
