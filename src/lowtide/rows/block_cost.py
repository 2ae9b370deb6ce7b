"""What a block does (rows/blocks.py), for the cost model: what the kernels that it calls do.

Not linear in columns: how many of them divide into which pieces decides what the calls cost.
"""

from __future__ import annotations

from collections.abc import Mapping

from lowtide.emit.program import Node, Params
from lowtide.ir import Graph, Op
from lowtide.rows.blocks import pieces, whole
from lowtide.rows.columns import block_window, line_width
from lowtide.rows.kernel_features import CONVOLUTION, convolution, depthwise, numbers

BLOCKS = frozenset({"lt_block_s8_row", "lt_separable_s8_row"})


def block_features(graph: Graph, node: Node, columns: int) -> Mapping[str, float]:
    """Features of a block that makes `columns` columns; `kernel/name` is one of a kernel it calls."""
    op = graph.ops[node.op]
    fields = dict(node.params.fields)
    lean = bool(fields["lean"])
    piece = 1 if lean else pieces(max(1, columns))
    count = columns // piece
    rows = graph.tensors[op.outputs[0]].shape[1]
    found: dict[str, float] = {"piece": rows * count}
    core = _numbers(fields["depthwise"])
    taps = _rows_read(graph, op, rows) * count
    kernel = f"lt_depthwise_quick_s8_{'plain' if lean else 'row'}"
    _add(found, kernel, rows * count, depthwise(rows * count, taps, core, piece, 0))
    project = fields.get("project")
    if project is not None:
        calls = rows * count
        _add(found, CONVOLUTION, calls, convolution(calls, _numbers(project), piece, (0, 0), 0))
    expand = fields.get("expand")
    if expand is not None and count:
        inner, made = _numbers(expand), whole(op, "expanded_rows")
        moved, width = piece * whole(op, "stride_w"), line_width(op, piece)
        for calls, part in ((made, width), (made * (count - 1), moved)):
            _add(found, CONVOLUTION, calls, convolution(calls, inner, part, (0, 0), 0))
        copied = made * (count - 1) * (width - moved)
        if whole(op, "kept"):
            copied += made * line_width(op, columns)
        found["fresh"] = made * count
        found["copied"] = copied * core["channels"]
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
