"""lt_conv_s16.h: int16 convolutions and dense layers with any weights, in groups or not."""

from __future__ import annotations

from dataclasses import dataclass

from lowtide.lower import packed
from lowtide.lower.counts import Features, Windowed, gathered
from lowtide.lower.layer import Family, Fields, Layer
from lowtide.lower.nodes import Array, Node


def _fits(layer: Layer) -> bool:
    return not layer.filters


@dataclass(frozen=True, slots=True)
class ConvS16(Windowed):
    """What lt_conv does with int16: one channel of one pixel after the other."""

    is_linear = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns; those of padding count if these are all."""
        of, depth = self.of, self.of.in_c // self.of.groups
        pixels, taps = of.steps * columns, of.taps
        if of.groups == 1:  # its pixels are side by side
            taps, depth = 1, taps * depth
        taps *= pixels * of.out_c
        found: dict[str, float] = {
            "column": pixels,
            "results": pixels * of.out_c,
            "taps": taps,
            "products": taps * depth,
            "fours": taps * (depth // 4),
            "rests": taps * (depth % 4),
            "eights": taps * -(-depth // 8),
        }
        return (
            found
            if of.taps == 1
            else found | gathered(of, columns, padded, "bytes", lambda n: 2 * n)
        )


def _node(layer: Layer) -> Node:
    channels, over = layer.known, layer.over
    wide = None if layer.modular else Array("int64_t", channels.bias, weights=True)
    modular = Array("int32_t", packed.int32(channels.bias), weights=True) if layer.modular else None
    fields: Fields = (
        ("weights", Array("int8_t", channels.weights, weights=True)),
        ("bias", wide),
        ("bias_32", modular),
        *packed.factors(channels.factors),
        ("groups", layer.groups),
        ("out_c", layer.out_c),
        ("output_zero", channels.zero),
        ("low", channels.low),
        ("high", channels.high),
        *over.fields,
    )
    scratch = 0 if over.taps == 1 else 2 * over.products
    return layer.node("lt_conv", fields, ConvS16(layer.windows), scratch, header="lt_conv_s16.h")


FAMILY = Family("lt_conv", _fits, ConvS16, _node)
