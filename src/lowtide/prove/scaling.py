"""How kernels make outputs of sums, in exact integers, and where two ways of it could differ.

Why thresholds: an output never falls as the sum rises. So it is a staircase, and two staircases are
the same if they agree at both ends and on both sides of every step of one of them: between two steps one
of them does not change, and the other one, which lies between two equal numbers, cannot.

The arithmetic is that of kernels/include/lt_fixed.h, written anew from its comments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lowtide.ir.roundings import Rounding
from lowtide.prove.memory import NotProvedError

Integers = NDArray[np.int64]
Way = Literal["narrow", "broad", "scale", "wide", "high", "double"]

_INT32 = 1 << 31
_MOST_STEPS = 1 << 22
"""Of staircases that are looked at together."""


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """How a kernel scales the sums of its channels: `multiplier` and `shift` as its params have them,
    or, of the way "double", `real`; then `zero` is added, and the result limited to `low` ... `high`."""

    way: Way
    multiplier: Integers = field(repr=False)
    shift: Integers = field(repr=False)
    zero: int
    low: int
    high: int
    real: float = 0.0

    def taken(self, channels: Integers) -> Scaling:
        """That of some of its channels."""
        return replace(self, multiplier=self.multiplier[channels], shift=self.shift[channels])

    def check(self) -> None:
        """Raise NotProvedError for params that lt_fixed.h does not admit."""
        m, s = self.multiplier, self.shift
        bounds = {
            "narrow": (0, 22),
            "broad": (-23, 7),
            "scale": (-31, 30),
            "wide": (-31, 14),
            "high": (0, 15),
        }
        least, most = bounds.get(self.way, (0, 0))
        sound = ((m == 0) | (m >= 1 << 30)) & (m < _INT32) if self.way != "high" else m < _INT32
        if self.way != "double" and not (sound & (least <= s) & (s <= most)).all():
            raise NotProvedError("a multiplier or shift is beyond what its kernel takes")

    def __call__(self, sums: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        """Outputs of sums, the last axis per channel, and where no value on the way left its bits."""
        made, fine = _WAYS[self.way](self, sums)
        return np.clip(made, self.low, self.high), fine


Scaled = tuple[Integers, NDArray[np.bool_]]


def _fits(values: Integers, bits: int = 32) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (values >= -(1 << bits - 1)) & (values < 1 << bits - 1)
    return found


def _narrow(by: Scaling, sums: Integers) -> Scaled:
    """lt_narrow: both roundings in one, with the zero point."""
    centre = (2 * by.zero + 1) << by.shift
    fine = _fits(sums, 31)
    twice = np.where(fine, 2 * sums, 0)
    high = (twice * by.multiplier + (1 << 31)) >> 32
    total = high + centre + (twice >> 63)
    return total >> by.shift >> 1, fine & _fits(total) & _fits(centre + (twice >> 63))


def _broad(by: Scaling, sums: Integers) -> Scaled:
    """lt_broad: the same, or of sums shifted left, which are rounded once."""
    left, right = np.maximum(by.shift, 0), np.maximum(-by.shift, 0)
    once, half = right == 0, np.maximum(right - 1, 0)
    above: Integers = np.full_like(half, 2 * by.zero + 1) << half
    centre = np.where(once, by.zero, above)
    shifted: Integers = np.left_shift(np.where(_fits(sums, 31), sums, 0), left)
    fine = _fits(sums, 31) & _fits(shifted, 31)
    twice = np.where(fine, 2 * shifted, 0)
    below = centre + np.where(once, 0, twice >> 63)
    total = ((twice * by.multiplier + (1 << 31)) >> 32) + below
    return total >> right, fine & _fits(total) & _fits(below)


def _scale(by: Scaling, sums: Integers) -> Scaled:
    """lt_scale: MultiplyByQuantizedMultiplier, rounded twice."""
    left, right = np.maximum(by.shift, 0), np.maximum(-by.shift, 0)
    shifted: Integers = np.left_shift(np.where(_fits(sums), sums, 0), left)
    fine = _fits(sums) & _fits(shifted)
    high = (np.where(fine, shifted, 0) * by.multiplier + (1 << 30)) >> 31
    half = (np.int64(1) << right) >> 1
    away = np.where(high < 0, -((-high + half) >> right), (high + half) >> right)
    return away + by.zero, fine & _fits(away + by.zero)


def _wide(by: Scaling, sums: Integers) -> Scaled:
    """lt_scale_wide: sums of up to 48 bits by 16 bits of the multiplier."""
    m = by.multiplier
    reduced = np.where(m < 0x7FFF0000, (m + (1 << 15)) >> 16, 0x7FFF)
    right, fine = 15 - by.shift, _fits(sums, 48)
    made = (np.where(fine, sums, 0) * reduced + (np.int64(1) << (right - 1))) >> right
    return made + by.zero, fine & _fits(made) & _fits(made + by.zero)


def _high(by: Scaling, sums: Integers) -> Scaled:
    """lt_high_s16 of sums shifted left."""
    shifted: Integers = np.where(_fits(sums), sums, 0) << by.shift
    fine = _fits(sums) & _fits(shifted)
    made = (np.where(fine, shifted, 0) * by.multiplier + (1 << 31)) >> 32
    return np.clip(made + by.zero, -(1 << 15), (1 << 15) - 1), fine & _fits(made + by.zero)


def _double(by: Scaling, sums: Integers) -> Scaled:
    """lt_nearest: times a double, halves away from zero."""
    fine = _fits(sums)
    real = np.clip(np.where(fine, sums, 0).astype(np.float64) * by.real, -1e6, 1e6)
    whole = np.trunc(real)
    made = whole + (real - whole >= 0.5) - (real - whole <= -0.5)
    return made.astype(np.int64) + by.zero, fine


_WAYS: dict[Way, Callable[[Scaling, Integers], Scaled]] = {
    "narrow": _narrow,
    "broad": _broad,
    "scale": _scale,
    "wide": _wide,
    "high": _high,
    "double": _double,
}


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """What the reference kernels make of the sums of some `channels` of an operator that has `count`."""

    rounding: Rounding
    channels: Integers
    count: int
    zero: int
    low: int
    high: int

    def __call__(self, sums: Integers) -> Scaled:
        """As of `Scaling`."""
        every = np.zeros((*sums.shape[:-1], self.count), np.int64)
        every[..., self.channels] = sums
        made, fine = self.rounding(every)
        limited = np.clip(made[..., self.channels] + self.zero, self.low, self.high)
        return limited, fine[..., self.channels]


class UndefinedError(NotProvedError):
    """The reference's own arithmetic overflows for some sums: there, nothing says what a kernel should
    make, however right it is."""


def compared(kernel: Scaling, reference: Reference, low: Integers, high: Integers) -> int:
    """Hold a kernel's scaling against the reference's for all sums between `low` and `high`, by channel.

    Returns how many thresholds were looked at. Raises NotProvedError where they differ, or where an
    intermediate value of the kernel may leave its bits, so that nothing follows from the ends; and
    UndefinedError where one of the reference may.
    """
    kernel.check()
    if not len(low):
        return 0
    ends = np.stack([low, high])
    (made, fine), (wanted, also) = kernel(ends), reference(ends)
    for those, error in ((also, UndefinedError), (fine, NotProvedError)):
        if not those.all():
            channel = int(np.flatnonzero(~those.all(axis=0))[0])
            raise error(f"scaling the sums of channel {channel} may leave 32 bits")
    _same(made, wanted, ends)
    counts, checked = made[1] - made[0], 0
    most = int(counts.max(initial=0))
    step = max(1, _MOST_STEPS // max(1, len(low)))
    for first in range(1, most + 1, step):
        number = np.arange(first, min(first + step, most + 1))[:, None]
        there = number <= counts
        sums = _least(kernel, made[0] + np.where(there, number, 0), low, high)
        below = np.maximum(sums - 1, low)
        _same(kernel(sums)[0], reference(sums)[0], sums)
        _same(kernel(below)[0], reference(below)[0], below)
        checked += int(there.sum())
    return checked


def _same(made: Integers, wanted: Integers, sums: Integers) -> None:
    wrong = np.argwhere(made != wanted)
    if len(wrong):
        at = tuple(wrong[0])
        raise NotProvedError(
            f"of the sum {sums[at]}, channel {at[1]} becomes {made[at]}, and should be {wanted[at]}"
        )


def _least(kernel: Scaling, values: Integers, low: Integers, high: Integers) -> Integers:
    """The least sums, between `low` and `high`, of which each channel makes no less than `values`, which
    it makes of `high`."""
    below, above = np.broadcast_arrays(low - 1, high)  # made of none, of all
    lower, upper = _around(kernel, values, below, above)
    while (upper - lower > 1).any():
        middle = lower + (upper - lower) // 2
        made, _ = kernel(np.maximum(middle, low))
        enough = (made >= values) & (middle >= low)
        lower, upper = np.where(enough, lower, middle), np.where(enough, middle, upper)
    return upper


def _around(
    kernel: Scaling, values: Integers, below: Integers, above: Integers
) -> tuple[Integers, Integers]:
    """What the least sums are between: close by where a guess is good, else both ends."""
    real = kernel.real if kernel.way == "double" else _factors(kernel)
    guess = (values - kernel.zero - 0.5) / np.maximum(real, 1e-30)
    room = np.maximum(4, 2 / np.maximum(real, 1e-30))
    ends = []
    for end, other in ((guess - room, below), (guess + room, above)):
        near = np.clip(end, below.astype(np.float64), above.astype(np.float64)).astype(np.int64)
        near = np.clip(near, below, above)
        made, _ = kernel(np.maximum(near, below + 1))
        good = (near <= below) | (made < values) if other is below else made >= values
        ends.append(np.where(good, near, other))
    return ends[0], ends[1]


def _factors(kernel: Scaling) -> NDArray[np.float64]:
    m, s = kernel.multiplier.astype(np.float64), kernel.shift.astype(np.float64)
    exponent = {"narrow": -32 - s, "broad": s - 31, "scale": s - 31, "wide": s - 31, "high": s - 32}
    found: NDArray[np.float64] = np.ldexp(m, exponent[kernel.way].astype(np.int64))
    return found
