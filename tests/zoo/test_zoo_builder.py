"""The calibration arithmetic agrees with plain definitions, and the builder refuses what cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from lowtide.zoo import kernels, noise, quantise
from lowtide.zoo.builder import NetBuilder
from lowtide.zoo.mobilenet_v2 import make_divisible
from lowtide.zoo.quantise import Activation


@pytest.mark.parametrize(
    ("size", "kernel", "stride"), [(7, 3, 2), (8, 3, 2), (10, 7, 2), (5, 5, 1)]
)
@pytest.mark.parametrize("same", [True, False])
def test_convolutions_by_definition(size: int, kernel: int, stride: int, same: bool) -> None:
    x = noise.uniform_int8("x", (1, size, size, 3)).astype(np.float32)
    w = noise.weights("w", (4, kernel, kernel, 3), 0)
    acc = kernels.conv(x, w, (stride, stride), same)
    out, before, _ = kernels.same_padding(size, kernel, stride)
    if not same:
        out, before = (size - kernel) // stride + 1, 0
    assert acc.shape == (1, out, out, 4)
    depthwise = kernels.depthwise(x, w[:1], (stride, stride), same)
    assert depthwise.shape == (1, out, out, 3)
    for row in range(out):
        for col in range(out):
            total = np.zeros((4, 3), np.int64)
            for i in range(kernel):
                for j in range(kernel):
                    y, z = row * stride + i - before, col * stride + j - before
                    if 0 <= y < size and 0 <= z < size:
                        total += x[0, y, z].astype(np.int64) * w[:, i, j]
            np.testing.assert_array_equal(acc[0, row, col], total.sum(axis=1))
            np.testing.assert_array_equal(depthwise[0, row, col], total[0])


def test_softmax_by_definition() -> None:
    x = noise.uniform_int8("x", (2, 9))
    e = np.exp(x * 0.05)
    np.testing.assert_allclose(
        kernels.softmax(x, 0.05), e / e.sum(axis=-1, keepdims=True), atol=1e-6
    )


def test_pools_do_not_count_padding() -> None:
    x = np.full((1, 3, 3, 1), -5.0, np.float32)
    assert (kernels.average_pool(x, (3, 3), (1, 1), True) == -5).all()
    assert (kernels.max_pool(x, (3, 3), (1, 1), True) == -5).all()


def test_accumulators_stay_exact() -> None:
    assert kernels.accumulator_type(9) is np.float32
    assert kernels.accumulator_type(1280) is np.float64


@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (0.0, 6.0), (2.0, 3.0), (-4.0, -1.0)])
def test_range_represents_zero(low: float, high: float) -> None:
    quant = quantise.from_range(low, high)
    assert -128 <= quant.zero_point <= 127
    assert quant.scale == float(np.float32(quant.scale))
    assert quant.scale * (127 - quant.zero_point) >= high - quant.scale
    assert quant.scale * (-128 - quant.zero_point) <= low + quant.scale


def test_constant_zero_range_is_usable() -> None:
    assert quantise.from_range(0.0, 0.0).scale == 1.0


def test_concat_refuses_different_quantisation() -> None:
    net = NetBuilder("test")
    x = net.input((1, 4, 4, 8))
    a, b = net.conv(x, "a", 4), net.conv(x, "b", 4)
    with pytest.raises(ValueError, match="quantised alike"):
        net.concat([a, b], "join")
    c = net.conv(x, "c", 4, quant=a.quant)
    assert net.concat([a, c], "join").quant == a.quant


def test_relu6_shares_one_quantisation() -> None:
    net = NetBuilder("test")
    x = net.input((1, 4, 4, 8))
    a = net.conv(x, "a", 4, 1, 1, Activation.RELU6)
    b = net.depthwise(x, "b", 3, 1, Activation.RELU6)
    assert a.quant == b.quant == quantise.RELU6


@pytest.mark.parametrize(("channels", "rounded"), [(11.2, 16), (5.6, 8), (22.4, 24), (33.6, 32)])
def test_make_divisible(channels: float, rounded: int) -> None:
    assert make_divisible(channels) == rounded
