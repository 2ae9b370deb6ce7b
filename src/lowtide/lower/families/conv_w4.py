"""lt_conv_w4.h: convolutions and dense layers with weights of four bits, two a byte in flash as in the
file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.lower import packed
from lowtide.lower.counts import ByPixels, Features, gathered
from lowtide.lower.layer import Family, Fields, Layer
from lowtide.lower.nodes import Array, Later, Node

_LEAST, _GREATEST = -8, 7
_MOST_PRODUCTS = (1 << 31) // (128 * 15)
"""Of a sum of 32 bits."""


def _fits(layer: Layer) -> bool:
    """Kernels of other operators that call a convolution's (blocks) have weights of eight bits."""
    if not layer.of_nibbles or layer.target.shared or layer.is_depthwise or layer.groups > 1:
        return False
    weights = layer.known.weights
    return (
        weights.shape[1] < _MOST_PRODUCTS
        and _LEAST <= int(weights.min()) <= int(weights.max()) <= _GREATEST
    )


@dataclass(frozen=True, slots=True)
class ConvW4(ByPixels):
    """What lt_conv_w4 does: two products of all channels at a time, for two pixels or one."""

    is_linear = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns; those of padding count if these are all."""
        of, products = self.of, self.of.taps * self.of.in_c
        found: dict[str, float] = {"summed": of.steps * columns * products}
        for name, pixels in zip(("pair", "single"), self.split(columns), strict=True):
            count = of.steps * pixels
            found[name] = count
            found[f"{name}_channels"] = count * of.out_c
            found[f"{name}_bytes"] = count * of.out_c * (products // 2)
            found[f"{name}_odd"] = count * of.out_c * (products % 2)
        return found if of.taps == 1 else found | gathered(of, columns, padded, "bytes", float)


def _node(layer: Layer) -> Node:
    channels, over = layer.known, layer.over
    size = layer.out_c * -(-over.products // 2)
    weights = Later(size, lambda: _packed(channels.weights))
    fields: Fields = (
        ("weights", Array("uint8_t", weights, weights=True)),
        *packed.scaled(channels),
        ("out_c", layer.out_c),
        ("output_zero", channels.zero),
    )
    one = 0 if over.taps == 1 else over.products
    return layer.by_pixels("lt_conv_w4", fields, ConvW4(layer.windows), (one, 2 * one), flips=False)


def _packed(weights: NDArray[Any]) -> NDArray[np.uint8]:
    """[out_c, products] as [out_c, (products + 1) / 2]: the first of two in the low half, plus 8."""
    raised = weights.astype(np.int64) - _LEAST
    even = np.pad(raised, ((0, 0), (0, raised.shape[1] % 2)))
    return (even[:, ::2] + 16 * even[:, 1::2]).astype(np.uint8)


FAMILY = Family("lt_conv_w4", _fits, ConvW4, _node)
