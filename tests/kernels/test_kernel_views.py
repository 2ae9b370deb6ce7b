"""RESHAPE, SQUEEZE and EXPAND_DIMS: mostly no code, and a copy where two promises would meet."""

from __future__ import annotations

from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from harness import differences

from assembled import assemble
from lowtide.errors import ModelError
from lowtide.program.assemble import Assembly
from lowtide.tflite.read import parse
from schema_models import Net, Shape


def reshape(net: Net, source: int, shape: Shape, output: bool = True) -> int:
    options = schema.ReshapeOptionsT(newShape=list(shape))
    return net.op("RESHAPE", [source, net.const(shape)], shape, options=options, output=output)


def pad(net: Net, source: int, shape: Shape) -> int:
    """Something that is not a view: one more element at the end."""
    pairs = [(0, 0)] * (len(shape) - 1) + [(0, 1)]
    return net.op("PAD", [source, net.const(pairs)], (*shape[:-1], shape[-1] + 1))


def assembled(net: Net) -> Assembly:
    graph = parse(net.build()).graph
    return assemble(graph, range(len(graph.ops)))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32])
def test_views_between_operators(dtype: Any) -> None:
    net = Net(dtype)
    source = net.input((1, 4, 3, 2))
    flat = reshape(net, source, (1, 24), output=False)
    again = reshape(net, flat, (2, 12), output=False)
    squeezed = net.op(
        "SQUEEZE", [source], (4, 3, 2), options=schema.SqueezeOptionsT(squeezeDims=[0])
    )
    net.outputs.pop()
    expanded = net.op("EXPAND_DIMS", [squeezed, net.const(1)], (4, 1, 3, 2), output=False)
    pad(net, again, (2, 12))
    pad(net, expanded, (4, 1, 3, 2))
    assembly = assembled(net)
    assert assembly.views == {flat: source, again: source, squeezed: source, expanded: source}
    assert len(assembly.nodes) == 2
    assert differences(net.build(), engine="tflm") == []


def test_an_output_is_no_view_of_an_input() -> None:
    net = Net()
    source = net.input((1, 4, 3, 2))
    middle = reshape(net, source, (24,), output=False)
    reshape(net, middle, (2, 3, 4))
    net.op("SQUEEZE", [source], (4, 3, 2), options=schema.SqueezeOptionsT(squeezeDims=[0]))
    net.op("EXPAND_DIMS", [source, net.const(0)], (1, 1, 4, 3, 2))
    assembly = assembled(net)
    assert assembly.views == {middle: source}
    assert [entry.node.kernel for entry in assembly.kernels] == ["lt_copy_row"] * 3
    assert differences(net.build(), engine="tflm") == []


def test_an_output_is_a_view_of_what_an_operator_made() -> None:
    net = Net()
    made = pad(net, net.input((1, 5)), (1, 5))
    view = reshape(net, made, (2, 3))
    assembly = assembled(net)
    assert assembly.views == {view: made}
    assert differences(net.build(), engine="tflm") == []


def test_a_constant_is_copied() -> None:
    net = Net()
    constant = net.const(np.arange(6), np.int8)
    reshape(net, constant, (2, 3))
    middle = reshape(net, constant, (3, 2), output=False)
    pad(net, middle, (3, 2))
    pad(net, net.input((1, 5)), (1, 5))
    assert assembled(net).views == {}
    assert differences(net.build(), samples=1, engine="tflm") == []


def test_a_different_size_is_refused() -> None:
    net = Net()
    reshape(net, net.input((1, 5)), (2, 3))
    with pytest.raises(ModelError) as caught:
        assembled(net)
    assert caught.value.cause == (
        "operator 0 (RESHAPE): its input and output do not hold the same number of bytes"
    )
