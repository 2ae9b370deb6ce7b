"""CONCATENATION and PACK against the reference kernels: every axis, every type, mixed scales."""

from __future__ import annotations

from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from harness import differences

from assembled import refusal
from schema_models import Net, Shape


def concat(net: Net, inputs: list[int], shape: Shape, axis: int, **fields: Any) -> int:
    options = schema.ConcatenationOptionsT(axis=axis)
    return net.op("CONCATENATION", inputs, shape, options=options, **fields)


def pack(net: Net, inputs: list[int], shape: Shape, axis: int) -> int:
    options = schema.PackOptionsT(axis=axis, valuesCount=len(inputs))
    return net.op("PACK", inputs, shape, options=options)


def concatenations(net: Net) -> None:
    a, b = net.input((1, 5, 4, 3)), net.input((1, 5, 4, 2))
    c, e = net.input((1, 2, 4, 3)), net.input((2, 3, 4))
    one, flat = net.input((1, 1, 1, 7)), net.input((6,))
    concat(net, [a, b], (1, 5, 4, 5), 3)
    concat(net, [b, a, b], (1, 5, 4, 7), -1)
    concat(net, [a, c, a], (1, 12, 4, 3), 1)
    concat(net, [a, a], (1, 5, 8, 3), -2)
    concat(net, [a, a], (2, 5, 4, 3), 0)
    concat(net, [one] * 9, (1, 1, 1, 63), 3)
    concat(net, [one, one], (1, 2, 1, 7), 1)
    concat(net, [e, e], (4, 3, 4), 0)
    concat(net, [e, e, e], (2, 9, 4), 1)
    concat(net, [e, e], (2, 3, 8), 2)
    concat(net, [flat, flat], (12,), 0)
    constant = net.const(np.arange(24).reshape(2, 3, 4) % 2, net.dtype)
    concat(net, [e, constant], (2, 6, 4), 1)
    concat(net, [constant, e], (2, 3, 8), 2)
    middle = concat(net, [a, b], (1, 5, 4, 5), 3, output=False)
    concat(net, [middle, a], (1, 5, 4, 8), 3)
    concat(net, [a], (1, 5, 4, 3), 3)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.int32])
def test_concatenation(dtype: Any) -> None:
    net = Net(dtype)
    concatenations(net)
    assert differences(net.build(), engine="tflm") == []


def test_concatenation_of_five_dimensions() -> None:
    net = Net()
    d = net.input((2, 3, 4, 5, 2))
    for axis in range(5):
        shape = [2, 3, 4, 5, 2]
        shape[axis] *= 3
        concat(net, [d, d, d], shape, axis)
    assert differences(net.build(), engine="tflm") == []


def test_concatenation_of_uint8() -> None:
    net = Net(np.uint8, zero=128)
    concatenations(net)
    assert differences(net.build(), engine="litert") == []


def test_concatenation_of_uint8_requantises() -> None:
    """All 256 values of the input, zero points at either end, halves and clipping included."""
    net = Net(np.uint8, zero=128)
    same, third = net.input((1, 4, 8, 3)), net.input((1, 4, 8, 1), quant=(0.3, 100))
    rng = np.random.default_rng(5)
    values = {
        same: rng.integers(0, 256, (1, 4, 8, 3), np.uint8),
        third: rng.integers(0, 256, (1, 4, 8, 1), np.uint8),
    }
    for given in [(0.25, 128), (0.5, 127), (1.0, 0), (0.037, 255), (2.7, 3), (0.1, 17)]:
        every = net.input((1, 4, 8, 8), quant=given)
        values[every] = np.arange(256, dtype=np.uint8).reshape(1, 4, 8, 8)
        concat(net, [every, same, third], (1, 4, 8, 12), 3)
        concat(net, [same, every], (1, 4, 8, 11), 3)
        concat(net, [every, every], (1, 8, 8, 8), 1)
    concat(net, [third, third], (2, 4, 8, 1), 0)
    assert differences(net.build(), inputs=[values], engine="litert") == []


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.int32])
def test_pack(dtype: Any) -> None:
    net = Net(dtype)
    a, b = net.input((3, 4, 5)), net.input((3, 4, 5))
    flat, scalar, image = net.input((6,)), net.input(()), net.input((1, 3, 4, 2))
    for axis in range(-4, 4):
        shape = [3, 4, 5]
        shape.insert(axis % 4, 3)
        pack(net, [a, b, a], shape, axis)
    pack(net, [flat, flat], (2, 6), 0)
    pack(net, [flat, flat], (6, 2), 1)
    pack(net, [scalar, scalar, scalar], (3,), 0)
    pack(net, [image, image], (1, 2, 3, 4, 2), 1)
    pack(net, [image, image], (1, 3, 4, 2, 2), -1)
    pack(net, [net.const(np.ones((6,)), dtype), flat], (2, 6), 0)
    assert differences(net.build(), engine="tflm") == []


def test_refusals() -> None:
    net = Net()
    concat(net, [net.input((1, 4)), net.input((1, 4), quant=(0.25, 3))], (1, 8), 1)
    assert refusal(net.build()) == ("its inputs and its output differ in scale or zero point")
    net = Net()
    concat(net, [net.input((1, 4)), net.input((1, 4))], (1, 8), 2)
    assert refusal(net.build()) == "axis 2 does not exist in 2 dimensions"
    net = Net()
    concat(net, [net.input((1, 4)), net.input((1, 4))], (1, 9), 1)
    assert refusal(net.build()) == ("its inputs [[1, 4], [1, 4]] do not join to [1, 9]")
    net = Net()
    options = schema.ConcatenationOptionsT(axis=1, fusedActivationFunction=1)
    net.op("CONCATENATION", [net.input((1, 4))], (1, 4), options=options)
    assert "fused activation" in refusal(net.build())
    net = Net()
    concat(net, [net.input((1, 4)), net.input((1, 4), np.int16)], (1, 8), 1)
    assert "move elements between types (INT8, INT8, INT16)" in refusal(net.build())
