"""lt_conv_4x2.h: convolutions and dense layers by four channels of two pixels, on cores with Arm's DSP
extension."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lowtide.lower import packed
from lowtide.lower.counts import ByPixels, Features, Windows
from lowtide.lower.layer import MAX_SIZE, Family, Fields, Footprint, Layer
from lowtide.lower.nodes import Array, Later, Node

_MORE = 1.5
"""A row of the window begins a new four of products: at most so many times the fours there need be."""

_LARGEST = (1 << 15) - 1
_MOST_SHIFT = 15  # (2 * zero + 1) << 15 fits 24 bits

THREE = "lt_conv_4x2_s8_three"
"""The kernel that makes the last three pixels of an odd number at once."""

_FEWEST = 4
"""Fours of products of a window from which on three pixels at once are fewer instructions."""


def _quads(over: Footprint | Windows) -> int:
    """Fours of products of a window."""
    return over.kernel_h * -(-over.run // 4)


def _is_direct(over: Footprint | Windows) -> bool:
    """Whether pixels are read where they are."""
    return over.taps == 1 and over.in_c % 4 == 0


def _fits(layer: Layer) -> bool:
    over, quads = layer.over, _quads(layer.over)
    if not layer.target.has_dsp or layer.is_depthwise or quads > MAX_SIZE:
        return False
    if over.taps == over.out_w == 1 and not _is_direct(over):
        return False
    return quads <= _MORE * -(-over.products // 4) and layer.is_narrow(_small_enough)


def _small_enough(quick: packed.Narrow) -> bool:
    """Whether two channels fit a word, and the sums of each odd one half of it."""
    most = np.abs(quick.bias.astype(np.int64) // 2) + 128 * quick.sizes
    fit = packed.pairs_fit(quick) and not (most[1::2] >= 1 << 23).any()
    return fit and bool((quick.shift <= _MOST_SHIFT).all())


@dataclass(frozen=True, slots=True)
class Conv4x2(ByPixels):
    """What lt_conv_4x2 does; with `three`, the last three pixels of an odd number are made at once."""

    three: bool = field(default=False, kw_only=True)

    @property
    def quads(self) -> int:
        """Fours of products of a window."""
        return _quads(self.of)

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        of, steps, groups, quads = self.of, self.of.steps, -(-self.of.out_c // 4), self.quads
        words, turns = quads // of.kernel_h, -(-quads // 4)
        (pairs, singles), direct = self.split(columns), _is_direct(of)
        threes = int(self.three and singles > 0 and pairs > 0)
        pairs, singles = pairs - threes, singles - threes
        copied = 0 if direct else singles
        # The last window may end in a word that is not all there.
        beyond = 1 if of.run % 4 and columns else 0
        edges = "edge_words" if of.in_c % 4 == 0 else "edge_bytes"
        return {
            # Instructions of lt_4x2_two, lt_4x2_three, lt_4x2_one and what unpacks.
            "assembly": steps * groups * pairs * (73 + 24 * quads + 3 * turns)
            + steps * groups * threes * (128 + 36 * quads + 4 * turns)
            + steps * groups * singles * (42 + 16 * quads + 2 * turns)
            + of.rows * pairs * (6 + 7 * words + 2 * (words // 2))
            + of.rows * threes * (5 + 12 * words),
            "pair": steps * (pairs + threes),
            "single": steps * singles,
            "rests": steps * (pairs + threes + singles) if of.out_c % 4 else 0,
            "unpacked_rows": 0 if direct else (of.rows + of.padding) * pairs,
            "unpacked_padding": of.padding * pairs * words,
            "copied_rows": (of.rows + of.padding) * copied,
            "copied_words": (of.rows + of.padding) * copied * words,
            "edges": of.rows * (padded + beyond),
            "copied_edges" if self.lean else edges: of.rows * (padded + beyond) * words,
            "clamped": columns * self.clamped,
        }


def _node(layer: Layer) -> Node:
    over, quads, direct = layer.over, _quads(layer.over), _is_direct(layer.over)
    quick, zero, fours = layer.narrow, layer.known.zero, -(-layer.out_c // 4)
    make = Later(fours * (12 + 4 * quads), lambda: _records(quick, over.kernel_h, zero))
    records = Array("int32_t", make, weights=True)

    fields: Fields = (
        ("records", records),
        ("quads", quads),
        ("out_c", layer.out_c),
        ("words", quads // over.kernel_h),
        ("last", _last(over)),
        ("direct", int(direct)),
    )
    one = 0 if direct else 4 * quads
    work = Conv4x2(layer.windows)
    node = layer.by_pixels("lt_conv_4x2", fields, work, (one, 16 * quads), lean=True)
    if not direct or over.out_w % 2 == 0 or over.out_w < 3 or quads < _FEWEST:
        return node
    more = replace(
        node,
        kernel=THREE,
        scratch=24 * quads,
        work=replace(work, three=True),
        narrow_scratch=(),
        forms=(),
    )
    return replace(node, forms=(more, *node.forms))


def _last(over: Footprint) -> int:
    """The last column in which a window may begin whose rows are words of the image's rows, up to three
    bytes of which are beyond the window; -1 if there is none."""
    if over.dilation_w > 1 and over.kernel_w > 1:
        return -1
    beyond = over.in_w * over.in_c - 4 * -(-over.run // 4)
    return min(_LARGEST, beyond // over.in_c) if beyond >= 0 else -1


def _records(quick: packed.Narrow, kernel_h: int, zero: int) -> NDArray[np.int32]:
    """[fours of channels][words]: see the header; each row of the window begins a new four."""
    weights = quick.padded(4)
    rows = weights.reshape(len(weights), kernel_h, -1)
    rows = np.pad(rows, ((0, 0), (0, 0), (0, -rows.shape[2] % 4)))
    pairs = packed.pack_pairs(rows.reshape(len(rows), -1))
    words = pairs.reshape(-1, 2, pairs.shape[1], 2).transpose(0, 2, 3, 1)
    bias, multiplier, shift = (
        np.pad(values.astype(np.int64), (0, -len(values) % 4))
        for values in (quick.bias // 2, quick.multiplier, quick.shift)  # biases are even
    )
    starts = np.stack([bias[0::2], bias[0::2] + 256 * bias[1::2]]).reshape(2, -1, 2)
    scales = np.stack([multiplier, (2 * zero + 1 << shift + 8) + shift], axis=1)
    parts = (
        starts.transpose(1, 0, 2).reshape(-1, 4),
        words.reshape(len(words), -1),
        scales.reshape(-1, 8),
    )
    return packed.int32(np.concatenate(parts, axis=1))


FAMILY = Family("lt_conv_4x2", _fits, Conv4x2, _node)
