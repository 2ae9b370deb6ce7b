"""lt_conv_4x2.h: convolutions and dense layers by four channels of two pixels, on cores with Arm's DSP
extension."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lowtide.lower import packed
from lowtide.lower.counts import ByPixels, Features, Windows, cut_windows, padded_taps
from lowtide.lower.layer import MAX_SIZE, Family, Fields, Footprint, Layer, of_any_factors
from lowtide.lower.nodes import Array, Later, Node

_MORE = 1.5
"""A row of the window begins a new four of products: at most so many times the fours there need be."""

_SMALL = 16
"""But windows of so many fours may have any number of them, and a single one of them may be copied."""

_LARGEST = (1 << 15) - 1
_MOST_SHIFT = 15  # (2 * zero + 1) << 15 fits 24 bits

THREE = "lt_conv_4x2_s8_three"
"""The kernel that makes the last three pixels of an odd number at once."""

ONE = "lt_conv_4x2_s8_one"
"""The kernel that unpacks the only pixel of a row before it makes any channels."""

_FEWEST_GROUPS = 4
"""Fours of channels from which on a pixel that could be read in place is unpacked."""

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
    if over.taps == over.out_w == 1 and not _is_direct(over) and quads > _SMALL:
        return False
    return quads <= max(_SMALL, _MORE * -(-over.products // 4)) and layer.is_quick(_small_enough)


def _small_enough(quick: packed.Narrow) -> bool:
    """Whether two channels fit a word, and the sums of each odd one half of it."""
    most = np.abs(quick.bias.astype(np.int64) // 2) + 128 * quick.sizes
    fit = packed.pairs_fit(quick) and not (most[1::2] >= 1 << 23).any()
    return fit and bool((quick.shift <= _MOST_SHIFT).all())


@dataclass(frozen=True, slots=True)
class _Seen:
    """Windows of a row: pairs that are read at once; others that are all there, and those that are
    not; single ones of bytes likewise. Of those that are not, their taps in padding."""

    pairs: int = 0
    ones: int = 0
    edges: int = 0
    padded: int = 0
    singles: int = 0
    single_edges: int = 0
    single_padded: int = 0


@dataclass(frozen=True, slots=True)
class Conv4x2(ByPixels):
    """What lt_conv_4x2 does; with `three`, the last three pixels of an odd number are made at once; with
    `one`, the only pixel of a row is unpacked."""

    three: bool = field(default=False, kw_only=True)
    one: bool = field(default=False, kw_only=True)

    is_linear = False

    @property
    def quads(self) -> int:
        """Fours of products of a window."""
        return _quads(self.of)

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns; those of padding count if these are all."""
        of, steps, groups, quads = self.of, self.of.steps, -(-self.of.out_c // 4), self.quads
        words, turns, rest = quads // of.kernel_h, -(-quads // 4), of.out_c % 4
        (pairs, singles), taps = self.split(columns), of.axis.kernel
        direct = _is_direct(of) and not self.one
        threes = int(self.three and singles > 0 and pairs > 0)
        pairs, singles = pairs - threes, singles - threes
        fours, apart, less = of.in_c % 4 == 0, of.axis.dilation > 1 and taps > 1, 6 * (rest == 1)
        by_bytes = groups < _FEWEST_GROUPS if direct else apart and not fours
        unpacks = self.one or (pairs and not by_bytes)
        halves, one = (singles, 14) if unpacks else (0, 16 - less / groups)
        seen = _Seen(pairs + halves) if direct else self._seen(columns, padded, halves)
        edge = "apart" if apart else "edge"  # what windows are that lie in padding as well
        of_tap = {f"{edge}_words": words / taps} if fours else {"cut_words": words / taps}
        if not fours and (apart or of.in_w * of.in_c < 4):
            of_tap = {"joined_words": of.in_c // 4, "joined_bytes": of.in_c % 4}
        beyond = "rests" if of.out_c > 3 else "rests_alone"
        found = {
            # Instructions of lt_4x2_two, _three, _one (_one_packed where no two are) and _unpack.
            "assembly": steps * groups * pairs * (73 + 24 * quads + 3 * turns)
            + steps * groups * threes * (128 + 36 * quads + 4 * turns)
            + steps * groups * singles * (42 + one * quads + 2 * turns)
            + of.rows * seen.pairs * (6 + 7 * words + 2 * (words // 2)),
            "pair": steps * (pairs + threes),
            "single": steps * singles,
            beyond: steps * (pairs + threes + (halves if less else singles)) if rest else 0,
            "rest_results": steps * (columns - singles + halves if less else columns) * rest,
            "clamped": columns * self.clamped,
        }
        if direct:
            return found
        return found | {
            "unpacked_rows": (of.rows + of.padding) * (pairs + halves),
            "unpacked_padding": of.padding * (pairs + halves) * words,
            "ones": of.rows * seen.ones,
            "one_words": of.rows * seen.ones * words,
            f"{edge}s": of.steps * seen.edges,
            f"{edge}_taps": of.rows * seen.edges * taps,
            **{name: of.rows * (seen.edges * taps - seen.padded) * n for name, n in of_tap.items()},
            **{f"{name}_of_padding": of.rows * seen.padded * n for name, n in of_tap.items()},
            "copied_rows": (of.rows + of.padding) * (singles - halves),
            "copied_words": of.rows * seen.singles * words,
            "copied_padding": of.padding * (singles - halves) * words,
            f"copied_{edge}_rows": of.rows * seen.single_edges,
            f"copied_{edge}_taps": of.rows * seen.single_edges * taps,
            "copied_bytes": of.rows * (seen.single_edges * taps - seen.single_padded) * of.in_c,
            "filled_bytes": of.rows * seen.single_padded * of.in_c,
        }

    def _seen(self, columns: int, padded: int, halves: int) -> _Seen:
        """How the windows of all columns are read, or of some, `padded` of whose taps are padding;
        `halves` single ones as pairs are."""
        of, axis, last, whole = self.of, self.of.axis, _last(self.of), columns == self.columns
        pairs, _ = self.split(columns)
        cut = cut_windows(of, columns, padded)
        missing = [*cut, *(0 for _ in range(columns - len(cut)))]  # taps in padding
        inside = [last >= 0 and not taps for taps in missing]
        if whole:
            firsts = [x * axis.stride - axis.before for x in range(columns)]
            inside = [0 <= first <= last for first in firsts]
            missing = [padded_taps(1, first, of.in_w, axis) for first in firsts]
        fast = [inside[x] and inside[x + 1] for x in range(0, 2 * pairs, 2)]
        slow = [x for x in range(2 * pairs + halves) if x >= 2 * pairs or not fast[x // 2]]
        edges = [x for x in slow if not inside[x]]
        alone = range(2 * pairs + halves, columns)
        lost = [x for x in alone if not inside[x]]
        return _Seen(
            sum(fast),
            len(slow) - len(edges),
            len(edges),
            sum(missing[x] for x in edges),
            len(alone) - len(lost),
            len(lost),
            sum(missing[x] for x in lost),
        )


def _node(layer: Layer) -> Node:
    over, quads, direct = layer.over, _quads(layer.over), _is_direct(layer.over)
    quick, zero, fours = layer.narrow, layer.known.zero, -(-layer.out_c // 4)
    scales = _broad_scales if quick.is_broad else _scales
    size = fours * ((20 if quick.is_broad else 12) + 4 * quads)
    make = Later(size, lambda: _records(quick, over.kernel_h, scales(quick, zero)))
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
    if quick.is_broad:
        return of_any_factors(node)
    if over.out_w == 1 and fours >= _FEWEST_GROUPS:
        # It saves instructions, but few cycles: no RAM is worth that.
        more = replace(
            node, kernel=ONE, scratch=8 * quads, work=replace(work, one=True), is_spare=True
        )
    elif direct and over.out_w % 2 and over.out_w > 1 and quads >= _FEWEST:
        more = replace(node, kernel=THREE, scratch=24 * quads, work=replace(work, three=True))
    else:
        return node
    return replace(node, forms=(replace(more, narrow_scratch=(), forms=()), *node.forms))


def _last(over: Footprint | Windows) -> int:
    """The last column in which a window may begin whose rows are words of the image's rows, up to three
    bytes of which are beyond the window; -1 if there is none."""
    if over.axis.dilation > 1 and over.axis.kernel > 1:
        return -1
    return last_of(over.in_w, over.in_c, -(-over.run // 4))


def last_of(in_w: int, in_c: int, words: int) -> int:
    """The same for rows of `in_w` columns, and windows of so many words of each."""
    beyond = in_w * in_c - 4 * words
    return min(_LARGEST, beyond // in_c) if beyond >= 0 else -1


def _records(quick: packed.Narrow, kernel_h: int, scales: NDArray[np.int64]) -> NDArray[np.int32]:
    """[fours of channels][words]: see the header; each row of the window begins a new four."""
    weights = quick.padded(4)
    rows = weights.reshape(len(weights), kernel_h, -1)
    rows = np.pad(rows, ((0, 0), (0, 0), (0, -rows.shape[2] % 4)))
    pairs = packed.pack_pairs(rows.reshape(len(rows), -1))
    words = pairs.reshape(-1, 2, pairs.shape[1], 2).transpose(0, 2, 3, 1)
    bias = np.pad(quick.bias.astype(np.int64) // 2, (0, -len(quick.bias) % 4))  # they are even
    starts = np.stack([bias[0::2], bias[0::2] + 256 * bias[1::2]]).reshape(2, -1, 2)
    parts = (
        starts.transpose(1, 0, 2).reshape(-1, 4),
        words.reshape(len(words), -1),
        np.pad(scales, ((0, -len(scales) % 4), (0, 0))).reshape(len(words), -1),
    )
    return packed.int32(np.concatenate(parts, axis=1))


def _scales(quick: packed.Narrow, zero: int) -> NDArray[np.int64]:
    """[channels][2]: what lt_narrow takes."""
    shift = quick.shift.astype(np.int64)
    multiplier = quick.multiplier.astype(np.int64)
    return np.stack([multiplier, (2 * zero + 1 << shift + 8) + shift], axis=1)


def _broad_scales(quick: packed.Narrow, zero: int) -> NDArray[np.int64]:
    """[channels][4]: what lt_broad takes. The sums of odd channels are 256 times what they are."""
    scales = packed.broad_scales(quick, zero)
    shifts = scales[1::2, 1]
    scales[1::2, 1] = shifts + 8 - 2 * (shifts & 0xFF)
    return scales


FAMILY = Family("lt_conv_4x2", _fits, Conv4x2, _node)
