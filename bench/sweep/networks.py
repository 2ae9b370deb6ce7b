"""Candidates as files, as a search that saves what it tries has them. Their weights are zeros."""

from __future__ import annotations

from itertools import count, islice
from pathlib import Path

import numpy as np

from bench.sweep.candidates import candidate, family
from lowtide.ir import Graph, Op, Tensor
from lowtide.zoo.spec import NetSpec, OpSpec, TensorSpec
from lowtide.zoo.writer import write

_OPTIONS = {
    "ADD": "AddOptions",
    "CONCATENATION": "ConcatenationOptions",
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions",
    "MEAN": "ReducerOptions",
    "SOFTMAX": "SoftmaxOptions",
}


def write_networks(folder: Path, networks: int) -> None:
    """Write so many candidates, all of them different; randomly wired ones have no weights to write."""
    seeds = (seed for seed in count() if family(seed) != "wired")
    for number, seed in enumerate(islice(seeds, networks)):
        (folder / f"{number:05d}.tflite").write_bytes(file_of(candidate(seed)))


def file_of(graph: Graph) -> bytes:
    """The .tflite file of a network that `Shapes` made."""
    return write(
        NetSpec(
            graph.name,
            tuple(_tensor(tensor) for tensor in graph.tensors),
            tuple(_operator(op) for op in graph.ops),
            graph.inputs,
            graph.outputs,
        )
    )


def _tensor(tensor: Tensor) -> TensorSpec:
    quant = tensor.quant
    assert quant is not None
    data = None
    if tensor.data is not None:
        data = np.frombuffer(tensor.data, np.dtype(tensor.dtype.name.lower())).reshape(tensor.shape)
    scales = np.array(quant.scale, np.float32)
    return TensorSpec(
        tensor.name,
        tensor.shape,
        tensor.dtype.name,
        scales,
        quant.zero_point[0],
        quant.dimension,
        data,
    )


def _operator(op: Op) -> OpSpec:
    options = {name: value for name, value in op.options.items() if isinstance(value, int | float)}
    return OpSpec(op.type, 1, op.inputs, op.outputs, _OPTIONS[op.type], options)
