"""Blocks (rows/blocks.py): kernels/include/lt_block.h.

The operators of a block are lowered as they are, and then told how few columns they are to make.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from lowtide.ir import Op
from lowtide.lower.common import Context
from lowtide.lower.nodes import Lowered, Node, Params, Port, Value
from lowtide.rows.blocks import block_scratch, pieces, whole
from lowtide.rows.columns import block_window


def lower(context: Context, part: Callable[[int], Lowered]) -> Lowered:
    """The node of a block; `part(n)` is what operator n, which the block stands for, is lowered to."""
    graph, op = context.graph, context.op
    parts = {
        name: part(number).nodes[0]
        for name in ("expand", "depthwise", "project")
        if (number := whole(op, name)) >= 0
    }
    columns = context.output().shape[2]
    source, targets, steps = _ports(context)
    kernels = max(part.scratch for part in parts.values())
    node = Node(
        op=op.id,
        kernel="lt_block_s8_row" if "expand" in parts else "lt_separable_s8_row",
        header="lt_block.h",
        params=_params(context, parts, lean=False),
        inputs=(source,),
        outputs=targets,
        steps=steps,
        scratch=block_scratch(graph, op, columns, kernels, lean=False),
        scratch_lasts=False,
        lean_scratch=block_scratch(graph, op, columns, 0, lean=True),
        lean_params=_params(context, parts, lean=True),
    )
    return Lowered((node,))


def _ports(context: Context) -> tuple[Port, tuple[Port, ...], int]:
    """The rows that are read, those that are written, and the number of steps."""
    op, source, out = context.op, context.input(0), context.output()
    kept, height, stride = (whole(op, name) for name in ("kept", "kernel_h", "stride_h"))
    top = block_window(op)[2][0]
    ahead = _ahead(op)
    read = Port(
        source.id,
        source.shape[1],
        source.bytes // source.shape[1],
        kept - top - ahead * stride,
        stride,
        height - kept,
    )
    made = Port(out.id, out.shape[1], out.bytes // out.shape[1], -ahead)
    if not kept:
        return read, (made,), out.shape[1]
    line = context.graph.tensors[op.intermediates[0]]
    lines = Port(line.id, kept, line.bytes // kept, 0, 0, kept)
    return read, (made, lines), out.shape[1] + ahead


def _ahead(op: Op) -> int:
    """Steps before the first row: they fill the rows that are kept for it."""
    kept, stride = whole(op, "kept"), whole(op, "stride_h")
    return max(0, -(-(kept - block_window(op)[2][0]) // stride)) if kept else 0


def _params(context: Context, parts: Mapping[str, Node], *, lean: bool) -> Params:
    op, source, columns = context.op, context.input(0), context.output().shape[2]
    piece = 1 if lean else pieces(columns)
    top, _, left, _ = block_window(op)[2]
    own = {
        name: _with(part.leaner.params if lean else part.params, out_w=piece)
        for name, part in parts.items()
    }
    if "expand" not in parts:
        core = _with(own["depthwise"], in_w=source.shape[2], pad_left=left)
        separable: dict[str, Value] = {
            "depthwise": core,
            "project": own["project"],
            "pieces": columns // piece,
            "lean": int(lean),
        }
        return Params("lt_separable_s8", tuple(separable.items()))
    fields: dict[str, Value] = {
        "expand": own["expand"],
        "depthwise": own["depthwise"],
        "project": own.get("project"),
        "in_h": source.shape[1],
        "in_w": source.shape[2],
        "pieces": columns // piece,
        "piece": piece,
        "kept": whole(op, "kept"),
        "ahead": _ahead(op),
        "pad_top": top,
        "pad_left": left,
        "stride_h": whole(op, "stride_h"),
        "lean": int(lean),
    }
    return Params("lt_block_s8", tuple(fields.items()))


def _with(params: Params, **values: int) -> Params:
    """The same params but for some fields."""
    return replace(params, fields=tuple((n, values.get(n, v)) for n, v in params.fields))
