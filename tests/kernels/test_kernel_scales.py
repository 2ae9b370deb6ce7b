"""Scales and zero points that no kernel can work with: every operator that scales refuses them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest
from conv_models import RELU6, Layer, Models
from test_kernel_batch_matmul import matmul
from test_kernel_concat import concat
from test_kernel_transpose_conv import transpose_conv

from lowtide.errors import ModelError
from lowtide.ir import Graph
from lowtide.lower import has_kernel, lower_op
from lowtide.passes.flipping import flip_bytes
from lowtide.tflite.read import parse
from recurrent import lstm, svdf
from schema_models import Net


def _layers(dtype: str) -> bytes:
    """A convolution, a depthwise one and a dense layer."""
    net = Models(1, dtype)
    layer = Layer(per_channel=dtype != "UINT8", bias_type="INT64" if dtype == "INT16" else "INT32")
    x = net.input(1, 4, 4, 2)
    net.conv(x, 2, (3, 3), layer)
    net.depthwise(x, 1, (3, 3), layer)
    net.dense(x, 2, 2, layer)
    return net.bytes()


def _net(dtype: type, shape: tuple[int, ...], add: Callable[[Net, int], object]) -> bytes:
    net = Net(dtype)
    add(net, net.input(shape))
    return net.build()


MODELS = {
    "int8": lambda: _layers("INT8"),
    "uint8": lambda: _layers("UINT8"),
    "int16": lambda: _layers("INT16"),
    "transpose_conv": lambda: _net(
        np.int8, (1, 3, 3, 2), lambda net, x: transpose_conv(net, x, (3, 3), (2, 2))
    ),
    "batch_matmul": lambda: _net(np.int8, (4, 4), lambda net, x: matmul(net, x, x)),
    "concat": lambda: _net(
        np.uint8, (1, 4), lambda net, x: concat(net, [x, x], (1, 8), 1, quant=(0.25, 1))
    ),
    "lstm": lambda: _net(np.int8, (1, 6, 5), lambda net, x: lstm(net, x, 4)),
    "svdf": lambda: _net(np.int8, (1, 9), lambda net, x: svdf(net, x, 4, 1, 3, np.int16)),
}


def _with(graph: Graph, tensor: int, scale: float | None, zero: int | None = None) -> Graph:
    """`graph` with another quantisation of `tensor`."""
    old = graph.tensors[tensor].quant
    assert old is not None
    count = len(old.scale)
    quant = replace(
        old,
        scale=old.scale if scale is None else (scale,) * count,
        zero_point=old.zero_point if zero is None else (zero,) * count,
    )
    tensors = list(graph.tensors)
    tensors[tensor] = replace(tensors[tensor], quant=quant)
    return replace(graph, tensors=tuple(tensors))


@pytest.mark.parametrize("model", MODELS)
def test_unsound_scales_are_refused(model: str) -> None:
    graph = flip_bytes(parse(MODELS[model]()).graph, has_kernel).graph
    for op in graph.ops:
        if op.type == "FLIP":
            continue  # it looks at no scale
        lower_op(graph, op)
        activations = [t for t in op.inputs if t >= 0 and not graph.tensors[t].is_constant]
        for tensor in (*activations, *op.outputs):
            if tensor in op.outputs and model == "lstm":
                continue  # its quantisation is that of the hidden state, which is an input
            for scale in (0.0, -0.5, inf, nan):
                with pytest.raises(
                    ModelError, match=rf"tensor {tensor} \(\w+\) has scale {scale:g} and zero"
                ):
                    lower_op(_with(graph, tensor, scale), op)
            with pytest.raises(ModelError, match=r"and zero point (99999|0)"):
                lower_op(_with(graph, tensor, None, 99999), op)
        weights = [
            t for t in op.inputs if t >= 0 and graph.tensors[t].quant and t not in activations
        ]
        for tensor in weights if model != "svdf" else weights[:2]:
            if graph.tensors[tensor].dtype.bits > 16:
                continue  # the scale of a bias is not looked at
            for scale in (-0.5, inf, nan):
                with pytest.raises(ModelError, match=r"has scale|differ by a factor of"):
                    lower_op(_with(graph, tensor, scale), op)


@pytest.mark.parametrize("model", sorted(MODELS.keys() - {"lstm"}))
def test_factors_that_no_kernel_can_shift_by_are_refused(model: str) -> None:
    graph = flip_bytes(parse(MODELS[model]()).graph, has_kernel).graph
    for op in graph.ops:
        if op.type == "FLIP" or (model == "uint8" and op.type == "FULLY_CONNECTED"):
            continue  # it has no factor, or its factor is a float
        source = next(t for t in op.inputs if not graph.tensors[t].is_constant)
        extreme = _with(_with(graph, op.outputs[0], 1e-20), source, 1e30)
        with (
            warnings.catch_warnings(action="error"),
            pytest.raises(ModelError, match=r"differ by a factor of (.*e\+|inf)|is 16384 or more"),
        ):
            lower_op(extreme, op)


def test_a_clamp_beyond_int32_is_refused() -> None:
    net = Models(1)
    net.conv(net.input(1, 4, 4, 2), 2, (1, 1), Layer(activation=RELU6))
    graph = parse(net.bytes()).graph
    with pytest.raises(ModelError, match="its output's scale, 1e-09, is too small"):
        lower_op(_with(_with(graph, 0, 1e-9), graph.ops[0].outputs[0], 1e-9), graph.ops[0])
