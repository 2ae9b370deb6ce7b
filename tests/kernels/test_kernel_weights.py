"""Which constants of a program are its weights: reports count them, linker scripts can place them."""

from __future__ import annotations

import numpy as np
import pytest
from test_kernel_work import loud, odd_block, transposed

from lowtide.ir import Graph, Op
from lowtide.lower import lower_op
from lowtide.lower.nodes import Node
from lowtide.machines.board import find_target
from lowtide.tflite.read import parse
from networks import contents
from recurrent import lstm, svdf
from schema_models import Net

_WEIGHTED = frozenset(
    {
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "FULLY_CONNECTED",
        "SVDF",
        "TRANSPOSE_CONV",
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
    }
)


def _lstms() -> bytes:
    net = Net(scale=0.02)
    lstm(net, net.input((1, 6, 40)), 40)  # far more than their biases
    return net.build()


def _svdfs() -> bytes:
    net = Net(scale=0.02)
    svdf(net, net.input((1, 40)), 4, 1, 30, np.int8)
    return net.build()


NETWORKS = {
    "ds-cnn-kws": contents("ds-cnn-kws"),
    "blocks": odd_block("INT8"),
    "blocks of int16": odd_block("INT16"),
    "factors of 1/2 and more": loud(),
    "transposed": transposed("int8"),
    "LSTM": _lstms(),
    "SVDF": _svdfs(),
}


def _in_the_file(graph: Graph, op: Op) -> int:
    """Bytes of the operator's constants of bytes that have several dimensions."""
    tensors = [graph.tensors[t] for t in op.inputs if t >= 0]
    weights = [t for t in tensors if t.is_constant and len(t.shape) > 1 and t.dtype.bits == 8]
    assert weights
    return sum(int(np.prod(t.shape)) for t in weights)


@pytest.mark.parametrize("core", ["any", "cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("name", NETWORKS)
def test_all_weights_of_the_file_are_weights_of_the_program(name: str, core: str) -> None:
    graph = parse(NETWORKS[name]).graph
    ops = [op for op in graph.ops if op.type in _WEIGHTED]
    assert ops
    for op in ops:
        for node in lower_op(graph, op, target=find_target(core)).nodes:
            assert isinstance(node, Node)
            for form in (node, *node.forms):
                marked = sum(array.bytes for array in form.params.arrays() if array.weights)
                assert marked >= _in_the_file(graph, op), (op.label, form.kernel)
