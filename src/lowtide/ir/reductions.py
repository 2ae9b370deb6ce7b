"""MEAN, SUM and the like: which axes they reduce, and what a total is scaled with.

Why here: a pass that bounds totals needs the same numbers as the lowering.
"""

from __future__ import annotations

from lowtide.ir.fixed_point import wrap
from lowtide.ir.graph import DType
from lowtide.ir.operands import Operands, axis_of, multiplier, scale_zero


def reduced_axes(operands: Operands) -> frozenset[int]:
    """The axes of the input that are reduced."""
    rank = len(operands.input(0).shape)
    if operands.input(1).dtype is not DType.INT32:
        raise operands.unsupported(f"its axes are of type {operands.input(1).dtype.name}")
    if operands.input(1).elements == 0:  # it has no contents in the file
        return frozenset()
    values = operands.integers(1).reshape(-1).tolist()
    return frozenset(axis_of(operands, axis, rank) for axis in values if rank)


def total_factor(operands: Operands, count: int, *, mean: bool) -> tuple[int, tuple[int, int]]:
    """(what a total of `count` elements starts at, the factor that makes an output of it)."""
    in_scale, in_zero = scale_zero(operands, operands.input(0))
    out_scale, _ = scale_zero(operands, operands.output())
    fixed, shift = multiplier(operands, in_scale / out_scale)
    if mean:  # 1 / count goes into the multiplier, as far as its bits allow
        bits = min(count.bit_length() - 1, 32, 31 + shift)
        fixed = (fixed << bits) // count
        shift -= bits
    return wrap(-in_zero * count), (fixed, shift)
