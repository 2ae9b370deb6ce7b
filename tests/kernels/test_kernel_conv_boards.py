"""Convolutions and dense layers on emulated boards: the variants for Arm's DSP extension, and RV32."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from boards import board_differences
from conv_models import RELU, RELU6, SAME, VALID, Layer, Models

from lowtide.machines.board import find_target

BOARDS = ["mps2-an386", "mps2-an385", "mps3-an547", "rv32-virt"]


def _windows(net: Models) -> None:
    x = net.input(1, 7, 9, 5, zero=-5)
    for kernel in [(1, 1), (3, 3), (2, 2), (1, 5), (4, 1), (7, 9)]:
        for stride in [(1, 1), (2, 2), (1, 3)]:
            for padding in (SAME, VALID):
                layer = Layer(stride=stride, padding=padding, zero=3)
                net.conv(x, 3, kernel, layer)
                net.depthwise(x, 1, kernel, layer)
    for dilation in [(2, 2), (1, 3), (3, 1)]:
        for padding in (SAME, VALID):
            layer = Layer(dilation=dilation, padding=padding, zero=-4, activation=RELU)
            net.conv(x, 2, (3, 2), layer)
            net.depthwise(x, 1, (3, 2), layer)
            net.depthwise(x, 1, (3, 3), layer)


def _channels(net: Models) -> None:
    for in_c in (1, 2, 3, 4, 7, 8, 13):
        x = net.input(1, 5, 6, in_c, zero=in_c - 8)
        for out_c in (1, 2, 5):
            net.conv(x, out_c, (1, 1), Layer(zero=out_c))
            net.conv(x, out_c, (3, 3), Layer(zero=-out_c))
        for multiple in (1, 8):
            net.depthwise(x, multiple, (3, 3), Layer(zero=multiple))
            net.depthwise(x, multiple, (3, 3), Layer(stride=(2, 2), zero=-128))
            net.depthwise(x, multiple, (5, 5), Layer(zero=-128))
    for shape in [(1, 1), (2, 2), (1, 9), (8, 1)]:
        y = net.input(1, *shape, 8, zero=127)
        for kernel in [(3, 3), (5, 5)]:
            for stride in [(1, 1), (2, 2)]:
                net.depthwise(y, 1, kernel, Layer(stride=stride))
                net.conv(y, 2, kernel, Layer(stride=stride))
    for depth in (1, 3, 4, 30, 700):
        x = net.input(2, depth)
        for out_c in (1, 2, 5):
            net.dense(x, out_c, depth)


def _arithmetic(net: Models) -> None:
    x = net.input(1, 3, 5, 4, zero=-128, scale=0.004)
    weights = np.array([-127, 0, 127, 3]).reshape(4, 1, 1, 1)
    for power in range(-31, 3):
        bias = net.rng.integers(-(2**14), 2**14, 4) << max(0, min(15, -14 - power))
        for real in (2.0**power, 1.37 * 2.0**power):
            layer = Layer(real=real, bias=bias, zero=5, activation=RELU6)
            net.conv(x, 4, (1, 1), layer)
            net.depthwise(x, 1, (3, 3), layer)
            net.conv(x, 4, (1, 2), Layer(real=real, weights=weights, zero=-128))
            net.dense(x, 4, 20, Layer(real=real, weights=weights[..., 0, 0], zero=127))


@pytest.mark.parametrize("board", BOARDS)
def test_int8(board: str) -> None:
    net = Models(1)
    _windows(net)
    _channels(net)
    _arithmetic(net)
    assert board_differences(net.bytes(), board) == []


def test_int16() -> None:
    net = Models(2, "INT16")
    x = net.input(1, 5, 6, 5)
    for stride in [(1, 1), (2, 2)]:
        layer = Layer(stride=stride, bias_type="INT64")
        net.conv(x, 3, (3, 3), layer)
        net.depthwise(x, 2, (3, 3), layer)
        net.dense(x, 3, 150, layer)
    assert board_differences(net.bytes(), "mps2-an386", engine="tflm") == []


@pytest.mark.parametrize("weights_zero", [128, 130, 255])
@pytest.mark.parametrize(
    ("board", "core"),
    [
        *(("mps2-an386", "cortex-m4"), ("mps3-an547", "cortex-m55")),
        *(("mps2-an386", "any"), ("mps3-an547", "any"), ("rv32-virt", "any")),
    ],
)
def test_uint8(board: str, core: str, weights_zero: int) -> None:
    """By the kernels of int8: weights of nine bits, and bytes that are flipped where they are read."""
    net = Models(2, "UINT8")
    for in_c in (3, 4, 5, 8, 17):
        x = net.input(1, 5, 9, in_c, zero=99)
        for stride in [(1, 1), (2, 2)]:
            layer = Layer(stride=stride, per_channel=False, zero=77, weights_zero=weights_zero)
            net.depthwise(net.conv(x, 8, (3, 3), layer), 1, (3, 3), layer)
            net.conv(net.depthwise(x, 2, (3, 3), layer), 3, (1, 1), layer)
            net.depthwise(x, 1, (1, 2), layer)
            net.conv(x, 5, (2, 1), layer)
        net.dense(x, 3, 45 * in_c, layer)
    target = find_target(core)
    assert board_differences(net.bytes(), board, engine="litert", target=target) == []


@pytest.mark.parametrize(
    ("board", "core"), [("mps2-an386", "cortex-m4"), ("mps3-an547", "cortex-m55")]
)
def test_few_channels_of_any_factors(board: str, core: str) -> None:
    """Kernels of four channels at once, of which some are missing."""
    net = Models(4)
    for count in (1, 2, 3, 5):
        x = net.input(1, 5, 6, count, zero=-5)
        for stride in [(1, 1), (2, 2)]:
            layer = Layer(real=0.8, stride=stride, zero=3)
            net.depthwise(x, 1, (3, 3), layer)
            net.depthwise(x, 1, (5, 5), layer)
            net.conv(x, count, (2, 2), layer)
    assert board_differences(net.bytes(), board, target=find_target(core)) == []


@pytest.mark.parametrize("in_c", [3, 4, 16])
@pytest.mark.parametrize(
    ("board", "core"), [("mps2-an386", "cortex-m4"), ("mps3-an547", "cortex-m55")]
)
def test_some_channels_of_nine_bits(board: str, core: str, in_c: int) -> None:
    """Made anew by fours, some of which have fewer, or by themselves; windows reach beyond rows."""
    net = Models(6, "UINT8")
    x = net.input(1, 5, 6, in_c, zero=99)
    for nine in (1, 2, 3, 5, 7):
        for kernel in ((3, 3), (1, 1), (2, 5), (1, 7)):
            weights = net.rng.integers(0, 248, (7, *kernel, in_c))
            weights[:nine, 0, 0, 0] = 255
            for stride, real in (((1, 1), None), ((2, 2), None), ((1, 1), 0.8)):
                layer = Layer(stride=stride, per_channel=False, zero=77, weights_zero=120)
                layer = replace(layer, weights=weights, real=real, activation=RELU6 * (nine == 2))
                net.conv(x, 7, kernel, layer)
    data, target = net.bytes(), find_target(core)
    assert board_differences(data, board, engine="litert", target=target, plenty=True) == []


def test_lean_depthwise_with_helium() -> None:
    """Eight channels of a window at once, some columns or rows of which are padding; and the rest."""
    net = Models(7)
    for channels in (8, 12, 19):
        x = net.input(1, 5, 6, channels, zero=-5)
        for kernel in ((3, 3), (2, 3), (3, 2), (1, 4), (4, 6), (3, 9)):
            for padding in (SAME, VALID) if kernel[1] < 7 else (SAME,):
                for stride, dilation in (((1, 1), (1, 1)), ((2, 3), (1, 1)), ((1, 1), (2, 2))):
                    if padding == VALID and dilation != (1, 1) and max(kernel) > 3:
                        continue
                    layer = Layer(stride=stride, dilation=dilation, padding=padding, zero=3)
                    net.depthwise(x, 1, kernel, layer)
                    net.depthwise(x, 1, kernel, replace(layer, real=0.8))
    board, target = "mps3-an547", find_target("cortex-m55")
    assert board_differences(net.bytes(), board, target=target, lean=True, plenty=True) == []


def test_dilated_windows_of_int16_with_dsp() -> None:
    """Few values of a window are put side by side first, many are not."""
    net = Models(8, "INT16")
    for in_c in (1, 3, 8):
        x = net.input(1, 5, 7, in_c)
        for out_c in (1, 3, 6):
            for kernel in ((3, 3), (1, 2)):
                for stride in ((1, 1), (2, 1)):
                    layer = Layer(stride=stride, dilation=(2, 2), bias_type="INT64")
                    net.conv(x, out_c, kernel, layer)
    target = find_target("cortex-m4")
    assert board_differences(net.bytes(), "mps2-an386", engine="tflm", target=target) == []
