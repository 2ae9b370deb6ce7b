"""lt_w9.h: convolutions of which some channels are made anew.

Why: a kernel with packed weights makes all channels or none, and some do not meet its conditions:
weights of uint8 have a zero point, and less it a few have nine bits; factors of 1/2 and more are not
for lt_narrow, and not all kernels have a form for any factors. So that kernel makes all channels, as if
these had weights of 0, and then they are made anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lowtide.lower import packed
from lowtide.lower.counts import (
    Features,
    Over,
    Windows,
    Work,
    cut_windows,
    gathered,
    of_kernel,
)
from lowtide.lower.layer import Fields, Layer
from lowtide.lower.nodes import Array, Kernel, Node, Params

_MOST_DEPTHWISE, _MOST_DSP, _MOST_OTHERS = 0.2, 1 / 3, 0.1
"""Up to which part of the channels it takes fewer instructions to make them anew than to make all by a
kernel for any factors, as measured on Cortex-M3, M4 and M55: depthwise of 3 x 3 without products of
halves, or without a quick kernel for any factors; convolutions with products of halves; all others."""
_FEWEST = 3
"""FEWEST of lt_w9.c."""
_OF_ANY_FACTORS = frozenset(
    {"lt_conv_s8_row", "lt_conv_w4_s8_row", "lt_depthwise_s8_row", "lt_depthwise_mult1_s8_any"}
)


def around(layer: Layer, node: Callable[[Layer], Node]) -> Node:
    """The node of a layer; `node` makes that of one of bytes."""
    channels = layer.known
    nine = _of_nine_bits(channels)
    if channels.too_wide[~nine].any():
        few = np.flatnonzero(nine)
        rest = node(layer.having(channels.without(few) if len(few) else channels))
        if rest.kernel not in _OF_ANY_FACTORS:
            return _around(layer, few, rest) if len(few) else rest
    anew = nine | channels.too_wide
    most = _most(layer)
    if anew.any() and anew.sum() <= most * layer.out_c:
        rest = node(layer.having(channels.without(np.flatnonzero(anew))))
        if rest.kernel not in _OF_ANY_FACTORS:
            return _around(layer, np.flatnonzero(anew), rest)
    if not nine.any():
        return node(layer.having(channels))
    few = np.flatnonzero(nine)
    return _around(layer, few, node(layer.having(channels.without(few))))


def _most(layer: Layer) -> float:
    if layer.filters:
        three = layer.over.kernel_h == layer.over.kernel_w == 3 and not _has_dsp(layer)
        return _MOST_DEPTHWISE if three or layer.filters > 1 else _MOST_OTHERS
    return _MOST_DSP if _has_dsp(layer) else _MOST_OTHERS


def _of_nine_bits(channels: packed.Channels) -> NDArray[np.bool_]:
    """Which channels have weights of nine bits."""
    weights = channels.weights
    if weights.dtype == np.int8:
        return np.zeros(len(weights), np.bool_)
    beyond: NDArray[np.bool_] = (weights < packed.LEAST) | (weights > packed.GREATEST)
    found: NDArray[np.bool_] = np.logical_or.reduce(beyond, axis=1)
    return found


def _has_dsp(layer: Layer) -> bool:
    return layer.target.has_dsp or layer.target.has_helium


@dataclass(frozen=True, slots=True)
class W9(Over):
    """What lt_w9 does in `steps` steps: what the kernel `kernel` does in a call, `of`, and then
    `channels` channels of some windows, whose sums are scaled as lt_narrow does, or (not `narrow`) by
    any factors; or four at once, with DSP instructions (`is_dsp`) or Helium."""

    of: Work
    kernel: str
    steps: int
    channels: int
    windows: Windows
    is_depthwise: bool
    narrow: bool
    by_fours: bool = False
    is_dsp: bool = False

    is_linear = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns; those of padding count if these are all."""
        found: Features = {}
        if self.channels < self.windows.out_c:
            found = {"call": self.steps, **self.of.features(columns, padded)}
        return {**of_kernel(self.kernel, found), **self._anew(columns, padded)}

    def _anew(self, columns: int, padded: int) -> Features:
        """What is done to make the channels."""
        seen, pixels = self.windows, self.steps * columns
        if self.by_fours and self.is_depthwise:
            return self._depthwise_fours(columns, padded)
        if self.by_fours:
            return self._words(columns, padded) if self.is_dsp else self._eights(columns, padded)
        if self.is_depthwise:
            anew: dict[str, float] = {"taps": pixels * seen.taps}
        elif seen.taps == 1:
            anew = {"products": pixels * seen.in_c}
        else:
            anew = {"windows": pixels} | gathered(seen, columns, padded, "products", float)
        anew |= {"channels": self.steps, "results" if self.narrow else "wide_results": pixels}
        return {name: count * self.channels for name, count in anew.items()}

    def _depthwise_fours(self, columns: int, padded: int) -> Features:
        """What is done to make channels four at once, with Helium."""
        seen, fours = self.windows, -(-self.channels // 4)
        taps = self.steps * columns * seen.taps
        inside = seen.rows * (columns * seen.axis.kernel - padded)
        return {
            "fours": self.steps * fours,
            "four_pixels": self.steps * columns * fours,
            "four_rows": seen.rows * columns * fours,
            "four_taps": inside * fours,
            "four_padding": (taps - inside) * fours,
        }

    def _words(self, columns: int, padded: int) -> Features:
        """The same of others, with DSP instructions: instructions, about, where no column is padding."""
        seen, fours = self.windows, -(-self.channels // 4)
        cut, (words, rest) = len(cut_windows(seen, columns, padded)), divmod(seen.run, 4)
        of_row = (40 + 22 * words if words else 0) + 16 * rest
        assembly = self.steps * 180 * (1 + columns) + seen.rows * (columns - cut) * of_row
        cuts = "fours" if seen.in_c % 4 == 0 else "bytes"  # how windows are made that are cut
        return {
            "word_assembly": fours * assembly,
            f"word_cut_{cuts}": (seen.rows * cut + seen.padding) * fours * seen.run,
        }

    def _eights(self, columns: int, padded: int) -> Features:
        """The same with Helium, instructions, about; a channel that is left of whole fours is made by
        itself."""
        seen, alone = self.windows, self.channels % 4 == 1
        fours, (eights, rest) = -(-self.channels // 4), divmod(seen.run, 8)
        cut = len(cut_windows(seen, columns, padded))
        whole, inside, more = self.steps * (columns - cut), seen.rows * (columns - cut), rest > 0
        of_four = self.steps * 121 + whole * 63 + inside * (46 + 11 * eights + 32 * more)
        if seen.kernel_h == 1:
            of_four = self.steps * 121 + whole * (80 + 11 * eights + 26 * more)
        of_one = self.steps * 164 + whole * 35 + inside * (19 + 5 * eights + 6 * more)
        vectors, windows, rows = eights + more, self.steps * cut, seen.rows * cut
        each = seen.padding * (61 + 74 * vectors)
        if seen.in_c % 4:  # windows that are cut go by bytes
            each += windows * (156 + 36 * vectors) + rows * 39 * vectors
        else:
            of_four += windows * 252 + rows * 250
            of_one += windows * 285 + rows * 185
            each += rows * 23 * vectors
        return {"eight_assembly": (fours - alone) * of_four + alone * of_one + fours * each}


def _around(layer: Layer, anew: NDArray[np.intp], node: Node) -> Node:
    """`node`, and then the channels `anew`."""
    channels, over, multiple = layer.known, layer.over, layer.filters
    few = channels.some(anew)
    narrow = packed.is_narrow(few.ends, few.factors, few.zero).all()
    weights = few.weights if multiple else _swapped(few.weights, over.kernel_h)
    fields: Fields = (
        ("weights", Array("int16_t", weights, weights=True)),
        ("bias", Array("int32_t", packed.int32(few.bias), weights=True)),
        ("channels", Array("uint16_t", anew)),
        *packed.factors(few.factors),
        ("count", len(anew)),
        ("out_c", layer.out_c),
        ("filters", multiple),
        *over.fields,
        ("input_zero", layer.input_zero),
        ("output_zero", channels.zero),
        ("low", channels.low),
        ("high", channels.high),
        ("narrow", int(narrow)),
        ("flip", 0 if multiple else over.flip),
    )

    def wrapped(of: Node) -> Node:
        assert of.work is not None  # all families count it
        called = ("run", Kernel(of.kernel, of.header)), ("params", of.params)
        return replace(
            of,
            kernel="lt_w9_s8_row",
            header="lt_w9.h",
            params=Params("lt_w9_s8", (*called, *fields)),
            forms=tuple(map(wrapped, of.forms)),
            work=W9(
                *(of.work, of.kernel, of.steps, len(anew), layer.windows),
                is_depthwise=multiple > 0,
                narrow=bool(narrow),
                by_fours=_by_fours(layer, len(anew)),
                is_dsp=layer.target.has_dsp,
            ),
        )

    return wrapped(node)


def _by_fours(layer: Layer, channels: int) -> bool:
    """Whether channels are made four at once, as lt_w9.c says."""
    over, helium = layer.over, layer.target.has_helium
    fewest = 1 if helium and not layer.filters and over.taps > 1 else _FEWEST
    apart = over.dilation_w > 1 and over.kernel_w > 1
    able = helium if layer.filters else _has_dsp(layer) and not apart
    return able and channels >= fewest


def _swapped(weights: NDArray[np.int16], kernel_h: int) -> NDArray[np.int16]:
    """[channels, products]; of each whole four of a row of the window the second and the third change
    places, so that two products of words of bytes are two words."""
    runs = weights.reshape(len(weights), kernel_h, -1).copy()
    whole = runs.shape[2] // 4 * 4
    fours = runs[:, :, :whole].reshape(len(weights), kernel_h, -1, 4)
    runs[:, :, :whole] = fours[..., [0, 2, 1, 3]].reshape(len(weights), kernel_h, whole)
    return runs.reshape(len(weights), -1)
