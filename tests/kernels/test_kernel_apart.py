"""Windows whose columns are apart, and long ones of few pixels: the kernels for Helium."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from boards import board_differences
from conv_models import RELU, SAME, VALID, Layer, Models

from lowtide.machines.board import find_target

_BOARD, _CORE = "mps3-an547", "cortex-m55"


def _depthwise(net: Models) -> None:
    for width, count in ((1, 4), (2, 7), (5, 3), (9, 8), (11, 12), (14, 5)):
        x = net.input(1, 3, width, count, zero=-5)
        for kernel in [(3, 3), (1, 5), (5, 5), (2, 7)]:
            for dilation, stride in [((1, 2), (1, 1)), ((2, 3), (1, 1)), ((1, 2), (1, 2))]:
                layer = Layer(dilation=dilation, stride=stride, zero=3, padding=SAME)
                net.depthwise(x, 1, kernel, layer)
    x = net.input(1, 2, 12, 9, zero=100)
    for dilation, stride in [((1, 2), (1, 3)), ((1, 4), (1, 2)), ((1, 3), (1, 3))]:
        for real in (0.004, 0.8, 1.7):
            layer = Layer(dilation=dilation, stride=stride, real=real, zero=-7, activation=RELU)
            net.depthwise(x, 1, (2, 3), layer)
    net.depthwise(x, 1, (1, 3), Layer(dilation=(1, 4), padding=VALID))


def _long(net: Models) -> None:
    """More than sixteen taps, of numbers of pixels that are summed up one by one and in fours."""
    for width in (1, 2, 3, 7, 8, 9, 12, 16, 17):
        for count in (3, 4, 10):
            x = net.input(1, 3, width, count, zero=9)
            net.depthwise(x, 1, (5, 5), Layer(zero=-3))
            net.depthwise(x, 1, (3, 6), Layer(zero=-3, real=0.9, stride=(1, 2)))


def _short_rows(net: Models) -> None:
    """Convolutions whose rows of a window are picked at once, and those for which they are too long."""
    for in_c in (1, 2, 3, 5, 16):
        for width in (1, 4, 9):
            x = net.input(1, 4, width, in_c, zero=-9)
            for dilation in [(1, 2), (2, 3), (1, 60)]:
                for kernel in [(3, 3), (1, 5), (2, 2)]:
                    net.conv(x, 5, kernel, Layer(dilation=dilation, zero=4))
                    net.conv(x, 2, kernel, Layer(dilation=dilation, real=0.7, stride=(1, 2)))


@pytest.mark.parametrize("lean", [False, True], ids=["usual", "lean"])
@pytest.mark.parametrize(
    "build", [_depthwise, _long, _short_rows], ids=["depthwise", "long", "conv"]
)
def test_windows_on_helium(build: Callable[[Models], None], lean: bool) -> None:
    net = Models(1)
    build(net)
    target = find_target(_CORE)
    assert board_differences(net.bytes(), _BOARD, target=target, lean=lean, plenty=True) == []
