"""lt_depthwise_mult1.h: depthwise convolutions that make one channel of each, on every core."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lowtide.lower import packed
from lowtide.lower.counts import Features, Windowed
from lowtide.lower.layer import Family, Fields, Layer
from lowtide.lower.nodes import Array, Later, Node
from lowtide.target import DSP

PLAIN = "lt_depthwise_mult1_s8_plain"
"""The kernel that takes no scratch memory."""


def _fits(layer: Layer) -> bool:
    return layer.is_depthwise and layer.is_narrow()


@dataclass(frozen=True, slots=True)
class DepthwiseMult1(Windowed):
    """What lt_depthwise_mult1 does: a list of taps per pixel, then channels four by four, the rest one
    by one."""

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        of, pixels = self.of, self.of.steps * columns
        blocks, rest = divmod(of.in_c, 4)
        taps = of.rows * (columns * of.axis.kernel - padded)
        return {
            "window": of.steps * of.taps,
            "column": pixels,
            "taps": taps,
            "blocks": pixels * blocks,
            "block_rows": of.rows * columns * blocks,
            "block_taps": taps * blocks,
            "rest": pixels * rest,
            "rest_rows": of.rows * columns * rest,
            "rest_taps": taps * rest,
            "clamped": columns * self.clamped,
        }


def _node(layer: Layer) -> Node:
    over, quick = layer.over, layer.narrow
    weights = Later(quick.given.size, lambda: quick.weights.T)
    fields: Fields = (
        ("weights", Array("int8_t", weights, weights=True)),
        ("bias", Array("int32_t", doubled_bias(layer), weights=True)),
        ("multiplier", Array("int32_t", quick.multiplier)),
        ("shift", Array("int8_t", quick.shift)),
        ("channels", layer.out_c),
        ("centre", 2 * layer.known.zero + 1),
        *(field for field in over.fields if field[0] != "in_c"),
        *layer.range,
    )
    scratch = 8 * over.taps if DSP in layer.target.variants else 0
    node = layer.node("lt_depthwise_mult1", fields, DepthwiseMult1(layer.windows), scratch)
    return replace(node, forms=(replace(node, kernel=PLAIN, scratch=0),)) if scratch else node


def doubled_bias(layer: Layer) -> NDArray[np.int32]:
    """Biases, doubled, without the input's zero point: the kernel subtracts that from what it reads."""
    quick = layer.narrow
    return packed.int32(quick.bias + 2 * layer.input_zero * quick.sums)


FAMILY = Family("lt_depthwise_mult1", _fits, DepthwiseMult1, _node)
