"""Convolutions and dense layers by fours of channels, on cores with Arm's DSP extension.

Why apart: kernels/include/lt_conv_4x2.h has weights and scales in an order of its own, which only a
program made for such a core uses.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowtide.ir.window import Axis
from lowtide.lower import packed
from lowtide.lower.nodes import Array, Value

_MORE = 1.5
"""A row of the window begins a new four of products: at most so many times the fours there need be."""

_LARGEST = (1 << 15) - 1


def quads(kernel_h: int, run: int) -> int:
    """Fours of products, if a row of the window has `run`."""
    return kernel_h * -(-run // 4)


def last(axis: Axis, in_w: int, in_c: int) -> int:
    """The last column in which a window may begin whose rows are words of the image's rows, up to three
    bytes of which are beyond the window; -1 if there is none."""
    if axis.dilation > 1 and axis.kernel > 1:
        return -1
    beyond = in_w * in_c - 4 * -(-axis.kernel * in_c // 4)
    return min(_LARGEST, beyond // in_c) if beyond >= 0 else -1


def fields(
    quick: packed.Narrow, words: NDArray[np.int32], kernel_h: int, zero: int
) -> tuple[tuple[str, Value], ...] | None:
    """The params with weights and scales, or None if they do not meet the kernel's conditions.

    `words` are the weights in pairs; `zero` is the output's zero point.
    """
    channels, products = quick.weights.shape
    run = products // kernel_h
    count = quads(kernel_h, run)
    scales = _scales(quick, zero)
    if scales is None or count > _MORE * words.shape[1]:
        return None
    padded = np.zeros((-(-channels // 4) * 4, kernel_h, 4 * -(-run // 4)), np.int8)
    padded[:channels, :, :run] = quick.weights.reshape(channels, kernel_h, run)
    pairs = packed.pack_pairs(padded.reshape(len(padded), -1))
    assert pairs is not None
    # [pairs][quads][2] to [fours][quads][2][2 pairs]
    fours = pairs.reshape(-1, 2, count, 2).transpose(0, 2, 3, 1)
    return (
        ("weights", Array("int32_t", np.ascontiguousarray(fours), weights=True)),
        ("scales", Array("int32_t", scales)),
        ("quads", count),
    )


def _scales(quick: packed.Narrow, zero: int) -> NDArray[np.int32] | None:
    """[fours][16] words: see the header; None if the sum of an odd channel is too large."""
    channels = len(quick.shift)
    four = -(-channels // 4) * 4
    bias, multiplier, shift = (np.zeros(four, np.int64) for _ in range(3))
    bias[:channels] = quick.bias.astype(np.int64) // 2  # they are even
    multiplier[:channels] = quick.multiplier
    shift[:channels] = quick.shift
    most = np.zeros(four, np.int64)
    most[:channels] = 128 * np.abs(quick.weights.astype(np.int64)).sum(axis=1)
    if ((np.abs(bias) + most)[1::2] >= 1 << 23).any():
        return None
    start = bias.copy()
    start[1::2] = bias[0::2] + 256 * bias[1::2]
    scale = np.stack([multiplier, (2 * zero + 1) << shift, shift], axis=1)
    return packed.int32(np.concatenate([start.reshape(-1, 4), scale.reshape(-1, 12)], axis=1))
