"""TRANSPOSE_CONV against the reference kernel: strides above and below the kernel, both paddings."""

from __future__ import annotations

import itertools
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from boards import board_differences
from harness import differences

from assembled import refusal
from lowtide.lower import lower_op
from lowtide.tflite.read import parse
from schema_models import Net


def transpose_conv(
    net: Net,
    source: int,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    *,
    same: bool = True,
    channels: int = 3,
    activation: int = 0,
    extra: tuple[int, int] = (0, 0),
    bias: bool = True,
    scale: float = 0.002,
    **fields: Any,
) -> int:
    """`extra` rows and columns beyond the smallest output that has this input."""
    rng = np.random.default_rng(len(net.tensors))
    batch, height, width, depth = net.tensors[source].shape
    sides = zip((height, width), kernel, stride, extra, strict=True)
    if same:
        size = [(n - 1) * s + 1 + e for n, _, s, e in sides]
    else:
        size = [(n - 1) * s + k + e for n, k, s, e in sides]
    weights = rng.integers(-127, 128, (channels, *kernel, depth))
    scales = (scale * rng.uniform(0.5, 1.5, channels)).astype(np.float32)
    shape = (batch, *size, channels)
    inputs = [net.const(shape), net.const(weights, np.int8, quant=(scales, 0)), source]
    if bias:
        kind = np.int64 if net.dtype == np.int16 else np.int32
        inputs.append(net.const(rng.integers(-9999, 9999, channels), kind, quant=(scales / 2, 0)))
    options = schema.TransposeConvOptionsT(
        padding=0 if same else 1,
        strideH=stride[0],
        strideW=stride[1],
        fusedActivationFunction=activation,
    )
    return net.op("TRANSPOSE_CONV", inputs, shape, options=options, **fields)


@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_windows(dtype: Any) -> None:
    net = Net(dtype)
    image = net.input((1, 4, 5, 3))
    kernels = [(1, 1), (2, 2), (3, 3), (4, 2), (1, 5), (5, 1)]
    strides = [(1, 1), (2, 2), (3, 1), (1, 2)]
    for kernel, stride, same in itertools.product(kernels, strides, (False, True)):
        transpose_conv(net, image, kernel, stride, same=same)
    transpose_conv(net, image, (3, 3), (2, 2), extra=(1, 1))
    transpose_conv(net, image, (3, 4), (3, 3), extra=(2, 1), same=False)
    transpose_conv(net, image, (2, 2), (4, 3), extra=(3, 2))
    assert differences(net.build(), samples=3, engine="tflm") == []


def _twos() -> bytes:
    """int16 in fours of channels: pixels in pairs and alone, with columns beyond either end."""
    net = Net(np.int16)
    image, wide = net.input((1, 3, 5, 4)), net.input((1, 2, 7, 8))
    kernels = [(1, 1), (3, 4), (2, 3), (4, 5)]
    for kernel, stride, same in itertools.product(kernels, [(1, 1), (2, 2), (1, 3)], (False, True)):
        transpose_conv(net, image, kernel, stride, same=same, channels=5, activation=1)
    for channels in (1, 2, 3, 4, 7):
        transpose_conv(net, wide, (3, 4), (1, 2), channels=channels)
    transpose_conv(net, wide, (2, 2), (3, 3), channels=6, extra=(2, 1))
    return net.build()


def test_twos() -> None:
    assert differences(_twos(), samples=3, engine="tflm") == []
    graph = parse(_twos()).graph
    kernels = {lower_op(graph, op).nodes[0].kernel for op in graph.ops}
    assert kernels == {"lt_transpose_conv_2x2_s16_row"}


def test_twos_on_a_board() -> None:
    assert board_differences(_twos(), "mps2-an386", engine="tflm") == []


@pytest.mark.parametrize(
    ("dtype", "zero"), [(np.int8, -128), (np.int8, 127), (np.int16, 0)], ids=str
)
def test_values(dtype: Any, zero: int) -> None:
    """Activations, no bias, factors that saturate and that vanish, zero points at both ends."""
    net = Net(dtype, zero=zero)
    image, line, row = net.input((1, 3, 3, 8)), net.input((1, 1, 6, 2)), net.input((1, 6, 1, 2))
    for activation in (0, 1, 2, 3):
        transpose_conv(net, image, (3, 3), (2, 2), activation=activation)
    transpose_conv(net, image, (3, 3), (2, 2), bias=False, channels=1)
    for scale in (1e-9, 1e-5, 0.3, 40.0):
        transpose_conv(net, image, (2, 2), (2, 2), scale=scale)
    for scale in (1e-6, 0.01, 3.0):
        transpose_conv(net, image, (3, 3), (1, 1), quant=(scale, -zero if zero == 127 else 0))
    transpose_conv(net, line, (1, 3), (1, 2))
    transpose_conv(net, row, (3, 1), (2, 1))
    assert differences(net.build(), engine="tflm") == []


def refused(net: Net) -> str:
    return refusal(parse(net.build()).graph)


def test_refusals() -> None:
    net = Net()
    transpose_conv(net, net.input((1, 4, 4, 2)), (3, 3), (2, 2), extra=(2, 0))
    assert refused(net) == "its input is 4 x 4, but should be 5 x 4"
    net = Net()
    transpose_conv(net, net.input((1, 4, 4, 2)), (3, 3), (2, 2), activation=4)
    assert refused(net) == "the fused activation 4 has no kernel"
    net = Net(np.uint8)
    transpose_conv(net, net.input((1, 4, 4, 2)), (3, 3), (2, 2))
    assert refused(net) == "its type is UINT8, but its kernels are for INT16, INT8"
    net = Net(np.int16)
    transpose_conv(net, net.input((1, 4, 4, 2)), (3, 3), (2, 2), scale=4e4)
    assert refused(net) == "a factor of its sums is 16384 or more"
    net = Net(np.int16)
    transpose_conv(net, net.input((1, 4, 4, 2)), (3, 3), (2, 2), quant=(0.5, 1))
    assert refused(net) == "an int16 tensor has a zero point other than 0"
