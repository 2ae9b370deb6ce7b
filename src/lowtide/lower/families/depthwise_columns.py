"""lt_depthwise_columns.h: depthwise convolutions with windows of any size, on cores with Arm's DSP
extension."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.lower import packed
from lowtide.lower.counts import Features, Windowed, Windows, padded_taps
from lowtide.lower.families import depthwise_mult1
from lowtide.lower.layer import Family, Fields, Footprint, Layer, of_any_factors
from lowtide.lower.nodes import Array, Later, Node

_FOUR = 4
_WORDS = 16
"""Bytes of a column of a pair of rows, of four channels."""

_WINDOW = 12
"""Bytes of what is known of a window."""

_FEWEST = 3
_ROOM, _SHARE = 264, 3 / 8
"""Scratch memory of the normal form may be so many bytes, or this part of the row that is made."""


_EACH_PAIR, _EACH_WINDOW, _EACH_GROUP = 74, 55, 45
_EACH_WEIGHT, _EACH_COLUMN, _EACH_TAP = 12, 15, 6.75
_INSTEAD = 70, 11.6
"""Instructions for four channels, very nearly: of a pair of rows, a window, what there is of both; and
of a window and a tap as lt_depthwise_mult1 makes them."""


def _fits(layer: Layer) -> bool:
    able = layer.target.has_dsp and layer.is_by_one and layer.over.in_c >= _FOUR
    return able and layer.is_quick() and _is_quicker(layer.windows)


def _is_quicker(of: Windows) -> bool:
    """Whether windows are so many that it pays to unpack what they read."""
    axis, rows = of.axis, of.rows / of.steps
    if axis.kernel == 1:
        return True
    taps = of.columns * axis.kernel - padded_taps(of.columns, -axis.before, of.in_w, axis)
    each_pair = _EACH_PAIR + _EACH_WEIGHT * axis.kernel + _EACH_COLUMN * of.in_w + _EACH_TAP * taps
    cost = _EACH_GROUP + _EACH_WINDOW * of.columns + (rows + 1) / 2 * each_pair
    each_window, each_tap = _INSTEAD
    return cost < each_window * of.columns + each_tap * rows * taps


def _scratch(over: Footprint | Windows, in_w: int, piece: int) -> int:
    """Bytes of scratch memory for `piece` columns at a time."""
    axis, pairs = over.axis, -(-over.kernel_h // 2)
    reach = min(in_w, (piece - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1)
    apart = -(-reach // axis.dilation) * axis.dilation
    return _WINDOW * piece + _WORDS * pairs * (axis.kernel + apart)


def _pieces(of: Windows) -> Iterator[int]:
    """Numbers of columns worth making at a time: all in equal parts, the largest first."""
    parts = dict.fromkeys(-(-of.columns // count) for count in range(1, of.columns + 1))
    return (n for n in parts if n >= min(_FEWEST, of.columns))


@dataclass(frozen=True, slots=True)
class DepthwiseColumns(Windowed):
    """What lt_depthwise_columns does, by `piece` columns at a time, four channels of each at once."""

    piece: int
    is_linear = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        del padded
        of, axis = self.of, self.of.axis
        groups, steps = -(-of.in_c // _FOUR), of.steps
        found = {"clamped": columns * self.clamped}
        if axis.kernel == 1:
            return found | {
                "windows": steps * columns,
                # Instructions of lt_columns_tap.
                "assembly": groups * columns * (56 * steps + 11 * of.rows),
            }
        whole = columns == self.columns
        outside = padded_taps(columns, -axis.before, of.in_w, axis) if whole else 0
        reach = (columns - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1
        width = min(of.in_w, reach - axis.before) if whole else reach
        pieces, pairs = -(-columns // self.piece), (of.rows + of.steps) / 2
        again = (pieces - 1) * max(0, (axis.kernel - 1) * axis.dilation + 1 - axis.stride)
        return found | {
            # Instructions of lt_columns_unpack and lt_columns_sum.
            "assembly": groups
            * pairs
            * (15 * (width + again) + 6.75 * (columns * axis.kernel - outside))
            + 55 * groups * steps * columns,
            "weights": groups * pairs * pieces * axis.kernel,
            "pairs": groups * pairs * pieces * min(axis.dilation, width),
            "groups": groups * steps * pieces,
            "windows": steps * columns,
            "pieces": steps * pieces,
        }


def _work(windows: Windows) -> DepthwiseColumns:
    return DepthwiseColumns(windows, windows.columns)


def _node(layer: Layer) -> Node:
    """Of windows of one column one form, without scratch memory. Else in pieces of all columns, or of
    fewer; and, of less scratch memory, those of lt_depthwise_mult1."""
    over, quick, windows = layer.over, layer.narrow, layer.windows
    bias = packed.int32(quick.bias // 2 + layer.input_zero * quick.sums)
    size = (5 * _FOUR if quick.is_broad else 2 * _FOUR + 1) + (
        over.taps if over.kernel_w == 1 else 2 * over.kernel_w * -(-over.kernel_h // 2)
    )
    make = Later(size * -(-layer.out_c // _FOUR), lambda: _records(layer, bias))
    records = Array("int32_t", make, weights=True)

    def by(piece: int) -> Node:
        fields: Fields = (
            ("records", records),
            ("piece", piece),
            ("channels", layer.out_c),
            ("centre", 2 * layer.known.zero + 1),
            *(field for field in over.fields if field[0] != "in_c"),
            *layer.range,
        )
        needs = 0 if over.kernel_w == 1 else _scratch(windows, over.in_w, piece)
        work = DepthwiseColumns(windows, piece)
        node = layer.node("lt_depthwise_columns", fields, work, needs)
        if quick.is_broad:
            return of_any_factors(node)
        return node

    if over.kernel_w == 1:
        return by(over.out_w)
    lean = depthwise_mult1.FAMILY.node(layer)
    room = max(_ROOM, lean.scratch, int(_SHARE * over.out_w * layer.out_c))
    forms = [by(piece) for piece in _pieces(windows)]
    forms = [form for form in forms if form.scratch > lean.scratch]
    normal = next((form for form in forms if form.scratch <= room), None)
    if normal is None:
        return replace(lean, forms=(*forms, *lean.forms))
    others = (form for form in forms if form is not normal)
    piece = dict(normal.params.fields)["piece"]
    assert isinstance(piece, int)
    least = lean.scratch
    narrow = (
        max(least, _scratch(windows, over.in_w, min(n, piece))) for n in range(1, over.out_w + 1)
    )
    return replace(
        normal,
        forms=(*others, replace(lean, forms=()), *lean.forms),
        narrow_scratch=(0, *narrow),
    )


def _records(layer: Layer, bias: NDArray[np.int32]) -> NDArray[np.int32]:
    """[fours of channels][words]: see the header."""
    quick, over = layer.narrow, layer.over
    channels = len(quick.given)
    firsts = np.minimum(np.arange(0, channels, _FOUR), channels - _FOUR)
    fours = firsts[:, None] + np.arange(_FOUR)
    weights = quick.weights.reshape(channels, over.kernel_h, over.kernel_w)
    if over.kernel_w == 1:
        words = weights[fours, :, 0].transpose(0, 2, 1)
    else:
        pairs = np.pad(weights, ((0, 0), (0, over.kernel_h % 2), (0, 0)))[fours]
        pairs = pairs.reshape(len(fours), 2, 2, -1, 2, over.kernel_w)  # channels 01, 23; rows
        words = pairs.transpose(0, 5, 3, 2, 4, 1)  # [column][pair of rows][odd][row][channel / 2]
    packed_words = np.ascontiguousarray(words).reshape(len(fours), -1).view("<i4")
    shifts = np.ascontiguousarray(quick.shift[fours].astype(np.int8)).view("<i4")
    scales: tuple[NDArray[Any], ...] = quick.multiplier[fours], shifts
    if quick.is_broad:
        each = packed.broad_scales(quick, layer.known.zero)
        scales = (each[fours].reshape(len(fours), -1),)
    return packed.int32(np.concatenate([bias[fours], packed_words, *scales], axis=1))


FAMILY = Family("lt_depthwise_columns", _fits, _work, _node)
