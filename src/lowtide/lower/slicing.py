"""SLICE and STRIDED_SLICE: params of kernels/include/lt_move.h, one output row per step."""

from __future__ import annotations

import math

from lowtide.ir import Tensor
from lowtide.ir.slices import sliced
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
    """Copy the box of indices that it takes."""
    taken = sliced(context)
    source, out = context.input(0), context.output()
    size = elements(context, source, out)
    if out.bytes == 0:
        return Lowered()
    begin, stride = tuple(r.start for r in taken), tuple(r.step for r in taken)
    extent = tuple(len(r) for r in taken)
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
    "STRIDED_SLICE": Lowering(_slice, MOVABLE),
}
