"""lt_depthwise.h: depthwise convolutions with any weights, and any number of channels made of each."""

from __future__ import annotations

from dataclasses import replace

from lowtide.lower import packed
from lowtide.lower.layer import Family, Fields, Layer
from lowtide.lower.nodes import Array, Later, Node


def _fits(layer: Layer) -> bool:
    return layer.is_depthwise


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
    return layer.node("lt_depthwise", fields)


FAMILY = Family("lt_depthwise", _fits, None, _node)
