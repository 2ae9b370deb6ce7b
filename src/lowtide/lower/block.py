"""Blocks (ir/block.py): lt_block.h, and for cores with Arm's DSP extension lt_block_4x2.h, both in
kernels/include.

The operators of a block are lowered as they are, and then told how few columns they are to make: most
pixels at a time in its normal form, fewer in others, down to one, and with kernels that need less
scratch memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from lowtide.ir import Graph
from lowtide.ir.block import BlockOp
from lowtide.lower.block_work import (
    FOUR_BY_TWO,
    MOST_PIXELS,
    MULT1,
    MULT1_PLAIN,
    PACKED,
    THREE,
    BlockWork,
    Core,
    Pointwise,
    pieces,
    roughly,
    roughly_pointwise,
)
from lowtide.lower.common import Context
from lowtide.lower.families.depthwise_3x3 import scratch as scratch_3x3
from lowtide.lower.nodes import Lowered, Node, Params, Port, Reads, Value

MOST_ROWS = 8
"""LT_BLOCK_ROWS in lt_block.h: the tallest kernel."""

_FEWEST = 3
"""Pixels at a time from which on a depthwise convolution by columns is the quicker one."""

_4X2 = "lt_block_4x2_s8"
_RANKS = (THREE, MULT1, MULT1_PLAIN)
"""Depthwise kernels that blocks call, the one of most scratch memory first."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """The nodes of a block's operators, each in all its forms, the one of most scratch memory first."""

    expand: tuple[Node, ...]
    cores: tuple[Node, ...]
    project: tuple[Node, ...]

    @property
    def are_4x2(self) -> bool:
        """Whether the pointwise ones make four channels of two pixels."""
        return all(node.kernel == FOUR_BY_TWO for node in (*self.expand, *self.project))

    @property
    def are_alike(self) -> bool:
        """Whether there are block kernels that call these."""
        convolutions = (*self.expand, *self.project)
        packed = all(node.kernel == PACKED for node in convolutions)
        known = (MULT1, MULT1_PLAIN) if packed else _RANKS
        return (packed or self.are_4x2) and all(node.kernel in known for node in self.cores)


