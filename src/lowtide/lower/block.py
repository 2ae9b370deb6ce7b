"""Blocks (ir/block.py): lt_block.h, for cores with Arm's DSP extension lt_block_4x2.h, for those with
Helium lt_block_vector.h, all in kernels/include.

The operators of a block are lowered as they are, and then told how few columns they are to make: up to
`MOST_PIXELS` at a time in its normal form, fewer or more in others, down to one, and with kernels that
need less scratch memory.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from lowtide.ir import Graph
from lowtide.ir.block import BlockOp
from lowtide.ir.window import Window
from lowtide.lower import joined
from lowtide.lower.block_work import (
    FOUR_BY_TWO,
    LANES,
    MOST_PIXELS,
    MULT1,
    MULT1_PLAIN,
    PACKED,
    PLANES,
    THREE,
    VECTOR,
    BlockWork,
    Core,
    Pointwise,
    pieces,
    roughly,
    roughly_pointwise,
)
from lowtide.lower.common import Context
from lowtide.lower.families import depthwise_planes
from lowtide.lower.families.depthwise_3x3 import scratch as scratch_3x3
from lowtide.lower.nodes import Kernel, Lowered, Node, Params, Port, Reads, Value

MOST_ROWS = 8
"""LT_BLOCK_ROWS in lt_block.h: the tallest kernel."""

_MOST = (*range(1, MOST_PIXELS + 1), 10, 12, 16, 24, 32)
"""How many pixels of a row forms of a block make at a time, at most: more than the last save next to
nothing."""

_FEWEST = {THREE: 3}
"""Pixels at a time from which on a depthwise convolution by columns is the quicker."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """Kernels for blocks: their name ends so; they call `pointwise`, and one of the depthwise `cores`,
    which are by the names of their params, those of most scratch memory first."""

    name: str
    pointwise: str
    cores: Mapping[str, str]


_PORTABLE = _Kind("", PACKED, {MULT1: "depthwise", MULT1_PLAIN: "depthwise"})
_KINDS = (
    _PORTABLE,
    _Kind("_4x2", FOUR_BY_TWO, {THREE: "columns", **_PORTABLE.cores}),
    _Kind("_vector", VECTOR, {PLANES: "planes", LANES: "depthwise"}),
)


_CALLED = {
    THREE: "columns",
    PLANES: "planes",
    MULT1_PLAIN: "plain",
    **dict.fromkeys((MULT1, LANES), "depthwise"),
}
"""How the functions end that call the depthwise cores, where there are several for a kind of kernels."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """The nodes of a block's operators, each in all its forms, the one of most scratch memory first, for
    kernels of a kind."""

    kind: _Kind
    expand: tuple[Node, ...]
    cores: tuple[Node, ...]
    project: tuple[Node, ...]


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
        piece = pieces(columns, self.most)[0]
        channels = graph.tensors[graph.ops[op.core].outputs[0]].shape[3]
        reach = len(op.window.columns.touched(range(piece)))
        kernels = self.core.scratch
        if self.core.kernel == THREE:
            kernels = scratch_3x3(op.window.columns, piece, piece)
        elif self.core.kernel == PLANES:
            at_once = min(piece, _at_once(op.window))
            kernels = depthwise_planes.scratch(op.window.columns, op.window.rows.kernel, at_once)
        needs = 0
        if op.expand is not None:
            fresh = op.window.rows.kernel - op.kept
            window = min(reach, graph.tensors[op.inputs[0]].shape[2])
            needs += -(-fresh * window * channels // 4) * 4
        if op.project is not None and not self.in_place(graph, op):
            needs += -(-piece * channels // 4) * 4
        for part, many in ((self.expand, reach), (self.project, piece)):
            if part is not None:
                kernels = max(kernels, part.scratch if many > 1 else part.leaner.scratch)
        return needs + kernels

    def in_place(self, graph: Graph, op: BlockOp) -> bool:
        """Whether what the pointwise convolution reads lies where its output goes: it must fit, in whole
        words, and pixels must be copied to scratch memory before they are written."""
        project = self.project
        if project is None or project.kernel != FOUR_BY_TWO or not project.scratch:
            return False
        within, out = (graph.tensors[graph.ops[n].outputs[0]].shape[3] for n in _ends(op))
        return within <= out and within % 4 == 0

    def price(self, op: BlockOp, columns: int) -> float:
        """Instructions for a pixel, very nearly."""
        again, cost = op.window.rows.kernel, 0.0
        for piece, times in Counter(pieces(columns, self.most)).items():
            each = roughly(self.core.kernel, _core(self), again, piece)
            read = piece * op.window.columns.stride
            each += roughly_pointwise(_pointwise(self.expand), read) * (again - op.kept)
            cost += times * (each + roughly_pointwise(_pointwise(self.project), piece))
        return cost / columns


def _ends(op: BlockOp) -> tuple[int, int]:
    """The depthwise convolution and the pointwise one after it."""
    assert op.project is not None
    return op.core, op.project


def _core(form: _Form) -> Core:
    work = form.core.work
    assert isinstance(work, Core)
    return work


def _pointwise(part: Node | None) -> Pointwise | None:
    work = None if part is None else part.work
    assert work is None or isinstance(work, Pointwise)
    return work


def _forms(graph: Graph, op: BlockOp, columns: int, parts: _Parts) -> tuple[_Form, ...]:
    """The forms worth having: the normal one first, then others, each of which is dearer than those
    before it and needs less scratch."""
    normal, found = _normal(parts, columns), []
    least = math.inf
    forms = (normal, *_all_forms(parts, columns))
    priced = [(f.price(op, columns), f.scratch(graph, op, columns), f) for f in forms]
    for _, scratch, form in sorted(priced, key=lambda each: each[:2]):
        if scratch < least:
            least = scratch
            found.append(form)
    return (normal, *(form for form in found if form != normal))


def _normal(parts: _Parts, columns: int) -> _Form:
    cores = _cores(parts, pieces(columns)[0])
    expand, project = (part[0] if part else None for part in (parts.expand, parts.project))
    return _Form(MOST_PIXELS, expand, cores[0], project)


def _cores(parts: _Parts, piece: int) -> list[Node]:
    """The kernels worth having for so many pixels, the quickest first."""
    return [node for node in parts.cores if piece >= _FEWEST.get(node.kernel, 1)] or [*parts.cores]


def _all_forms(parts: _Parts, columns: int) -> Iterator[_Form]:
    """With kernels that every core has, all parts in their normal forms, or all in those of least
    scratch memory, for as many pixels as the normal form or fewer; else each in any form for any number
    of pixels."""
    expands, projects = parts.expand or (None,), parts.project or (None,)
    many = _MOST[:MOST_PIXELS] if parts.kind is _PORTABLE else _MOST
    for sizes, most in {pieces(columns, most): most for most in many}.items():
        if parts.kind is _PORTABLE:
            yield _Form(most, expands[0], parts.cores[0], projects[0])
            yield _Form(most, expands[-1], parts.cores[-1], projects[-1])
            continue
        for expand, core, project in product(expands, _cores(parts, sizes[0]), projects):
            yield _Form(most, expand, core, project)


def lower(context: Context, op: BlockOp, ways: Sequence[Callable[[int], Lowered]]) -> Lowered:
    """The node of a block. `ways` are ways to lower the operators that the block stands for, by their
    numbers: it calls the kernels of the first one that it can."""
    graph = context.graph
    if graph.ops[op.core].window is None:
        return joined.lower(context, op, ways)
    parts = next(parts for way in ways if (parts := _parts(graph, op, way)) is not None)
    columns = context.output().shape[2]
    node, *forms = (
        replace(
            _node(context, op, form, parts.kind),
            narrow_scratch=(0, *_narrow(graph, op, form, parts)),
        )
        for form in _forms(graph, op, columns, parts)
    )
    node = replace(node, forms=tuple(forms))
    reads = tuple(Reads(t, op.window.columns) for t in op.inputs[: op.parts])
    return Lowered((node,), columns=reads)


def _narrow(graph: Graph, op: BlockOp, form: _Form, parts: _Parts) -> Iterator[int]:
    """Bytes of scratch memory of a form that makes 1 column, 2, and so on. A depthwise kernel that is
    for more pixels than there are at a time is not among the forms then."""
    columns = graph.tensors[op.outputs[0]].shape[2]
    known: dict[int, int] = {}  # all depends on the first of the pieces that columns are cut into
    for n in range(1, columns + 1):
        piece = pieces(n, form.most)[0]
        if piece not in known:
            cores = _cores(parts, piece)
            core = form.core if form.core in cores else cores[0]
            known[piece] = replace(form, core=core).scratch(graph, op, n)
        yield known[piece]


def _joins(graph: Graph, op: BlockOp) -> bool:
    """Whether it begins with a concatenation."""
    return op.expand is not None and graph.ops[op.expand].window is None


def _parts(graph: Graph, op: BlockOp, part: Callable[[int], Lowered]) -> _Parts | None:
    """The parts for kernels of the kind that calls theirs, if there is one."""

    def forms(number: int | None) -> tuple[Node, ...]:
        if number is None:
            return ()
        node = part(number).nodes[0]
        return tuple(dict.fromkeys((replace(node, forms=()), node.leaner)))

    expand = () if _joins(graph, op) else forms(op.expand)
    project = forms(op.project)
    node = part(op.core).nodes[0]
    cores = {form.kernel: form for form in (node, *node.forms)}
    if op.window.columns.dilation > 1 and op.window.columns.kernel > 1:
        for name in (PLANES, LANES):  # whose columns blocks cut as if they lay side by side
            cores.pop(name, None)
    for kind in _KINDS:
        if all(each.kernel == kind.pointwise for each in (*expand, *project)):
            known = tuple(cores[name] for name in kind.cores if name in cores)
            return _Parts(kind, expand, known, project) if known else None
    return None


def _node(context: Context, op: BlockOp, form: _Form, kind: _Kind) -> Node:
    columns = context.output().shape[2]
    sources, targets, steps = _ports(context, op)
    does = "separable" if op.expand is None else "block"
    kernel, header = f"lt_{does}{kind.name}_s8_row", f"lt_block{kind.name}.h"
    params = _params(context, op, form, kind)
    if _joins(context.graph, op):
        of = Kernel(f"lt_block{kind.name}_s8_of", header)
        fields = (("join", joined.join_of(context, op)), ("of", of), ("params", params))
        kernel, header = "lt_joined_block_row", "lt_joined.h"
        params = Params("lt_joined_block", fields)
    return Node(
        op=op.id,
        kernel=kernel,
        header=header,
        params=params,
        inputs=sources,
        outputs=targets,
        steps=steps,
        scratch=form.scratch(context.graph, op, columns),
        scratch_lasts=False,
        work=_work(context, op, form, kind),
        counted=None if _joins(context.graph, op) else "ahead",
    )


def _work(context: Context, op: BlockOp, form: _Form, kind: _Kind) -> BlockWork:
    joins = _joins(context.graph, op)
    made, source = context.output().shape, context.input(0).shape
    return BlockWork(
        made=made[1],
        columns=made[2],
        in_w=source[2],
        axis=op.window.columns,
        expanded_rows=op.expanded_rows,
        keeps=bool(op.kept),
        sizes=tuple(joined.sizes_of(context, op)) if joins else (),
        priced_as=f"lt_block{kind.name}_s8_row" if joins else "",
        expand=_pointwise(form.expand),
        depthwise=_core(form),
        project=_pointwise(form.project),
        most=form.most,
        plain=form.core.kernel == MULT1_PLAIN,
    )


def _ports(context: Context, op: BlockOp) -> tuple[tuple[Port, ...], tuple[Port, ...], int]:
    """The rows that are read, those that are written, and the number of steps."""
    sources, out = [context.input(i) for i in range(op.parts)], context.output()
    rows, kept, ahead = op.window.rows, op.kept, _ahead(op)
    read = tuple(
        Port(
            source.id,
            source.shape[1],
            source.bytes // source.shape[1],
            kept - rows.before - ahead * rows.stride,
            rows.stride,
            rows.kernel - kept,
        )
        for source in sources
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


def _params(context: Context, op: BlockOp, form: _Form, kind: _Kind) -> Params:
    source, columns = context.input(0), context.output().shape[2]
    piece = pieces(columns, form.most)[0]
    expand, project = (
        None if part is None else _with(part.params, out_w=piece)
        for part in (form.expand, form.project)
    )
    if expand is not None:
        expand = joined.reading(expand, source.shape[2])
    at_once = min(piece, _at_once(op.window)) if form.core.kernel == PLANES else piece
    core = _with(form.core.params, out_w=piece, piece=at_once)
    cores: dict[str, Value] = dict.fromkeys(kind.cores.values())
    fields: dict[str, Value] = {
        "expand": expand,
        **cores,
        kind.cores[form.core.kernel]: core,
        "project": project,
        "in_h": source.shape[1],
        "in_w": source.shape[2],
        "out_w": columns,
        "piece": piece,
        "kept": op.kept,
        "ahead": _ahead(op),
        "pad_top": op.window.rows.before,
        "pad_left": op.window.columns.before,
        "stride_h": op.window.rows.stride,
    }
    if kind is _PORTABLE:
        fields["lean"] = int(form.core.kernel == MULT1_PLAIN)
    else:  # by a pointer, since a linker keeps whatever a block calls by name
        fields["core"] = Kernel(
            f"lt_block{kind.name}_{_CALLED[form.core.kernel]}",
            f"lt_block{kind.name}.h",
            within=True,
        )
    if kind.pointwise == FOUR_BY_TWO:
        fields["in_place"] = int(form.in_place(context.graph, op))
    return Params(f"lt_block{kind.name}_s8", tuple(fields.items()))


def _at_once(window: Window) -> int:
    """Pixels that a depthwise convolution by planes makes at a time, at most."""
    return depthwise_planes.most_pixels(window.columns, window.rows.kernel)


def _with(params: Params, **values: int) -> Params:
    """The same params but for some fields, of those that they have."""
    return replace(params, fields=tuple((n, values.get(n, v)) for n, v in params.fields))
