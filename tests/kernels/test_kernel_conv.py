"""CONV_2D, int8: both kernels, every kind of window, and arithmetic at its limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from conv_models import NONE, RELU, RELU6, RELU_N1_TO_1, SAME, VALID, Layer, Models
from harness import differences

from assembled import refusal
from lowtide.errors import ModelError
from lowtide.ir import DType
from lowtide.lower import lower_op
from lowtide.tflite.read import parse


def test_windows() -> None:
    """Sizes, strides, dilations and paddings of odd and even kernels, over one odd-sized image."""
    net = Models(1)
    x = net.input(1, 7, 9, 3, zero=-5)
    for kernel in [(1, 1), (3, 3), (2, 2), (1, 5), (4, 1), (5, 3), (7, 9)]:
        for stride in [(1, 1), (2, 2), (1, 3)]:
            for padding in (SAME, VALID):
                net.conv(x, 4, kernel, Layer(stride=stride, padding=padding, zero=3))
    for dilation in [(2, 2), (1, 3), (3, 1)]:
        for padding in (SAME, VALID):
            net.conv(x, 3, (3, 3), Layer(dilation=dilation, padding=padding))
            net.conv(x, 2, (2, 3), Layer(dilation=dilation, padding=padding, stride=(1, 2)))
    assert differences(net.bytes()) == []


@pytest.mark.parametrize("shape", [(1, 13), (11, 1), (1, 1), (2, 3)])
def test_thin_images(shape: tuple[int, int]) -> None:
    """Images of one row or column, smaller than the kernel."""
    net = Models(2)
    x = net.input(1, *shape, 5, zero=127)
    for kernel in [(1, 1), (3, 3), (5, 5), (1, 3), (3, 1)]:
        for stride in [(1, 1), (2, 2)]:
            net.conv(x, 3, kernel, Layer(stride=stride, activation=RELU, zero=-128))
    assert differences(net.bytes()) == []


def test_channels() -> None:
    """Input channels that fill words or not, odd output channels, one channel."""
    net = Models(3)
    for in_c in (1, 2, 3, 4, 5, 8, 15):
        x = net.input(1, 5, 6, in_c, zero=in_c - 8)
        for out_c in (1, 2, 5):
            net.conv(x, out_c, (1, 1), Layer(zero=out_c))
            net.conv(x, out_c, (1, 1), Layer(stride=(2, 2)))
            net.conv(x, out_c, (3, 3), Layer(zero=-out_c))
    assert differences(net.bytes()) == []


def test_groups() -> None:
    """Filters that read some of the channels, also one each."""
    net = Models(4)
    x = net.input(1, 6, 5, 12, zero=7)
    for groups in (2, 3, 6, 12):
        for kernel in [(1, 1), (3, 2)]:
            net.conv(x, 2 * groups, kernel, Layer(stride=(1, 2)), groups=groups)
    assert differences(net.bytes()) == []


def test_deep() -> None:
    """Thousands of products, moderate weights and the largest, which the packed form must refuse."""
    net = Models(5)
    x = net.input(1, 3, 4, 300, zero=-128)
    net.conv(x, 5, (3, 3))
    net.conv(x, 4, (1, 1))
    net.conv(x, 4, (3, 3), Layer(weights=np.array(127), spread=2.0))
    net.conv(x, 4, (3, 3), Layer(weights=np.array(-127), padding=VALID, spread=2.0))
    net.conv(x, 4, (1, 1), Layer(weights=np.array(127)))
    assert differences(net.bytes()) == []


def test_zero_points_and_activations() -> None:
    """Zero points at both ends, all activations, outputs that saturate, no bias, one scale."""
    net = Models(6)
    for zero_in in (-128, 0, 127):
        x = net.input(1, 4, 5, 6, zero=zero_in, scale=0.004)
        for zero_out in (-128, -1, 127):
            for activation in (NONE, RELU, RELU_N1_TO_1, RELU6):
                for spread in (9.0, 50.0, 900.0):
                    layer = Layer(activation=activation, zero=zero_out, spread=spread)
                    net.conv(x, 3, (1, 1), layer)
                    net.conv(x, 2, (2, 2), layer)
        net.conv(x, 5, (3, 3), Layer(bias_type=None))
        net.conv(x, 5, (3, 3), Layer(per_channel=False))
        net.conv(x, 5, (1, 1), Layer(per_channel=False, bias_type=None))
    assert differences(net.bytes()) == []


def test_least_weights() -> None:
    """Weights of -128, which the packed form takes only beside certain others."""
    net = Models(7)
    x = net.input(1, 4, 4, 4, zero=9)
    net.conv(x, 4, (2, 2), Layer(weights=np.array(-128)))
    weights = net.rng.choice(np.array([-128, 0, 5, 127], np.int8), (6, 3, 3, 4))
    net.conv(x, 6, (3, 3), Layer(weights=weights))
    net.conv(x, 6, (3, 3), Layer(weights=np.abs(weights.astype(int)).clip(0, 127)))
    assert differences(net.bytes()) == []


def test_factors() -> None:
    """Factors from 2^-40 to 2^7: shifts of both signs, multipliers at both ends, factors of 0."""
    net = Models(8)
    x = net.input(1, 3, 5, 7, zero=-3)
    for power in range(-40, 8):
        for mantissa in (1.0, 1.0 + 2.0**-22, 1.37, 2.0 - 2.0**-23):
            bias = net.rng.integers(-(2**14), 2**14, 3) << max(0, min(15, -14 - power))
            net.conv(x, 3, (1, 1), Layer(real=mantissa * 2.0**power, per_channel=False, bias=bias))
    for power in (-30, -20, -12, -4, -1, 0):
        net.conv(x, 6, (3, 3), Layer(real=2.0**power))
    assert differences(net.bytes()) == []


def test_halves() -> None:
    """Sums whose scaled values are exactly between two integers, positive and negative."""
    net = Models(9)
    x = net.input(1, 16, 16, 1)
    for power in range(-1, -9, -1):
        weights = np.array([1, -1, 2, 3], np.int8).reshape(4, 1, 1, 1)
        for zero in (0, 5, -128):
            layer = Layer(per_channel=False, weights=weights, bias=np.arange(4), zero=zero)
            net.conv(x, 4, (1, 1), replace(layer, real=2.0**power))
    everything = np.arange(256).astype(np.uint8).view(np.int8).reshape(1, 16, 16, 1)
    assert differences(net.bytes(), inputs=[{x: everything}]) == []


def test_channels_that_are_constant() -> None:
    """Dead channels, as pruning leaves them: no weights, or a bias far outside, with wild factors."""
    net = Models(10)
    x = net.input(1, 4, 5, 8, zero=-128)
    weights = net.rng.integers(-127, 128, (7, 1, 1, 8))
    weights[[0, 2, 4]] = 0
    bias = np.array([1 << 30, 5, -(1 << 30), 1 << 29, 0, -(1 << 29), 77])
    for power in (-31, -24, -16, -12, -1):
        for zero in (-128, 3, 127):
            for activation in (NONE, RELU6):
                layer = Layer(weights=weights, bias=bias, zero=zero, activation=activation)
                net.conv(x, 7, (1, 1), replace(layer, real=2.0**power))
    assert differences(net.bytes()) == []


def test_biases_that_wrap() -> None:
    """Folding the zero point into the bias leaves 32 bits and comes back."""
    net = Models(11)
    x = net.input(1, 3, 4, 8, zero=127)
    weights = np.full((4, 2, 2, 8), 120)
    for bias in (2**31 - 1, -(2**31) + 2**20):
        net.conv(x, 4, (2, 2), Layer(weights=weights, bias=np.array(bias), padding=VALID))
    least = [{x: np.full((1, 3, 4, 8), 127, np.int8)}, {x: np.full((1, 3, 4, 8), 100, np.int8)}]
    assert differences(net.bytes(), inputs=least[:1]) == []


def _refusal(net: Models) -> str:
    graph = parse(net.bytes()).graph
    with pytest.raises(ModelError) as caught:
        lower_op(graph, graph.ops[0])
    return str(caught.value)


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        ({"is_sparse": True}, "its weights are sparse; there are kernels for INT8"),
        ({"dtype": DType.UINT8}, "its weights are UINT8; there are kernels for INT8"),
    ],
)
def test_weights_without_kernels_are_refused(changed: dict[str, Any], cause: str) -> None:
    net = Models(14)
    net.conv(net.input(1, 4, 4, 2), 2, (1, 1))
    graph = parse(net.bytes()).graph
    weights = graph.ops[0].inputs[1]
    tensors = [replace(t, **changed) if t.id == weights else t for t in graph.tensors]
    assert refusal(replace(graph, tensors=tuple(tensors))) == cause


def test_another_batch_is_refused() -> None:
    net = Models(12)
    net.tensors.clear()
    x = net.input(1, 4, 4, 2)
    net.conv(x, 2, (1, 1))
    net.tensors[x] = type(net.tensors[x])("t0", (2, 4, 4, 2), "INT8", net.tensors[x].scales)
    assert "its input and output must have the same batch size" in _refusal(net)


def test_wrong_output_is_refused() -> None:
    net = Models(13)
    x = net.input(1, 4, 4, 2)
    out = net.conv(x, 2, (3, 3))
    net.tensors[out] = type(net.tensors[out])("o", (1, 5, 4, 2), "INT8", net.tensors[out].scales)
    assert "its output is 5 x 4, but should be 4 x 4" in _refusal(net)
