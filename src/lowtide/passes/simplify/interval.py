"""Intervals of integers, a pair per channel, and the roundings that intervals pass through.

Why ends are enough: requantisation never decreases, so what lies between two sums lies between what
becomes of them. Where an intermediate value would leave its 32 bits that is no longer so; then nothing
is known but what the output is clamped to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_INT32 = 1 << 31


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """Every value of channel c, an index of the last axis, is in low[c] ... high[c].

    int64 arrays of the length of the last axis; of length 1 for a scalar.
    """

    low: Integers = field(repr=False)
    high: Integers = field(repr=False)

    @property
    def channels(self) -> int:
        """How many channels there are."""
        return len(self.low)

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Which channels hold one value, whatever the input."""
        constant: NDArray[np.bool_] = self.low == self.high
        return constant

    def taken(self, channels: Integers | slice) -> Interval:
        """Those of some channels."""
        return Interval(self.low[channels], self.high[channels])

    def joined(self, other: Interval) -> Interval:
        """The least intervals around both; one channel stands for all."""
        return Interval(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def clamped(self, low: int, high: int) -> Interval:
        """What becomes of them if values are limited to low ... high."""
        return Interval(np.clip(self.low, low, high), np.clip(self.high, low, high))

    def spread(self, channels: int) -> Interval:
        """As many channels as asked for, of one or of that many."""
        return Interval(*(np.broadcast_to(end, (channels,)) for end in (self.low, self.high)))

    def anywhere(self, channels: int) -> Interval:
        """Of a tensor each of whose channels takes values of all of these."""
        if not self.channels:
            return whole(0, 0, channels)
        return whole(int(self.low.min()), int(self.high.max()), channels)

    def viewed(self, channels: int) -> Interval:
        """Of the same elements in the same order, with another last axis.

        Element e is of channel e % old, and becomes one of channel e % new: the old channels that meet
        a new one are all that leave the same rest by the greatest common divisor.
        """
        if channels == self.channels or not self.channels or not channels:
            return self.spread(channels) if channels == self.channels else whole(0, 0, channels)
        rests = int(np.gcd(channels, self.channels))
        low = self.low.reshape(-1, rests).min(axis=0)
        high = self.high.reshape(-1, rests).max(axis=0)
        return Interval(np.tile(low, channels // rests), np.tile(high, channels // rests))


def whole(low: int, high: int, channels: int) -> Interval:
    """The same interval for all channels."""
    return Interval(np.full(channels, low, np.int64), np.full(channels, high, np.int64))


def fits(values: Integers, bits: int = 32) -> NDArray[np.bool_]:
    """Which values are signed integers of so many bits."""
    limit = 1 << (bits - 1)
    fine: NDArray[np.bool_] = (values >= -limit) & (values < limit)
    return fine


Rounding = Callable[[Integers], tuple[Integers, NDArray[np.bool_]]]
"""Sums, the last axis per channel, to outputs less their zero point, and where nothing overflowed."""


def rounded_twice(factors: Sequence[tuple[int, int]]) -> Rounding:
    """MultiplyByQuantizedMultiplier of 32-bit sums: fixed_point.scale, for arrays."""
    multiplier, shift = _columns(factors)
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    mask = (np.int64(1) << right) - 1

    def function(sums: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        fine = fits(sums)
        shifted: Integers = np.left_shift(np.where(fine, sums, 0), left)
        fine &= fits(shifted)
        high = (np.where(fine, shifted, 0) * multiplier + (1 << 30)) >> 31
        rest = high & mask
        return (high >> right) + (rest > (mask >> 1) + (high < 0)), fine

    return function


def rounded_wide(factors: Sequence[tuple[int, int]]) -> Rounding:
    """MultiplyByQuantizedMultiplier of 64-bit sums below 2^47: lt_scale_wide, for arrays."""
    multiplier, shift = _columns(factors)
    reduced = np.where(multiplier < 0x7FFF0000, (multiplier + (1 << 15)) >> 16, 0x7FFF)
    right = 15 - shift

    def function(sums: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        fine = fits(sums, 48) & (right >= 1)
        places = np.maximum(right, 1)
        result = (np.where(fine, sums, 0) * reduced + (np.int64(1) << (places - 1))) >> places
        return result, fine & fits(result, 31)  # room for a zero point

    return function


def rounded_once(factors: Sequence[float], *, bits: int = 32) -> Rounding:
    """Sums of so many bits times a double, halves away from zero: lt_nearest, for arrays."""
    real = np.array(factors, np.float64)

    def function(sums: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        fine = fits(sums, bits)
        limited = np.clip(np.where(fine, sums, 0).astype(np.float64) * real, -1e6, 1e6)
        towards_zero = np.trunc(limited)
        rest = limited - towards_zero
        nearest = towards_zero + (rest >= 0.5) - (rest <= -0.5)
        return nearest.astype(np.int64), fine

    return function


def requantised(sums: Interval, rounding: Rounding, zero: int, clamp: tuple[int, int]) -> Interval:
    """Both ends of sums as outputs; all of the clamp's range where anything may overflow."""
    (low, low_fits), (high, high_fits) = rounding(sums.low), rounding(sums.high)
    fine = low_fits & high_fits
    least, greatest = clamp
    return Interval(
        np.where(fine, np.clip(low + zero, least, greatest), least),
        np.where(fine, np.clip(high + zero, least, greatest), greatest),
    )


def corners(
    function: Callable[[Integers, Integers], tuple[Integers, NDArray[np.bool_]]],
    first: Sequence[Integers],
    second: Sequence[Integers],
    clamp: tuple[int, int],
) -> Interval:
    """Of a function of two operands that is least and greatest where both are among those given."""
    found = [function(a, b) for a in first for b in second]
    fine = np.logical_and.reduce([fits for _, fits in found])
    least, greatest = clamp
    values = [np.clip(value, least, greatest) for value, _ in found]
    return Interval(
        np.where(fine, np.minimum.reduce(values), least),
        np.where(fine, np.maximum.reduce(values), greatest),
    )


def _columns(factors: Sequence[tuple[int, int]]) -> tuple[Integers, Integers]:
    """Multipliers and shifts."""
    pairs = np.array(factors, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
