"""CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED, int16 activations and int8 weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from boards import board_differences
from conv_models import NONE, RELU, RELU6, SAME, VALID, Layer, Models
from harness import differences

from lowtide.errors import ModelError
from lowtide.lower import lower_op
from lowtide.machines.board import find_target
from lowtide.target import ANY, Target
from lowtide.tflite.read import parse

TARGETS = (ANY, find_target("cortex-m3"), find_target("cortex-m55"))
"""Where pairs of channels and pixels are made, also with some windows gathered, and where lanes are."""

BIASES = ["INT64", "INT32", None]


def _core(target: Target) -> str:
    return target.core


@pytest.mark.parametrize("target", TARGETS, ids=_core)
def test_windows(target: Target) -> None:
    """Kernels, strides, dilations and paddings over one odd-sized image."""
    net = Models(1, "INT16")
    x = net.input(1, 7, 9, 3)
    for kernel in [(1, 1), (3, 3), (2, 2), (1, 5), (4, 1), (7, 9)]:
        for stride in [(1, 1), (2, 2), (1, 3)]:
            for padding in (SAME, VALID):
                layer = Layer(stride=stride, padding=padding, bias_type="INT64")
                net.conv(x, 4, kernel, layer)
                net.depthwise(x, 1, kernel, layer)
                net.depthwise(x, 2, kernel, layer)
    for dilation in [(2, 2), (1, 3), (3, 1)]:
        for padding in (SAME, VALID):
            layer = Layer(dilation=dilation, padding=padding, bias_type="INT64")
            net.conv(x, 3, (3, 3), layer)
            net.depthwise(x, 3, (2, 3), layer)
    for channels in (1, 2):  # which are not made more than once
        for bias_type in ("INT64", "INT32"):
            net.conv(x, channels, (3, 3), Layer(padding=SAME, bias_type=bias_type))
    for shape in [(1, 1), (1, 8), (9, 1)]:
        y = net.input(1, *shape, 4)
        for kernel in [(1, 1), (3, 3)]:
            net.conv(y, 4, kernel, Layer(bias_type="INT64"), groups=2)
            net.depthwise(y, 1, kernel, Layer(bias_type=None))
    assert differences(net.bytes(), target=target) == []


@pytest.mark.parametrize("target", TARGETS, ids=_core)
def test_biases_and_scales(target: Target) -> None:
    """64-bit, 32-bit and no biases; one scale or one per channel; activations; saturation."""
    net = Models(2, "INT16")
    x = net.input(1, 4, 5, 6, scale=0.0005)
    for bias_type in BIASES:
        for per_channel in (False, True):
            for activation in (NONE, RELU, RELU6):
                for spread in (300.0, 9000.0, 90000.0):
                    layer = Layer(
                        bias_type=bias_type,
                        per_channel=per_channel,
                        activation=activation,
                        spread=spread,
                    )
                    net.conv(x, 3, (2, 2), layer)
                    net.dense(x, 3, 30, layer)
                    if bias_type != "INT32":
                        net.depthwise(x, 1, (3, 3), layer)
    assert differences(net.bytes(), target=target) == []


@pytest.mark.parametrize("target", TARGETS, ids=_core)
def test_factors(target: Target) -> None:
    """Factors from 2^-36 to 2^5, with multipliers at both ends."""
    net = Models(3, "INT16")
    x = net.input(1, 2, 3, 4)
    for power in range(-36, 6):
        for mantissa in (1.0, 1.37, 2.0 - 2.0**-23):
            for bias_type in BIASES:
                layer = Layer(real=mantissa * 2.0**power, bias_type=bias_type, per_channel=False)
                net.dense(x, 3, 12, layer)
            net.depthwise(x, 1, (1, 2), layer)
    assert differences(net.bytes(), target=target) == []


@pytest.mark.parametrize("target", TARGETS, ids=_core)
def test_deep(target: Target) -> None:
    """Sums beyond 32 bits; with 32-bit biases they wrap."""
    net = Models(4, "INT16")
    x = net.input(1, 3000)
    for bias_type in BIASES:
        net.dense(x, 4, 3000, Layer(bias_type=bias_type))
        net.dense(x, 4, 3000, Layer(bias_type=bias_type, weights=np.array(127), real=2.0**-19))
    assert differences(net.bytes(), target=target) == []


@pytest.mark.parametrize("target", TARGETS, ids=_core)
def test_zero_points(target: Target) -> None:
    """Dense layers may have them."""
    net = Models(5, "INT16")
    x = net.input(5, 20, zero=-300)
    for bias_type in BIASES:
        net.dense(x, 3, 20, Layer(bias_type=bias_type, zero=1000))
    assert differences(net.bytes(), target=target) == []


def _channels() -> bytes:
    """Every number of products and channels modulo what the kernels take at once, with and without
    padding, sums of each kind."""
    net = Models(7, "INT16")
    for width, in_c in ((1, 4), (5, 1), (6, 2), (7, 3), (5, 4), (6, 7), (5, 8), (4, 12)):
        x = net.input(1, 4, width, in_c)
        for number, out_c in enumerate((1, 2, 3, 4, 5, 8, 11)):
            bias = BIASES[number % 3]
            net.conv(x, out_c, (1, 1), Layer(bias_type=bias))
            for padding in (SAME, VALID) if width > 2 else (SAME,):
                net.conv(x, out_c, (2, 3), Layer(padding=padding, bias_type=bias, activation=RELU))
                net.conv(x, out_c, (3, 2), Layer(padding=padding, bias_type="INT64", stride=(1, 2)))
            net.conv(x, out_c, (2, 3), Layer(dilation=(1, 2), bias_type=bias))
        for kernel in [(3, 3), (1, 4)]:
            net.depthwise(x, 1, kernel, Layer(bias_type="INT64", activation=RELU6))
            net.depthwise(x, 1, kernel, Layer(bias_type=None, stride=(2, 2)))
            net.depthwise(x, 1, kernel, Layer(bias_type=None, dilation=(1, 2), real=0.75))
    for depth in (1, 3, 4, 30, 700):
        x = net.input(2, depth)
        for out_c in (1, 2, 5, 8):
            for bias in BIASES:
                net.dense(x, out_c, depth, Layer(bias_type=bias))
    return net.bytes()


@pytest.mark.parametrize("target", TARGETS, ids=_core)
def test_channels(target: Target) -> None:
    assert differences(_channels(), target=target) == []


@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547", "rv32-virt"])
def test_channels_on_boards(board: str) -> None:
    assert board_differences(_channels(), board) == []


def test_lanes_on_a_board() -> None:
    assert board_differences(_channels(), "mps3-an547", target=TARGETS[-1], plenty=True) == []


@pytest.mark.parametrize(
    ("weight", "bias", "real", "is_short"),
    [
        (127, 0, 2.0**-8, True),
        (127, 0, 2.0**-1 * 1.01, True),
        (127, 0, 7.9, True),
        (127, 0, 8.0, False),  # shifted left by four, sums take more than 32 bits
        (127, 0, 2.0**-18, True),
        (127, 0, 2.0**-19, False),  # more than 32 bits to shift by
        (64, (1 << 31) - (64 * 32 << 15) - 1, 2.0**-12, True),
        (64, (1 << 31) - (64 * 32 << 15), 2.0**-12, False),
        (-64, -(1 << 31) + (64 * 32 << 15), 2.0**-12, False),
    ],
)
def test_sums_of_32_bits_are_proved(weight: int, bias: int, real: float, is_short: bool) -> None:
    net = Models(8, "INT16")
    layer = Layer(bias_type="INT64", weights=np.array(weight), bias=np.array(bias), real=real)
    layer = replace(layer, per_channel=False)
    net.dense(net.input(1, 32, scale=2.0**-10), 2, 32, layer)
    graph = parse(net.bytes()).graph
    (node,) = lower_op(graph, graph.ops[0]).nodes
    assert (dict(node.params.fields)["shift"] is None) == is_short
    extremes = [{0: np.full((1, 32), value, np.int16)} for value in (-32768, 32767)]
    assert differences(net.bytes(), inputs=extremes) == []


def test_narrow_bias_of_depthwise_is_refused() -> None:
    net = Models(6, "INT16")
    x = net.input(1, 4, 4, 4)
    net.depthwise(x, 1, (3, 3), Layer(bias_type="INT32"))
    graph = parse(net.bytes()).graph
    with pytest.raises(ModelError, match="its bias is INT32, but must be INT64"):
        lower_op(graph, graph.ops[0])


def test_biases_beyond_what_a_sum_may_be() -> None:
    """Of 2^47 and more: products with a factor wrap, as in the reference."""
    net = Models(3, "INT16")
    x = net.input(1, 4, 4, 2)
    bias = np.array([1 << 47, -(1 << 47), (1 << 48) + 12345, (1 << 49) + 7, -(1 << 55) - 99999])
    for real in (2.0**-40, 2.0**-30, 2.0**-12):
        layer = Layer(bias=bias, bias_type="INT64", real=real)
        net.conv(x, 5, (1, 1), layer)
        net.conv(x, 5, (3, 3), layer)
        net.depthwise(x, 5, (3, 3), replace(layer, bias=np.tile(bias, 2)))
    assert differences(net.bytes(), engine="tflm") == []
