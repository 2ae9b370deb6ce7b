"""ADD and SUB: operands brought to one scale, with 15 or 20 bits to spare, then the sum to the output's.

Why here: a pass that bounds sums needs the same factors as the lowering. Source: PrepareGeneralSubOp and
its like, add_common.cc of TFLM: the operand of the larger scale is multiplied by exactly 1/2, which is
why only the other one is rounded.
"""

from __future__ import annotations

from dataclasses import dataclass

from lowtide.ir.fixed_point import INT32_MAX
from lowtide.ir.graph import DType
from lowtide.ir.operands import Operands, multiplier, scale_zero


@dataclass(frozen=True, slots=True)
class Addition:
    """Operand `first` is of the larger scale; `second` scales the other one, `total` the sum.

    With x less its zero point, the sum is x << (left - 1) of the first, and scale(x << left, *second)
    of the other. Factors are (multiplier, shift), shifts not above 0.
    """

    left: int
    first: int
    zeros: tuple[int, int]
    second: tuple[int, int]
    total: tuple[int, int]


def factors(operands: Operands) -> Addition:
    """Those of an ADD or SUB. Raises ModelError for scales that there are no kernels for."""
    quants = [scale_zero(operands, operands.input(i)) for i in (0, 1)]
    out_scale, _ = scale_zero(operands, operands.output())
    is_wide = operands.output().dtype is DType.INT16
    if is_wide and any(zero for _, zero in quants):
        raise operands.unsupported("an int16 operand has a zero point other than 0")
    left = 15 if is_wide else 20
    first = 0 if quants[0][0] >= quants[1][0] else 1
    twice = 2 * quants[first][0]
    second, second_shift = multiplier(operands, quants[1 - first][0] / twice)
    if second_shift == 0:  # equal scales (or 0): 1/2, written with a shift of 1
        second, second_shift = (INT32_MAX if second else 0), -1
    total, shift = multiplier(operands, twice / ((1 << left) * out_scale))
    if total and shift >= 0:
        raise operands.unsupported("its output's scale is too small for its operands'")
    zeros = quants[0][1], quants[1][1]
    return Addition(left, first, zeros, (second, second_shift), (total, shift))
