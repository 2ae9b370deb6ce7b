"""Convolutions of int8 that flip the uint8 they gather: a QUANTIZE before them takes no memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from conv_models import SAME, VALID, Layer, Models
from drawn_convs import converted, drawn, of_nibbles
from harness import differences

from lowtide.ir import DType, Graph, Op
from lowtide.lower import has_kernel, lower_op
from lowtide.lower.nodes import Node, Params
from lowtide.machines.board import find_target
from lowtide.passes.flipping import FLIP, flip_bytes
from lowtide.tflite.read import parse

ZERO = -17
CORES = pytest.mark.parametrize("core", ["any", "cortex-m3", "cortex-m4", "cortex-m55"])
TYPES = pytest.mark.parametrize("dtype", ["INT8", "UINT8"])


def _of_bytes(net: Models, *shape: int) -> int:
    """An input of uint8, and what QUANTIZE makes of it."""
    return converted(net, net.input(*shape, zero=ZERO))


def _file(net: Models) -> bytes:
    return net.bytes(tuple(op.outputs[0] for op in net.ops if op.kind != "QUANTIZE"))


@CORES
@pytest.mark.parametrize("lean", [False, True])
def test_windows(core: str, lean: bool) -> None:
    net = Models(1)
    for channels in (1, 3, 4):
        x = _of_bytes(net, 1, 7, 9, channels)
        for kernel in [(3, 3), (1, 5), (4, 2)]:
            for padding in (SAME, VALID):
                layer = Layer(stride=(2, 1), padding=padding, zero=5)
                net.conv(x, 5, kernel, layer)
                net.conv(x, 4, kernel, replace(layer, dilation=(1, 2), stride=(1, 1)))
                if channels == 1:
                    net.depthwise(x, 6, kernel, layer)
                elif channels == 4:
                    net.conv(x, 4, kernel, layer, groups=2)
    data = _file(net)
    assert {op.type for op in flip_bytes(parse(data).graph, has_kernel).graph.ops} <= {
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
    }
    assert differences(data, target=find_target(core), lean=lean) == []


def test_what_gathers_nothing_reads_flipped_bytes() -> None:
    net = Models(2)
    x = _of_bytes(net, 1, 5, 6, 3)
    net.conv(x, 4, (1, 1))
    net.depthwise(x, 1, (3, 3))
    net.conv(x, 4, (3, 3))
    data = _file(net)
    ops = flip_bytes(parse(data).graph, has_kernel).graph.ops
    assert [op.type for op in ops] == ["FLIP", "CONV_2D", "DEPTHWISE_CONV_2D", "CONV_2D"]
    assert differences(data) == []


@CORES
def test_one_channel_with_weights_of_nine_bits(core: str) -> None:
    """The one kernel with a window that reads bytes in place, beside one that gathers them."""
    net = Models(3, "UINT8")
    for zero in (0, 255):
        for kernel in ((3, 3), (1, 5), (2, 2)):
            layer = Layer(per_channel=False, weights_zero=zero, zero=128)
            net.depthwise(net.input(1, 5, 6, 1, zero=100), 3, kernel, layer)
    assert differences(net.bytes(), target=find_target(core)) == []


def test_scales_that_are_nearly_equal() -> None:
    """Sums at halves, which tell one scale from the next."""
    net = Models(4)
    x = _of_bytes(net, 1, 8, 8, 2)
    given = net.tensors[net.inputs[0]]
    assert given.scales is not None
    net.tensors[net.inputs[0]] = replace(given, scales=np.nextafter(given.scales, np.float32(1)))
    for real in (0.5, 0.25):
        net.conv(x, 4, (2, 2), Layer(real=real, weights=np.array(1), bias=np.arange(4)))
    assert differences(_file(net)) == []


@CORES
@TYPES
def test_drawn_convolutions(core: str, dtype: str) -> None:
    data = drawn(1, dtype, 60)
    assert differences(data, target=find_target(core), rewrite=of_nibbles, samples=2) == []


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 42))
@TYPES
def test_more_drawn_convolutions(dtype: str, seed: int) -> None:
    core = ("any", "cortex-m3", "cortex-m4", "cortex-m55")[seed % 4]
    data = drawn(seed, dtype, 60)
    assert differences(data, target=find_target(core), rewrite=of_nibbles, lean=seed % 8 > 3) == []


@CORES
@TYPES
def test_who_is_let_flip_is_told_to_and_nobody_else_converts_first(core: str, dtype: str) -> None:
    """In all kernels and forms; bytes are converted for kernels that read them in place, where they
    are."""
    target, count = find_target(core), 0
    for seed in range(10, 14):
        graph = of_nibbles(parse(drawn(seed, dtype, 80)).graph)
        graph = flip_bytes(graph, partial(has_kernel, target=target)).graph
        made = {op.outputs[0] for op in graph.ops if op.type == FLIP}
        for op in graph.ops:
            if op.type == FLIP:
                continue
            (node,) = lower_op(graph, op, target=target).nodes
            reads = graph.tensors[op.inputs[0]].dtype is DType.UINT8
            count += reads
            for each in (node, *node.forms):
                told = [fields.get("flip", 0) for fields in _kernels(each.params)]
                assert told == [0x80 if reads else 0] * len(told), (seed, op.id, each.kernel)
            if op.inputs[0] in made:
                assert not _gathers(graph, op, node), (seed, op.id, node.kernel)
    assert count > 130


def _kernels(params: Params) -> Iterator[dict[str, object]]:
    """The fields of a kernel that computes, and of those that it calls."""
    if params.ctype != "lt_images":
        yield dict(params.fields)
    for _, value in params.fields:
        if isinstance(value, Params):
            yield from _kernels(value)


def _gathers(graph: Graph, op: Op, node: Node) -> bool:
    """Whether the kernels of `node` copy what they read, in a form that they can flip."""
    families = {header.removeprefix("lt_").removesuffix(".h") for header in node.headers}
    shape = graph.tensors[op.inputs[1]].shape
    window = shape[1] * shape[2] > 1
    nine = "w9" in families and op.type == "DEPTHWISE_CONV_2D"
    plain = any(f.startswith("depthwise") for f in families) or "conv_w4" in families
    return window and not nine and not plain
