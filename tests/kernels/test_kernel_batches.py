"""Batches: operators with windows, of two and more images, against the oracle.

What may go wrong is at the edges of images: a window that reaches beyond one must not see the next.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import elementwise_models
import numpy as np
import pytest
from conv_models import SAME, VALID, Layer, Models
from elementwise_models import samples_of
from harness import differences
from test_kernel_pool import pool
from test_kernel_strips import differences as strip_differences
from test_kernel_transpose_conv import transpose_conv

import move_models
from lowtide.lower import lower_op
from lowtide.lower.nodes import Images, Kernel, Port
from lowtide.machines.board import find_target
from lowtide.tflite.read import parse

WINDOWS = (
    *(((3, 3), (1, 1), (1, 1)), ((1, 1), (1, 1), (1, 1)), ((1, 1), (2, 1), (1, 1))),
    *(((2, 2), (2, 2), (1, 1)), ((5, 2), (1, 2), (1, 1)), ((3, 2), (3, 1), (1, 1))),
    *(((3, 1), (1, 1), (2, 1)), ((2, 3), (1, 1), (3, 1))),
)
"""Kernel, stride and dilation."""


@pytest.mark.parametrize("dtype", ["INT8", "UINT8", "INT16"])
@pytest.mark.parametrize("target", ["", "cortex-m3", "cortex-m4", "cortex-m55"])
def test_convolutions(dtype: str, target: str) -> None:
    net = Models(1, dtype)
    bias = "INT64" if dtype == "INT16" else "INT32"
    base = Layer(bias_type=bias, per_channel=dtype != "UINT8")
    for batch, height, width, deep in ((3, 5, 4, 4), (2, 1, 3, 2), (2, 7, 1, 3)):
        x = net.input(batch, height, width, deep, zero=0 if dtype == "INT16" else 7)
        for (kernel, stride, dilation), padding in product(WINDOWS, (SAME, VALID)):
            reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
            if padding == VALID and (reach[0] > height or reach[1] > width):
                continue
            layer = replace(base, stride=stride, dilation=dilation, padding=padding)
            net.conv(x, 3, kernel, layer)
            net.depthwise(x, 1, kernel, layer)
            net.depthwise(x, 2, kernel, layer)
    kind = find_target(target) if target else find_target("any")
    assert differences(net.bytes(), target=kind) == []


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_pools(dtype: str) -> None:
    net = elementwise_models.Net()
    for shape in ((2, 7, 6, 3), (3, 2, 2, 1), (2, 9, 1, 2)):
        source = net.input(shape, dtype, 0.05, 0 if dtype == "int16" else 5)
        for kernel, stride, *_ in (*WINDOWS, ((7, 6), (7, 6)), ((4, 4), (4, 4))):
            for padding in (SAME, VALID):
                pool(net, source, kernel, stride, padding=padding)
    engine: elementwise_models.Engine = "litert" if dtype == "uint8" else "tflm"
    assert differences(net.pack(), inputs=samples_of(net), engine=engine) == []


@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_transposed(dtype: Any) -> None:
    net = move_models.Net(dtype)
    image = net.input((3, 3, 4, 2))
    for kernel, stride, same in product([(1, 1), (3, 3), (4, 2)], [(1, 1), (2, 2), (3, 1)], (0, 1)):
        transpose_conv(net, image, kernel, stride, same=bool(same))
    assert differences(net.build(), samples=3, engine="tflm") == []


def test_in_strips(tmp_path: Path) -> None:
    net = Models(3)
    for windows in product(WINDOWS[:5], WINDOWS[:2]):
        x = net.input(2, 5, 9, 3, zero=3)
        for kernel, stride, _ in windows:
            if stride[1] == 1:
                x = net.conv(x, 4, kernel, Layer(stride=stride))
    kept = [op.outputs[0] for op in net.ops]
    assert kept
    read = {t for op in net.ops for t in op.inputs}
    data = net.bytes(tuple(t for t in kept if t not in read))
    assert strip_differences(data, tmp_path) == []


def test_windows_stay_in_their_image() -> None:
    net = Models(4)
    x = net.input(2, 4, 3, 2)
    net.conv(x, 2, (3, 3))
    net.conv(x, 2, (2, 2), Layer(stride=(2, 1), padding=VALID))
    net.conv(x, 2, (1, 1))
    graph = parse(net.bytes()).graph
    padded, apart, pointwise = (lower_op(graph, op).nodes[0] for op in graph.ops)
    assert padded.kernel == "lt_images_row"
    assert padded.works == Kernel("lt_conv_packed_s8_row", "lt_conv_packed.h")
    assert padded.headers == {"lt_images.h", "lt_conv_packed.h"}
    port = padded.inputs[0]
    assert port == Port(x, 8, 6, -1, 1, 3, images=Images(4, 4))
    assert [list(port.inside(step)) for step in range(3, 6)] == [[2, 3], [4, 5], [4, 5, 6]]
    assert port.touched(8) == (20, 4)
    # Nothing lies beyond an image, so there is nothing between the interpreter and the kernel.
    assert apart.kernel == pointwise.kernel == "lt_conv_packed_s8_row"
    assert apart.inputs == (Port(x, 8, 6, 0, 2, 2),)
