"""Convolutions and dense layers by lanes of sixteen products, on cores with Arm's Helium.

Why apart: kernels/include/lt_conv_vector.h has weights and scales in an order of its own, which only a
program made for such a core uses.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowtide.lower import packed

_LANES = 16


def chunks(products: int) -> int:
    """Sixteens of products before the last ones."""
    return (products - 1) // _LANES


def records(quick: packed.Narrow) -> NDArray[np.int32]:
    """[fours of channels][words]: see the header."""
    channels, products = quick.weights.shape
    fours, whole = -(-channels // 4), chunks(products) * _LANES
    width = 8 if products - whole <= 8 else _LANES
    weights = np.zeros((fours * 4, whole + width), np.int8)
    weights[:channels, :products] = quick.weights
    by_four = weights.reshape(fours, 4, -1)
    first = by_four[:, :, :whole].reshape(fours, 4, whole // _LANES, _LANES).transpose(0, 2, 1, 3)
    last = by_four[:, :, whole:]
    both = np.concatenate([first.reshape(fours, -1), last.reshape(fours, -1)], axis=1)
    scales = np.zeros((3, 4 * fours), np.int64)
    scales[0, :channels] = quick.bias // 2  # they are even
    scales[1, :channels] = quick.multiplier
    scales[2] = -1
    scales[2, :channels] -= quick.shift
    bias, multiplier, shift = scales.reshape(3, fours, 4)
    words = np.ascontiguousarray(both).view("<i4")
    return packed.int32(np.concatenate([bias, words, multiplier, shift], axis=1))
