"""Depthwise convolutions of 3 x 3 by columns, on cores with Arm's DSP extension.

Why apart: kernels/include/lt_depthwise_3x3.h has weights in an order of its own, which only a
program made for such a core uses.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowtide.ir.window import Axis
from lowtide.lower import packed
from lowtide.lower.nodes import Array, Value

_COLUMN = 24
"""Bytes of an unpacked column of four channels."""

_FEWEST = 3
_ROOM = 264
_SHARE = 3 / 8
"""Scratch memory may be so many bytes, or this part of the row that is made: then no more than what
other operators need at that place."""


def fits(axis: Axis, kernel_h: int, channels: int) -> bool:
    """Whether the kernel can do it."""
    sizes = kernel_h, axis.kernel, axis.dilation
    return sizes == (3, 3, 1) and axis.stride in (1, 2) and channels % 4 == 0


def piece(axis: Axis, columns: int, row_bytes: int) -> int:
    """How many columns to make at a time where nobody says more: all, or equal parts of them, as scratch
    memory allows."""
    room = max(_ROOM, int(_SHARE * row_bytes)) // _COLUMN
    most = max(1, (room - axis.kernel) // axis.stride + 1)
    return -(-columns // -(-columns // most))


def other_pieces(columns: int, normal: int) -> tuple[int, ...]:
    """Other numbers of columns worth making at a time: all in equal parts, the largest first. With fewer
    than three, most columns would be unpacked twice."""
    parts = dict.fromkeys(-(-columns // count) for count in range(1, columns + 1))
    return tuple(n for n in parts if n >= _FEWEST and n != normal)


def scratch(axis: Axis, columns: int, most: int) -> int:
    """Bytes of scratch memory for `columns` columns, at most `most` of them at a time."""
    return _COLUMN * ((min(columns, most) - 1) * axis.stride + axis.kernel) if columns else 0


def fields(quick: packed.Narrow, bias: NDArray[np.int32]) -> tuple[tuple[str, Value], ...]:
    """The params with the weights; `bias` is without the input's zero point, doubled."""
    return (("records", Array("int32_t", _records(quick, bias), weights=True)),)


def _records(quick: packed.Narrow, bias: NDArray[np.int32]) -> NDArray[np.int32]:
    """[channels / 4][4][5] words: see the header."""
    w = quick.weights.astype(np.int64).reshape(-1, 3, 3) & 0xFF
    words = np.stack(
        [
            _word(w[:, 0, 0], w[:, 0, 1], w[:, 1, 0], w[:, 1, 1]),
            _word(w[:, 0, 2], w[:, 2, 0], w[:, 1, 2], w[:, 2, 1]),
            quick.shift.astype(np.int64) | 2 * quick.weights[:, 8].astype(np.int64) << 16,
            bias.astype(np.int64),
            quick.multiplier.astype(np.int64),
        ],
        axis=1,
    )
    by_group = words.reshape(-1, 4, 5)[:, [0, 2, 1, 3]]
    return packed.int32(by_group)


def _word(*parts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bytes, the lowest first."""
    total = np.zeros_like(parts[0])
    for i, part in enumerate(parts):
        total |= part << (8 * i)
    return total
