"""Convolutions, dense and depthwise layers with bytes as weights, on cores without Arm's DSP extension.

Why apart: kernels/include/lt_scalar.h has weights and scales in an order of its own, which only a
program made for such a core uses.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowtide.lower import packed
from lowtide.lower.nodes import Array, Value


def fits(quick: packed.Narrow) -> bool:
    """Whether no channel has -128 twice where two products are added: see lt_conv_scalar.h."""
    channels, products = quick.weights.shape
    pairs = quick.weights[:, : products // 4 * 4].reshape(channels, -1, 2)
    return not (pairs == -128).all(axis=2).any()


def fields(quick: packed.Narrow, zero: int) -> tuple[tuple[str, Value], ...]:
    """The params with weights and scales; `zero` is the output's zero point."""
    return (
        ("weights", Array("int8_t", _weights(quick), weights=True)),
        ("scales", Array("int32_t", _scales(quick))),
        ("centre", 2 * zero + 1),
    )


def _weights(quick: packed.Narrow) -> NDArray[np.int8]:
    """[fours of channels][products][4]."""
    channels, products = quick.weights.shape
    padded = np.zeros((-(-channels // 4) * 4, products), np.int8)
    padded[:channels] = quick.weights
    return np.ascontiguousarray(padded.reshape(-1, 4, products).transpose(0, 2, 1))


def _scales(quick: packed.Narrow) -> NDArray[np.int32]:
    """[fours of channels][4][3]: bias, multiplier, shift."""
    channels = len(quick.shift)
    padded = np.zeros((-(-channels // 4) * 4, 3), np.int64)
    padded[:channels, 0] = quick.bias.astype(np.int64) // 2  # they are even
    padded[:channels, 1] = quick.multiplier
    padded[:channels, 2] = quick.shift
    return packed.int32(padded)
