"""Hybrid networks as float ones: weights that are stored as integers, or halves, become floats again.

Why: a quantiser that meets weights of integers leaves them as they are, and takes what stands beside
them, biases too, for activations. MLPerf's "float" keyword spotting is such a file (dynamic range
quantisation). As floats, its weights are quantised anew, channel by channel, with their bias.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lowtide.ir.graph import DType, Graph, Op, Tensor
from lowtide.ir.operands import NUMPY_TYPES
from lowtide.passes.rewriting import rewritten

_STORED = frozenset({DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.FLOAT16})


def with_float_weights(graph: Graph) -> Graph:
    """`graph` with constants of floats in place of quantised or half-wide ones that operators on floats
    read, be it through a DEQUANTIZE, which goes; itself if it has none."""
    tensors = list(graph.tensors)
    gone = set()
    for op in graph.ops:
        if op.type == "DEQUANTIZE" and len(op.inputs) == 1:
            floats = _as_floats(tensors[op.inputs[0]])
            if floats is not None and op.outputs[0] not in graph.outputs:
                made = tensors[op.outputs[0]]
                tensors[made.id] = replace(made, data=floats.data, buffer=floats.buffer)
                gone.add(op.id)
        elif _makes_floats(graph, op):
            for tensor in op.inputs:
                weights = _as_floats(tensors[tensor]) if tensor >= 0 else None
                if weights is not None:
                    tensors[tensor] = weights
    if tuple(tensors) == graph.tensors:
        return graph
    return rewritten(graph, gone=gone, tensors=tensors)


def is_float(graph: Graph) -> bool:
    """Whether most of its operators make floats: a float or a hybrid network, and none of integers."""
    return 2 * sum(_makes_floats(graph, op) for op in graph.ops) > len(graph.ops)


def _makes_floats(graph: Graph, op: Op) -> bool:
    return any(graph.tensors[made].dtype is DType.FLOAT32 for made in op.outputs)


def _as_floats(tensor: Tensor) -> Tensor | None:
    """A quantised or half-wide constant as floats; None of anything else."""
    halves = tensor.dtype is DType.FLOAT16
    if tensor.data is None or tensor.is_sparse or tensor.dtype not in _STORED:
        return None
    if tensor.quant is None and not halves:
        return None
    kind = np.dtype("<f2") if halves else NUMPY_TYPES[tensor.dtype]
    real = np.frombuffer(tensor.data, kind).reshape(tensor.shape).astype(np.float64)
    if tensor.quant is not None and not halves:
        axis, count = tensor.quant.dimension, len(tensor.quant.scale)
        shape = [1] * len(tensor.shape)
        if count > 1:
            shape[axis] = count
        zero = np.array(tensor.quant.zero_point, np.float64).reshape(shape)
        real = (real - zero) * np.array(tensor.quant.scale, np.float64).reshape(shape)
    data = real.astype("<f4").tobytes()
    return replace(tensor, dtype=DType.FLOAT32, quant=None, data=data)
