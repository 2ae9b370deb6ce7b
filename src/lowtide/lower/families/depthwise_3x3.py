"""lt_depthwise_3x3.h: depthwise convolutions of up to 3 x 3 by columns, on cores with Arm's DSP
extension."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lowtide.ir.window import Axis
from lowtide.lower import packed
from lowtide.lower.counts import Features, Windowed, Windows
from lowtide.lower.families import depthwise, depthwise_each, depthwise_mult1
from lowtide.lower.layer import Family, Fields, Layer, of_any_factors
from lowtide.lower.nodes import Array, Later, Node

_COLUMN = 24
"""Bytes of an unpacked column of four channels."""

_FEWEST = 3
_ROOM = 264
_SHARE = 3 / 8
"""Scratch memory may be so many bytes, or this part of the row that is made: then no more than what
other operators need at that place."""


def _fits(layer: Layer) -> bool:
    over = layer.over
    able = over.kernel_h < 4 and over.kernel_w in (2, 3) and over.stride_w in (1, 2)
    able = able and over.dilation_w == 1 and over.out_w > 1
    return able and layer.target.has_dsp and layer.is_depthwise and layer.is_quick()


def _piece(of: Windows) -> int:
    """How many columns to make at a time where nobody says more: all, or equal parts of them, as scratch
    memory allows."""
    room = max(_ROOM, int(_SHARE * of.columns * of.out_c)) // _COLUMN
    most = max(1, (room - 3) // of.axis.stride + 1)
    return -(-of.columns // -(-of.columns // most))


def _other_pieces(columns: int, normal: int) -> tuple[int, ...]:
    """Other numbers of columns worth making at a time: all in equal parts, the largest first. With fewer
    than three, most columns would be unpacked twice."""
    parts = dict.fromkeys(-(-columns // count) for count in range(1, columns + 1))
    return tuple(n for n in parts if n >= _FEWEST and n != normal)


def scratch(axis: Axis, columns: int, most: int) -> int:
    """Bytes of scratch memory for `columns` columns, at most `most` of them at a time."""
    return _COLUMN * ((min(columns, most) - 1) * axis.stride + 3) if columns else 0


@dataclass(frozen=True, slots=True)
class Depthwise3x3(Windowed):
    """What lt_depthwise_3x3 does, by `piece` columns at a time."""

    piece: int
    is_linear = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        del padded
        of, stride = self.of, self.of.axis.stride
        groups = of.steps * -(-of.out_c // 4)
        pieces = -(-columns // self.piece)
        read = min(columns * stride + pieces * (3 - stride), of.in_w + 2 * (pieces - 1))
        each = groups * (read if of.out_c > of.in_c else min(read, pieces * (3 // of.in_c)))
        sizes = [min(self.piece, columns - at) for at in range(0, columns, self.piece)]
        return {
            # Instructions of lt_3x3_make_1 or lt_3x3_make_2.
            "assembly": groups * _ONCE * pieces
            + _UNPACKED * (groups * read - each)
            + groups * sum(map(_made_1 if stride == 1 else _made_2, sizes)),
            "pieces": of.steps * pieces,
            "alone": groups * pieces if each or of.out_c % 4 else 0,
            "unpacked": each,
            "put": of.steps * columns * of.out_c if of.out_c < 4 else 0,
            "clamped": columns * self.clamped,
        }


_ONCE, _UNPACKED = 27, 17
"""Instructions for four channels, and for a column of them that is unpacked."""


def of_four(stride: int, n: int) -> float:
    """Instructions for n windows of four channels that are made at once, none of them in padding."""
    made = _made_1(n) if stride == 1 else _made_2(n)
    return _ONCE + _UNPACKED * ((n - 1) * stride + 3) + made


def _made_1(n: int) -> float:
    """Instructions for n windows, once columns are unpacked, of lt_3x3_make_1: a turn is of three
    windows, and may begin in its middle, the last is apart; results go two by two."""
    return 4 * (23 + 12 * n + 3 * -(-(n - 1) // 3) + (0, 3, 3)[(n - 1) % 3]) + 3.5 * n


def _made_2(n: int) -> float:
    """The same of lt_3x3_make_2: a turn is of two windows."""
    return 4 * (23 + 13 * n + 2 * -(-n // 2) + 2 * (n % 2)) + 3.5 * n


def _work(windows: Windows) -> Depthwise3x3:
    return Depthwise3x3(windows, _piece(windows))


def _node(layer: Layer) -> Node:
    """In pieces of the normal size; other forms are in others, and, of less scratch memory, those of
    lt_depthwise_mult1."""
    over, quick, windows = layer.over, layer.narrow, layer.windows
    bias, normal = depthwise_mult1.doubled_bias(layer), _piece(windows)
    size = (28 if quick.is_broad else 20) * -(-layer.out_c // 4)
    make = Later(size, lambda: _records(layer, bias))
    records = Array("int32_t", make, weights=True)
    sizes = {name: value for name, value in over.fields if name in _SIZES}

    def by(piece: int) -> Node:
        fields: Fields = (
            ("records", records),
            ("piece", piece),
            ("channels", over.in_c),
            ("filters", layer.filters),
            ("centre", 2 * layer.known.zero + 1),
            *sizes.items(),
            *layer.range,
        )
        work, needs = Depthwise3x3(windows, piece), scratch(over.axis, over.out_w, piece)
        node = layer.node("lt_depthwise_3x3", fields, work, needs)
        if quick.is_broad:
            return of_any_factors(node)
        return node

    lean = (depthwise_mult1 if layer.is_by_one else depthwise).FAMILY.node(layer)
    others = tuple(map(by, _other_pieces(over.out_w, normal)))
    needs = [scratch(over.axis, n, normal) for n in range(over.out_w + 1)]
    if depthwise_each.fits(layer):  # which makes a single column
        needs[1] = max(needs[1], depthwise_each.room(over.in_c) + depthwise_mult1.scratch(layer))
    return replace(
        by(normal),
        forms=(*others, replace(lean, forms=()), *lean.forms),
        narrow_scratch=tuple(needs),
    )


_SIZES = frozenset({"in_w", "out_w", "kernel_h", "kernel_w", "stride_w", "pad_left"})


def _records(layer: Layer, bias: NDArray[np.int32]) -> NDArray[np.int32]:
    """[fours of channels][4][5] words, or [7]: see the header. Biases are doubled."""
    quick, kernel_h, kernel_w = layer.narrow, layer.over.kernel_h, layer.over.kernel_w
    channels, of_missing = len(bias), ((0, max(0, 4 - len(bias))), (0, 0))
    given = quick.weights.astype(np.int64).reshape(channels, kernel_h, kernel_w)
    given = np.pad(given, ((0, 0), (0, 3 - kernel_h), (0, 3 - kernel_w)))
    w = given & 0xFF
    right, left, centre = packed.broad(quick, layer.known.zero)
    shifts = right + 256 * left if quick.is_broad else quick.shift.astype(np.int64)
    each = [
        _word(w[:, 0, 0], w[:, 0, 1], w[:, 1, 0], w[:, 1, 1]),
        _word(w[:, 0, 2], w[:, 2, 0], w[:, 1, 2], w[:, 2, 1]),
        shifts | (given[:, 2, 2] << left) << 16,
        bias.astype(np.int64) << left - 1,
        quick.multiplier.astype(np.int64),
    ]
    if quick.is_broad:
        each = [np.where(right > 0, -1, 0), *each, centre]
    words = np.pad(np.stack(each, axis=1), of_missing)
    if quick.is_broad:
        words[channels:, 3] = 1 << 8  # sums are shifted left at least once
    firsts = np.minimum(np.arange(0, channels, 4), max(0, channels - 4))
    return packed.int32(words[firsts[:, None] + (0, 2, 1, 3)])


def _word(*parts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bytes, the lowest first."""
    total = np.zeros_like(parts[0])
    for i, part in enumerate(parts):
        total |= part << (8 * i)
    return total


FAMILY = Family("lt_depthwise_3x3", _fits, _work, _node)
