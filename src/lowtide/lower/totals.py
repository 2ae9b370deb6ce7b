"""Sums over the rows of a window that slides: params of kernels/include/lt_total.h.

Why operators of their own: what leaves the window is subtracted from totals that outlive a run, so that
a sum over many rows costs what the new ones and the old ones do (passes/hop/totals.py).
"""

from __future__ import annotations

import math

from lowtide.ir import DType
from lowtide.ir.fixed_point import wrap
from lowtide.ir.operands import scale_zero
from lowtide.ir.reductions import total_factor
from lowtide.ir.state import OF_TOTAL, TOTAL, OfTotalOp, TotalOp
from lowtide.lower.common import Context, Lowering, activation_range, whole
from lowtide.lower.elementwise import suffix
from lowtide.lower.nodes import Lowered, Params, Port


def _total(context: Context) -> Lowered:
    """Rows of input 1 join the totals, input 0, row by row."""
    op, totals, rows = context.op, context.input(0), context.input(1)
    assert isinstance(op, TotalOp)
    count = rows.shape[1]
    params = Params(
        "lt_total",
        (
            ("pixels", math.prod(rows.shape[2:-1])),
            ("channels", rows.shape[-1]),
            ("zero", op.zero),
            ("leaves", int(op.leave)),
        ),
    )
    return context.node(
        kernel=f"lt_total_{suffix(rows.dtype)}",
        header="lt_total.h",
        params=params,
        inputs=(Port(rows.id, count, rows.bytes // count),),
        outputs=(whole(totals),),
        steps=count,
    )


def _of_total(context: Context) -> Lowered:
    """What totals make."""
    op, totals, out = context.op, context.input(0), context.output()
    assert isinstance(op, OfTotalOp)
    count, zero = op.count, op.zero
    if op.kind == "AVERAGE_POOL_2D":
        low, high = activation_range(context, out, context.option("fused_activation_function"))
        fields = (("start", zero * count), ("count", count), ("low", low), ("high", high))
    else:
        start, (multiplier, shift) = total_factor(context, count, mean=op.kind == "MEAN")
        _, output_zero = scale_zero(context, out)
        fields = (
            ("start", wrap(start + zero * count)),
            ("multiplier", multiplier),
            ("shift", shift),
            ("output_zero", output_zero),
        )
    kind = "average" if op.kind == "AVERAGE_POOL_2D" else "mean"
    return context.node(
        kernel=f"lt_total_{kind}_{suffix(out.dtype)}",
        header="lt_total.h",
        params=Params(f"lt_total_{kind}", (("channels", totals.elements), *fields)),
        inputs=(whole(totals),),
        outputs=(whole(out),),
        steps=1,
    )


_TYPES = frozenset({DType.INT32})
MADE = {
    TOTAL: Lowering(_total, _TYPES),
    OF_TOTAL: Lowering(_of_total, _TYPES, rereads=False),
}
"""What no file has."""
