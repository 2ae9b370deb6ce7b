"""FULLY_CONNECTED, int8: sizes, batches, scales per channel, and arithmetic at its limits."""

from __future__ import annotations

import numpy as np
from conv_models import NONE, RELU, RELU6, RELU_N1_TO_1, Layer, Models
from harness import differences


def test_sizes() -> None:
    """Products that fill words or not, odd numbers of outputs, with and without bias."""
    net = Models(1)
    for depth in (1, 2, 3, 4, 7, 8, 33, 640, 4000):
        x = net.input(1, depth, zero=depth % 100)
        for out_c in (1, 2, 5):
            net.dense(x, out_c, depth, Layer(zero=out_c))
            net.dense(x, out_c, depth, Layer(per_channel=False, zero=-out_c))
            net.dense(x, out_c, depth, Layer(per_channel=False, bias_type=None))
    assert differences(net.bytes()) == []


def test_shapes() -> None:
    """Batches, inputs of any rank, outputs that keep it."""
    net = Models(2)
    for shape in [(3, 12), (2, 5, 12), (1, 2, 3, 12), (1, 4, 9), (36,)]:
        x = net.input(*shape, zero=-7)
        net.dense(x, 7, 12)
        net.dense(x, 4, 12, Layer(per_channel=False))
        if shape[-1] == 12:
            net.dense(x, 7, 12, Layer(keep_num_dims=True))
    assert differences(net.bytes()) == []


def test_zero_points_and_activations() -> None:
    net = Models(3)
    for zero_in in (-128, 0, 127):
        x = net.input(2, 20, zero=zero_in, scale=0.004)
        for zero_out in (-128, -1, 127):
            for activation in (NONE, RELU, RELU_N1_TO_1, RELU6):
                for spread in (9.0, 50.0, 900.0):
                    layer = Layer(activation=activation, zero=zero_out, spread=spread)
                    net.dense(x, 3, 20, layer)
    assert differences(net.bytes()) == []


def test_factors() -> None:
    """Factors from 2^-40 to 2^7; rounding is TFLM's, twice, also where it differs from once."""
    net = Models(4)
    x = net.input(3, 16, zero=-3)
    for power in range(-40, 8):
        for mantissa in (1.0, 1.0 + 2.0**-22, 1.37, 2.0 - 2.0**-23):
            bias = net.rng.integers(-(2**14), 2**14, 5) << max(0, min(15, -14 - power))
            real = mantissa * 2.0**power
            net.dense(x, 5, 16, Layer(real=real, per_channel=False, bias=bias))
    for power in (-30, -20, -12, -4, -1, 0):
        net.dense(x, 6, 16, Layer(real=2.0**power))
    assert differences(net.bytes()) == []


def test_extreme_weights() -> None:
    """Large weights in deep layers, -128, halves exactly between two outputs."""
    net = Models(5)
    x = net.input(1, 5000, zero=-128)
    for weight in (-128, -127, 127):
        net.dense(x, 3, 5000, Layer(weights=np.array(weight), spread=1.0))
    y = net.input(16, 16)
    for power in range(-1, -9, -1):
        layer = Layer(weights=np.eye(5, 16, dtype=np.int8), bias=np.arange(5), real=2.0**power)
        net.dense(y, 5, 16, layer)
    assert differences(net.bytes()) == []


def test_product_of_scales() -> None:
    """Factors where rounding the product of the scales to float32 would show."""
    net = Models(6)
    x = net.input(1, 4)
    bias = np.array([(2 * k + 1) << 20 for k in (5, 20, 100, -7)])
    for ulps in range(1, 9):
        real = (2 - ulps * 2.0**-23) * 2.0**-22
        layer = Layer(real=real, per_channel=False, bias=bias, weights=np.array(0))
        net.dense(x, 4, 4, layer)
    assert differences(net.bytes()) == []
