"""lt_depthwise_s16.h: int16 depthwise convolutions."""

from __future__ import annotations

from dataclasses import dataclass

from lowtide.lower.counts import Features, Windowed
from lowtide.lower.families.conv_2x2 import scaled
from lowtide.lower.layer import Family, Fields, Layer
from lowtide.lower.nodes import Array, Later, Node


def _fits(layer: Layer) -> bool:
    return layer.filters > 0


@dataclass(frozen=True, slots=True)
class DepthwiseS16(Windowed):
    """What lt_depthwise_s16 does: four channels of a pixel at once if an input channel has one output
    channel and there are four, else each by itself. Sums that are not `short` have 64 bits."""

    short: bool = True

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        of, pixels = self.of, self.of.steps * columns
        taps = of.rows * (columns * of.axis.kernel - padded)
        kind, parts = "each", of.out_c
        if of.out_c == of.in_c > 3:
            kind, parts = "four", -(-of.in_c // 4)
        return {
            "column": pixels,
            "wide": 0 if self.short else pixels * of.out_c,
            f"{kind}s": pixels * parts,
            f"{kind}_rows": of.rows * columns * parts,
            f"{kind}_taps": taps * parts,
        }


def _node(layer: Layer) -> Node:
    channels = layer.known
    weights = Later(channels.weights.size, lambda: channels.weights.T)
    scaling = scaled(channels, modular=False)
    fields: Fields = (
        ("weights", Array("int8_t", weights, weights=True)),
        *scaling,
        ("filters", layer.filters),
        ("low", channels.low),
        ("high", channels.high),
        *layer.over.fields,
    )
    work = DepthwiseS16(layer.windows, dict(scaling)["shift"] is None)
    return layer.node("lt_depthwise", fields, work, header="lt_depthwise_s16.h")


FAMILY = Family("lt_depthwise", _fits, DepthwiseS16, _node)