@dataclass(frozen=True, slots=True)
class _Form:
    """A block's parts, each in a form, for at most `most` pixels at a time."""

    most: int
    expand: Node | None
    core: Node
    project: Node | None

    def scratch(self, graph: Graph, op: BlockOp, columns: int) -> int:
        """Bytes of scratch memory to make `columns` columns. First the windows of the rows it computes,
        then the pixels between the depthwise convolution and the pointwise one after it, then what the
        kernels need."""
        piece = pieces(columns, self.most)
        channels = graph.tensors[graph.ops[op.depthwise].outputs[0]].shape[3]
        reach = len(op.window.columns.touched(range(piece)))
        kernels = self.core.scratch
        if self.core.kernel == THREE:
            kernels = scratch_3x3(op.window.columns, piece, piece)
        needs = 0
        if op.expand is not None:
            fresh = op.window.rows.kernel - op.kept
            window = min(reach, graph.tensors[op.inputs[0]].shape[2])
            needs += -(-fresh * window * channels // 4) * 4
        if op.project is not None:
            needs += -(-piece * channels // 4) * 4
        for part, many in ((self.expand, reach), (self.project, piece)):
            if part is not None:
                kernels = max(kernels, part.scratch if many > 1 else part.leaner.scratch)
        return needs + kernels

    def price(self, op: BlockOp, columns: int) -> float:
        """Instructions for a pixel, very nearly."""
        axis, piece, again = op.window.columns, pieces(columns, self.most), op.window.rows.kernel
        cost = roughly(self.core.kernel, _core(self), again, piece)
        cost += roughly_pointwise(_pointwise(self.expand), piece * axis.stride) * (again - op.kept)
        return (cost + roughly_pointwise(_pointwise(self.project), piece)) / piece


def _core(form: _Form) -> Core:
    work = form.core.work
    assert isinstance(work, Core)
    return work


def _pointwise(part: Node | None) -> Pointwise | None:
    work = None if part is None else part.work
    assert work is None or isinstance(work, Pointwise)
    return work


def _forms(graph: Graph, op: BlockOp, columns: int, parts: _Parts) -> tuple[_Form, ...]:
    """The forms worth having: the normal one first, then those that are dearer and need less scratch."""
    found = [_normal(parts, columns)]
    least = found[0].scratch(graph, op, columns)
    forms = _all_forms(parts, columns)
    others = [(f.price(op, columns), f.scratch(graph, op, columns), f) for f in forms]
    for _, scratch, form in sorted(others, key=lambda each: each[:2]):
        if scratch < least:
            least = scratch
            found.append(form)
    return tuple(found)


def _normal(parts: _Parts, columns: int) -> _Form:
    cores = _cores(parts, pieces(columns))
    expand, project = (part[0] if part else None for part in (parts.expand, parts.project))
    return _Form(MOST_PIXELS, expand, cores[0], project)


def _cores(parts: _Parts, piece: int) -> list[Node]:
    return [node for node in parts.cores if node.kernel != THREE or piece >= _FEWEST]


def _all_forms(parts: _Parts, columns: int) -> Iterator[_Form]:
    """With 4 x 2 kernels, each part in any form for any number of pixels. Else all are in their normal
    form, or one pixel at a time in that of least scratch memory."""
    expands, projects = parts.expand or (None,), parts.project or (None,)
    if not parts.are_4x2:
        yield _Form(1, expands[-1], parts.cores[-1], projects[-1])
        return
    for most in {pieces(columns, most): most for most in range(1, MOST_PIXELS + 1)}:
        for expand, core, project in product(expands, _cores(parts, most), projects):
            yield _Form(most, expand, core, project)


def lower(context: Context, op: BlockOp, ways: Sequence[Callable[[int], Lowered]]) -> Lowered:
    """The node of a block. `ways` are ways to lower the operators that the block stands for, by their
    numbers: it calls the kernels of the first one that it can."""
    parts = next(parts for way in ways if (parts := _parts(op, way)).are_alike)
    columns = context.output().shape[2]
    graph = context.graph
    node, *forms = (_node(context, op, form) for form in _forms(graph, op, columns, parts))
    by_piece = {pieces(n): n for n in range(1, columns + 1)}
    of_piece = {p: _normal(parts, n).scratch(graph, op, n) for p, n in by_piece.items()}
    narrow = (of_piece[pieces(n)] for n in range(1, columns + 1))
    node = replace(node, forms=tuple(forms), narrow_scratch=(0, *narrow))
    return Lowered((node,), columns=(Reads(op.inputs[0], op.window.columns),))


def _parts(op: BlockOp, part: Callable[[int], Lowered]) -> _Parts:
    def forms(number: int | None) -> tuple[Node, ...]:
        if number is None:
            return ()
        node = part(number).nodes[0]
        kinds = {form.kernel: form for form in (node, *node.forms)}
        if number == op.depthwise:
            known = [kinds[name] for name in _RANKS if name in kinds]
            return tuple(known) or tuple(kinds.values())
        return tuple(dict.fromkeys((replace(node, forms=()), node.leaner)))

    return _Parts(forms(op.expand), forms(op.depthwise), forms(op.project))


def _node(context: Context, op: BlockOp, form: _Form) -> Node:
    columns = context.output().shape[2]
    source, targets, steps = _ports(context, op)
    parts = [part for part in (form.expand, form.project) if part is not None]
    kind = "_4x2" if all(part.kernel == FOUR_BY_TWO for part in parts) else ""
    return Node(
        op=op.id,
        kernel=f"lt_separable{kind}_s8_row" if op.expand is None else f"lt_block{kind}_s8_row",
        header=f"lt_block{kind}.h",
        params=_params(context, op, form, f"lt_block{kind}_s8"),
        inputs=(source,),
        outputs=targets,
        steps=steps,
        scratch=form.scratch(context.graph, op, columns),
        scratch_lasts=False,
        work=_work(context, op, form),
    )


def _work(context: Context, op: BlockOp, form: _Form) -> BlockWork:
    made, source = context.output().shape, context.input(0).shape
    return BlockWork(
        made=made[1],
        columns=made[2],
        in_w=source[2],
        axis=op.window.columns,
        expanded_rows=op.expanded_rows,
        keeps=bool(op.kept),
        expand=_pointwise(form.expand),
        depthwise=_core(form),
        project=_pointwise(form.project),
        most=form.most,
        plain=form.core.kernel == MULT1_PLAIN,
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


def _params(context: Context, op: BlockOp, form: _Form, ctype: str) -> Params:
    source, columns = context.input(0), context.output().shape[2]
    piece = pieces(columns, form.most)
    parts = {
        name: None if part is None else _with(part.params, out_w=piece)
        for name, part in (("expand", form.expand), ("project", form.project))
    }
    core = _with(form.core.params, out_w=piece, piece=piece)
    cores: dict[str, Value] = {"depthwise": core}
    if ctype == _4X2:
        by_columns = form.core.kernel == THREE
        cores = {
            "columns": core if by_columns else None,
            "depthwise": None if by_columns else core,
        }
    fields: dict[str, Value] = {
        "expand": parts["expand"],
        **cores,
        "project": parts["project"],
        "in_h": source.shape[1],
        "in_w": source.shape[2],
        "pieces": columns // piece,
        "piece": piece,
        "kept": op.kept,
        "ahead": _ahead(op),
        "pad_top": op.window.rows.before,
        "pad_left": op.window.columns.before,
        "stride_h": op.window.rows.stride,
        "lean": int(form.core.kernel == MULT1_PLAIN),
    }
    return Params(ctype, tuple(fields.items()))


def _with(params: Params, **values: int) -> Params:
    """The same params but for some fields, of those that they have."""
    return replace(params, fields=tuple((n, values.get(n, v)) for n, v in params.fields))
