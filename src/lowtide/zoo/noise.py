"""Seeded numbers that are the same on every machine.

Why not numpy's distributions: their streams may change between versions, and some go through the C
library's logarithm. The raw stream of PCG64 is fixed, and all that follows here is integer work.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

_WEIGHT_MAX = 127


def _raw(seed: str, words: int) -> NDArray[np.uint64]:
    return np.asarray(np.random.PCG64(zlib.crc32(seed.encode())).random_raw(words), np.uint64)


def uniform(seed: str, count: int, low: float, high: float) -> NDArray[np.float64]:
    """`count` reals, uniform in [low, high)."""
    unit = (_raw(seed, count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return low + unit * (high - low)


def uniform_int8(seed: str, shape: tuple[int, ...]) -> NDArray[np.int8]:
    """Uniform int8 values of `shape`."""
    count = int(np.prod(shape))
    values: NDArray[np.int8] = _raw(seed, -(-count // 8)).astype("<u8").view(np.int8)
    return values[:count].reshape(shape)


def bell(seed: str, shape: tuple[int, ...]) -> NDArray[np.int16]:
    """Integers in [-510, 510] with a bell-shaped distribution: sums of four uniform bytes."""
    count = int(np.prod(shape))
    octets = _raw(seed, -(-count // 2)).astype("<u8").view(np.uint8)[: 4 * count].reshape(-1, 4)
    total = np.full(count, -510, np.int16)
    for column in range(4):
        total += octets[:, column]
    return total.reshape(shape)


def weights(seed: str, shape: tuple[int, ...], channel_axis: int | None) -> NDArray[np.int8]:
    """Symmetric int8 weights: the largest of each channel (or, with None, of all) is +-127."""
    values = bell(seed, shape).astype(np.float64)
    if channel_axis is None:
        largest = np.abs(values).max(keepdims=True)
    else:
        others = tuple(axis for axis in range(len(shape)) if axis != channel_axis)
        largest = np.abs(values).max(axis=others, keepdims=True)
    scaled: NDArray[np.float64] = np.rint(values * (_WEIGHT_MAX / np.maximum(largest, 1.0)))
    return scaled.astype(np.int8)
