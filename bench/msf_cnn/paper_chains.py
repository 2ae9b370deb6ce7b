"""The three networks of the msf-CNN paper, read off the zoo's own models.

Why: the bench should speak of the networks that lowtide compiles, so layers come from their graphs; the
published layer tables, where they are at hand, must say the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from bench.msf_cnn.paper_costs import Layer, Shape
from lowtide.ir import Graph, Op
from lowtide.zoo.loading import load

ZOO = {
    "MBV2-w0.35": "mbv2-w0.35-144-chain",
    "MN2-vww5": "mn2-vww5-80-chain",
    "MN2-320K": "mn2-320k-176-chain",
}
"""The paper's name of each network, and the zoo's."""


def zoo_layers(network: str) -> tuple[Layer, ...]:
    """The layers of a network by its name in the paper."""
    graph = load(f"zoo:{ZOO[network]}").graph
    layers = tuple(_layer(graph, op) for op in graph.ops)
    for before, after in pairwise(graph.ops):
        assert after.inputs[0] == before.outputs[0], f"{network} is no chain"
    return layers


def _layer(graph: Graph, op: Op) -> Layer:
    # Filters are OHWI, of depthwise convolutions 1HWO: the kernel is square, and padded by SAME.
    assert op.type in ("CONV_2D", "DEPTHWISE_CONV_2D"), op.type
    kernel, stride = graph.tensors[op.inputs[1]].shape[1], op.options["stride_h"]
    assert isinstance(stride, int)
    return Layer(
        depthwise=op.type == "DEPTHWISE_CONV_2D",
        in_shape=_map_shape(graph, op.inputs[0]),
        out_shape=_map_shape(graph, op.outputs[0]),
        kernel=kernel,
        stride=stride,
        pad=kernel // 2,
    )


def _map_shape(graph: Graph, tensor: int) -> Shape:
    _, height, width, channels = graph.tensors[tensor].shape
    return height, width, channels


def published_layers(entries: Sequence[Mapping[str, Any]]) -> tuple[Layer, ...]:
    """The same from a network's layer table in paper_models.json."""
    return tuple(
        Layer(
            depthwise=entry["kind"] == "depthwise_conv2d",
            in_shape=_shape(entry["in_shape"]),
            out_shape=_shape(entry["out_shape"]),
            kernel=entry["kernel"],
            stride=entry["stride"],
            pad=entry["pad"],
        )
        for entry in entries
    )


def _shape(values: Sequence[int]) -> Shape:
    height, width, channels = values
    return height, width, channels
