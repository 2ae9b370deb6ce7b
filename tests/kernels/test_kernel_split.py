"""SPLIT, SPLIT_V and UNPACK against the reference kernels: every axis, every type."""

from __future__ import annotations

from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from harness import differences

from assembled import refusal
from schema_models import Net


def split(net: Net, source: int, axis: int, *shapes: tuple[int, ...]) -> int:
    options = schema.SplitOptionsT(numSplits=len(shapes))
    return net.op("SPLIT", [net.const(axis), source], *shapes, options=options)


def split_v(net: Net, source: int, axis: int, *shapes: tuple[int, ...]) -> int:
    sizes = net.const([shape[axis] for shape in shapes])
    options = schema.SplitVOptionsT(numSplits=len(shapes))
    return net.op("SPLIT_V", [source, sizes, net.const(axis)], *shapes, options=options)


def splits(net: Net) -> None:
    image, rows, flat = net.input((1, 6, 4, 8)), net.input((2, 6, 4)), net.input((10,))
    split(net, image, 3, *[(1, 6, 4, 4)] * 2)
    split(net, image, -1, *[(1, 6, 4, 1)] * 8)
    split(net, image, 2, *[(1, 6, 2, 8)] * 2)
    split(net, image, 1, *[(1, 2, 4, 8)] * 3)
    split(net, image, 0, (1, 6, 4, 8))
    split(net, rows, 0, *[(1, 6, 4)] * 2)
    split(net, rows, 1, *[(2, 2, 4)] * 3)
    split(net, rows, 2, *[(2, 6, 2)] * 2)
    split(net, flat, 0, *[(2,)] * 5)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.int32])
def test_split(dtype: Any) -> None:
    net = Net(dtype)
    splits(net)
    assert differences(net.build(), engine="tflm") == []


def test_split_of_uint8() -> None:
    net = Net(np.uint8)
    splits(net)
    assert differences(net.build(), engine="litert") == []


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32])
def test_split_v(dtype: Any) -> None:
    net = Net(dtype)
    image, rows, flat = net.input((1, 6, 4, 8)), net.input((2, 6, 4)), net.input((10,))
    split_v(net, image, 3, (1, 6, 4, 1), (1, 6, 4, 5), (1, 6, 4, 2))
    split_v(net, image, 2, (1, 6, 3, 8), (1, 6, 1, 8))
    split_v(net, image, 1, (1, 1, 4, 8), (1, 3, 4, 8), (1, 2, 4, 8))
    split_v(net, rows, 1, (2, 5, 4), (2, 1, 4))
    split_v(net, rows, -1, (2, 6, 3), (2, 6, 1))
    split_v(net, rows, 0, (1, 6, 4), (1, 6, 4))
    split_v(net, flat, 0, (1,), (7,), (2,))
    assert differences(net.build(), engine="tflm") == []


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.int32])
def test_unpack(dtype: Any) -> None:
    net = Net(dtype)
    source, flat = net.input((3, 4, 2, 5)), net.input((3,))
    for axis in range(-4, 4):
        shape = [3, 4, 2, 5]
        count = shape.pop(axis % 4)
        options = schema.UnpackOptionsT(num=count, axis=axis)
        net.op("UNPACK", [source], *[shape] * count, options=options)
    net.op("UNPACK", [flat], (), (), (), options=schema.UnpackOptionsT(num=3, axis=0))
    assert differences(net.build(), engine="tflm") == []


def test_refusals() -> None:
    net = Net()
    split(net, net.input((1, 6)), 1, (1, 2), (1, 2))
    assert refusal(net.build()) == ("its outputs [[1, 2], [1, 2]] do not make up [1, 6]")
    net = Net()
    source = net.input((1, 6))
    net.op("SPLIT", [net.input((), np.int32), source], (1, 3), (1, 3))
    assert refusal(net.build()) == "input 0 must be a constant"
    net = Net()
    net.op("SPLIT", [net.const([0, 1]), net.input((1, 6))], (1, 3), (1, 3))
    assert refusal(net.build()) == "its axis is not one number"
    net = Net()
    split_v(net, net.input((1, 6)), 1, (1, 3), (2, 3))
    assert "do not make up [1, 6]" in refusal(net.build())
