"""What quick kernels take for granted of weights, checked per channel; weights in pairs.

Why: on a core that multiplies two halves at once, unpacking bytes costs as much as multiplying, and
scaling the sums of small layers as much as making them. Packing weights when C is written, where time is
free, halves both. Whether an operator may use such kernels depends on its actual weights: see
kernels/include/lt_conv_packed.h and lt_narrow in lt_fixed.h.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.ir.operands import Factors
from lowtide.ir.roundings import fits, rounded_twice
from lowtide.lower.nodes import Array, Value

Integers = NDArray[np.int64]

LEAST, GREATEST = -128, 127
_INT32 = 1 << 31
_MAX_SHIFT = 22  # of lt_narrow: (2 * zero + 1) << 22 fits 32 bits
_MAX_LEFT = 7  # of lt_broad: kernels that hold sums times 256 shift these by 8 - left - 1


@dataclass(frozen=True, eq=False)
class Channels:
    """What the requantisation of each output channel needs; bias with the input's zero point folded in.

    `weights` is [channels, products], of at most nine bits, of eight but where families/w9.py has them;
    the result of a channel is clamp(scale(bias + sum(x * w), multiplier, shift) + zero, low, high).
    `sums` and `sizes` are those of its weights and of their absolute values.
    """

    weights: NDArray[Any]
    sums: Integers
    sizes: Integers
    bias: Integers
    factors: Factors
    zero: int
    low: int
    high: int

    @property
    def clamps(self) -> bool:
        """Whether the range is less than all of int8."""
        return self.low > LEAST or self.high < GREATEST

    @property
    def above(self) -> bool:
        """Whether nothing is less than the zero point, as after a RELU."""
        return self.low >= self.zero

    @cached_property
    def ends(self) -> Integers:
        """[2, channels]: the least and the greatest sum of each, if every x is an int8."""
        above, below = (self.sizes + self.sums) >> 1, (self.sizes - self.sums) >> 1
        most = GREATEST * above - LEAST * below
        return np.array([self.bias + LEAST * above - GREATEST * below, self.bias + most])

    @cached_property
    def constants(self) -> tuple[Integers, NDArray[np.bool_]]:
        """The one value that each can have, and whether it can have no other: if its sums, from end to
        end, all give the same."""
        scaled, fine = rounded_twice(self.factors)(self.ends)
        made = scaled + self.zero
        low, high = np.clip(made, self.low, self.high)
        return low, (fine & fits(made)).all(axis=0) & (low == high)

    @cached_property
    def too_wide(self) -> NDArray[np.bool_]:
        """Which of them do not meet the conditions of lt_narrow."""
        _, constant = self.constants
        return ~(constant | is_narrow(self.ends, self.factors, self.zero))

    @property
    def are_broad(self) -> bool:
        """Whether all meet the conditions of lt_narrow, or of lt_broad."""
        wide = np.flatnonzero(self.too_wide)
        return bool(is_broad(self.ends[:, wide], self.factors[wide]).all())

    def some(self, those: NDArray[np.intp]) -> Channels:
        """`those` channels alone."""
        each = (self.weights, self.sums, self.sizes, self.bias, self.factors)
        weights, sums, sizes, bias, factors = (values[those] for values in each)
        ends = self.zero, self.low, self.high
        return Channels(weights, sums, sizes, bias, factors, *ends)

    def without(self, those: NDArray[np.intp]) -> Channels:
        """The same with weights and biases of 0 in `those` channels."""
        weights, sums, sizes, bias = (
            values.copy() for values in (self.weights, self.sums, self.sizes, self.bias)
        )
        for values in (weights, sums, sizes, bias):
            values[those] = 0
        return replace(self, weights=weights, sums=sums, sizes=sizes, bias=bias)


@dataclass(frozen=True, slots=True, eq=False)
class Narrow:
    """`Channels` for lt_narrow: biases doubled, shifts counted from 1/2. Where factors are 1/2 and more
    these are below 0, for kernels of any factors (lt_broad).

    The weights of channels that are `constant` are 0; `sums` and `sizes` are those of the weights and
    of their absolute values, by channel. No weight is less than `least`, which may be that of a
    constant channel.
    """

    given: NDArray[Any]
    constant: NDArray[np.bool_]
    bias: NDArray[np.int32]
    multiplier: NDArray[np.int32]
    shift: NDArray[np.int8]
    sums: Integers
    sizes: Integers

    @property
    def is_broad(self) -> bool:
        """Whether a factor is 1/2 or more, so that lt_narrow does not scale all sums."""
        return bool((self.shift < 0).any())

    @property
    def least(self) -> int:
        """A bound of all weights."""
        return int(self.given.min(initial=0))

    @property
    def weights(self) -> NDArray[np.int8]:
        """[channels, products]."""
        return np.where(self.constant[:, None], 0, self.given).astype(np.int8)

    def padded(self, many: int) -> NDArray[np.int8]:
        """The weights with channels of zeros added, up to a multiple of `many`."""
        return np.pad(self.weights, ((0, -len(self.given) % many), (0, 0)))


def sums_of(weights: NDArray[Any]) -> Integers:
    """The sum of each channel's weights, [channels, products]."""
    sums: Integers = weights.sum(axis=1, dtype=np.int64)
    return sums


