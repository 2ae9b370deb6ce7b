"""Weights of four bits, against the oracle on the file."""

from __future__ import annotations

from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from harness import differences

from lowtide.errors import ModelError
from lowtide.ir import Graph
from lowtide.passes import normalise_windows, unpack_weights
from lowtide.program.assemble import assemble
from lowtide.tflite.read import parse
from move_models import Net


def rewritten(graph: Graph) -> Graph:
    return normalise_windows(unpack_weights(graph))


def nibbles(net: Net, values: Any, scales: Any, axis: int = 0) -> int:
    """A constant of four bits."""
    made = net.const(values, np.int8, quant=(scales, 0), axis=axis)
    flat = np.resize(np.asarray(values).reshape(-1), -(-np.size(values) // 2) * 2) & 15
    packed = (flat[::2] | flat[1::2] << 4).astype(np.uint8)
    net.tensors[made].type = schema.TensorType.INT4
    net.buffers[net.tensors[made].buffer] = schema.BufferT(data=packed)
    return made


def every() -> Net:
    net, rng = Net(scale=0.05, zero=4), np.random.default_rng(2)
    image, flat = net.input((1, 6, 5, 3)), net.input((2, 7))
    window = {"padding": 0, "strideH": 1, "strideW": 1, "dilationHFactor": 1, "dilationWFactor": 1}
    for channels, kernel in ((5, (3, 3)), (2, (1, 1)), (1, (2, 3))):
        scales = rng.uniform(0.01, 0.02, channels).astype(np.float32)
        weights = nibbles(net, rng.integers(-8, 8, (channels, *kernel, 3)), scales)
        bias = net.const(rng.integers(-99, 99, channels), quant=(scales * 0.05, 0))
        made = (1, 6, 5, channels)
        options = schema.Conv2DOptionsT(**window)
        net.op("CONV_2D", [image, weights, bias], made, options=options)
    scales = rng.uniform(0.01, 0.02, 3).astype(np.float32)
    weights = nibbles(net, rng.integers(-8, 8, (1, 3, 3, 3)), scales, axis=3)
    bias = net.const(rng.integers(-99, 99, 3), quant=(scales * 0.05, 0))
    options = schema.DepthwiseConv2DOptionsT(depthMultiplier=1, **window)
    net.op("DEPTHWISE_CONV_2D", [image, weights, bias], (1, 6, 5, 3), options=options)
    weights = nibbles(net, rng.integers(-8, 8, (3, 7)), 0.02)
    bias = net.const(rng.integers(-99, 99, 3), quant=(0.001, 0))
    dense = schema.FullyConnectedOptionsT()
    net.op("FULLY_CONNECTED", [flat, weights, bias], (2, 3), options=dense)
    return net


def test_weights() -> None:
    assert differences(every().build(), engine="tflm", rewrite=rewritten) == []


def test_what_is_no_weight_stays() -> None:
    net = Net()
    made = nibbles(net, np.arange(6).reshape(1, 6), 0.5)
    net.op("ADD", [net.input((1, 6)), made], (1, 6))
    graph = parse(net.build()).graph
    assert unpack_weights(graph) is graph
    with pytest.raises(ModelError, match="of different types"):
        assemble(graph, range(len(graph.ops)))
