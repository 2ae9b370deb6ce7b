"""What data movement shares: how a shape is cut into rows, and which rows a step sees.

Why the cut matters: rows of several operators are to be interleaved, so the cut is the one that
kernels of other families use (a feature map by N * H), and a port's rows are an arithmetic sequence
where they can be, a table where they cannot.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lowtide.ir import DType, Tensor
from lowtide.ir.operands import axis_of
from lowtide.ir.state import carrying
from lowtide.lower.common import Context
from lowtide.lower.copies import copied, pieced, pitched
from lowtide.lower.counts import Counted
from lowtide.lower.nodes import Array, Lowered, Node, Params, Port

__all__ = [
    "MOVABLE",
    "Shape",
    "axis_of",
    "columns_of",
    "copy_node",
    "cut",
    "elements",
    "loops",
    "picks_of",
    "port",
    "row_dims",
    "runs_node",
    "slide_node",
    "strided",
    "view_or_copy",
]

MOVABLE = frozenset(
    {
        DType.INT8,
        DType.UINT8,
        DType.INT16,
        DType.INT32,
        DType.INT64,
        DType.FLOAT32,
        DType.BOOL,
    }
)
"""Types that are only copied: whole bytes, and a C type for the interface."""

_MOST_ROWS = 32767  # lt_port: int16_t

Shape = tuple[int, ...]


def row_dims(shape: Shape) -> int:
    """How many leading dimensions number the rows: [N, H | W, C], [N, T | D], [N | D], [| D]."""
    dims = max(len(shape) - 2, min(len(shape) - 1, 2), 0)
    while dims > 0 and math.prod(shape[:dims]) > _MOST_ROWS:
        dims -= 1
    return dims


def cut(tensor: Tensor, rows: int) -> tuple[int, int]:
    """(rows, bytes per row) of a tensor cut into `rows` equal rows."""
    return rows, tensor.bytes // rows


def port(tensor: Tensor, rows: int, picks: Sequence[int]) -> Port:
    """`tensor` cut into `rows` rows, of which step r sees number picks[r]; out of range: padding."""
    rows, row_bytes = cut(tensor, rows)
    first = picks[0]
    stride = picks[1] - first if len(picks) > 1 else 1
    if stride >= 0 and all(pick == first + i * stride for i, pick in enumerate(picks)):
        return Port(tensor.id, rows, row_bytes, first, stride)
    return Port(tensor.id, rows, row_bytes, table=tuple(picks))


def picks_of(begin: Shape, stride: Shape, extent: Shape, shape: Shape) -> list[int]:
    """Row numbers of a box, in order: of the leading dimensions `shape`, from `begin` by `stride`."""
    pitches = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    return [
        sum((b + i * s) * p for b, i, s, p in zip(begin, index, stride, pitches, strict=True))
        for index in itertools.product(*map(range, extent))
    ]


def loops(counts: Sequence[int], pitches: Sequence[int], size: int) -> tuple[Shape, Shape, int]:
    """(counts, pitches, run): nested loops over elements of `size` bytes as few loops over runs.

    A run is consecutive bytes; loops of one round and loops that another continues are dropped.
    """
    pairs: list[tuple[int, int]] = []  # innermost first
    run = size
    for count, pitch in zip(reversed(counts), reversed(pitches), strict=True):
        if count == 1:
            continue
        if not pairs and pitch == run:
            run *= count
        elif pairs and pitch == pairs[-1][0] * pairs[-1][1]:
            pairs[-1] = (pairs[-1][0] * count, pairs[-1][1])
        else:
            pairs.append((count, pitch))
    pairs.reverse()
    return tuple(c for c, _ in pairs), tuple(p for _, p in pairs), run


def agreed(context: Context, option: str, count: int) -> None:
    """Raises ModelError if an option says another number of tensors than there are: TFLM believes it."""
    if context.option(option) != count:
        raise context.unsupported(
            f"its option {option} is {context.option(option)}, but it has {count} tensors"
        )


def elements(context: Context, *tensors: Tensor) -> int:
    """Bytes per element of tensors that all have the type of the first."""
    for tensor in tensors:
        if tensor.dtype not in MOVABLE or tensor.dtype != tensors[0].dtype:
            names = ", ".join(t.dtype.name for t in tensors)
            raise context.unsupported(f"it would move elements between types ({names})")
    return tensors[0].dtype.bits // 8


def copy_node(context: Context, source: Port, target: Port, steps: int) -> Node:
    """Copy a whole row per step; both ports have rows of the same size."""
    return _copies(context, source, target, steps, 0, 0, target.row_bytes, 1)


def slide_node(op: int, source: Port, target: Port, size: int, begins: tuple[int, int]) -> Node:
    """Move `size` bytes to a lower address, in a single step: from the first of the offsets `begins`, in
    memory that is aligned to a word, to the other one."""
    read, to = (pitched(1, 0, begin) for begin in begins)
    params = Params("lt_slide", (("bytes", size),))
    node = Node(op, "lt_slide_buffer", "lt_slide.h", params, (source,), (target,), steps=1)
    return replace(node, work=Counted.of(1, **copied(1, size, to, read)))


def runs_node(
    context: Context,
    source: Port,
    target: Port,
    steps: int,
    start: int,
    counts: Shape,
    pitches: Shape,
    run: int,
) -> Node:
    """Gather, per step, the runs of `run` bytes that at most two loops visit in a row."""
    if len(counts) > 2:
        raise context.unsupported("the tensor has too many rows to be moved in this way")
    if len(counts) < 2:
        count, pitch = (counts[0], pitches[0]) if counts else (1, 0)
        return _copies(context, source, target, steps, start, pitch, run, count)
    params = strided(None, (1, 1), start, counts, pitches, run)
    node = _node(context, "lt_transpose_row", "lt_transpose.h", params, (source,), (target,), steps)
    done = gathered((steps, *counts), (source.row_bytes * source.stride, *pitches), 2, run, start)
    return replace(node, work=Counted.of(columns_of(context.output()), **done))


def columns_of(made: Tensor) -> int:
    """How many columns a row of a tensor has; 1 if it is no feature map."""
    return made.shape[2] if len(made.shape) == 4 else 1


def gathered(
    counts: Shape, pitches: Sequence[int], inner: int, run: int, start: int = 0
) -> dict[str, float]:
    """What lt_transpose_row does to gather runs of `run` bytes that loops visit, of which the last
    `inner` ones are in a row."""
    runs = math.prod(counts)
    outer = math.prod(counts[:-1] if inner == 2 else counts[: len(counts) - inner])
    to, source = np.zeros(1, np.int64), np.full(1, start)
    size = run
    for count, pitch in zip(reversed(counts), reversed(pitches), strict=True):
        some = np.arange(min(count, 4))
        to, source = (
            np.add.outer(some * p, at).reshape(-1) for p, at in ((size, to), (pitch, source))
        )
        size *= count
    return {"written": runs * run, "loops": outer, **pieced(runs, run, to, source)}


def _copies(
    context: Context,
    source: Port,
    target: Port,
    steps: int,
    start: int,
    pitch: int,
    run: int,
    count: int,
) -> Node:
    """Copy, per step, `count` runs of `run` bytes that are `pitch` apart, the first at `start`."""
    fields = (("from", start), ("pitch", pitch), ("bytes", run), ("runs", count))
    params = Params("lt_copy", fields)
    node = _node(context, "lt_copy_row", "lt_move.h", params, (source,), (target,), steps)
    made = context.op.outputs[0] if context.op.outputs else target.tensor
    shape = context.graph.tensors[made].shape
    some = range(min(steps, 4))
    to = np.array([target.window(step).start * target.row_bytes for step in some])
    read = np.array([source.window(step).start * source.row_bytes + start for step in some])
    done = pieced(
        steps * count,
        run,
        np.add.outer(to, pitched(count, run)),
        np.add.outer(read, pitched(count, pitch)),
    )
    work = Counted.of(shape[2] if len(shape) == 4 else 1, written=steps * count * run, **done)
    return replace(node, work=work)


def strided(
    rows: Array | None, counts: Shape, start: int, inner: Shape, pitches: Shape, run: int
) -> Params:
    """Params of lt_transpose_row: `rows` and `counts` of the leading dimensions, two inner loops."""
    inner = (1,) * (2 - len(inner)) + inner
    pitches = (0,) * (2 - len(pitches)) + pitches
    return Params(
        "lt_transpose",
        (
            ("pitches", rows),
            ("rows1", counts[0]),
            ("rows2", counts[1]),
            ("from", start),
            ("count0", inner[0]),
            ("pitch0", pitches[0]),
            ("count1", inner[1]),
            ("pitch1", pitches[1]),
            ("bytes", run),
        ),
    )


def view_or_copy(context: Context, source: Tensor, out: Tensor) -> Lowered:
    """`out` holds the bytes of `source` in the same order: no code, or a copy where one is due.

    An output that is a view of an input would make one piece of memory of two promises to the
    caller. A constant is not in the arena, and a variable may change while the view is in use, unless
    it carries rows: then nothing changes it before all is done.
    """
    if source.bytes != out.bytes or source.dtype != out.dtype:
        raise context.unsupported("its input and output do not hold the same number of bytes")
    if source.bytes == 0:
        return Lowered()
    promised = out.id in context.graph.outputs
    origin = _origin(context, source.id)
    lent = origin in context.graph.inputs or context.graph.tensors[origin].is_variable
    changes = source.is_variable and source.id not in carrying(context.graph)
    if not (source.is_constant or changes or (promised and lent)):
        return Lowered(views=((out.id, source.id),))
    rows = math.prod(out.shape[: row_dims(out.shape)])
    both = (port(source, rows, range(rows)), port(out, rows, range(rows)))
    return Lowered((copy_node(context, *both, rows),))


_VIEWS = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE"})


def _origin(context: Context, tensor: int) -> int:
    """The tensor that `tensor` may be a view of, through any number of views."""
    makers = {
        made: op.inputs[0]
        for op in context.graph.ops
        if op.type in _VIEWS and op.inputs
        for made in op.outputs
    }
    while tensor in makers:
        tensor = makers[tensor]
    return tensor


def _node(
    context: Context,
    kernel: str,
    header: str,
    params: Params,
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    steps: int,
) -> Node:
    return Node(context.op.id, kernel, header, params, inputs, outputs, steps)
