"""Intervals of integers, a pair per channel, and what becomes of them behind a rounding.

Why ends are enough: requantisation never decreases, so what lies between two sums lies between what
becomes of them. Where an intermediate value would leave its 32 bits that is no longer so; then nothing
is known but what the output is clamped to.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lowtide.ir.roundings import Exact, Integers, Rounding


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


def requantised(sums: Interval, rounding: Rounding, zero: int, clamp: tuple[int, int]) -> Interval:
    """Both ends of sums as outputs."""

    def function(end: Integers) -> Exact:
        made, fine = rounding(end)
        return made + zero, fine

    return corners(function, [(sums.low, sums.high)], clamp)


def corners(
    function: Callable[..., Exact], operands: Sequence[Sequence[Integers]], clamp: tuple[int, int]
) -> Interval:
    """Of a function that is least and greatest where each operand is among those given; all of the
    clamp's range where anything may overflow."""
    found = [function(*each) for each in itertools.product(*operands)]
    fine = np.logical_and.reduce([fits for _, fits in found])
    least, greatest = clamp
    values = [np.clip(value, least, greatest) for value, _ in found]
    return Interval(
        np.where(fine, np.minimum.reduce(values), least),
        np.where(fine, np.maximum.reduce(values), greatest),
    )
