"""lt_conv_scalar.h: convolutions and dense layers with bytes as weights, on cores without Arm's DSP
extension. Weights and scales are in the order of lt_scalar.h, as those of depthwise_scalar.py."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lowtide.lower import packed
from lowtide.lower.counts import ByPixels, Features, gathered
from lowtide.lower.layer import MAX_SIZE, Family, Fields, Layer, of_any_factors
from lowtide.lower.nodes import Array, Later, Node


def _fits(layer: Layer) -> bool:
    able = layer.target.is_portable and not layer.is_depthwise
    return able and layer.over.products <= MAX_SIZE and layer.is_quick(_no_pair_of_least)


def _no_pair_of_least(quick: packed.Narrow) -> bool:
    """Whether no channel has -128 twice where two products are added: see lt_conv_scalar.h."""
    if quick.least > packed.LEAST:
        return True
    weights = quick.weights
    pairs = weights[:, : weights.shape[1] // 4 * 4].reshape(len(weights), -1, 2)
    return not (pairs == packed.LEAST).all(axis=2).any()


@dataclass(frozen=True, slots=True)
class ConvScalar(ByPixels):
    """What lt_conv_scalar does, in fours of channels."""

    is_linear = False

    def passes(self, *, is_short: bool) -> int:
        """Once for each pixel where a core has registers for no more."""
        return self.columns if is_short else sum(self.split(self.columns))

    def scaled(self, columns: int) -> Features:
        """Each result."""
        return {"elements": self.of.steps * columns * self.of.out_c}

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns; those of padding count if these are all."""
        of, run = self.of, self.of.run
        groups, (fours, rest) = -(-of.out_c // 4), divmod(of.kernel_h * run, 4)
        found: dict[str, float] = {"clamped": columns * self.clamped}
        for name, pixels in zip(("pair", "single"), self.split(columns), strict=True):
            count = of.steps * pixels
            found[name] = count
            found[f"{name}_groups"] = count * groups
            found[f"{name}_fours"] = count * groups * fours
            found[f"{name}_rests"] = count * groups * rest
            found[f"{name}_elements"] = count * of.out_c
        if of.taps == 1:
            return found
        # Words are copied where both ends are such.
        words = of.in_c % 4 == 0
        found |= gathered(
            of, columns, padded, "words" if words else "bytes", lambda n: n / 4 if words else n
        )
        return found | {"flipped": of.steps * columns * of.taps * of.in_c * of.flips}


def _node(layer: Layer) -> Node:
    products, direct = layer.over.products, layer.over.taps == 1
    fields = (
        *weights_and_scales(layer),
        ("products", products),
        ("out_c", layer.out_c),
        ("direct", int(direct)),
    )
    one = 0 if direct else products
    node = layer.by_pixels("lt_conv_scalar", fields, ConvScalar(layer.windows), (one, 2 * one))
    return of_any_factors(node) if layer.narrow.is_broad else node


def weights_and_scales(layer: Layer) -> Fields:
    """The params of that name of lt_scalar.h."""
    quick = layer.narrow
    channels, products = quick.given.shape
    fours = -(-channels // 4)
    weights = Later(4 * fours * products, lambda: _weights(quick))
    return (
        ("weights", Array("int8_t", weights, weights=True)),
        ("scales", Array("int32_t", Later(12 * fours, lambda: _scales(quick)))),
        ("centre", 2 * layer.known.zero + 1),
    )


def _weights(quick: packed.Narrow) -> NDArray[np.int8]:
    """[fours of channels][products][4]."""
    padded = quick.padded(4)
    return padded.reshape(-1, 4, padded.shape[1]).transpose(0, 2, 1)


def _scales(quick: packed.Narrow) -> NDArray[np.int32]:
    """[fours of channels][4][3]: bias, which is even, multiplier, shift."""
    scales = np.stack([quick.bias // 2, quick.multiplier, quick.shift], axis=1)
    return packed.int32(np.pad(scales, ((0, -len(scales) % 4), (0, 0))))


FAMILY = Family("lt_conv_scalar", _fits, ConvScalar, _node)
