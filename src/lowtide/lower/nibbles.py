"""Weights of four bits for lt_conv_w4.h: two a byte, in flash as in the file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.lower.common import Context

_LEAST, _GREATEST = -8, 7
_MOST_PRODUCTS = (1 << 31) // (128 * 15)
"""Of a sum of 32 bits."""


def fits(context: Context, weights: NDArray[Any], groups: int) -> bool:
    """Whether the file has the weights [out_c, products] in four bits, and they are to stay so.

    Kernels of other operators that call a convolution's (blocks) have weights of eight bits.
    """
    return (
        context.input(1).of_nibbles
        and not context.target.shared
        and groups == 1
        and weights.shape[1] < _MOST_PRODUCTS
        and _LEAST <= int(weights.min()) <= int(weights.max()) <= _GREATEST
    )


def packed(weights: NDArray[Any]) -> NDArray[np.uint8]:
    """[out_c, products] as [out_c, (products + 1) / 2]: the first of two in the low half, plus 8."""
    raised = weights.astype(np.int64) - _LEAST
    even = np.pad(raised, ((0, 0), (0, raised.shape[1] % 2)))
    return (even[:, ::2] + 16 * even[:, 1::2]).astype(np.uint8)
