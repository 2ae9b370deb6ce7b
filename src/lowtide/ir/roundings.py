"""What sums are scaled with, for arrays of them: the roundings of the reference kernels.

Why with what overflowed: between two sums lies what becomes of them, but where an intermediate value
leaves its bits that is no longer so, and whoever bounds results must know.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Integers = NDArray[np.int64]


def fits(values: Integers, bits: int = 32) -> NDArray[np.bool_]:
    """Which values are signed integers of so many bits."""
    limit = 1 << (bits - 1)
    fine: NDArray[np.bool_] = (values >= -limit) & (values < limit)
    return fine


Exact = tuple[Integers, NDArray[np.bool_]]
"""Results, and where no value on the way left its bits: elsewhere they are what is left of it."""

Rounding = Callable[[Integers], Exact]
"""Sums, the last axis per channel, to outputs less their zero point, and where nothing overflowed."""


def rounded_twice(factors: ArrayLike) -> Rounding:
    """MultiplyByQuantizedMultiplier of 32-bit sums: fixed_point.scale, for arrays; it wraps."""
    multiplier, shift = _columns(factors)
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    mask = (np.int64(1) << right) - 1

    def function(sums: Integers) -> Exact:
        shifted: Integers = np.left_shift(sums, left)
        fine = fits(sums) & fits(shifted)
        wrapped = shifted.astype(np.int32).astype(np.int64)
        high = (wrapped * multiplier + (1 << 30)) >> 31
        rest = high & mask
        return (high >> right) + (rest > (mask >> 1) + (high < 0)), fine

    return function


def rounded_wide(factors: ArrayLike) -> Rounding:
    """MultiplyByQuantizedMultiplier of 64-bit sums below 2^47: lt_scale_wide, for arrays."""
    multiplier, shift = _columns(factors)
    reduced = np.where(multiplier < 0x7FFF0000, (multiplier + (1 << 15)) >> 16, 0x7FFF)
    right = 15 - shift

    def function(sums: Integers) -> Exact:
        fine = fits(sums, 48) & (right >= 1)
        places = np.maximum(right, 1)
        result = (np.where(fine, sums, 0) * reduced + (np.int64(1) << (places - 1))) >> places
        return result, fine & fits(result, 31)  # room for a zero point

    return function


def rounded_once(factors: ArrayLike, *, bits: int = 32) -> Rounding:
    """Sums of so many bits times a double, halves away from zero: lt_nearest, for arrays."""
    real = np.array(factors, np.float64)

    def function(sums: Integers) -> Exact:
        fine = fits(sums, bits)
        limited = np.clip(np.where(fine, sums, 0).astype(np.float64) * real, -1e6, 1e6)
        towards_zero = np.trunc(limited)
        rest = limited - towards_zero
        nearest = towards_zero + (rest >= 0.5) - (rest <= -0.5)
        return nearest.astype(np.int64), fine

    return function


def _columns(factors: ArrayLike) -> tuple[Integers, Integers]:
    """Multipliers and shifts."""
    pairs = np.array(factors, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
