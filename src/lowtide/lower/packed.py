"""Weights packed for the quick kernels, and the proof that an operator may use them.

Why: on a core that multiplies two halves at once, unpacking bytes costs as much as multiplying, and
scaling the sums of small layers as much as making them. Packing weights here, where time is free,
halves both. What the kernels take for granted is checked per channel against the actual weights: see
kernels/include/lt_conv_packed.h and lt_narrow in lt_fixed.h.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.ir.fixed_point import high_mul, scale

_LEAST, _GREATEST = -128, 127
_INT32 = 1 << 31
_MAX_SHIFT = 22  # of lt_narrow: (2 * zero + 1) << 22 fits 32 bits


@dataclass(frozen=True, slots=True, eq=False)
class Channels:
    """What the requantisation of each output channel needs; bias with the input's zero point folded in.

    `weights` is [channels, products], of at most nine bits, of eight but where lower/w9.py has them;
    the result of a channel is clamp(scale(bias + sum(x * w), multiplier, shift) + zero, low, high).
    """

    weights: NDArray[Any]
    bias: NDArray[np.int64]
    factors: tuple[tuple[int, int], ...]
    zero: int
    low: int
    high: int

    @property
    def clamps(self) -> bool:
        """Whether the range is less than all of int8."""
        return self.low > _LEAST or self.high < _GREATEST


@dataclass(frozen=True, slots=True, eq=False)
class Narrow:
    """`Channels` for lt_narrow: biases doubled, shifts counted from 1/2.

    The weights of channels that are constant are 0.
    """

    weights: NDArray[np.int8]
    bias: NDArray[np.int32]
    multiplier: NDArray[np.int32]
    shift: NDArray[np.int8]


def narrow(channels: Channels) -> Narrow | None:
    """`channels` for lt_narrow, or None if one of them does not meet its conditions."""
    wide = channels.weights.astype(np.int64)
    least = channels.bias + np.minimum(wide * _LEAST, wide * _GREATEST).sum(axis=1)
    most = channels.bias + np.maximum(wide * _LEAST, wide * _GREATEST).sum(axis=1)
    weights = channels.weights.astype(np.int8)
    bias, multiplier, shift = [], [], []
    for c, (m, s) in enumerate(channels.factors):
        ends = int(least[c]), int(most[c])
        constant = _constant(channels, ends, m, s)
        if constant is not None:
            # lt_narrow makes zero + (8 * d * 2^30 / 2^32) / 2 = zero + d of it.
            weights[c] = 0
            bias.append(8 * (constant - channels.zero))
            multiplier.append(1 << 30)
            shift.append(0)
        elif is_narrow(ends, (m, s), channels.zero):
            bias.append(2 * int(channels.bias[c]))
            multiplier.append(m)
            shift.append(-1 - s)
        else:
            return None
    return Narrow(
        weights,
        np.array(bias, np.int32),
        np.array(multiplier, np.int32),
        np.array(shift, np.int8),
    )


def fits(channels: Channels) -> bool:
    """Whether all sums meet the conditions of lt_narrow."""
    wide = channels.weights.astype(np.int64)
    least = channels.bias + np.minimum(wide * _LEAST, wide * _GREATEST).sum(axis=1)
    most = channels.bias + np.maximum(wide * _LEAST, wide * _GREATEST).sum(axis=1)
    return all(
        is_narrow((int(low), int(high)), factor, channels.zero)
        for low, high, factor in zip(least, most, channels.factors, strict=True)
    )


def _constant(channels: Channels, ends: tuple[int, int], m: int, s: int) -> int | None:
    """The one value that a channel can have, if its sums, from end to end, all give the same."""
    left = max(s, 0)
    if any(not -_INT32 <= x << left < _INT32 for x in ends):
        return None
    scaled = [scale(x, m, s) + channels.zero for x in ends]
    if any(not -_INT32 <= y < _INT32 for y in scaled):
        return None
    low, high = (min(max(y, channels.low), channels.high) for y in scaled)
    return low if low == high else None


def is_narrow(ends: tuple[int, int], factor: tuple[int, int], zero: int) -> bool:
    """Whether lt_narrow scales all sums between two, both included, as lt_scale does: what lt_fixed.h
    asks for, said once for all kernels. `zero` is that of an int8 output."""
    multiplier, s = factor
    shift = -1 - s
    if not 0 <= shift <= _MAX_SHIFT:
        return False
    centre = (2 * zero + 1) << shift
    return all(
        -_INT32 <= 2 * x < _INT32 and -_INT32 < high_mul(x, multiplier) + centre - 1 < _INT32 - 2
        for x in ends
    )


def pack_pairs(weights: NDArray[np.int8]) -> NDArray[np.int32] | None:
    """[channels, products] as words for lt_conv_packed.h; None if a half or a sum does not fit."""
    channels, products = weights.shape
    padded = np.zeros((-(-channels // 2) * 2, -(-products // 4) * 4), np.int64)
    padded[:channels, :products] = weights
    halves = 256 * padded[1::2] + padded[0::2]
    sums = np.abs(padded[1::2]).sum(axis=1)
    if (halves < -(1 << 15)).any() or (halves >= 1 << 15).any() or (128 * sums >= 1 << 23).any():
        return None
    unsigned = (halves & 0xFFFF).reshape(len(halves), -1, 4)
    words = np.stack(
        [
            unsigned[:, :, 0] | unsigned[:, :, 2] << 16,
            unsigned[:, :, 1] | unsigned[:, :, 3] << 16,
        ],
        axis=2,
    )
    return words.astype(np.uint32).view(np.int32)


def pair_scales(narrow: Narrow) -> NDArray[np.int32]:
    """Five words per pair of channels: bias, multiplier, bias, multiplier, both shifts."""
    channels = len(narrow.shift)
    padded = np.zeros((-(-channels // 2) * 2, 3), np.int32)
    padded[:channels] = np.stack([narrow.bias, narrow.multiplier, narrow.shift], axis=1)
    first, second = padded[0::2], padded[1::2]
    shifts = first[:, 2:] + 256 * second[:, 2:]
    return np.concatenate([first[:, :2], second[:, :2], shifts], axis=1)


def int32(values: NDArray[Any]) -> NDArray[np.int32]:
    """Integers modulo 2^32, as the kernels' sums are."""
    return (values.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


def column(factors: tuple[tuple[int, int], ...], index: int) -> NDArray[np.int64]:
    """All multipliers (index 0) or shifts (1)."""
    return np.array([factor[index] for factor in factors], np.int64)
