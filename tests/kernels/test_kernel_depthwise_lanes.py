"""Depthwise convolutions by lanes of four channels, for cores with Helium, and the C beside it."""

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
from lowtide.tflite.read import parse

M55 = find_target("cortex-m55")


def _windows(net: Models) -> None:
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
    for size in ((3, 3), (4, 5), (9, 8), (8, 14), (5, 1), (3, 2)):
        x = net.input(1, *size, 8, zero=-7)
        for kernel in [(5, 5), (7, 7), (1, 2), (2, 4), (4, 1)]:
            for stride in [(1, 1), (2, 2)]:
                net.depthwise(x, 1, kernel, Layer(stride=stride, zero=-3))
                if kernel[0] <= size[0] and kernel[1] <= size[1]:
                    net.depthwise(x, 1, kernel, Layer(stride=stride, padding=VALID))
    x = net.input(1, 7, 9, 4, zero=2)
    net.depthwise(x, 1, (3, 3), Layer(dilation=(2, 1)))


def _arithmetic(net: Models) -> None:
    """Zero points and factors at both ends, sums that saturate, halves, constant channels."""
    x = net.input(1, 3, 7, 4, zero=-128, scale=0.004)
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


CASES = {"windows": _windows, "arithmetic": _arithmetic}


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
    ("channels", "kernel", "layer", "by_lanes"),
    [
        (8, (3, 3), Layer(), True),
        (8, (3, 3), Layer(stride=(2, 2), dilation=(1, 1)), True),
        (6, (3, 3), Layer(), False),
        (8, (3, 3), Layer(stride=(1, 3)), False),
        (8, (3, 3), Layer(dilation=(1, 2)), False),
        (8, (1, 3), Layer(), True),
        (8, (7, 7), Layer(), True),
        (8, (8, 3), Layer(), False),
        (8, (3, 3), Layer(real=2.0), False),
    ],
)
def test_which_are_made_so(
    channels: int, kernel: tuple[int, int], layer: Layer, by_lanes: bool
) -> None:
    net = Models(1)
    net.depthwise(net.input(1, 9, 9, channels), 1, kernel, layer)
    graph = normalise_windows(parse(net.bytes()).graph)
    (node,) = lower_op(graph, graph.ops[0], target=M55).nodes
    assert (node.kernel == "lt_depthwise_lanes_s8_row") == by_lanes
    (node,) = lower_op(graph, graph.ops[0]).nodes
    assert node.kernel != "lt_depthwise_lanes_s8_row"