def sizes_of(weights: NDArray[Any]) -> Integers:
    """The same of their absolute values."""
    unsigned = np.dtype(f"u{weights.itemsize}")
    sizes: Integers = np.abs(weights).view(unsigned).sum(axis=1, dtype=np.int64)
    return sizes


def narrow(channels: Channels) -> Narrow | None:
    """`channels` for lt_narrow, or for lt_broad, or None if one of them is for neither."""
    if not channels.are_broad:
        return None
    value, constant = channels.constants
    multiplier, shift = channels.factors.T
    # Of a constant, lt_narrow makes zero + (8 * d * 2^30 / 2^32) / 2 = zero + d.
    return Narrow(
        channels.weights,
        constant,
        np.where(constant, 8 * (value - channels.zero), 2 * channels.bias).astype(np.int32),
        np.where(constant, 1 << 30, multiplier).astype(np.int32),
        np.where(constant, 0, -1 - shift).astype(np.int8),
        np.where(constant, 0, channels.sums),
        np.where(constant, 0, channels.sizes),
    )


def broad(quick: Narrow, zero: int) -> tuple[Integers, Integers, Integers]:
    """By channel, what lt_broad takes: by how much sums are shifted right and, beforehand, left, and the
    centre."""
    shift = quick.shift.astype(np.int64)
    right, left = np.maximum(0, 1 + shift), np.maximum(1, -shift)
    centre = np.where(right > 0, (2 * zero + 1) << np.maximum(shift, 0), zero)
    return right, left, centre


def broad_scales(quick: Narrow, zero: int) -> Integers:
    """[channels][4]: the multiplier, both shifts, that to the left first, the centre, and -1 where sums
    are rounded twice."""
    right, left, centre = broad(quick, zero)
    multiplier, away = quick.multiplier.astype(np.int64), np.where(right > 0, -1, 0)
    return np.stack([multiplier, left + 256 * right, centre, away], axis=1)


def is_narrow(ends: Integers, factors: Factors, zero: int) -> NDArray[np.bool_]:
    """By channel, whether lt_narrow scales all sums between two `ends`, both included, as lt_scale does:
    what lt_fixed.h asks for, said once for all kernels. `ends` is [2, channels]; `zero` is that of an
    int8 output."""
    multiplier, shift = factors[:, 0], -1 - factors[:, 1]
    right = np.clip(shift, 0, _MAX_SHIFT)
    fine = fits(ends, 31)
    scaled = (np.where(fine, ends, 0) * multiplier + (1 << 30)) >> 31
    centred = scaled + ((2 * zero + 1) << right) - 1
    fine &= (centred > -_INT32) & (centred < _INT32 - 2) & (shift == right)
    found: NDArray[np.bool_] = np.logical_and.reduce(fine)
    return found


def is_broad(ends: Integers, factors: Factors) -> NDArray[np.bool_]:
    """The same of lt_broad, by channel, for factors of 1/2 and more: sums are shifted left, and rounded
    once."""
    left = np.clip(factors[:, 1], 0, _MAX_LEFT)
    fine = fits(ends, 31)
    fine &= fits(np.where(fine, ends, 0) << left, 31) & (factors[:, 1] == left)
    found: NDArray[np.bool_] = np.logical_and.reduce(fine)
    return found


def pairs_fit(quick: Narrow) -> bool:
    """Whether the weights of two channels fit a word of lt_conv_packed.h, and their sums half of it."""
    if (128 * quick.sizes[1::2] >= 1 << 23).any():
        return False
    if quick.least > LEAST:
        return True
    weights = quick.padded(2)
    return not ((weights[1::2] == LEAST) & (weights[0::2] < 0)).any()


def pack_pairs(weights: NDArray[np.int8]) -> NDArray[np.int32]:
    """[channels, products] as words for lt_conv_packed.h, [pairs, fours, 2]; channels are even."""
    padded = np.pad(weights, ((0, 0), (0, -weights.shape[1] % 4))).astype(np.int32)
    halves = ((256 * padded[1::2] + padded[0::2]) & 0xFFFF).reshape(len(padded) // 2, -1, 4)
    return halves[:, :, :2] | halves[:, :, 2:] << 16


def scaled(channels: Channels) -> tuple[tuple[str, Value], ...]:
    """The params with biases and factors of kernels that scale sums as the reference does."""
    return (
        ("bias", Array("int32_t", int32(channels.bias), weights=True)),
        *factors(channels.factors),
    )


def factors(of: Factors, name: str = "multiplier") -> tuple[tuple[str, Value], ...]:
    """The params with multipliers, of that name, and shifts."""
    return (name, Array("int32_t", of[:, 0])), ("shift", Array("int8_t", of[:, 1]))


def int32(values: NDArray[Any]) -> NDArray[np.int32]:
    """Integers modulo 2^32, as the kernels' sums are."""
    return values.astype(np.int64).astype(np.int32)
