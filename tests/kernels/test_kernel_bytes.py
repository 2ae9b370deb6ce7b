"""Convolutions with bytes as weights, for cores without DSP instructions: dense, pointwise, depthwise.

On the host, two pixels share a multiplication, as on RISC-V; a Cortex-M3 and a Cortex-M0 have loops of
their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from boards import board_differences
from conv_models import NONE, RELU, RELU6, SAME, VALID, Layer, Models
from harness import differences

from lowtide.lower import lower_op
from lowtide.machines.board import find_target
from lowtide.passes import normalise_windows
from lowtide.target import Target
from lowtide.tflite.read import parse

CORES = {"cortex-m0": "microbit", "cortex-m3": "mps2-an385", "rv32imac": "rv32-virt"}
M3 = find_target("cortex-m3")


def _windows(net: Models) -> None:
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


def _channels(net: Models) -> None:
    """Every number of products and channels modulo what the kernels take at once."""
    for in_c in (1, 2, 3, 4, 5, 7, 8, 12, 18):
        x = net.input(1, 2, 3, in_c, zero=in_c - 8)
        for out_c in (1, 2, 3, 4, 5, 8, 11):
            net.conv(x, out_c, (1, 1), Layer(zero=out_c))
            net.conv(x, out_c, (2, 3), Layer(zero=-out_c, activation=RELU6))
    for depth in (1, 3, 4, 8, 30, 700):
        x = net.input(2, depth)
        for out_c in (1, 2, 4, 5, 12):
            net.dense(x, out_c, depth)


def _arithmetic(net: Models) -> None:
    """Factors and zero points at both ends, sums that saturate, halves, constant channels."""
    x = net.input(1, 3, 5, 4, zero=-128, scale=0.004)
    weights = np.array([-127, 0, 127, 3]).reshape(4, 1, 1, 1)
    for power in range(-31, 0):
        bias = net.rng.integers(-(2**14), 2**14, 4) << max(0, min(15, -14 - power))
        for real in (2.0**power, 1.37 * 2.0**power, (2.0 - 2.0**-23) * 2.0**power):
            net.conv(x, 4, (1, 1), Layer(real=real, bias=bias, zero=5, activation=RELU6))
            net.conv(x, 4, (1, 2), Layer(real=real, weights=weights, zero=-128))
            net.dense(x, 4, 20, Layer(real=real, weights=weights[..., 0, 0], zero=127))
    y = net.input(1, 4, 6, 4)
    ones = np.array([1, -1, 2, 3]).reshape(4, 1, 1, 1)
    for power in range(-1, -9, -1):
        for zero in (-128, -1, 127):
            net.conv(y, 4, (1, 1), Layer(weights=ones, real=2.0**power, zero=zero))
    for pair in ([-128, 127], [-128, -127], [127, 127], [-127, -127], [0, -128]):
        net.conv(y, 3, (1, 1), Layer(weights=np.array(pair * 2), real=2.0**-9))


def _depthwise(net: Models) -> None:
    """Every number of channels and padded columns, kernels, strides, dilations, rows of padding."""
    for width, channels in ((1, 4), (2, 9), (3, 8), (5, 5), (8, 6), (11, 4)):
        x = net.input(1, 4, width, channels, zero=-5)
        for stride in [(1, 1), (2, 2), (1, 2), (3, 1)]:
            for padding in (SAME, VALID):
                if padding == SAME or width > 2:
                    net.depthwise(x, 1, (3, 3), Layer(stride=stride, padding=padding, zero=3))
        for dilation in [(2, 1), (1, 2), (2, 3)]:
            net.depthwise(x, 1, (3, 3), Layer(dilation=dilation, zero=-4))
            net.depthwise(x, 1, (2, 2), Layer(dilation=dilation))
    for size in ((1, 3), (4, 5), (9, 8)):
        x = net.input(1, *size, 7, zero=-7)
        for kernel in [(5, 5), (7, 7), (1, 2), (2, 4), (4, 1), (1, 3)]:
            for stride in [(1, 1), (2, 2)]:
                net.depthwise(x, 1, kernel, Layer(stride=stride, zero=-3))
                if kernel[0] <= size[0] and kernel[1] <= size[1]:
                    net.depthwise(x, 1, kernel, Layer(stride=stride, padding=VALID))


def _depthwise_arithmetic(net: Models) -> None:
    """Zero points and factors at both ends, sums that saturate, halves, constant channels."""
    x = net.input(1, 3, 4, 4, zero=-128, scale=0.004)
    for power in range(-31, 0):
        for mantissa in (1.0, 1.37, 2.0 - 2.0**-23):
            bias = net.rng.integers(-(2**14), 2**14, 4) << max(0, min(15, -14 - power))
            layer = Layer(real=mantissa * 2.0**power, bias=bias, zero=5, activation=RELU6)
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


CASES = {
    "windows": _windows,
    "channels": _channels,
    "arithmetic": _arithmetic,
    "depthwise": _depthwise,
    "depthwise arithmetic": _depthwise_arithmetic,
}


@pytest.mark.parametrize("case", CASES)
def test_on_the_host(case: str) -> None:
    assert differences(_model(CASES[case]), target=M3) == []


@pytest.mark.parametrize("case", ["windows", "channels"])
def test_lean_on_the_host(case: str) -> None:
    assert differences(_model(CASES[case]), target=M3, lean=True) == []


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("case", CASES)
def test_on_boards(case: str, core: str) -> None:
    model = _model(CASES[case])
    assert board_differences(model, CORES[core], target=find_target(core), plenty=True) == []


def _model(build: Callable[[Models], None]) -> bytes:
    net = Models(1)
    build(net)
    return net.bytes()


@pytest.mark.parametrize(
    ("in_c", "out_c", "kernel", "layer", "by_bytes"),
    [
        (8, 4, (1, 1), Layer(), True),
        (3, 5, (3, 3), Layer(), True),
        (1, 4, (5, 1), Layer(), True),
        (8, 4, (1, 1), Layer(real=2.0), False),
        (8, 4, (1, 1), Layer(weights=np.array(-128)), False),
        (8, 4, (1, 1), Layer(weights=np.array([-128, 1] * 4)), True),
        (3, 4, (1, 1), Layer(weights=np.array(-128)), True),
        (8, 2, (1, 1), Layer(bias=np.array([1 << 30, 0]), real=2.0**-24), True),
    ],
)
def test_which_are_made_so(
    in_c: int, out_c: int, kernel: tuple[int, int], layer: Layer, by_bytes: bool
) -> None:
    net = Models(1)
    net.conv(net.input(1, 9, 9, in_c), out_c, kernel, layer)
    assert (_kernel(net, M3) == "lt_conv_bytes_s8_row") == by_bytes
    for core in ("any", "cortex-m4", "cortex-m55"):
        assert _kernel(net, find_target(core)) != "lt_conv_bytes_s8_row"


def test_depthwise_are_made_so() -> None:
    net = Models(1)
    net.depthwise(net.input(1, 9, 9, 5), 1, (2, 5), Layer(weights=np.array(-128)))
    assert _kernel(net, M3) == "lt_depthwise_bytes_s8_row"
    assert _kernel(net, find_target("any")) == "lt_depthwise_quick_s8_row"


def _kernel(net: Models, target: Target) -> str:
    graph = normalise_windows(parse(net.bytes()).graph)
    (node,) = lower_op(graph, graph.ops[0], target=target).nodes
    return node.kernel
