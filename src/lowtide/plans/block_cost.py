"""What a block does (rows/blocks.py), for the cost model: what the kernels that it calls do.

Not linear in columns: how many of them divide into which pieces decides what the calls cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from lowtide.ir import Graph, Op
from lowtide.lower.nodes import Node, Params
from lowtide.plans.kernel_features import CONVOLUTION, convolution, depthwise, numbers
from lowtide.rows.blocks import pieces, whole
from lowtide.rows.columns import block_window, outside

BLOCKS = frozenset({"lt_block_s8_row", "lt_separable_s8_row"})


def block_features(graph: Graph, node: Node, columns: int) -> Mapping[str, float]:
    """Features of a block that makes `columns` columns; `kernel/name` is one of a kernel it calls.

    Columns of padding are counted if those are all that the block makes; else there are none.
    """
    op = graph.ops[node.op]
    fields = dict(node.params.fields)
    lean = bool(fields["lean"])
    piece = 1 if lean else pieces(max(1, columns))
    count = columns // piece
    rows = graph.tensors[op.outputs[0]].shape[1]
    cuts = _pieces(graph, op, columns, piece)
    found: dict[str, float] = {"piece": rows * count}
    core = _numbers(fields["depthwise"])
    padded = sum(cut.padded for cut in cuts)
    read = _rows_read(graph, op, rows)
    kernel = f"lt_depthwise_quick_s8_{'plain' if lean else 'row'}"
    each = depthwise(rows, read, core, columns, padded)
    each["window"] *= count  # each call lists the taps of its first window
    _add(found, kernel, rows * count, each)
    project = fields.get("project")
    if project is not None:
        calls = rows * count
        _add(found, CONVOLUTION, calls, convolution(calls, _numbers(project), piece, (0, 0), 0))
    expand = fields.get("expand")
    if expand is not None:
        inner, made = _numbers(expand), whole(op, "expanded_rows")
        for part, times in Counter(cut.expanded for cut in cuts if cut.expanded).items():
            calls = made * times
            _add(found, CONVOLUTION, calls, convolution(calls, inner, part, (0, 0), 0))
        moved = sum(cut.moved for cut in cuts)
        if whole(op, "kept"):
            moved += sum(cut.expanded for cut in cuts)
        found["fresh"] = made * count
        found["copied"] = made * moved * core["channels"]
    return found


@dataclass(frozen=True, slots=True)
class _Piece:
    """Columns that a piece expands, those that it moves from the last one, and those that its windows
    have in the padding, each as often as it is in a window."""

    expanded: int
    moved: int
    padded: int


def _pieces(graph: Graph, op: Op, columns: int, piece: int) -> list[_Piece]:
    """The pieces of a row."""
    stride, kernel, (_, _, left, _) = block_window(op)
    width = graph.tensors[op.inputs[0]].shape[2]
    if columns != graph.tensors[op.outputs[0]].shape[2]:
        width, left = (columns - 1) * stride + kernel, 0
    found: list[_Piece] = []
    old = 0
    for first in range(-left, columns * stride - left, piece * stride):
        low = min(width, max(0, first))
        high = min(width, max(0, first + (piece - 1) * stride + kernel))
        padded = outside(piece, first, width, stride, 1, kernel)
        found.append(_Piece(high - old, old - low, padded))
        old = high
    return found


def _add(found: dict[str, float], kernel: str, calls: int, features: Mapping[str, float]) -> None:
    for name, number in ({"call": calls} | dict(features)).items():
        found[f"{kernel}/{name}"] = found.get(f"{kernel}/{name}", 0) + number


def _numbers(value: object) -> dict[str, int]:
    assert isinstance(value, Params)
    return numbers(value)


def _rows_read(graph: Graph, op: Op, made: int) -> int:
    """Rows in the depthwise convolution's windows that are no padding, over all rows it makes."""
    height = graph.tensors[op.inputs[0]].shape[1]
    top = block_window(op)[2][0]
    size, stride = whole(op, "kernel_h"), whole(op, "stride_h")
    firsts = (row * stride - top for row in range(made))
    return sum(min(height, first + size) - max(0, first) for first in firsts)
