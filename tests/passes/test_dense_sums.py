"""Which operators are sums of products that are known: those with constant weights, and a window."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lowtide.ir import Graph
from lowtide.ir.operands import Operands
from lowtide.ir.windows import normalise_windows
from lowtide.passes.simplify.sums import sums_of
from lowtide.tflite.read import parse
from planted_nets import Planted


def _convolution() -> Graph:
    """One of 3 x 3, from two channels to one."""
    net = Planted(0, "INT8")
    x = net.input((1, 4, 4, 2))
    filters = np.arange(18, dtype=np.int8).reshape(1, 3, 3, 2)
    sources = (x, net.constant(filters, "INT8", scales=np.array([0.02], np.float32)))
    options = {"padding": 1, "stride_h": 1, "stride_w": 1, "fused_activation_function": 0}
    out = net.add("CONV_2D", sources, net.tensor((1, 2, 2, 1)), "Conv2DOptions", **options)
    return normalise_windows(parse(net.finish(out)).graph)


def test_a_convolution_needs_a_window() -> None:
    graph = _convolution()
    (op,) = graph.ops
    sums = sums_of(Operands(graph, op))
    assert sums is not None
    assert sums.weights.shape == (1, 9, 2)
    assert sums_of(Operands(graph, replace(op, window=None))) is None


def test_a_map_of_another_rank_is_none() -> None:
    graph = _convolution()
    (op,) = graph.ops
    flat = replace(graph.tensors[op.inputs[0]], shape=(16, 2))
    tensors = tuple(flat if t.id == flat.id else t for t in graph.tensors)
    changed = replace(graph, tensors=tensors)
    assert sums_of(Operands(changed, op)) is None
