"""Blocks (ir/block.py): kernels/include/lt_block.h.

The operators of a block are lowered as they are, and then told how few columns they are to make.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from lowtide.ir import Graph
from lowtide.ir.block import BlockOp
from lowtide.lower.common import Context
from lowtide.lower.nodes import Lowered, Node, Params, Port, Reads, Value
from lowtide.lower.work import BlockWork, Convolution, Depthwise, Work, pieces

MOST_ROWS = 8
"""LT_BLOCK_ROWS in lt_block.h: the tallest kernel."""


def _scratch(graph: Graph, op: BlockOp, columns: int, kernels: int, *, lean: bool) -> int:
    """Bytes of scratch memory of the block `op` if it makes `columns` columns; `kernels` is what its
    kernels need. First the windows of the rows it computes, then the pixels between the depthwise
    convolution and the pointwise one after it."""
    piece = 1 if lean else pieces(columns)
    channels = graph.tensors[graph.ops[op.depthwise].outputs[0]].shape[3]
    needs = 0
    if op.expand is not None:
        fresh = op.window.rows.kernel - op.kept
        reach = len(op.window.columns.touched(range(piece)))
        window = min(reach, graph.tensors[op.inputs[0]].shape[2])
        needs += -(-fresh * window * channels // 4) * 4
    if op.project is not None:
        needs += -(-piece * channels // 4) * 4
    return needs + kernels


def lower(context: Context, op: BlockOp, part: Callable[[int], Lowered]) -> Lowered:
    """The node of a block; `part(n)` is what operator n, which the block stands for, is lowered to."""
    graph = context.graph
    parts = {
        name: part(number).nodes[0]
        for name, number in (
            ("expand", op.expand),
            ("depthwise", op.depthwise),
            ("project", op.project),
        )
        if number is not None
    }
    columns = context.output().shape[2]
    kernels = max(part.scratch for part in parts.values())
    narrow = (_scratch(graph, op, n, kernels, lean=False) for n in range(1, columns + 1))
    source, targets, steps = _ports(context, op)
    node = Node(
        op=op.id,
        kernel="lt_separable_s8_row" if op.expand is None else "lt_block_s8_row",
        header="lt_block.h",
        params=_params(context, op, parts, lean=False),
        inputs=(source,),
        outputs=targets,
        steps=steps,
        scratch=_scratch(graph, op, columns, kernels, lean=False),
        scratch_lasts=False,
        lean_scratch=_scratch(graph, op, columns, 0, lean=True),
        narrow_scratch=(0, *narrow),
        lean_params=_params(context, op, parts, lean=True),
        work=_work(context, op, {name: part.work for name, part in parts.items()}),
    )
    return Lowered((node,), columns=(Reads(op.inputs[0], op.window.columns),))


def _work(context: Context, op: BlockOp, parts: Mapping[str, Work | None]) -> BlockWork:
    made, source, window = context.output().shape, context.input(0).shape, op.window
    expand, core, project = (parts.get(name) for name in ("expand", "depthwise", "project"))
    assert expand is None or isinstance(expand, Convolution)
    assert isinstance(core, Depthwise)
    assert project is None or isinstance(project, Convolution)
    reads = (window.rows.reads(range(row, row + 1), source[1]) for row in range(made[1]))
    return BlockWork(
        made=made[1],
        columns=made[2],
        in_w=source[2],
        axis=window.columns,
        expanded_rows=op.expanded_rows,
        keeps=bool(op.kept),
        expand=expand,
        depthwise=replace(core, rows=sum(map(len, reads))),
        project=project,
    )


def _ports(context: Context, op: BlockOp) -> tuple[Port, tuple[Port, ...], int]:
    """The rows that are read, those that are written, and the number of steps."""
    source, out = context.input(0), context.output()
    rows, kept, ahead = op.window.rows, op.kept, _ahead(op)
    read = Port(
        source.id,
        source.shape[1],
        source.bytes // source.shape[1],
        kept - rows.before - ahead * rows.stride,
        rows.stride,
        rows.kernel - kept,
    )
    made = Port(out.id, out.shape[1], out.bytes // out.shape[1], -ahead)
    if not kept:
        return read, (made,), out.shape[1]
    line = context.graph.tensors[op.intermediates[0]]
    lines = Port(line.id, kept, line.bytes // kept, 0, 0, kept)
    return read, (made, lines), out.shape[1] + ahead


def _ahead(op: BlockOp) -> int:
    """Steps before the first row: they fill the rows that are kept for it."""
    rows = op.window.rows
    return max(0, -(-(op.kept - rows.before) // rows.stride)) if op.kept else 0


def _params(context: Context, op: BlockOp, parts: Mapping[str, Node], *, lean: bool) -> Params:
    source, columns = context.input(0), context.output().shape[2]
    piece = 1 if lean else pieces(columns)
    own = {
        name: _with(part.leaner.params if lean else part.params, out_w=piece)
        for name, part in parts.items()
    }
    if op.expand is None:
        core = _with(own["depthwise"], in_w=source.shape[2], pad_left=op.window.columns.before)
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
        "kept": op.kept,
        "ahead": _ahead(op),
        "pad_top": op.window.rows.before,
        "pad_left": op.window.columns.before,
        "stride_h": op.window.rows.stride,
        "lean": int(lean),
    }
    return Params("lt_block_s8", tuple(fields.items()))


def _with(params: Params, **values: int) -> Params:
    """The same params but for some fields."""
    return replace(params, fields=tuple((n, values.get(n, v)) for n, v in params.fields))
