"""int16 convolutions and dense layers two channels times two pixels at once: lt_conv_2x2.h.

Why apart: its weights have an order of their own, and its sums 32 bits where the weights prove that no
partial sum can overflow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowtide.lower import packed
from lowtide.lower.nodes import Array, Value

_MORE = 1.5
"""A row of the window begins a new four of products: at most so many times the weights of the file."""

_INT32 = 1 << 31
_LARGEST = 1 << 15  # the magnitude of an activation
Factors = tuple[tuple[int, int], ...]


def is_worth(products: int, kernel_h: int) -> bool:
    """Whether `products` in fours by rows of the window are not too many more."""
    run = products // kernel_h
    return -(-run // 4) * 4 <= _MORE * run


def ordered(weights: NDArray[np.int8], kernel_h: int) -> NDArray[np.int8]:
    """[channels, products] as [channels][kernel_h][fours][4], the middle two of each four swapped."""
    channels, products = weights.shape
    run = products // kernel_h
    padded = np.zeros((channels, kernel_h, -(-run // 4) * 4), np.int8)
    padded[:, :, :run] = weights.reshape(channels, kernel_h, run)
    fours = padded.reshape(channels, kernel_h, -1, 4)[:, :, :, [0, 2, 1, 3]]
    return np.ascontiguousarray(fours)


def short(
    weights: NDArray[np.int8], bias: NDArray[np.int64], factors: Factors
) -> NDArray[np.int32] | None:
    """What lt_high_s16 multiplies sums with, if those of all channels fit 32 bits at any time and have
    factors that can be said so; else None. Sums may begin with the bias and add in any order.

    lt_scale_wide has round(sum * reduced / 2^right), halves up; with 16 <= right <= 32 that is
    round(sum * (reduced << (32 - right)) / 2^32), of which the factor fits 32 bits.
    """
    most = np.abs(bias) + _LARGEST * np.abs(weights.astype(np.int64)).sum(axis=1)
    if (most >= _INT32).any():
        return None
    found = []
    for multiplier, shift in factors:
        reduced = (multiplier + (1 << 15)) >> 16 if multiplier < 0x7FFF0000 else 0x7FFF
        left = 17 + shift
        if not 0 <= left <= 16:
            return None
        found.append(reduced << left)
    return np.array(found, np.int32)


def scaling(
    weights: NDArray[np.int8], bias: NDArray[np.int64], factors: Factors, narrow: bool
) -> tuple[tuple[str, Value], ...]:
    """The params with biases and factors; `narrow` sums are modulo 2^32, as the file wants them."""
    quick = None if narrow else short(weights, bias, factors)
    if quick is not None:
        return (
            ("bias", None),
            ("start", Array("int32_t", packed.int32(bias), weights=True)),
            ("factor", Array("int32_t", quick)),
            ("shift", None),
        )
    return (
        ("bias", None if narrow else Array("int64_t", bias, weights=True)),
        ("start", Array("int32_t", packed.int32(bias), weights=True) if narrow else None),
        ("factor", Array("int32_t", packed.column(factors, 0))),
        ("shift", Array("int8_t", packed.column(factors, 1))),
    )
