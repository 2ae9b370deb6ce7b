"""lt_depthwise_planes.h: depthwise convolutions by planes of channels, on cores with Helium."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

import numpy as np
from numpy.typing import NDArray

from lowtide.ir.window import Axis
from lowtide.lower import packed
from lowtide.lower.counts import Features, Windowed, Windows
from lowtide.lower.families import depthwise_mult1, depthwise_vector
from lowtide.lower.layer import Family, Fields, Layer, of_any_factors
from lowtide.lower.nodes import Array, Later, Node

_TAPS = 64
"""LT_PLANES_TAPS in the header."""

_REACH = 255
"""What an offset of a byte holds. Of windows of few taps, the fourth channel of four columns is as near,
so that they are taken in fours; of others a plane is no longer, so as not to take too much memory."""

_LANES = 16
_FEWEST = 4


def _fits(layer: Layer) -> bool:
    over = layer.over
    fine = over.taps <= _TAPS and most_pixels(over.axis, over.kernel_h) > 0
    fine = fine and layer.target.has_helium and layer.is_by_one and layer.is_quick()
    tall = over.kernel_w == 1 and over.out_w < 3 and over.in_c % 4 == 0  # lt_depthwise_vector
    return fine and not (tall and layer.is_narrow())


def _apart(axis: Axis) -> int:
    """How many columns pixels are apart that read the same columns: with a dilation, others are made as
    if there were none of these."""
    return 1 if axis.kernel == 1 else axis.dilation // gcd(axis.stride, axis.dilation)


def _stride(axis: Axis) -> int:
    """From the window of such a pixel to the next one's, in columns that they read."""
    return axis.stride if axis.kernel == 1 else axis.stride * _apart(axis) // axis.dilation


