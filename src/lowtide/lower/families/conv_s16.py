"""lt_conv_s16.h: int16 convolutions and dense layers with any weights, in groups or not."""

from __future__ import annotations

from dataclasses import replace

from lowtide.lower import packed
from lowtide.lower.layer import Family, Fields, Layer
from lowtide.lower.nodes import Array, Node


def _fits(layer: Layer) -> bool:
    return not layer.filters


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
    node = layer.node("lt_conv", fields, scratch=scratch, header="lt_conv_s16.h")
    return replace(node, scratch_lasts=True)


FAMILY = Family("lt_conv", _fits, None, _node)
