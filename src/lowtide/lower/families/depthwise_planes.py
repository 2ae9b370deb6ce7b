"""lt_depthwise_planes.h: depthwise convolutions by planes of channels, on cores with Helium."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    able = (over.dilation_w == 1 or over.kernel_w == 1) and over.taps <= _TAPS
    fine = able and most_pixels(over.axis, over.kernel_h) > 0
    fine = fine and layer.target.has_helium and layer.is_by_one and layer.is_quick()
    tall = over.kernel_w == 1 and over.out_w < 4 and over.in_c % 4 == 0  # lt_depthwise_vector
    return fine and not (tall and layer.is_narrow())


def most_pixels(axis: Axis, kernel_h: int) -> int:
    """How many columns can be made at a time: their planes must be near enough."""
    few = kernel_h * axis.kernel <= _LANES
    plane = (_REACH - 3 * kernel_h) // 3 if few else _REACH
    return (plane // kernel_h - axis.kernel) // axis.stride + 1


def _piece(of: Windows) -> int:
    """How many columns to make at a time: all, or equal parts of them."""
    most = most_pixels(of.axis, of.kernel_h)
    return -(-of.columns // -(-of.columns // most))


def _pieces(of: Windows) -> tuple[int, ...]:
    """The same with less scratch memory, the most first; with fewer than four, much is read twice."""
    normal = _piece(of)
    parts = dict.fromkeys(-(-of.columns // count) for count in range(2, of.columns))
    return normal, *(n for n in parts if _FEWEST <= n < normal)


def scratch(axis: Axis, kernel_h: int, columns: int) -> int:
    """Bytes of scratch memory to make so many columns at a time."""
    if not columns:
        return 0
    more = max(0, 4 - columns) if kernel_h * axis.kernel > _LANES else 0
    reach = (columns - 1) * axis.stride + axis.kernel
    return kernel_h * (4 * reach + more * axis.stride) + _LANES


@dataclass(frozen=True, slots=True)
class DepthwisePlanes(Windowed):
    """What lt_depthwise_planes does, by `piece` columns at a time."""

    piece: int
    is_linear = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        del padded
        of, axis = self.of, self.of.axis
        pieces = -(-columns // self.piece)
        groups = -(-of.in_c // 4)
        sizes = [min(self.piece, columns - at) for at in range(0, columns, self.piece)]
        read = (min((size - 1) * axis.stride + axis.kernel, of.in_w) for size in sizes)
        found: dict[str, float] = {
            "pieces": of.steps * pieces,
            "groups": of.steps * pieces * groups,
        }
        near = 3 * of.in_c + 3 <= _REACH
        rows, taken = of.rows * groups, 0
        for columns_read in read:
            plane = of.kernel_h * columns_read
            by_fours = near and 3 * (plane + of.kernel_h) <= _REACH and columns_read > 3
            taken += -(-columns_read // (4 if by_fours else 2))
        found |= {"rows": rows * pieces, "taken": rows * taken}
        if of.taps <= _LANES:
            return {**found, "pixels": of.steps * columns * groups}
        fours = of.steps * groups * min(4, of.in_c) * sum(-(-size // 4) for size in sizes)
        chunks = -(-of.taps // _LANES)
        return {
            **found,
            "wide_groups": of.steps * pieces * groups,
            "fours": fours,
            "chunks": fours * chunks,
        }


def _work(windows: Windows) -> DepthwisePlanes:
    return DepthwisePlanes(windows, _piece(windows))


def _node(layer: Layer) -> Node:
    """In pieces of the normal size; other forms are in smaller ones, and, of less scratch memory, those
    of lt_depthwise_vector, or else of lt_depthwise_mult1."""
    over, quick, windows = layer.over, layer.narrow, layer.windows
    words = -(-layer.out_c // 4) * (over.taps + 12)
    records = Array("int32_t", Later(words, lambda: _records(quick, layer)), weights=True)

    def by(piece: int) -> Node:
        fields: Fields = (
            ("records", records),
            ("output_zero", layer.known.zero),
            ("channels", layer.out_c),
            ("piece", piece),
            *(field for field in over.fields if field[0] not in ("in_c", "dilation_w")),
            *layer.range,
        )
        needs = [scratch(over.axis, over.kernel_h, min(n, piece)) for n in range(over.out_w + 1)]
        work = DepthwisePlanes(windows, piece)
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
