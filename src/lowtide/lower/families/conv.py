"""lt_conv.h: convolutions and dense layers with any weights, in groups or not."""

from __future__ import annotations

from dataclasses import dataclass

from lowtide.lower import packed
from lowtide.lower.counts import Features, Windowed, gathered
from lowtide.lower.layer import Family, Fields, Layer
from lowtide.lower.nodes import Array, Node


def _fits(layer: Layer) -> bool:
    return not layer.is_depthwise


_SCALED = {1: 1, 2: 3, 3: 3}
"""Of so many filters, the sums of a four that are scaled (lt_four.h); of more, all."""


@dataclass(frozen=True, slots=True)
class Conv(Windowed):
    """What lt_conv does: one pixel after the other, its window copied first unless that has one tap.

    The filters of a group go four by four; where there are fewer, four are computed all the same. With
    several groups, each tap is a product of its own.
    """

    is_linear = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns; those of padding count if these are all."""
        of, taps, groups = self.of, self.of.taps, self.of.groups
        pixels, filters = of.steps * columns, of.out_c // groups
        fours = pixels * groups * -(-filters // 4)
        depth = of.in_c // groups
        calls, products = (fours, taps * depth) if groups == 1 else (fours * taps, depth)
        found: dict[str, float] = {
            "pixels": pixels,
            "results": pixels * of.out_c,
            "scaled": fours * _SCALED.get(filters, 4),
            "fours": fours,
            "calls": calls,
            "products": calls * (products // 4),
            "rests": calls * (products % 4),
            "eights": calls * (products // 8),
            "sixteens": calls * -(-products // 16),
        }
        if taps > 1:
            found |= gathered(of, columns, padded, "bytes", float)
            found["flipped"] = pixels * taps * of.in_c * of.flips
        return found


def _node(layer: Layer) -> Node:
    over, channels = layer.over, layer.known
    fields: Fields = (
        ("weights", Array("int8_t", channels.weights, weights=True)),
        *packed.scaled(channels),
        ("out_c", layer.out_c),
        ("groups", layer.groups),
        ("output_zero", channels.zero),
        *over.fields,
        *layer.range,
        ("flip", over.flip),
    )
    scratch = 0 if over.taps == 1 else over.products
    return layer.node("lt_conv", fields, Conv(layer.windows), scratch)


FAMILY = Family("lt_conv", _fits, Conv, _node)
