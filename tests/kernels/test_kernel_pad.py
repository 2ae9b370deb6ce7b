"""PAD and PADV2 against the reference kernels: every side, every type, every value."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from harness import differences

from assembled import refusal
from schema_models import Net

Pairs = list[tuple[int, int]]


def pad(net: Net, source: int, pairs: Pairs, value: int | None = None) -> int:
    shape = net.tensors[source].shape
    out = [n + a + b for n, (a, b) in zip(shape, pairs, strict=True)]
    if value is None:
        return net.op("PAD", [source, net.const(pairs)], out)
    return net.op("PADV2", [source, net.const(pairs), net.const(value, net.dtype)], out)


def pads(net: Net) -> None:
    image, batch, deep = (
        net.input((1, 4, 3, 5)),
        net.input((2, 3, 2, 3)),
        net.input((2, 1, 3, 2, 3)),
    )
    rows, matrix, flat = net.input((2, 3, 4)), net.input((2, 3)), net.input((4,))
    n = (0, 0)
    for sides in itertools.product((0, 1), repeat=4):
        pad(net, image, [n, (sides[0], sides[1]), (2 * sides[2], sides[3]), n])
    for value in (1, 2):
        pad(net, image, [n, n, n, (2, 3)], value)
        pad(net, image, [n, n, (1, 2), (2, 0)], value)
        pad(net, image, [n, (1, 2), (3, 1), (0, 4)], value)
        pad(net, image, [(1, 1), (0, 1), n, n], value)
        pad(net, batch, [n, (1, 2), (2, 1), n], value)
        pad(net, batch, [(0, 2), (1, 0), n, (1, 1)], value)
    pad(net, deep, [n, (1, 1), (0, 2), n, n])
    pad(net, deep, [(1, 0), n, n, (1, 1), (2, 1)])
    pad(net, rows, [n, (2, 1), n])
    pad(net, rows, [(1, 0), (0, 1), (1, 3)])
    pad(net, matrix, [(1, 0), n])
    pad(net, matrix, [(0, 2), (3, 1)], 1)
    pad(net, flat, [(3, 2)])
    pad(net, flat, [n])
    pad(net, net.input((1,)), [(1, 2)])


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.int32])
def test_pad(dtype: Any) -> None:
    net = Net(dtype)
    pads(net)
    assert differences(net.build(), samples=2, engine="tflm") == []


@pytest.mark.parametrize("zero", [-128, 0, 127])
def test_pad_writes_the_zero_point(zero: int) -> None:
    net = Net(np.int8, zero=zero)
    pad(net, net.input((1, 4, 3, 5)), [(0, 0), (2, 1), (1, 2), (0, 0)])
    assert differences(net.build(), samples=2, engine="tflm") == []


@pytest.mark.parametrize("zero", [0, 200, 255])
def test_pad_of_uint8(zero: int) -> None:
    net = Net(np.uint8, zero=zero)
    image = net.input((1, 4, 3, 5))
    pad(net, image, [(0, 0), (2, 1), (1, 2), (0, 0)])
    pad(net, image, [(0, 0), (2, 1), (1, 2), (0, 3)], 77)
    assert differences(net.build(), samples=2, engine="litert") == []


def test_extreme_values() -> None:
    for dtype in (np.int8, np.int32):
        net = Net(dtype)
        image = net.input((1, 2, 3, 2))
        for value in (np.iinfo(dtype).min, np.iinfo(dtype).max, -1, 0):
            pad(net, image, [(0, 0), (1, 1), (1, 1), (0, 1)], value)
        assert differences(net.build(), samples=2, engine="tflm") == []


def test_refusals() -> None:
    net = Net()
    net.op("PAD", [net.input((1, 4)), net.const([[0, 0], [1, -1]])], (1, 4))
    assert refusal(net.build()) == "its paddings are not a non-negative pair per dimension"
    net = Net()
    net.op("PAD", [net.input((1, 4)), net.const([[0, 0], [1, 1]])], (1, 7))
    assert refusal(net.build()) == "its paddings do not match its input's and output's shapes"
    net = Net()
    net.op("PAD", [net.input((1, 4)), net.input((2, 2), np.int32)], (1, 7))
    assert refusal(net.build()) == "input 1 must be a constant"
    net = Net()
    value = net.const([1, 2], np.int8)
    net.op("PADV2", [net.input((1, 4)), net.const([[0, 0], [1, 1]]), value], (1, 6))
    assert refusal(net.build()) == "its value is not one element of its input's type"
    net = Net()
    pad(net, net.input((1, 0)), [(0, 0), (1, 1)])
    assert refusal(net.build()) == "its input is empty"
