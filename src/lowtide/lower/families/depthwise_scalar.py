"""lt_depthwise_scalar.h: depthwise convolutions with bytes as weights, on cores without Arm's DSP
extension."""

from __future__ import annotations

from dataclasses import dataclass

from lowtide.lower.counts import Features, Windowed
from lowtide.lower.families.conv_scalar import weights_and_scales
from lowtide.lower.layer import Family, Layer
from lowtide.lower.nodes import Node


def _fits(layer: Layer) -> bool:
    return layer.target.is_portable and layer.is_by_one and layer.is_narrow()


@dataclass(frozen=True, slots=True)
class DepthwiseScalar(Windowed):
    """What lt_depthwise_scalar does: four channels of a pixel at once, and those that are left."""

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        of = self.of
        fours, rest = divmod(of.in_c, 4)
        pixels, taps = of.steps * columns, of.steps * columns * of.taps
        kind = "three" if of.axis.kernel == 3 else "any"
        return {
            "column": pixels,
            "fours": pixels * fours,
            f"{kind}_rows": pixels * of.kernel_h * fours,
            f"{kind}_taps": taps * fours,
            f"{kind}_edges": of.steps * of.kernel_h * padded * fours,
            **self._rest(columns, padded, rest),
            "elements": pixels * of.in_c,
            "clamped": columns * self.clamped,
        }

    def _rest(self, columns: int, padded: int, channels: int) -> Features:
        """What the channels beyond the last four add."""
        if channels == 0:
            return {}
        of = self.of
        pixels = of.steps * columns
        return {
            "rest": pixels,
            "rest_rows": pixels * of.kernel_h,
            f"rest_taps_{channels}": pixels * of.taps,
            "rest_edges": of.steps * of.kernel_h * padded,
        }


def _node(layer: Layer) -> Node:
    fields = (
        *weights_and_scales(layer),
        ("channels", layer.out_c),
        *(field for field in layer.over.fields if field[0] != "in_c"),
        *layer.range,
    )
    return layer.node("lt_depthwise_scalar", fields, DepthwiseScalar(layer.windows))


FAMILY = Family("lt_depthwise_scalar", _fits, DepthwiseScalar, _node)
