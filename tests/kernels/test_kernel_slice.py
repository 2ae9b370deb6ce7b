"""SLICE and STRIDED_SLICE against the reference kernels: masks, negative strides, every type."""

from __future__ import annotations

import itertools
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from harness import differences

from assembled import refusal
from schema_models import Net

Ints = tuple[int, ...]


def slice_of(net: Net, source: int, begin: Ints, size: Ints, kind: Any = np.int32) -> int:
    shape = net.tensors[source].shape
    out = [n - b if s == -1 else s for n, b, s in zip(shape, begin, size, strict=True)]
    return net.op("SLICE", [source, net.const(begin, kind), net.const(size, kind)], out)


def strided(
    net: Net,
    source: int,
    begin: Ints,
    end: Ints,
    strides: Ints,
    begin_mask: int = 0,
    end_mask: int = 0,
    shrink: int = 0,
) -> int:
    """The output's shape is numpy's, which is an independent opinion on what the masks mean."""
    index: list[Any] = []
    for axis, (b, e, s) in enumerate(zip(begin, end, strides, strict=True)):
        low, high = (
            None if mask >> axis & 1 else x for mask, x in ((begin_mask, b), (end_mask, e))
        )
        index.append(b if shrink >> axis & 1 else slice(low, high, s))
    shape = np.zeros(net.tensors[source].shape)[tuple(index)].shape
    options = schema.StridedSliceOptionsT(
        beginMask=begin_mask, endMask=end_mask, shrinkAxisMask=shrink
    )
    constants = [net.const(begin), net.const(end), net.const(strides)]
    return net.op("STRIDED_SLICE", [source, *constants], shape, options=options)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.int32])
def test_slice(dtype: Any) -> None:
    net = Net(dtype)
    image, batch = net.input((1, 6, 5, 4)), net.input((2, 3, 4, 2, 3))
    rows, flat = net.input((2, 6, 4)), net.input((9,))
    slice_of(net, image, (0, 1, 0, 0), (1, 4, 5, 4))
    slice_of(net, image, (0, 0, 2, 0), (1, 6, 2, 4))
    slice_of(net, image, (0, 0, 0, 1), (1, 6, 5, 2))
    slice_of(net, image, (0, 5, 4, 3), (1, 1, 1, 1))
    slice_of(net, image, (0, 2, 1, 2), (-1, -1, -1, -1), np.int64)
    slice_of(net, image, (0, 0, 0, 0), (1, 6, 5, 4))
    slice_of(net, batch, (1, 1, 1, 1, 1), (1, 2, 2, 1, 2))
    slice_of(net, batch, (0, 0, 2, 0, 0), (2, 3, 1, 2, 3))
    slice_of(net, rows, (0, 2, 1), (2, 3, 2))
    slice_of(net, rows, (1, 0, 0), (1, 6, 4))
    slice_of(net, flat, (4,), (5,))
    assert differences(net.build(), engine="tflm") == []


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32])
def test_strided_slice(dtype: Any) -> None:
    net = Net(dtype)
    image, rows = net.input((1, 7, 6, 5)), net.input((2, 6, 4))
    matrix, flat = net.input((3, 8)), net.input((9,))
    whole = (1, 7, 6, 5)
    for h, w, c in itertools.product((1, 2, -1), (1, 3, -2), (1, 2, -1)):
        signs = [
            (0, n) if s > 0 else (n - 1, -n - 1) for n, s in zip(whole, (1, h, w, c), strict=True)
        ]
        begin, end = zip(*signs, strict=True)
        strided(net, image, begin, end, (1, h, w, c))
    strided(net, image, (0, 1, 2, 1), (1, 6, 5, 4), (1, 1, 1, 1))
    strided(net, image, (-1, -6, -3, -9), (9, -1, 99, -1), (1, 2, 2, 2))
    strided(net, image, (5, 5, 5, 5), (0, 0, 0, 0), (1, 1, 2, 3), 15, 15)
    strided(net, image, (0, 0, 0, 0), (0, 0, 0, 0), (1, -1, -1, -1), 15, 15)
    strided(net, image, (0, 3, 0, 0), (0, 0, 0, 0), (1, 1, 1, 1), 13, 13, 2)
    strided(net, image, (0, 0, -1, 0), (0, 0, 0, 0), (1, 1, 1, 1), 11, 11, 4)
    strided(net, image, (0, 0, 0, 4), (1, 7, 6, 0), (1, 1, 1, 1), 7, 7, 9)
    strided(net, image, (0, 2, 1, 3), (1, 3, 2, 4), (1, 1, 1, 1), 0, 0, 15)
    strided(net, rows, (0, 0, 0), (2, 6, 4), (1, 2, 3))
    strided(net, rows, (1, 5, 0), (-9, 0, 4), (-1, -2, 1))
    strided(net, rows, (0, -1, 0), (2, 0, 4), (1, 1, 1), 5, 5, 2)
    strided(net, matrix, (2, 0), (0, 8), (-1, 2))
    strided(net, matrix, (1, 0), (2, 8), (1, 1), 2, 2, 1)
    strided(net, flat, (8,), (0,), (-3,))
    strided(net, flat, (1,), (8,), (2,))
    assert differences(net.build(), engine="tflm") == []


def test_uint8_and_missing_dimensions() -> None:
    """LiteRT takes a begin that names the first dimensions only; TFLM has no uint8."""
    net = Net(np.uint8)
    image = net.input((1, 7, 6, 5))
    slice_of(net, image, (0, 1, 2, 3), (1, 2, 3, 2))
    strided(net, image, (0, 6), (1, 0), (1, -3))
    assert differences(net.build(), engine="litert") == []


def test_refusals() -> None:
    net = Net()
    net.op("SLICE", [net.input((1, 6)), net.const([0, 3]), net.const([1, 4])], (1, 4))
    assert refusal(net.build()) == "it reaches outside its input, [1, 6]"
    net = Net()
    net.op("SLICE", [net.input((1, 6)), net.const([0, 3]), net.const([1, 2])], (1, 3))
    assert refusal(net.build()) == "it makes [1, 2], but its output is [1, 3]"
    net = Net()
    net.op("SLICE", [net.input((1, 6)), net.input((2,), np.int32), net.const([1, 2])], (1, 2))
    assert refusal(net.build()) == "input 1 must be a constant"

    def one(options: Any, begin: Ints = (0, 0), end: Ints = (1, 6), by: Ints = (1, 1)) -> str:
        net = Net()
        constants = [net.const(begin), net.const(end), net.const(by)]
        net.op("STRIDED_SLICE", [net.input((1, 6)), *constants], (1, 6), options=options)
        return refusal(net.build())

    mask = schema.StridedSliceOptionsT
    assert one(mask(newAxisMask=1)) == "it uses new_axis_mask, which TFLM has no kernel for"
    assert one(mask(ellipsisMask=2)) == "it uses ellipsis_mask, which TFLM has no kernel for"
    assert one(mask(offset=True)) == "it uses offset, which TFLM has no kernel for"
    assert one(mask(), by=(1, 0)) == "a stride is 0"
    assert one(mask(), end=(1,)) == "its begin, end and strides differ in length"
    assert one(mask(shrinkAxisMask=2), begin=(0, 6)) == "index 6 does not exist in axis 1, of 6"
    assert one(mask(), end=(1, 5)) == "it makes [1, 5], but its output is [1, 6]"
