"""Depthwise convolutions by lanes of four channels, on cores with Arm's Helium.

Why apart: kernels/include/lt_depthwise_vector.h has weights in an order of its own, which only a
program made for such a core uses.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowtide.ir.window import Axis
from lowtide.lower import packed
from lowtide.lower.nodes import Array, Value

_ROWS = 7
"""LT_TAPS_ROWS in the header."""


def fits(axis: Axis, kernel_h: int, channels: int) -> bool:
    """Whether the kernel can do it."""
    small = kernel_h <= _ROWS and axis.kernel <= _ROWS
    return small and axis.dilation == 1 and axis.stride in (1, 2) and channels % 4 == 0


def fields(quick: packed.Narrow) -> tuple[tuple[str, Value], ...]:
    """The params with weights and scales."""
    channels, taps = quick.weights.shape
    weights = quick.weights.reshape(channels // 4, 4, taps).transpose(0, 2, 1)
    words = np.ascontiguousarray(weights).reshape(channels // 4, -1).view("<i4")
    shift = -1 - quick.shift.astype(np.int64)
    scales = np.stack([quick.bias // 2, quick.multiplier, shift]).reshape(3, -1, 4)
    records: NDArray[np.int64] = np.concatenate([words, *scales], axis=1)
    return (("records", Array("int32_t", packed.int32(records), weights=True)),)
