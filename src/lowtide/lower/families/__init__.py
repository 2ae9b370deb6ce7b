"""Which kernel a convolution, dense or depthwise layer gets: one file per family of kernels.

A family says what it fits, which node runs its kernel, and what that does that costs instructions. A
layer gets the first one that fits: of its weights and its target, or, where only shapes are known, of
those alone.
"""

from __future__ import annotations

from lowtide.lower.families import (
    conv,
    conv_2x2,
    conv_4x2,
    conv_lanes,
    conv_packed,
    conv_s16,
    conv_scalar,
    conv_vector,
    conv_w4,
    depthwise,
    depthwise_3x3,
    depthwise_columns,
    depthwise_each,
    depthwise_mult1,
    depthwise_planes,
    depthwise_s16,
    depthwise_scalar,
    depthwise_vector,
    w9,
)
from lowtide.lower.layer import Family, Layer
from lowtide.lower.nodes import Node

_S8 = (
    conv_w4.FAMILY,
    conv_vector.FAMILY,
    conv_scalar.FAMILY,
    conv_4x2.FAMILY,
    conv_packed.FAMILY,
    conv.FAMILY,
    depthwise_planes.FAMILY,
    depthwise_vector.FAMILY,
    depthwise_scalar.FAMILY,
    depthwise_3x3.FAMILY,
    depthwise_columns.FAMILY,
    depthwise_mult1.FAMILY,
    depthwise.FAMILY,
)
FAMILIES: dict[str, tuple[Family, ...]] = {
    "s8": _S8,
    "s16": (conv_lanes.FAMILY, conv_2x2.FAMILY, conv_s16.FAMILY, depthwise_s16.FAMILY),
}
"""All of them by the type of activations, in the order of preference."""


def family_of(layer: Layer) -> Family:
    """The first family that fits."""
    return next(family for family in FAMILIES[layer.suffix] if family.fits(layer))


def node_of(layer: Layer) -> Node:
    """The node of a layer, whose weights may have nine bits."""
    return w9.around(layer, _of_bytes)


def _of_bytes(layer: Layer) -> Node:
    """The same, with weights of eight bits."""
    family = family_of(layer)
    found = family.node(layer)
    if family is depthwise.FAMILY and depthwise_each.fits(layer):
        return depthwise_each.node(layer, lambda one: family_of(one).node(one), found)
    return found
