"""FULLY_CONNECTED with LiteRT's rounding: sums scaled as double, rounded once, halves away from zero."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from conv_models import NONE, RELU6, Layer, Models
from harness import differences

from lowtide.errors import ModelError
from lowtide.ir import Graph
from lowtide.lower import lower_op
from lowtide.lower.nodes import Array, Node
from lowtide.passes import round_once
from lowtide.tflite.read import parse
from schema_models import Net as MoveNet

NARROW, WIDE = 2, 4
"""The schema's TensorType.INT32 and INT64, for quantized_bias_type."""


class Halves(Models):
    """Weights whose scales are powers of two, so that sums lie exactly between two outputs."""

    def _weight_scales(self, channels: int, layer: Layer) -> Any:
        different = np.resize([1, 2, 4], channels) if layer.per_channel else np.ones(1)
        return (different * 2.0**-6).astype(np.float32)


def with_bias_type(net: Models, code: int) -> bytes:
    """The file, its operators saying what type their biases have."""
    net.ops = [replace(op, options={**op.options, "quantized_bias_type": code}) for op in net.ops]
    return net.bytes()


def layers(net: Models, x: int, bias: str | None) -> None:
    """Halves, factors that are no powers of two, activations, deep sums."""
    high = -8 if net.dtype == "INT16" else 0
    for per_channel in (False, True):
        more: dict[str, Any] = {"per_channel": per_channel, "bias_type": bias}
        for power in range(-1, -9, -1):
            eye = np.eye(5, 16, dtype=np.int8)
            net.dense(x, 5, 16, Layer(weights=eye, bias=np.arange(5), real=2.0**power, **more))
        for power in range(-20, high, 3):
            for mantissa in (1.0, 1.37, 2.0 - 2.0**-23):
                net.dense(x, 5, 16, Layer(real=mantissa * 2.0**power, **more))
        for zero in (-9, 0, 5):
            for activation in (NONE, RELU6):
                used = zero if net.dtype == "INT8" else 0
                net.dense(x, 3, 16, Layer(activation=activation, zero=used, **more))


@pytest.mark.parametrize("bias", ["INT32", None])
def test_int8(bias: str | None) -> None:
    net = Halves(1)
    layers(net, net.input(3, 16, scale=2.0**-4, zero=-3), bias)
    assert differences(net.bytes(), engine="litert", rewrite=round_once) == []


@pytest.mark.parametrize("bias", ["INT64", None])
def test_int16(bias: str | None) -> None:
    net = Halves(2, "INT16")
    layers(net, net.input(3, 16, scale=2.0**-4), bias)
    assert differences(net.bytes(), engine="litert", rewrite=round_once) == []


@pytest.mark.parametrize("bias", ["INT32", None])
def test_int16_with_sums_of_32_bits(bias: str | None) -> None:
    """They wrap where they are too large."""
    net = Halves(3, "INT16")
    layers(net, net.input(3, 16, scale=2.0**-4), bias)
    deep = net.input(1, 2000, scale=2.0**-4)
    net.dense(deep, 3, 2000, Layer(weights=np.array(127), real=2.0**-18, bias_type=bias))
    assert differences(with_bias_type(net, NARROW), engine="litert", rewrite=round_once) == []


def test_what_its_weights_are() -> None:
    """Weights and biases can be placed in a section of their own, and are counted as weights."""
    net = Models(4)
    net.dense(net.input(1, 16), 5, 16)
    graph = round_once(parse(net.bytes()).graph)
    (node,) = lower_op(graph, graph.ops[0]).nodes
    assert isinstance(node, Node)
    arrays = {name: value for name, value in node.params.fields if isinstance(value, Array)}
    assert {name for name, value in arrays.items() if value.weights} == {"weights", "bias"}


def test_tflm_differs() -> None:
    """Else nothing here would tell one rounding from the other."""
    net = Halves(1)
    layers(net, net.input(3, 16, scale=2.0**-4, zero=-3), "INT32")
    assert differences(net.bytes(), engine="litert") != []
    assert differences(net.bytes(), engine="tflm", rewrite=round_once) != []


def test_a_bias_that_litert_reads_as_another() -> None:
    for bias, said in [("INT32", 0), ("INT64", NARROW)]:
        net = Models(5, "INT16")
        net.dense(net.input(1, 4), 2, 4, Layer(bias_type=bias))
        graph = round_once(parse(with_bias_type(net, said)).graph)
        with pytest.raises(ModelError, match="quantized_bias_type to be the type of its bias"):
            lower_op(graph, graph.ops[0])


def test_what_has_no_dense_layer_stays_what_it_is() -> None:
    net = Models(6)
    net.conv(net.input(1, 4, 4, 2), 3, (2, 2))
    graph: Graph = parse(net.bytes()).graph
    assert round_once(graph) is graph
    old = Models(7, "UINT8")  # LiteRT's in any case
    old.dense(old.input(1, 4), 2, 4, Layer(per_channel=False))
    graph = parse(old.bytes()).graph
    assert round_once(graph) is graph


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_sums_at_the_ends_of_32_bits(dtype: Any) -> None:
    """Scaled, they just fit; one more, and LiteRT's result is undefined."""

    def made(most: int) -> bytes:
        net = MoveNet(dtype, 1.0, 0)
        bias = net.const([most, -most, 3, -1], quant=(2048.0, 0))
        weights = net.const(np.zeros((4, 1)), dtype, quant=(2048.0, 0))
        options = schema.FullyConnectedOptionsT()
        x = net.input((1, 1))
        net.op("FULLY_CONNECTED", [x, weights, bias], (1, 4), options=options, quant=(1.0, 7))
        return net.build()

    assert differences(made((1 << 20) - 1), engine="litert", rewrite=round_once) == []
    graph = round_once(parse(made(1 << 20)).graph)
    with pytest.raises(ModelError) as caught:
        lower_op(graph, graph.ops[0])
    assert caught.value.cause == (
        "operator 0 (FULLY_CONNECTED): its sums, scaled to its output, can leave 32 bits, where "
        "LiteRT's result is undefined"
    )
    assert caught.value.remedy == (
        "export the model again; the scale of this operator's output is far too small"
    )
