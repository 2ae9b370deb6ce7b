"""RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR against the reference kernels: all modes and sizes."""

from __future__ import annotations

import itertools
from typing import Any, Literal

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from conv_models import Layer, Models
from harness import differences

from assembled import refusal
from lowtide.zoo.spec import OpSpec
from schema_models import Net

_SIZES = [(1, 1), (2, 3), (5, 4), (7, 9), (8, 10), (10, 8), (13, 17), (30, 3)]


def resize(net: Net, kind: str, source: int, size: tuple[int, int], **flags: bool) -> int:
    shape = net.tensors[source].shape
    name = "Bilinear" if kind == "RESIZE_BILINEAR" else "NearestNeighbor"
    options = getattr(schema, f"Resize{name}OptionsT")(**flags)
    return net.op(kind, [source, net.const(size)], (shape[0], *size, shape[3]), options=options)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32])
def test_nearest(dtype: Any) -> None:
    net = Net(dtype)
    for source in (net.input((1, 5, 4, 3)), net.input((2, 3, 7, 2)), net.input((1, 1, 1, 4))):
        for size, corners, half in itertools.product(_SIZES, (False, True), (False, True)):
            flags = {"alignCorners": corners, "halfPixelCenters": half}
            resize(net, "RESIZE_NEAREST_NEIGHBOR", source, size, **flags)
    assert differences(net.build(), samples=1, engine="tflm") == []


@pytest.mark.parametrize(("dtype", "engine"), [(np.int8, "tflm"), (np.uint8, "litert")])
def test_bilinear(dtype: Any, engine: Literal["tflm", "litert"]) -> None:
    net = Net(dtype)
    small = net.input((1, 5, 4, 3)), net.input((2, 3, 7, 2)), net.input((1, 1, 1, 4))
    large = net.input((1, 24, 24, 1))
    modes: list[dict[str, bool]] = [{}, {"alignCorners": True}, {"halfPixelCenters": True}]
    for flags in modes:
        for source, size in itertools.product(small, _SIZES):
            resize(net, "RESIZE_BILINEAR", source, size, **flags)
        for size in ((96, 96), (11, 23), (48, 12)):
            resize(net, "RESIZE_BILINEAR", large, size, **flags)
    assert differences(net.build(), engine=engine) == []


def test_bilinear_between_convolutions_of_uint8() -> None:
    """They make and read bytes with their sign bit flipped."""
    net = Models(1, "UINT8")
    layer = Layer(per_channel=False, zero=100)
    x = net.conv(net.input(1, 4, 5, 3), 4, (1, 1), layer)
    shape = (1, 7, 10, 4)
    scales, zero = net.tensors[x].scales, net.tensors[x].zero_point
    made = net.tensor(shape, "UINT8", scales=scales, zero_point=zero)
    size = net.tensor((2,), "INT32", data=np.array(shape[1:3], np.int32))
    net.ops.append(OpSpec("RESIZE_BILINEAR", 1, (x, size), (made,), "ResizeBilinearOptions"))
    last = net.conv(made, 2, (3, 3), layer)
    assert differences(net.bytes((last,)), engine="litert") == []


def test_nearest_of_uint8() -> None:
    net = Net(np.uint8)
    resize(net, "RESIZE_NEAREST_NEIGHBOR", net.input((1, 5, 4, 3)), (10, 9))
    assert differences(net.build(), samples=1, engine="litert") == []


def test_refusals() -> None:
    net = Net()
    flags = {"alignCorners": True, "halfPixelCenters": True}
    resize(net, "RESIZE_BILINEAR", net.input((1, 2, 2, 1)), (3, 3), **flags)
    assert refusal(net.build()) == "align_corners and half_pixel_centers exclude each other"
    net = Net()
    resize(net, "RESIZE_BILINEAR", net.input((1, 1, 1, 1)), (1500, 1))
    assert refusal(net.build()) == "rounding makes the reference kernel read past its 1 pixels"
    net = Net()
    net.op("RESIZE_BILINEAR", [net.input((1, 2, 2, 1)), net.const([3, 4])], (1, 3, 3, 1))
    assert refusal(net.build()) == "it cannot make [1, 3, 3, 1] from [1, 2, 2, 1]"
    net = Net(np.int16)
    resize(net, "RESIZE_BILINEAR", net.input((1, 2, 2, 1)), (3, 3))
    assert refusal(net.build()) == "its type is INT16, but its kernels are for INT8, UINT8"
