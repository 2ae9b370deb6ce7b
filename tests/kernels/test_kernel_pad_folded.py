"""The passes keep results: models compiled after them, against the reference on the whole model."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import ai_edge_litert.schema_py_generated as schema
import harness
import numpy as np
import pytest

from assembled import assemble
from lowtide.ir import Graph
from lowtide.machines.board import find_target
from lowtide.oracle.interpreters import random_inputs, reference_tensors
from lowtide.passes import drop_boundary_quantization, fold_pads
from lowtide.target import ANY, Target
from lowtide.tflite.read import parse
from schema_models import Net

_SIDES = [(1, 1, 1, 1), (0, 1, 0, 1), (2, 0, 0, 3), (3, 3, 3, 3), (0, 0, 4, 0)]


def differences(data: bytes, graph: Graph, target: Target = ANY) -> list[str]:
    """As harness.differences, for a `graph` made of the model; fewer tensors are made there."""
    given = parse(data).graph
    shapes = [(i, given.tensors[i].shape, np.dtype(np.int8)) for i in given.inputs]
    inputs = random_inputs(shapes, 4, 1)
    made = [t for op in graph.ops for t in op.outputs]
    wanted = reference_tensors(data, inputs, made, engine="tflm")
    assembly = assemble(graph, range(len(graph.ops)), target=target)
    lines = []
    with tempfile.TemporaryDirectory() as path:
        program = harness._build(Path(path), assembly)
        for number, sample in enumerate(inputs):
            rows = harness._run(Path(path), program, graph, sample)
            lines += harness._compare(assembly, rows, wanted, number)
    return lines


def padded(net: Net, source: int, sides: tuple[int, int, int, int]) -> int:
    top, bottom, left, right = sides
    batch, height, width, channels = net.tensors[source].shape
    pairs = net.const([(0, 0), (top, bottom), (left, right), (0, 0)])
    shape = (batch, height + top + bottom, width + left + right, channels)
    return net.op("PAD", [source, pairs], shape, output=False)


def slide(size: int, window: int, stride: int) -> int:
    return math.ceil((size - window + 1) / stride)


def convolution(net: Net, source: int, kernel: tuple[int, int], stride: int, dilation: int) -> int:
    rng = np.random.default_rng(len(net.tensors))
    batch, height, width, channels = net.tensors[source].shape
    weights = rng.integers(-127, 128, (5, *kernel, channels))
    scales = rng.uniform(0.001, 0.003, 5).astype(np.float32)
    filters = net.const(weights, np.int8, quant=(scales, 0))
    bias = net.const(rng.integers(-999, 999, 5), quant=(scales * np.float32(net.quant[0]), 0))
    options = schema.Conv2DOptionsT(
        padding=1,
        strideH=stride,
        strideW=stride,
        dilationHFactor=dilation,
        dilationWFactor=dilation,
        fusedActivationFunction=1,
    )
    span = [(k - 1) * dilation + 1 for k in kernel]
    shape = (batch, slide(height, span[0], stride), slide(width, span[1], stride), 5)
    return net.op("CONV_2D", [source, filters, bias], shape, options=options)


def depthwise(net: Net, source: int, kernel: tuple[int, int], stride: int) -> int:
    rng = np.random.default_rng(len(net.tensors))
    batch, height, width, channels = net.tensors[source].shape
    weights = rng.integers(-127, 128, (1, *kernel, channels))
    scales = rng.uniform(0.001, 0.003, channels).astype(np.float32)
    filters = net.const(weights, np.int8, quant=(scales, 0), axis=3)
    bias_scales = scales * np.float32(net.quant[0])
    bias = net.const(rng.integers(-999, 999, channels), quant=(bias_scales, 0))
    options = schema.DepthwiseConv2DOptionsT(
        padding=1, strideH=stride, strideW=stride, depthMultiplier=1
    )
    shape = (batch, slide(height, kernel[0], stride), slide(width, kernel[1], stride), channels)
    return net.op("DEPTHWISE_CONV_2D", [source, filters, bias], shape, options=options)


def max_pool(net: Net, source: int, window: tuple[int, int], stride: int) -> int:
    batch, height, width, channels = net.tensors[source].shape
    options = schema.Pool2DOptionsT(
        padding=1, strideH=stride, strideW=stride, filterHeight=window[0], filterWidth=window[1]
    )
    shape = (batch, slide(height, window[0], stride), slide(width, window[1], stride), channels)
    return net.op("MAX_POOL_2D", [source], shape, options=options)


@pytest.mark.parametrize("batch", [1, 3])
def test_convolutions_do_the_pad_before_them(batch: int) -> None:
    net = Net(zero=-5)
    image = net.input((batch, 9, 7, 4))
    for sides in _SIDES:
        convolution(net, padded(net, image, sides), (3, 3), 2, 1)
        convolution(net, padded(net, image, sides), (2, 3), 1, 2)
        convolution(net, padded(net, image, sides), (1, 2), 2, 1)
        depthwise(net, padded(net, image, sides), (3, 3), 2)
        depthwise(net, padded(net, image, sides), (7, 5), 1)
    data = net.build()
    graph = fold_pads(parse(data).graph)
    assert {op.type for op in graph.ops} == {"CONV_2D", "DEPTHWISE_CONV_2D"}
    assert differences(data, graph) == []


@pytest.mark.parametrize("core", ["any", "cortex-m4", "cortex-m55"])
def test_windows_may_lie_in_padding_alone(core: str) -> None:
    """Rows and columns of them: what is at hand is no row, and no pair of rows."""
    net = Net(zero=-5)
    image = net.input((1, 6, 24, 16))
    for sides in ((6, 0, 1, 1), (0, 7, 12, 0), (9, 9, 0, 20)):
        depthwise(net, padded(net, image, sides), (5, 5), 1)
        depthwise(net, padded(net, image, sides), (1, 5), 1)
        depthwise(net, padded(net, image, sides), (5, 9), 1)
        depthwise(net, padded(net, image, sides), (5, 1), 1)
        depthwise(net, padded(net, image, sides), (3, 3), 1)
        convolution(net, padded(net, image, sides), (5, 3), 1, 1)
    data = net.build()
    graph = fold_pads(parse(data).graph)
    assert {op.type for op in graph.ops} == {"CONV_2D", "DEPTHWISE_CONV_2D"}
    assert differences(data, graph, find_target(core)) == []


@pytest.mark.parametrize("batch", [1, 3])
def test_pools_do_a_pad_of_the_least_value(batch: int) -> None:
    net = Net(zero=-128)
    image = net.input((batch, 9, 7, 4))
    for sides in _SIDES:
        max_pool(net, padded(net, image, sides), (4, 5), 1)
        max_pool(net, padded(net, image, sides), (5, 6), 5)
    data = net.build()
    graph = fold_pads(parse(data).graph)
    assert {op.type for op in graph.ops} == {"MAX_POOL_2D"}
    assert differences(data, graph) == []


def test_dropping_the_float_boundary_keeps_what_is_between() -> None:
    """The caller's own quantisation gives what the model's QUANTIZE gave."""
    net = Net()
    given = net.input((1, 6), np.float32)
    inner = net.op("QUANTIZE", [given], (1, 6), output=False)
    middle = net.op("PAD", [inner, net.const([[0, 0], [1, 2]])], (1, 9), output=False)
    net.op("DEQUANTIZE", [middle], (1, 9), dtype=np.float32)
    data = net.build()
    graph = drop_boundary_quantization(parse(data).graph)
    assert (graph.inputs, graph.outputs) == ((inner,), (middle,))
    values = np.random.default_rng(1).uniform(-70, 70, (1, 6)).astype(np.float32)
    wanted = reference_tensors(data, [{given: values}], [inner, middle])
    assembly = assemble(graph, range(len(graph.ops)))
    with tempfile.TemporaryDirectory() as path:
        program = harness._build(Path(path), assembly)
        rows = harness._run(Path(path), program, graph, {inner: wanted.samples[0][inner]})
    assert harness._compare(assembly, rows, wanted, 0) == []
