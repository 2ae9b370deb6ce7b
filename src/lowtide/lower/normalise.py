"""LOG_SOFTMAX and L2_NORMALIZATION: params of lt_log_softmax.h and lt_l2_norm.h.

Both work on vectors along the last dimension, as SOFTMAX does, so rows may be as fine as those.
"""

from __future__ import annotations

import math

import numpy as np

from lowtide.ir import DType, Tensor
from lowtide.ir import fixed_point as fixed
from lowtide.lower.common import Context, Lowering
from lowtide.lower.common import multiplier as factor
from lowtide.lower.counts import Counted
from lowtide.lower.elementwise import row_count, same_type, scale_zero
from lowtide.lower.move import columns_of
from lowtide.lower.nodes import Array, Lowered, Params, Port, Value

_MOST_SUMMED = 4095
"""Exponentials are up to 2^19 each, and their sum is an int32."""

_MOST_SQUARED = 33025
"""Squares are up to 255^2 each, and their sum is an int32."""


def _vectors(
    context: Context, kernel: str, ctype: str, most: int, fields: tuple[tuple[str, Value], ...]
) -> Lowered:
    """One node, each vector from the same one of the input."""
    source, out = context.input(0), context.output()
    same_type(context, source, out)
    if source.shape != out.shape or not source.shape:
        raise context.unsupported("its input and output differ in shape")
    count = source.shape[-1]
    if count > most:
        raise context.unsupported(f"its rows hold {count} elements, but the limit is {most}")
    rows = row_count(context, source)
    groups = source.elements // rows // count
    return context.node(
        kernel=f"{kernel}_row",
        header=f"{ctype}.h",
        params=Params(ctype, (("groups", groups), ("count", count), *fields)),
        inputs=(Port(source.id, rows, source.bytes // rows),),
        outputs=(Port(out.id, rows, out.bytes // rows),),
        steps=rows,
        work=Counted.of(columns_of(out), written=out.elements, groups=rows * groups),
    )


def _needs(context: Context, out: Tensor, scale: float, zero: int) -> None:
    """The output's quantisation is fixed."""
    if scale_zero(context, out) != (scale, zero):
        raise context.unsupported(f"its output should have scale {scale:g} and zero point {zero}")


def _log_softmax(context: Context) -> Lowered:
    scale, _ = scale_zero(context, context.input(0))
    _needs(context, context.output(), 1 / 16, 127)
    real = min(scale * (1 << 26), 2.0**31 - 1)
    multiplier, shift = (fixed.INT32_MAX, 31) if real == 2.0**31 - 1 else factor(context, real)
    back = 2.0 ** (31 - shift) / multiplier if multiplier else math.inf
    if shift < 1 or back >= 1:
        raise context.unsupported(f"its input's scale, {scale:g}, is too small")
    divisor, divisor_shift = factor(context, back)
    radius = math.floor(31.0 * (1 << 26) / (1 << shift))
    scaled = [fixed.scale(-i, multiplier, shift) for i in range(min(256, radius + 1))]
    exps = [fixed.divide_by_pot(fixed.exp_on_negative(x, 5), 12) for x in scaled]
    fields = (
        ("exps", Array("int32_t", np.array(exps))),
        ("scaled", Array("int32_t", np.array(scaled))),
        ("divisor", divisor),
        ("least", -radius - 1),
        ("divisor_shift", divisor_shift),
        ("reach", len(scaled)),
    )
    return _vectors(context, "lt_log_softmax_s8", "lt_log_softmax", _MOST_SUMMED, fields)


def _l2_normalization(context: Context) -> Lowered:
    _, zero = scale_zero(context, context.input(0))
    scale_zero(context, context.output())
    if context.option("fused_activation_function"):
        raise context.unsupported("a fused activation has no kernel")
    return _vectors(context, "lt_l2_norm_s8", "lt_l2_norm", _MOST_SQUARED, (("zero", zero),))


_INT8 = frozenset({DType.INT8})
LOWERINGS = {
    "LOG_SOFTMAX": Lowering(_log_softmax, _INT8),
    "L2_NORMALIZATION": Lowering(_l2_normalization, _INT8),
}
