"""MEAN, SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_ALL and REDUCE_ANY: params of kernels/include/lt_reduce.h.

Why row by row: a reduction over leading dimensions needs only the totals of one output row if it eats
the input rows of that row one after the other, whichever dimensions they come from.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from lowtide.ir import DType
from lowtide.ir.reductions import reduced_axes, total_factor
from lowtide.lower.common import Context, Lowering
from lowtide.lower.counts import Counted, lanes
from lowtide.lower.elementwise import (
    MOST_ROWS,
    row_count,
    same_type,
    scale_zero,
    suffix,
)
from lowtide.lower.move import port, row_dims
from lowtide.lower.nodes import Lowered, Params
from lowtide.lower.pool import last_makes


def _reduce(context: Context, *, kind: str) -> Lowered:
    source, out = context.input(0), context.output()
    dtype = same_type(context, source, out)
    row_count(context, source)
    axes = reduced_axes(context)
    kept = math.prod(d for i, d in enumerate(source.shape) if i not in axes)
    if out.elements != kept:
        raise context.unsupported(f"its output should have {kept} elements")
    lead, (outer, reduced, inner) = _cut(context, axes)
    rows = np.arange(math.prod(source.shape[:lead])).reshape(source.shape[:lead])
    first = [i for i in range(lead) if i not in axes]
    last = [i for i in range(lead) if i in axes]
    made = math.prod(source.shape[i] for i in first)
    groups = rows.transpose(first + last).reshape(made, -1)
    params = Params(
        "lt_reduce",
        (
            ("outer", outer),
            ("reduced", reduced),
            ("inner", inner),
            *_factor(context, source.elements // kept, kind),
        ),
    )
    return context.node(
        kernel=f"lt_{'sum' if kind == 'mean' else kind}_{_SUFFIX.get(dtype) or suffix(dtype)}_eat",
        header="lt_reduce.h",
        params=params,
        inputs=(port(source, rows.size, groups.reshape(-1).tolist()),),
        outputs=(port(out, made, last_makes([groups.shape[1]] * made)),),
        steps=rows.size,
        scratch=4 * outer * inner,
        work=Counted.of(
            out.shape[2] if len(out.shape) == 4 else 1,
            written=kept,
            work=rows.size * outer * reduced * inner,
            outer=rows.size * outer,
            runs=rows.size * outer * reduced,
            words=rows.size * outer * reduced * (inner // 4),
            rests=rows.size * outer * reduced * (inner % 4),
            loops_words=rows.size * outer * reduced * (inner >= 4),
            loops_rests=rows.size * outer * reduced * (inner % 4 > 0),
            made_words=kept // 4,
            made_rests=kept % 4,
            **lanes(rows.size * outer * reduced, inner),
        ),
    )


def _cut(context: Context, axes: frozenset[int]) -> tuple[int, tuple[int, int, int]]:
    """(leading dimensions that number the rows, a row as [outer][reduced][inner]).

    Rows are cut finer than usual if reduced and kept dimensions alternate within one.
    """
    shape = context.input(0).shape
    for lead in range(row_dims(shape), len(shape) + 1):
        runs: list[tuple[bool, int]] = []  # neighbours joined
        for i, size in enumerate(shape[lead:], start=lead):
            if size == 1:
                continue
            if runs and runs[-1][0] == (i in axes):
                size *= runs.pop()[1]
            runs.append((i in axes, size))
        flags = [flag for flag, _ in runs]
        if sum(flags) > 1:
            continue
        if math.prod(shape[:lead]) > MOST_ROWS:
            break
        at = flags.index(True) if any(flags) else 0
        before = math.prod(size for _, size in runs[:at])
        reduced = runs[at][1] if any(flags) else 1
        return lead, (before, reduced, math.prod(shape[lead:]) // before // reduced)
    raise context.unsupported(f"it would take more than {MOST_ROWS} steps")


def _factor(context: Context, count: int, kind: str) -> tuple[tuple[str, int], ...]:
    """The params that turn a total of `count` elements into an output."""
    if context.input(0).dtype is DType.BOOL:
        return (("start", 0), ("multiplier", 0), ("shift", 0), ("output_zero", 0))
    (in_scale, in_zero), (out_scale, out_zero) = (
        scale_zero(context, context.input(0)),
        scale_zero(context, context.output()),
    )
    if kind.startswith("reduce"):
        if (in_scale, in_zero) != (out_scale, out_zero):
            raise context.unsupported("its input and output differ in scale or zero point")
        return (("start", 0), ("multiplier", 0), ("shift", 0), ("output_zero", 0))
    start, (multiplier, shift) = total_factor(context, count, mean=kind == "mean")
    return (
        ("start", start),
        ("multiplier", multiplier),
        ("shift", shift),
        ("output_zero", out_zero),
    )


_SUFFIX = {DType.BOOL: "u8"}  # bytes that are 0 or 1: all of them hold if the least does
_SUMS = frozenset({DType.INT8, DType.UINT8, DType.INT16})
_BOOL = frozenset({DType.BOOL})
LOWERINGS = {
    "MEAN": Lowering(partial(_reduce, kind="mean"), _SUMS),
    "SUM": Lowering(partial(_reduce, kind="sum"), _SUMS),
    "REDUCE_MAX": Lowering(partial(_reduce, kind="reduce_max"), _SUMS),
    "REDUCE_MIN": Lowering(partial(_reduce, kind="reduce_min"), _SUMS),
    "REDUCE_ALL": Lowering(partial(_reduce, kind="reduce_min"), _BOOL),
    "REDUCE_ANY": Lowering(partial(_reduce, kind="reduce_max"), _BOOL),
}
