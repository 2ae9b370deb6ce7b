"""lt_depthwise.h: depthwise convolutions with any weights, and any number of channels made of each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lowtide.lower import packed
from lowtide.lower.counts import Features, Windowed
from lowtide.lower.layer import Family, Fields, Layer
from lowtide.lower.nodes import Array, Later, Node


def _fits(layer: Layer) -> bool:
    return layer.is_depthwise


@dataclass(frozen=True, slots=True)
class Depthwise(Windowed):
    """What lt_depthwise does: four channels of a pixel at once, or each by itself if there are less."""

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        of, pixels = self.of, self.of.steps * columns
        kind, parts = ("four", -(-of.out_c // 4)) if of.out_c > 3 else ("each", of.out_c)
        return {
            "column": pixels,
            f"{kind}s": pixels * parts,
            f"{kind}_rows": of.rows * columns * parts,
            f"{kind}_taps": of.rows * (columns * of.axis.kernel - padded) * parts,
        }


def _node(layer: Layer) -> Node:
    channels = layer.known
    # The kernel subtracts the input's zero point from what it reads.
    bias = channels.bias + layer.input_zero * channels.sums
    weights = Later(channels.weights.size, lambda: channels.weights.T)
    fields: Fields = (
        ("weights", Array("int8_t", weights, weights=True)),
        *packed.scaled(replace(channels, bias=bias)),
        ("filters", layer.filters),
        ("output_zero", channels.zero),
        *layer.over.fields,
        *layer.range,
    )
    return layer.node("lt_depthwise", fields, Depthwise(layer.windows))


FAMILY = Family("lt_depthwise", _fits, Depthwise, _node)
