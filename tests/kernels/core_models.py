"""Convolutions of int8 with whatever the kernels for one kind of core tell apart.

Why shared: families of kernels do the same in other ways, so that what is an edge of one of them, a row
of odd length or a rest of channels, is asked of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
from conv_models import NONE, RELU, RELU6, SAME, VALID, Layer, Models
from numpy.typing import NDArray

REALS = [m * 2.0**power for power in range(-31, 0) for m in (1.0, 1.37, 2.0 - 2.0**-23)]
"""Factors of all sizes."""


def windows(net: Models) -> None:
    """Kernels, strides, dilations and paddings, rows of even and odd length."""
    for width, in_c in ((9, 3), (8, 4), (5, 1), (1, 8), (2, 8)):
        x = net.input(1, 6, width, in_c, zero=-5)
        for kernel in [(1, 1), (3, 3), (2, 2), (1, 5), (4, 1), (6, 9)]:
            for stride in [(1, 1), (2, 2), (1, 3)]:
                for padding in (SAME, VALID):
                    if padding == SAME or kernel[1] <= width:
                        net.conv(x, 6, kernel, Layer(stride=stride, padding=padding, zero=3))
        for dilation in [(2, 2), (1, 3)]:
            net.conv(x, 4, (3, 2), Layer(dilation=dilation, zero=-4))


def channels(net: Models) -> None:
    """Every number of products and channels modulo what the kernels take at once."""
    for in_c in (1, 2, 3, 4, 5, 7, 8, 12, 16, 18, 20, 28, 44):
        x = net.input(1, 2, 3, in_c, zero=in_c - 8)
        for out_c in (1, 2, 3, 4, 5, 8, 11):
            net.conv(x, out_c, (1, 1), Layer(zero=out_c))
            net.conv(x, out_c, (2, 3), Layer(zero=-out_c, activation=RELU6))
    for depth in (1, 3, 4, 8, 30, 700):
        x = net.input(2, depth)
        for out_c in (1, 2, 4, 5, 12):
            net.dense(x, out_c, depth)


def arithmetic(net: Models) -> None:
    """Factors and zero points at both ends, sums that saturate, halves, constant channels."""
    x = net.input(1, 3, 5, 4, zero=-128, scale=0.004)
    weights = np.array([-127, 0, 127, 3]).reshape(4, 1, 1, 1)
    for real in REALS:
        net.conv(x, 4, (1, 1), Layer(real=real, bias=_bias(net, real), zero=5, activation=RELU6))
        net.conv(x, 4, (1, 2), Layer(real=real, weights=weights, zero=-128))
        net.dense(x, 4, 20, Layer(real=real, weights=weights[..., 0, 0], zero=127))
    y = net.input(1, 4, 6, 4)
    ones = np.array([1, -1, 2, 3]).reshape(4, 1, 1, 1)
    for power in range(-1, -9, -1):
        for zero in (-128, -1, 127):
            net.conv(y, 4, (1, 1), Layer(weights=ones, real=2.0**power, zero=zero))
    for pair in ([-128, 127], [-128, -127], [127, 127], [-127, -127], [0, -128]):
        net.conv(y, 3, (1, 1), Layer(weights=np.array(pair * 2), real=2.0**-9))


def depthwise_rows(net: Models) -> None:
    """Rows of every length in one piece and in several, every padding."""
    for width in (1, 2, 3, 4, 5, 6, 7, 11, 12, 26, 41):
        x = net.input(1, 4, width, 8 if width < 12 else 4, zero=-5)
        for stride in [(1, 1), (2, 2), (1, 2), (3, 1)]:
            for padding in (SAME, VALID):
                if padding == SAME or width > 2:
                    net.depthwise(x, 1, (3, 3), Layer(stride=stride, padding=padding, zero=3))
    for height in (1, 2):
        x = net.input(1, height, 5, 12, zero=127)
        for stride in [(1, 1), (2, 2)]:
            net.depthwise(x, 1, (3, 3), Layer(stride=stride, zero=-128, activation=RELU))
    x = net.input(1, 7, 9, 4, zero=2)
    net.depthwise(x, 1, (3, 3), Layer(dilation=(2, 1)))


def depthwise_channels(net: Models) -> None:
    """Every number of channels and padded columns, with dilations."""
    for width, count in ((1, 4), (2, 9), (3, 8), (5, 5), (8, 6), (11, 4)):
        x = net.input(1, 4, width, count, zero=-5)
        for stride in [(1, 1), (2, 2), (1, 2), (3, 1)]:
            for padding in (SAME, VALID):
                if padding == SAME or width > 2:
                    net.depthwise(x, 1, (3, 3), Layer(stride=stride, padding=padding, zero=3))
        for dilation in [(2, 1), (1, 2), (2, 3)]:
            net.depthwise(x, 1, (3, 3), Layer(dilation=dilation, zero=-4))
            net.depthwise(x, 1, (2, 2), Layer(dilation=dilation))


def depthwise_kernels(net: Models) -> None:
    """Kernels of every size in maps that are smaller and larger."""
    for height, width, count in ((1, 3, 7), (3, 3, 8), (4, 5, 7), (9, 8, 8), (8, 14, 8), (5, 1, 8)):
        x = net.input(1, height, width, count, zero=-7)
        for kernel in [(5, 5), (7, 7), (1, 2), (2, 4), (4, 1), (1, 3)]:
            for stride in [(1, 1), (2, 2)]:
                net.depthwise(x, 1, kernel, Layer(stride=stride, zero=-3))
                if kernel[0] <= height and kernel[1] <= width:
                    net.depthwise(x, 1, kernel, Layer(stride=stride, padding=VALID))


def depthwise_tall(net: Models) -> None:
    """Kernels of one column, as in networks over time, and others of more rows than columns."""
    for width, count in ((1, 4), (1, 8), (1, 12), (1, 5), (2, 8), (5, 8), (3, 22)):
        x = net.input(1, 24, width, count, zero=-9)
        for kernel in [(5, 1), (9, 1), (17, 1), (23, 1), (12, 2)]:
            for stride in [(1, 1), (3, 2)]:
                if kernel[1] <= width:
                    net.depthwise(x, 1, kernel, Layer(stride=stride, padding=VALID, zero=3))
                net.depthwise(x, 1, kernel, Layer(stride=stride, zero=-128, activation=RELU))
        net.depthwise(x, 1, (5, 1), Layer(dilation=(2, 3)))


def depthwise_arithmetic(net: Models) -> None:
    """Zero points and factors at both ends, sums that saturate, halves, constant channels."""
    x = net.input(1, 3, 7, 4, zero=-128, scale=0.004)
    for real in REALS:
        layer = Layer(real=real, bias=_bias(net, real), zero=5, activation=RELU6)
        net.depthwise(x, 1, (3, 3), layer)
    for zero in (-128, -1, 127):
        x = net.input(1, 4, 6, 8, zero=zero)
        for activation in (NONE, RELU):
            for spread in (9.0, 50.0, 900.0):
                layer = Layer(zero=zero, activation=activation, spread=spread)
                net.depthwise(x, 1, (3, 3), layer)
                net.depthwise(x, 1, (3, 3), replace(layer, stride=(2, 2)))
    for weight in (-128, 127):
        net.depthwise(x, 1, (3, 3), Layer(weights=np.array(weight), real=2.0**-9))
    one = np.zeros((1, 3, 3, 8), np.int8)
    one[0, 1, 1] = [1, -1, 2, 3, -3, 5, 0, 127]
    for power in range(-1, -9, -1):
        net.depthwise(x, 1, (3, 3), Layer(weights=one, real=2.0**power, bias=np.arange(8)))


@cache
def model(build: Callable[[Models], None]) -> bytes:
    """The file that has what `build` puts into it."""
    net = Models(1)
    build(net)
    return net.bytes()


def _bias(net: Models, real: float) -> NDArray[np.int64]:
    """Biases of four channels, that count beside sums which are multiplied by `real`."""
    power = int(np.floor(np.log2(real)))
    return net.rng.integers(-(2**14), 2**14, 4) << max(0, min(15, -14 - power))
