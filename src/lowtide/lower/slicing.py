"""SLICE and STRIDED_SLICE: params of kernels/include/lt_move.h, one output row per step."""

from __future__ import annotations

import math

from lowtide.ir import Tensor
from lowtide.lower.common import Context, Lowering
from lowtide.lower.move import (
    MOVABLE,
    Shape,
    elements,
    loops,
    picks_of,
    port,
    row_dims,
    runs_node,
)
from lowtide.lower.nodes import Join, Lowered


def _slice(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    begin = tuple(context.integers(1).reshape(-1).tolist())
    size = tuple(context.integers(2).reshape(-1).tolist())
    if not len(begin) == len(size) == len(out.shape) == len(source.shape):
        raise context.unsupported("its begin, size, input and output differ in rank")
    extent = tuple(
        dim - b if s == -1 else s for dim, b, s in zip(source.shape, begin, size, strict=True)
    )
    if extent != out.shape:
        raise context.unsupported(f"it makes {list(extent)}, but its output is {list(out.shape)}")
    return _box(context, begin, (1,) * len(begin), extent)


def _strided_slice(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    for name in ("ellipsis_mask", "new_axis_mask", "offset"):
        if context.option(name):
            raise context.unsupported(f"it uses {name}, which TFLM has no kernel for")
    given = [context.integers(i).reshape(-1).tolist() for i in (1, 2, 3)]
    rank = len(source.shape)
    if not len(given[0]) == len(given[1]) == len(given[2]) <= rank:
        raise context.unsupported("its begin, end and strides differ in length")
    shrink = context.option("shrink_axis_mask")
    ranges = []
    for axis, dim in enumerate(source.shape):
        if axis >= len(given[0]):  # dimensions that are not named are taken whole
            ranges.append(range(dim))
        else:
            ranges.append(_range(context, axis, dim, *(int(g[axis]) for g in given)))
    kept = tuple(len(r) for axis, r in enumerate(ranges) if not shrink >> axis & 1)
    if kept != out.shape:
        raise context.unsupported(f"it makes {list(kept)}, but its output is {list(out.shape)}")
    return _box(
        context,
        tuple(r.start for r in ranges),
        tuple(r.step for r in ranges),
        tuple(len(r) for r in ranges),
    )


def _range(context: Context, axis: int, dim: int, begin: int, end: int, stride: int) -> range:
    """The indices taken along an axis: StartForAxis and StopForAxis, strided_slice_logic.h."""
    if stride == 0:
        raise context.unsupported("a stride is 0")
    low, high = (0, dim) if stride > 0 else (-1, dim - 1)
    first, last = (low, high) if stride > 0 else (high, low)

    def clamp(value: int) -> int:
        return min(max(value + dim if value < 0 else value, low), high)

    start = first if context.option("begin_mask") >> axis & 1 else clamp(begin)
    if context.option("shrink_axis_mask") >> axis & 1:
        if not 0 <= start < dim:
            raise context.unsupported(f"index {begin} does not exist in axis {axis}, of {dim}")
        return range(start, start + 1)
    stop = last if context.option("end_mask") >> axis & 1 else clamp(end)
    return range(start, stop, stride)


def _box(context: Context, begin: Shape, stride: Shape, extent: Shape) -> Lowered:
    """Copy the box of `extent` indices from `begin` by `stride`."""
    source, out = context.input(0), context.output()
    size = elements(context, source, out)
    if out.bytes == 0:
        return Lowered()
    for b, s, n, dim in zip(begin, stride, extent, source.shape, strict=True):
        if not (0 <= b < dim and 0 <= b + (n - 1) * s < dim):
            raise context.unsupported(f"it reaches outside its input, {list(source.shape)}")
    dims = min(row_dims(source.shape), row_dims(extent))
    picks = picks_of(begin[:dims], stride[:dims], extent[:dims], source.shape[:dims])
    pitches = [size * math.prod(source.shape[d + 1 :]) for d in range(dims, len(extent))]
    start = sum(b * p for b, p in zip(begin[dims:], pitches, strict=True))
    inner = loops(extent[dims:], [s * p for s, p in zip(stride[dims:], pitches, strict=True)], size)
    steps = len(picks)
    node = runs_node(
        context,
        port(source, math.prod(source.shape[:dims]), picks),
        port(out, steps, range(steps)),
        steps,
        start,
        *inner,
    )
    return Lowered((node,), join=_cut_out(source, out, begin, stride, extent, size))


def _cut_out(
    source: Tensor, out: Tensor, begin: Shape, stride: Shape, extent: Shape, size: int
) -> Join | None:
    """The box as a part of the map `source` whose rows are consecutive bytes; None if it is none."""
    if len(begin) != 4 or source.shape[0] != 1 or len(out.shape) != 4:
        return None
    if any(s != 1 for s, n in zip(stride, extent, strict=True) if n > 1):
        return None
    if extent[3] != source.shape[3] and extent[2] != 1:
        return None
    return Join(source.id, ((out.id, begin[1], (begin[2] * source.shape[3] + begin[3]) * size),))


LOWERINGS = {
    "SLICE": Lowering(_slice, MOVABLE),
    "STRIDED_SLICE": Lowering(_strided_slice, MOVABLE),
}
