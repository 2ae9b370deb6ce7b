"""CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED, uint8: all as LiteRT's reference computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conv_models import NONE, RELU, RELU6, RELU_N1_TO_1, SAME, VALID, Layer, Models
from harness import differences

from lowtide.errors import ModelError
from lowtide.lower import lower_op
from lowtide.machines.board import find_target
from lowtide.tflite.read import parse


def _plain(**fields: object) -> Layer:
    values: dict[str, Any] = {"per_channel": False, "weights_zero": 120, "zero": 128, **fields}
    return Layer(**values)


TARGETS = pytest.mark.parametrize("core", ["any", "cortex-m3", "cortex-m4", "cortex-m55"])


@TARGETS
def test_windows(core: str) -> None:
    """Kernels, strides, dilations and paddings over one odd-sized image."""
    net = Models(1, "UINT8")
    x = net.input(1, 7, 9, 3, zero=100)
    for kernel in [(1, 1), (3, 3), (2, 2), (1, 5), (4, 1), (7, 9)]:
        for stride in [(1, 1), (2, 2), (1, 3)]:
            for padding in (SAME, VALID):
                layer = _plain(stride=stride, padding=padding)
                net.conv(x, 4, kernel, layer)
                net.depthwise(x, 1, kernel, layer)
                net.depthwise(x, 2, kernel, layer)
    for dilation in [(2, 2), (1, 3), (3, 1)]:
        for padding in (SAME, VALID):
            layer = _plain(dilation=dilation, padding=padding)
            net.conv(x, 3, (3, 3), layer)
            net.depthwise(x, 3, (2, 3), layer)
    for shape in [(1, 1), (1, 8), (9, 1)]:
        y = net.input(1, *shape, 2, zero=255)
        for kernel in [(1, 1), (3, 3)]:
            net.conv(y, 3, kernel, _plain())
            net.depthwise(y, 1, kernel, _plain())
    assert differences(net.bytes(), engine="litert", target=find_target(core)) == []


def test_dense() -> None:
    """Sizes, batches, and factors that put sums between two outputs, which rounds away from zero."""
    net = Models(2, "UINT8")
    for depth in (1, 3, 64, 1000):
        x = net.input(3, depth, zero=depth % 256)
        for out_c in (1, 2, 5):
            net.dense(x, out_c, depth, _plain())
            net.dense(x, out_c, depth, _plain(bias_type=None, weights_zero=0))
    x = net.input(16, 16, zero=128)
    for power in range(-20, 8):
        for mantissa in (1.0, 1.37, 2.0 - 2.0**-23):
            net.dense(x, 9, 16, _plain(real=mantissa * 2.0**power, zero=100))
    assert differences(net.bytes(), engine="litert") == []


@TARGETS
def test_arithmetic(core: str) -> None:
    """Zero points at both ends, activations, saturation, factors of all sizes."""
    net = Models(3, "UINT8")
    for zero_in in (0, 128, 255):
        x = net.input(1, 3, 4, 4, zero=zero_in, scale=0.004)
        for zero_out in (0, 255):
            for zero_weights in (0, 255):
                for activation in (NONE, RELU, RELU_N1_TO_1, RELU6):
                    layer = _plain(
                        activation=activation, zero=zero_out, weights_zero=zero_weights, spread=99.0
                    )
                    net.conv(x, 2, (2, 2), layer)
                    net.depthwise(x, 1, (3, 3), layer)
                    net.dense(x, 2, 48, layer)
        for power in range(-33, 3):
            net.conv(x, 3, (1, 1), _plain(real=1.37 * 2.0**power))
            net.depthwise(x, 1, (1, 2), _plain(real=2.0**power))
        for ulps in range(1, 9):  # the product of the scales is a float32
            bias = np.array([(2 * k + 1) << 20 for k in (5, 20, 100, -7)])
            real = (2 - ulps * 2.0**-23) * 2.0**-22
            layer = _plain(real=real, bias=bias, weights=np.array(0), zero=100, weights_zero=0)
            net.conv(x, 4, (1, 1), layer)
            net.depthwise(x, 1, (1, 1), layer)
            net.dense(x, 4, 48, layer)
    assert differences(net.bytes(), engine="litert", target=find_target(core)) == []


@pytest.mark.parametrize("kind", ["groups", "scales"])
def test_refusals(kind: str) -> None:
    net = Models(4, "UINT8")
    x = net.input(1, 4, 4, 4, zero=3)
    if kind == "groups":
        net.conv(x, 4, (1, 1), _plain(), groups=2)
    else:
        net.conv(x, 4, (1, 1), Layer(weights=np.array(3)))
    graph = parse(net.bytes()).graph
    with pytest.raises(ModelError, match=r"must have one (group|scale)"):
        lower_op(graph, graph.ops[0])
