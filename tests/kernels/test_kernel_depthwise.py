"""DEPTHWISE_CONV_2D, int8: its three kernels, every kind of window, and arithmetic at its limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conv_models import NONE, RELU, RELU6, RELU_N1_TO_1, SAME, VALID, Layer, Models
from harness import differences


@pytest.mark.parametrize("multiple", [1, 3])
def test_windows(multiple: int) -> None:
    """Sizes, strides, dilations and paddings of odd and even kernels, over one odd-sized image."""
    net = Models(1)
    x = net.input(1, 7, 9, 5, zero=-5)
    for kernel in [(1, 1), (3, 3), (2, 2), (1, 5), (4, 1), (5, 3), (7, 9)]:
        for stride in [(1, 1), (2, 2), (1, 3)]:
            for padding in (SAME, VALID):
                net.depthwise(x, multiple, kernel, Layer(stride=stride, padding=padding, zero=3))
    for dilation in [(2, 2), (1, 3), (3, 1)]:
        for padding in (SAME, VALID):
            net.depthwise(x, multiple, (3, 3), Layer(dilation=dilation, padding=padding))
            net.depthwise(x, multiple, (2, 3), Layer(dilation=dilation, stride=(1, 2)))
    assert differences(net.bytes()) == []


@pytest.mark.parametrize("shape", [(1, 13), (11, 1), (1, 1), (2, 3)])
def test_thin_images(shape: tuple[int, int]) -> None:
    """Images of one row or column, smaller than the kernel."""
    net = Models(2)
    x = net.input(1, *shape, 6, zero=127)
    for kernel in [(1, 1), (3, 3), (5, 5), (1, 3), (3, 1)]:
        for stride in [(1, 1), (2, 2)]:
            net.depthwise(x, 1, kernel, Layer(stride=stride, activation=RELU, zero=-128))
            net.depthwise(x, 2, kernel, Layer(stride=stride))
    assert differences(net.bytes()) == []


def test_channels() -> None:
    """Channels that fill words or not, one channel, several outputs for each."""
    net = Models(3)
    for in_c in (1, 2, 3, 4, 5, 8, 13):
        x = net.input(1, 5, 6, in_c, zero=in_c - 8)
        for multiple in (1, 2, 8):
            net.depthwise(x, multiple, (3, 3), Layer(zero=multiple))
            net.depthwise(x, multiple, (3, 3), Layer(stride=(2, 2), bias_type=None))
            net.depthwise(x, multiple, (1, 1), Layer(per_channel=False))
    assert differences(net.bytes()) == []


def test_zero_points_and_activations() -> None:
    """Zero points at both ends, all activations, outputs that saturate."""
    net = Models(4)
    for zero_in in (-128, 0, 127):
        x = net.input(1, 4, 5, 6, zero=zero_in, scale=0.004)
        for zero_out in (-128, -1, 127):
            for activation in (NONE, RELU, RELU_N1_TO_1, RELU6):
                for spread in (9.0, 50.0, 900.0):
                    layer = Layer(activation=activation, zero=zero_out, spread=spread)
                    net.depthwise(x, 1, (3, 3), layer)
                    net.depthwise(x, 2, (2, 2), layer)
    assert differences(net.bytes()) == []


def test_factors() -> None:
    """Factors from 2^-40 to 2^7: shifts of both signs, multipliers at both ends, factors of 0."""
    net = Models(5)
    x = net.input(1, 3, 5, 4, zero=-3)
    for power in range(-40, 8):
        for mantissa in (1.0, 1.0 + 2.0**-22, 1.37, 2.0 - 2.0**-23):
            bias = net.rng.integers(-(2**14), 2**14, 4) << max(0, min(15, -14 - power))
            layer = Layer(real=mantissa * 2.0**power, per_channel=False, bias=bias)
            net.depthwise(x, 1, (1, 2), layer)
    for power in (-30, -20, -12, -4, -1, 0):
        net.depthwise(x, 1, (3, 3), Layer(real=2.0**power))
        net.depthwise(x, 2, (3, 3), Layer(real=2.0**power))
    assert differences(net.bytes()) == []


def test_halves() -> None:
    """Sums whose scaled values are exactly between two integers, positive and negative."""
    net = Models(6)
    x = net.input(1, 16, 4, 4)
    weights = np.array([1, -1, 2, 3], np.int8).reshape(1, 1, 1, 4)
    for power in range(-1, -9, -1):
        for zero in (0, 5, -128):
            layer = Layer(per_channel=False, weights=weights, bias=np.arange(4), zero=zero)
            net.depthwise(x, 1, (1, 1), replace(layer, real=2.0**power))
    everything = np.arange(256).astype(np.uint8).view(np.int8)
    inputs = [
        {x: everything.reshape(1, 16, 4, 4)},
        {x: np.roll(everything, 1).reshape(1, 16, 4, 4)},
    ]
    assert differences(net.bytes(), inputs=inputs) == []


def test_extreme_weights_and_dead_channels() -> None:
    """Weights at both ends, channels without weights or with a bias far outside."""
    net = Models(7)
    x = net.input(1, 4, 5, 8, zero=-128)
    net.depthwise(x, 1, (3, 3), Layer(weights=np.array(-128)))
    net.depthwise(x, 1, (3, 3), Layer(weights=np.array(127)))
    weights = net.rng.integers(-127, 128, (1, 3, 3, 8))
    weights[..., [0, 2, 4]] = 0
    bias = np.array([1 << 30, 5, -(1 << 30), 1 << 29, 0, -(1 << 29), 77, -3])
    for power in (-31, -24, -16, -12, -1):
        for zero in (-128, 3, 127):
            layer = Layer(weights=weights, bias=bias, zero=zero, real=2.0**power)
            net.depthwise(x, 1, (3, 3), layer)
    assert differences(net.bytes()) == []
