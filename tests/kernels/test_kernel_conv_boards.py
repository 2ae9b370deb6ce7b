"""Convolutions and dense layers on emulated boards: the variants for Arm's DSP extension, and RV32."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from boards import board_differences
from conv_models import RELU, RELU6, SAME, VALID, Layer, Models

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


@pytest.mark.parametrize("dtype", ["UINT8", "INT16"])
def test_other_types(dtype: str) -> None:
    net = Models(2, dtype)
    legacy = dtype == "UINT8"
    x = net.input(1, 5, 6, 5, zero=99 if legacy else 0)
    for stride in [(1, 1), (2, 2)]:
        layer = Layer(
            stride=stride,
            per_channel=not legacy,
            zero=77 if legacy else 0,
            weights_zero=130 if legacy else 0,
            bias_type="INT32" if legacy else "INT64",
        )
        net.conv(x, 3, (3, 3), layer)
        net.depthwise(x, 2, (3, 3), layer)
        net.dense(x, 3, 150, layer)
    engine: Literal["litert", "tflm"] = "litert" if legacy else "tflm"
    assert board_differences(net.bytes(), "mps2-an386", engine=engine) == []
