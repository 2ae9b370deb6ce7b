"""lt_conv_packed.h: convolutions and dense layers with weights of two channels in a word, anywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lowtide.lower import packed
from lowtide.lower.counts import ByPixels, Features
from lowtide.lower.layer import MAX_SIZE, Family, Layer
from lowtide.lower.nodes import Array, Later, Node
from lowtide.target import DSP


def _fits(layer: Layer) -> bool:
    quads = -(-layer.over.products // 4)
    return not layer.is_depthwise and quads <= MAX_SIZE and layer.is_narrow(packed.pairs_fit)


@dataclass(frozen=True, slots=True)
class ConvPacked(ByPixels):
    """What lt_conv_packed does."""

    @property
    def quads(self) -> int:
        """Fours of products of a window."""
        return -(-self.of.taps * self.of.in_c // 4)

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        of, quads, run = self.of, self.quads, self.of.run
        steps, out_c = of.steps, of.out_c
        pairs, singles = self.split(columns)
        channels = -(-out_c // 2)
        found = {
            "pair": steps * pairs,
            "pair_channels": steps * pairs * channels,
            "pair_elements": steps * pairs * out_c,
            "pair_products": steps * pairs * channels * quads,
            "single": steps * singles,
            "single_channels": steps * singles * channels,
            "single_elements": steps * singles * out_c,
            "single_products": steps * singles * channels * quads,
            "single_tails": steps * singles * channels if run * of.kernel_h % 4 else 0,
            "clamped": columns * self.clamped,
        }
        if of.taps == 1:
            return {**found, "direct_words": steps * pairs * 2 * quads}
        edges = "copied_edges" if of.in_c % 4 or self.lean else "unpacked_edges"
        unpacked, copied = (0, columns) if of.in_c % 4 else (2 * pairs, singles)
        return {
            **found,
            "unpacked_rows": (of.rows + of.padding) * unpacked,
            "unpacked_words": of.rows * unpacked * (run // 4),
            "unpacked_padding": of.padding * unpacked * (run // 4),
            "copied_rows": (of.rows + of.padding) * copied,
            "copied_words": of.rows * copied * (run // 4),
            "copied_bytes": of.rows * copied * (run % 4),
            "copied_padding": of.padding * copied * run,
            "copied_unpacked": steps * 2 * pairs * quads if not unpacked else 0,
            edges: of.rows * padded,
        }


def _node(layer: Layer) -> Node:
    over, quick = layer.over, layer.narrow
    quads, pairs, direct = -(-over.products // 4), -(-layer.out_c // 2), over.taps == 1
    weights = Later(2 * pairs * quads, lambda: packed.pack_pairs(quick.padded(2)))
    fields = (
        ("weights", Array("int32_t", weights, weights=True)),
        ("scales", Array("int32_t", Later(5 * pairs, lambda: _scales(quick)))),
        ("quads", quads),
        ("out_c", layer.out_c),
        ("centre", 2 * layer.known.zero + 1),
        ("direct", int(direct)),
    )
    dsp = DSP in layer.target.variants
    scratch = 0 if direct else 4 * quads, 4 * quads * _pixels(layer, dsp=dsp)
    work, lean = ConvPacked(layer.windows), not direct or dsp
    return layer.by_pixels("lt_conv_packed", fields, work, scratch, lean=lean)


def _pixels(layer: Layer, *, dsp: bool) -> int:
    """How many pixels of bytes the kernel needs for several columns: see its header."""
    direct = layer.over.taps == 1
    if dsp:
        return 4 if direct or (layer.over.in_c % 4 == 0 and not layer.over.flip) else 5
    return 0 if direct else 2


def _scales(quick: packed.Narrow) -> NDArray[np.int64]:
    """Five words per pair of channels: bias, multiplier, bias, multiplier, both shifts."""
    each = np.stack([quick.bias, quick.multiplier, quick.shift], axis=1).astype(np.int64)
    padded = np.pad(each, ((0, len(each) % 2), (0, 0)))
    first, second = padded[0::2], padded[1::2]
    shifts = first[:, 2:] + 256 * second[:, 2:]
    return np.concatenate([first[:, :2], second[:, :2], shifts], axis=1)


FAMILY = Family("lt_conv_packed", _fits, ConvPacked, _node)
