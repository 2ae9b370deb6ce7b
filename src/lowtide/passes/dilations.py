"""Dilated convolutions that a file spells out: SPACE_TO_BATCH_ND, a convolution, BATCH_TO_SPACE_ND.

Why: the pair only sorts the pixels so that a plain kernel meets those that a dilated one would; as one
convolution nothing is moved, and rows can be interleaved.
"""

from __future__ import annotations

from dataclasses import replace

from lowtide.ir.graph import Graph, Op
from lowtide.ir.window import Axis, Window
from lowtide.passes.rewriting import integers, readers_of, with_ops

_CONVOLUTIONS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D"})

Sides = tuple[tuple[int, int], tuple[int, int]]
"""(before, after) of rows and of columns."""


def fold_dilations(graph: Graph) -> Graph:
    """Make one dilated convolution of each of these triples.

    Nobody else may read what lies between them; the convolution has stride 1 and no padding, and what is
    cropped is no more than what was padded. The convolution keeps its window, dilated, with what is left
    of the padding, which is with zero points.
    """
    readers = readers_of(graph)
    folded: dict[int, Op] = {}
    gone: set[int] = set()
    for first in graph.ops:
        if first.type != "SPACE_TO_BATCH_ND":
            continue
        op = _only_reader(graph, readers.get(first.outputs[0], ()), first.outputs[0])
        if op is None or op.type not in _CONVOLUTIONS:
            continue
        last = _only_reader(graph, readers.get(op.outputs[0], ()), op.outputs[0])
        if last is None or last.type != "BATCH_TO_SPACE_ND":
            continue
        window = _window(graph, first, op, last)
        if window is not None:
            inputs = (first.inputs[0], *op.inputs[1:])
            folded[op.id] = replace(op, inputs=inputs, outputs=last.outputs, window=window)
            gone |= {first.id, last.id}
    if not gone:
        return graph
    return with_ops(graph, (folded.get(op.id, op) for op in graph.ops if op.id not in gone))


def _only_reader(graph: Graph, readers: list[Op] | tuple[()], tensor: int) -> Op | None:
    if len(readers) != 1 or tensor in graph.outputs or readers[0].inputs[0] != tensor:
        return None
    return readers[0]


def _window(graph: Graph, first: Op, op: Op, last: Op) -> Window | None:
    """The window of the one convolution; None if the three are no such thing."""
    blocks, pads = _blocks(graph, first)
    same, crops = _blocks(graph, last)
    if blocks is None or pads is None or crops is None or blocks != same or op.window is None:
        return None
    source, sorted_ = graph.tensors[first.inputs[0]], graph.tensors[first.outputs[0]]
    between, out = graph.tensors[op.outputs[0]], graph.tensors[last.outputs[0]]
    if source.quant is None or source.quant != sorted_.quant or between.quant != out.quant:
        return None
    if len(source.shape) != 4 or len(out.shape) != 4 or source.shape[0] != out.shape[0]:
        return None
    rows = _axis(op.window.rows, blocks[0], pads[0], crops[0])
    columns = _axis(op.window.columns, blocks[1], pads[1], crops[1])
    if rows is None or columns is None:
        return None
    padded = rows.before or rows.after or columns.before or columns.after
    made = rows.made(source.shape[1]), columns.made(source.shape[2])
    if made != out.shape[1:3] or (padded and rows.kernel * columns.kernel == 1):
        return None
    return Window(rows, columns)


def _axis(axis: Axis, block: int, pad: tuple[int, int], crop: tuple[int, int]) -> Axis | None:
    before, after = pad[0] - crop[0], pad[1] - crop[1]
    if axis != Axis(axis.kernel) or min(before, after) < 0:
        return None
    return Axis(axis.kernel, 1, block, before, after)


def _blocks(graph: Graph, op: Op) -> tuple[tuple[int, int] | None, Sides | None]:
    """Sizes of blocks, and what is padded or cropped; None where they are not known."""
    if len(op.inputs) != 3 or min(op.inputs) < 0:
        return None, None
    blocks, sides = (integers(graph.tensors[i]) for i in op.inputs[1:])
    if blocks is None or sides is None or len(blocks) != 2 or len(sides) != 4 or min(blocks) < 1:
        return None, None
    return (blocks[0], blocks[1]), ((sides[0], sides[1]), (sides[2], sides[3]))
