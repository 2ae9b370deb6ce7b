"""lt_conv_lanes.h: int16 convolutions and dense layers by eights of products, on cores with Helium."""

from __future__ import annotations

from dataclasses import dataclass

from lowtide.lower.counts import Features
from lowtide.lower.families.conv_2x2 import Conv2x2, shifted
from lowtide.lower.layer import Family, Fields, Layer
from lowtide.lower.nodes import Array, Node

_LANES, _FITTING = 8, 504
"""Products of an instruction; FITTING in lt_conv_lanes.c."""


def _fits(layer: Layer) -> bool:
    return layer.target.has_helium and not layer.filters and layer.groups == 1


@dataclass(frozen=True, slots=True)
class ConvLanes(Conv2x2):
    """What lt_conv_lanes does: four channels of one pixel at a time, all rows of a window together where
    sums are `short`."""

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns; those of padding count if these are all."""
        del padded
        of, fours = self.of, -(-self.of.out_c // 4)
        sizes = [n for found in self._runs(columns) for _, n in found]
        eights = sum(-(-n // _LANES) for n in sizes)
        found = {
            "column": of.steps * columns,
            "groups": of.steps * columns * fours,
            "rows": of.rows * len(sizes) * fours,
            "nulls": of.padding * len(sizes) * fours,
            "eights": of.rows * eights * fours,
        }
        if self.short:
            return found | {"runs": of.steps * len(sizes) * fours}
        parts = sum(-(-n // _FITTING) for n in sizes)
        wide = {"parts": of.rows * parts * fours, "results": of.steps * columns * of.out_c}
        return found | wide


def _node(layer: Layer) -> Node:
    channels = layer.known
    left, scaling = shifted(channels, modular=layer.modular, least=4)
    fields: Fields = (
        ("weights", Array("int8_t", channels.weights, weights=True)),
        *scaling,
        ("out_c", layer.out_c),
        ("output_zero", channels.zero),
        ("low", channels.low),
        ("high", channels.high),
        ("left", left),
        *layer.over.fields,
    )
    short = layer.modular or dict(scaling)["shift"] is None
    return layer.node("lt_conv_lanes", fields, ConvLanes(layer.windows, short))


FAMILY = Family("lt_conv_lanes", _fits, ConvLanes, _node)
