"""Convolutions by lanes of sixteen products, for cores with Helium, and the C beside the assembly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from boards import board_differences
from conv_models import RELU6, SAME, VALID, Layer, Models
from harness import differences

from lowtide.lower import lower_op
from lowtide.machines.board import find_target
from lowtide.passes import normalise_windows
from lowtide.tflite.read import parse

M55 = find_target("cortex-m55")


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
    for in_c in (1, 2, 3, 4, 5, 8, 12, 16, 20, 28, 44):
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


CASES = {"windows": _windows, "channels": _channels, "arithmetic": _arithmetic}


@pytest.mark.parametrize("case", CASES)
def test_on_the_host(case: str) -> None:
    assert differences(_model(CASES[case]), target=M55) == []


@pytest.mark.parametrize("case", CASES)
def test_on_boards(case: str) -> None:
    assert board_differences(_model(CASES[case]), "mps3-an547", target=M55) == []


def _model(build: Callable[[Models], None]) -> bytes:
    net = Models(1)
    build(net)
    return net.bytes()


@pytest.mark.parametrize(
    ("in_c", "out_c", "kernel", "layer", "by_lanes"),
    [
        (8, 4, (1, 1), Layer(), True),
        (3, 5, (3, 3), Layer(), True),
        (1, 4, (5, 1), Layer(), True),
        (8, 4, (1, 1), Layer(real=2.0), False),
        (8, 4, (1, 1), Layer(weights=np.array(-128)), True),
        (8, 2, (1, 1), Layer(bias=np.array([1 << 30, 0]), real=2.0**-24), True),
        (8, 2, (1, 1), Layer(bias=np.array([0, 9 << 20]), real=2.0**-18), True),
    ],
)
def test_which_are_made_so(
    in_c: int, out_c: int, kernel: tuple[int, int], layer: Layer, by_lanes: bool
) -> None:
    net = Models(1)
    net.conv(net.input(1, 9, 9, in_c), out_c, kernel, layer)
    graph = normalise_windows(parse(net.bytes()).graph)
    (node,) = lower_op(graph, graph.ops[0], target=M55).nodes
    assert (node.kernel == "lt_conv_lanes_s8_row") == by_lanes
    (node,) = lower_op(graph, graph.ops[0]).nodes
    assert node.kernel != "lt_conv_lanes_s8_row"
