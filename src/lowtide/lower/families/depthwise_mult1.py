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

ANY = "lt_depthwise_mult1_s8_any"
"""The kernel for any factors."""


def _fits(layer: Layer) -> bool:
    return layer.is_by_one


@dataclass(frozen=True, slots=True)
class DepthwiseMult1(Windowed):
    """What lt_depthwise_mult1 does: a list of taps per pixel, then channels four by four, or one by one
    if there are fewer."""

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        of, pixels = self.of, self.of.steps * columns
        blocks, rest = (-(-of.in_c // 4), 0) if of.in_c > 3 else (0, of.in_c)
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


@dataclass(frozen=True, slots=True)
class DepthwiseAny(Windowed):
    """The same with any factors. Blocks do not call it."""

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        return DepthwiseMult1(self.of).features(columns, padded)


def scratch(layer: Layer) -> int:
    """Bytes of scratch memory for any number of columns."""
    return 8 * layer.over.taps if DSP in layer.target.variants else 0


def _node(layer: Layer) -> Node:
    quick, needs = layer.quick, scratch(layer)
    if quick is None or quick.is_broad:
        known = layer.known
        bias = packed.int32(known.bias + layer.input_zero * known.sums)
        weights = Later(known.weights.size, lambda: known.weights.T)
        node = _with(layer, weights, bias, packed.factors(known.factors), needs)
        return replace(node, kernel=ANY, work=DepthwiseAny(layer.windows))
    weights = Later(quick.given.size, lambda: quick.weights.T)
    scales: Fields = (
        ("multiplier", Array("int32_t", quick.multiplier)),
        ("shift", Array("int8_t", quick.shift)),
    )
    node = _with(layer, weights, doubled_bias(layer), scales, needs)
    return replace(node, forms=(replace(node, kernel=PLAIN, scratch=0),)) if needs else node


def _with(
    layer: Layer, weights: Later, bias: NDArray[np.int32], scales: Fields, needs: int
) -> Node:
    over = layer.over
    fields: Fields = (
        ("weights", Array("int8_t", weights, weights=True)),
        ("bias", Array("int32_t", bias, weights=True)),
        *scales,
        ("channels", layer.out_c),
        ("centre", 2 * layer.known.zero + 1),
        *(field for field in over.fields if field[0] != "in_c"),
        *layer.range,
    )
    return layer.node("lt_depthwise_mult1", fields, DepthwiseMult1(layer.windows), needs)


def doubled_bias(layer: Layer) -> NDArray[np.int32]:
    """Biases, doubled, without the input's zero point: the kernel subtracts that from what it reads."""
    quick = layer.narrow
    return packed.int32(quick.bias + 2 * layer.input_zero * quick.sums)


FAMILY = Family("lt_depthwise_mult1", _fits, DepthwiseMult1, _node)