def most_pixels(axis: Axis, kernel_h: int) -> int:
    """How many columns can be made at a time: their planes must be near enough."""
    few = kernel_h * axis.kernel <= _LANES
    plane = (_REACH - 3 * kernel_h) // 3 if few else _REACH
    return (plane // kernel_h - axis.kernel) // _stride(axis) + 1


def _columns(of: Windows) -> int:
    """How many columns could be made at a time otherwise."""
    return -(-of.columns // _apart(of.axis))


def _piece(of: Windows) -> int:
    """How many columns to make at a time: all, or equal parts of them."""
    columns = _columns(of)
    return -(-columns // -(-columns // most_pixels(of.axis, of.kernel_h)))


def _pieces(of: Windows) -> tuple[int, ...]:
    """The same with less scratch memory, the most first; with fewer than four, much is read twice."""
    normal, columns = _piece(of), _columns(of)
    parts = dict.fromkeys(-(-columns // count) for count in range(2, columns))
    return normal, *(n for n in parts if _FEWEST <= n < normal)


def scratch(axis: Axis, kernel_h: int, columns: int) -> int:
    """Bytes of scratch memory to make so many columns at a time."""
    if not columns:
        return 0
    return 4 * kernel_h * ((columns - 1) * _stride(axis) + axis.kernel) + _LANES


def _by_fours(pixels: int) -> bool:
    """Whether windows of many taps of so many pixels are summed up in fours, channel by channel."""
    return pixels >= 16 or (pixels >= 8 and pixels % 4 == 0)


@dataclass(frozen=True, slots=True)
class DepthwisePlanes(Windowed):
    """What lt_depthwise_planes does, by `piece` columns at a time, `broad` for any factors."""

    piece: int
    broad: bool = False
    is_linear = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        of, axis = self.of, self.of.axis
        apart, stride = _apart(axis), _stride(axis)
        phases = [-(-(columns - x) // apart) for x in range(min(apart, columns))]
        sizes = [min(self.piece, n - at) for n in phases for at in range(0, n, self.piece)]
        pieces, groups = len(sizes), -(-of.in_c // 4)
        width = -(-of.in_w // axis.dilation) if axis.kernel > 1 else of.in_w
        read = [min((size - 1) * stride + axis.kernel, width) for size in sizes]
        found: dict[str, float] = {
            "pieces": of.steps * pieces,
            "groups": of.steps * pieces * groups,
        }
        near = 3 * of.in_c * (axis.dilation if axis.kernel > 1 else 1) + 3 <= _REACH
        rows, taken, single = of.rows * groups, 0, 0
        plane = of.kernel_h * ((max(sizes, default=1) - 1) * stride + axis.kernel)
        near = near and 3 * (plane + of.kernel_h) <= _REACH
        for columns_read in read:
            by_fours = near and columns_read > 3
            if columns_read > 1:
                taken += -(-columns_read // (4 if by_fours else 2))
            else:
                single += 1
        found |= {"rows": rows * (pieces - single), "taken": rows * taken, "single": rows * single}
        pieces_filled = self._filled(columns, padded, len(phases), pieces)
        found |= {"fills": pieces_filled, "filled": pieces_filled * -(-4 * plane // _LANES)}
        if of.clamps:
            found["clamped"] = of.steps * -(-columns * of.in_c // _LANES)
        if of.taps <= _LANES:
            nine = of.taps == 9 and stride * of.kernel_h in (3, 6) and of.in_c >= 4
            name = "nine_pixels" if nine and not self.broad else "pixels"
            return {**found, name: of.steps * columns * groups}
        chunks = -(-of.taps // _LANES)
        fours = [-(-size // 4) for size in sizes if _by_fours(size)]
        alone = sum(size for size in sizes if not _by_fours(size))
        each = of.steps * groups * min(4, of.in_c)
        return {
            **found,
            "wide_groups": of.steps * len(fours) * groups,
            "calls": each * sum(1 + (size % 4 > 0) for size in sizes if _by_fours(size)),
            "fours": each * sum(fours),
            "chunks": each * sum(fours) * chunks,
            "long_pixels": of.steps * groups * alone,
            "long_chunks": of.steps * groups * alone * chunks,
        }

    def _filled(self, columns: int, padded: int, phases: int, pieces: int) -> float:
        """Of so many pieces of a row, in all steps those whose planes are filled with padding: at an end
        of the row where windows reach beyond it, and all in which a row is missing."""
        of, axis = self.of, self.of.axis
        reach = (columns - 1) * axis.stride - axis.before + axis.size
        ends = (axis.before > 0) + (reach > of.in_w) if columns == of.columns else padded > 0
        cut = min(pieces, ends * phases)
        # Of the rows that are missing, half a window is at each end: 1, 2, ... in a step.
        missing = min(of.steps, of.padding * 2 / (of.kernel_h // 2 + 1))
        return of.steps * cut + missing * (pieces - cut)


def _work(windows: Windows) -> DepthwisePlanes:
    return DepthwisePlanes(windows, _piece(windows))


def _node(layer: Layer) -> Node:
    """In pieces of the normal size; other forms are in smaller ones, and, of less scratch memory, those
    of lt_depthwise_vector, or else of lt_depthwise_mult1."""
    over, quick, windows = layer.over, layer.narrow, layer.windows
    words = -(-layer.out_c // 4) * (over.taps + 12)
    records = Array("int32_t", Later(words, lambda: _records(quick, layer)), weights=True)
    apart = _apart(over.axis)
    fields_of_window = {name: value for name, value in over.fields if name != "in_c"}
    if over.kernel_w == 1:
        fields_of_window["dilation_w"] = 1

    def by(piece: int) -> Node:
        fields: Fields = (
            ("records", records),
            ("output_zero", layer.known.zero),
            ("channels", layer.out_c),
            ("piece", piece),
            ("apart", apart),
            *fields_of_window.items(),
            *layer.range,
        )
        many = (min(-(-n // apart), piece) for n in range(over.out_w + 1))
        needs = [scratch(over.axis, over.kernel_h, n) for n in many]
        work = DepthwisePlanes(windows, piece, quick.is_broad)
        node = layer.node("lt_depthwise_planes", fields, work, needs[-1])
        if quick.is_broad:
            node = of_any_factors(node)
        return replace(node, narrow_scratch=tuple(needs))

    normal, *others = _pieces(windows)
    kinds = (depthwise_vector.FAMILY, depthwise_mult1.FAMILY)
    lean = next(kind for kind in kinds if kind.fits(layer)).node(layer)
    forms = (*map(by, others), replace(lean, forms=()), *lean.forms)
    return replace(by(normal), forms=forms)


def _records(quick: packed.Narrow, layer: Layer) -> NDArray[np.int32]:
    """[fours of channels][words]: see the header."""
    over, channels = layer.over, layer.out_c
    more = max(0, 4 - channels)
    first = np.minimum(np.arange(0, channels, 4), channels + more - 4)
    those = first[:, None] + np.arange(4)
    columns = quick.weights.reshape(channels, over.kernel_h, over.kernel_w).transpose(0, 2, 1)
    rows = np.pad(columns.reshape(channels, over.taps), ((0, more), (0, 0)))
    weights = rows[those].reshape(len(those), -1)
    shift = -1 - quick.shift.astype(np.int64)
    scales = [
        np.pad(values, (0, more))[those] for values in (quick.bias // 2, quick.multiplier, shift)
    ]
    words = np.ascontiguousarray(weights).view("<i4")
    return packed.int32(np.concatenate([words, *scales], axis=1))


FAMILY = Family("lt_depthwise_planes", _fits, _work, _node)
