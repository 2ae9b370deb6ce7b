"""lt_conv_vector.h: convolutions and dense layers by sixteens of products, on cores with Helium."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lowtide.lower import packed
from lowtide.lower.counts import ByPixels, Features, cut_windows, gathered
from lowtide.lower.layer import MAX_SIZE, Family, Layer, of_any_factors
from lowtide.lower.nodes import Array, Later, Node

_LANES = 16
_REACH = 256
"""What an offset of a byte reaches."""
_TURNS = 4
"""TURNS of lt_conv_vector.c."""
_MOST = MAX_SIZE - 3
"""Channels: how far results of a pair of pixels are has 16 bits."""


def _chunks(products: int) -> int:
    """Sixteens of products before the last ones."""
    return (products - 1) // _LANES


def _fits(layer: Layer) -> bool:
    able = layer.target.has_helium and not layer.is_depthwise
    return able and layer.is_quick() and layer.over.products <= MAX_SIZE and layer.out_c <= _MOST


@dataclass(frozen=True, slots=True)
class ConvVector(ByPixels):
    """What lt_conv_vector does."""

    is_linear = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns; those of padding count if these are all."""
        of, axis, steps, rests = self.of, self.of.axis, self.of.steps, self.of.out_c % 4
        each, chunks = -(-of.out_c // 4), _chunks(of.taps * of.in_c)
        pairs, singles = self.split(columns)
        found: dict[str, float] = {}
        for name, count in (("pair", pairs), ("single", singles)):
            found[name] = steps * count
            found[f"{name}_groups"] = steps * count * each
            found[f"{name}_chunks"] = steps * count * each * chunks
            # What makes fours is called, for all pixels that are read where they lie; so is what makes
            # the channels that are left, for a few of these.
            direct = of.taps == 1
            found[f"{name}_calls"] = steps * (bool(count) if direct else count) * (of.out_c >= 4)
            parts = -(-count // _TURNS) if direct else count
            found[f"{name}_rest"] = steps * parts * bool(rests)
            found[f"{name}_rest_turns"] = steps * count * bool(rests)
            found[f"{name}_several"] = steps * count * (rests > 1)
        found["pair_long"] = found["pair_groups"] * bool(chunks)
        found["pair_away"] = found["pair_groups"] * (not of.above)
        found["clamped_sixteens"] = steps * -(-columns * of.out_c // _LANES) if of.clamps else 0
        if of.taps == 1:
            return {**found, "direct": steps}
        if axis.dilation > 1 and axis.kernel > 1:
            found |= self._apart(columns, padded)
        else:
            found |= self._gathered(columns, padded)
        if of.flips:
            found["flipped_rows"] = of.rows * columns
            found["flipped_sixteens"] = of.rows * columns * -(-of.run // _LANES)
        return found

    def _apart(self, columns: int, padded: int) -> dict[str, float]:
        """What is done to copy windows whose columns are apart: short rows at once, others by taps."""
        of, axis, rows = self.of, self.of.axis, self.of.rows + self.of.padding
        found: dict[str, float] = {"column": of.steps * columns}
        if of.run <= _LANES and axis.size * of.in_c <= _REACH:
            return found | {"picked": of.steps, "picked_rows": rows * columns}
        inside, sixteens = columns * axis.kernel - padded, -(-of.in_c // _LANES)
        return found | {
            "apart": of.steps * inside,
            "apart_taps": rows * inside,
            "apart_sixteens": rows * inside * sixteens,
            "apart_outside": of.steps * padded,
            "outside_taps": rows * padded,
            "outside_sixteens": rows * padded * sixteens,
        }

    def _gathered(self, columns: int, padded: int) -> dict[str, float]:
        """What is done to copy windows."""
        of, twos = self.of, self._twos(columns, padded)
        found = gathered(of, columns, padded, "sixteens", lambda size: -(-size // _LANES))
        for name, rows in (("copied", of.rows), ("filled", of.padding)):
            found[f"{name}_rows"] -= 2 * rows * twos
            found[f"{name}_sixteens"] -= 2 * rows * twos
        return found | {
            "column": of.steps * (columns - 2 * twos),
            "two": of.steps * twos,
            "two_rows": (of.rows + of.padding) * twos,
        }

    def _twos(self, columns: int, padded: int) -> int:
        """How many pairs of pixels have their windows copied at once: those without padding, of short
        rows. Counted as by `cut_windows`."""
        of, axis, (pairs, _) = self.of, self.of.axis, self.split(columns)
        if of.run > _LANES:
            return 0
        if columns != of.columns:
            return max(0, pairs - len(cut_windows(of, columns, padded)))
        last = of.in_w - axis.kernel - axis.stride
        return sum(0 <= 2 * x * axis.stride - axis.before <= last for x in range(pairs))


def _node(layer: Layer) -> Node:
    over, quick = layer.over, layer.narrow
    products, direct = over.products, over.taps == 1
    words = -(-layer.out_c // 4) * (_width(products) + 12)
    fields = (
        ("records", Array("int32_t", Later(words, lambda: _records(quick)), weights=True)),
        ("products", products),
        ("out_c", layer.out_c),
        ("output_zero", layer.known.zero),
        ("direct", int(direct)),
    )
    one = 0 if direct else products
    windows = layer.windows
    work = ConvVector(replace(windows, above=windows.above and not quick.is_broad))
    node = layer.by_pixels("lt_conv_vector", fields, work, (one, 2 * one))
    return of_any_factors(node) if quick.is_broad else node


def _width(products: int) -> int:
    """Bytes that the weights of a channel take."""
    whole = _chunks(products) * _LANES
    return whole + (8 if products - whole <= 8 else _LANES)


def _records(quick: packed.Narrow) -> NDArray[np.int32]:
    """[fours of channels][words]: see the header."""
    weights = quick.padded(4)
    products, fours = weights.shape[1], len(weights) // 4
    whole = _chunks(products) * _LANES
    wide = np.pad(weights, ((0, 0), (0, _width(products) - products))).reshape(fours, 4, -1)
    first = wide[:, :, :whole].reshape(fours, 4, whole // _LANES, _LANES).transpose(0, 2, 1, 3)
    both = np.concatenate([first.reshape(fours, -1), wide[:, :, whole:].reshape(fours, -1)], axis=1)
    words = np.ascontiguousarray(both).view("<i4")
    # Biases are even.
    scales = np.stack([quick.bias // 2, quick.multiplier, -1 - quick.shift.astype(np.int32)])
    empty = np.array([[0], [0], [-1]])
    scales = np.concatenate([scales, np.repeat(empty, -len(quick.shift) % 4, axis=1)], axis=1)
    bias, multiplier, shift = scales.reshape(3, fours, 4)
    return packed.int32(np.concatenate([bias, words, multiplier, shift], axis=1))


FAMILY = Family("lt_conv_vector", _fits, ConvVector, _node)
