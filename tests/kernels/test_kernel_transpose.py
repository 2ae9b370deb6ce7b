"""TRANSPOSE against the reference kernels: all permutations of up to four dimensions, some of five."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from harness import differences

from assembled import assemble, refusal
from lowtide.tflite.read import parse
from schema_models import Net, Shape


def transpose(net: Net, source: int, perm: Shape) -> int:
    shape = net.tensors[source].shape
    return net.op("TRANSPOSE", [source, net.const(perm)], [shape[p] for p in perm])


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32])
def test_four_dimensions(dtype: Any) -> None:
    net = Net(dtype)
    for shape in ((2, 3, 4, 5), (1, 4, 6, 3), (1, 20, 2, 3)):
        source = net.input(shape)
        for perm in itertools.permutations(range(4)):
            transpose(net, source, perm)
    assert differences(net.build(), samples=1, engine="tflm") == []


def test_other_ranks() -> None:
    net = Net()
    five, three = net.input((2, 3, 1, 4, 5)), net.input((3, 4, 5))
    two, one = net.input((7, 3)), net.input((4,))
    for perm in itertools.islice(itertools.permutations(range(5)), 0, None, 5):
        transpose(net, five, perm)
    for perm in itertools.permutations(range(3)):
        transpose(net, three, perm)
    transpose(net, two, (1, 0))
    transpose(net, one, (0,))
    assert differences(net.build(), samples=1, engine="tflm") == []


def test_other_types() -> None:
    for dtype in (np.uint8, np.int32):
        net = Net(dtype)
        source = net.input((1, 4, 6, 3))
        for perm in ((0, 3, 1, 2), (0, 2, 3, 1), (0, 2, 1, 3), (3, 2, 1, 0)):
            transpose(net, source, perm)
        assert differences(net.build(), samples=1, engine="litert") == []


def test_moving_dimensions_of_one_is_a_view() -> None:
    net = Net()
    source = net.input((1, 4, 1, 3))
    middle = transpose(net, source, (0, 1, 3, 2))
    transpose(net, middle, (0, 2, 1, 3))
    graph = parse(net.build()).graph
    # The outputs are graph outputs of a graph input, so they are copies; without that, views.
    assert len(assemble(graph, (0, 1)).nodes) == 2
    assert differences(net.build(), samples=1, engine="tflm") == []


def test_planes_are_read_and_written_by_rows() -> None:
    """Planes to pixels reads one row of each plane per step, and the way back writes them."""
    net = Net()
    planes = net.input((1, 3, 8, 6))
    transpose(net, planes, (0, 2, 3, 1))
    transpose(net, net.input((1, 8, 6, 3)), (0, 3, 1, 2))
    graph = parse(net.build()).graph
    join, apart = (entry.node for entry in assemble(graph, (0, 1)).kernels)
    for port in (join.inputs[0], apart.outputs[0]):
        assert (port.rows, port.row_bytes, port.count, port.dilation) == (24, 6, 3, 8)
    assert join.steps == apart.steps == 8


def test_tall_planes_are_read_and_written_whole() -> None:
    """Rows of one pixel row may be 255 apart at most (lt_port)."""
    net = Net()
    for height in (255, 256):
        transpose(net, net.input((1, 2, height, 3)), (0, 2, 3, 1))
        transpose(net, net.input((1, height, 3, 2)), (0, 3, 1, 2))
    graph = parse(net.build()).graph
    kernels = [entry.node.kernel for entry in assemble(graph, range(4)).kernels]
    assert kernels == ["lt_concat_row", "lt_split_row", "lt_transpose_row", "lt_transpose_row"]
    assert differences(net.build(), samples=1, engine="tflm") == []


def test_refusals() -> None:
    net = Net()
    net.op("TRANSPOSE", [net.input((2, 3)), net.const([1, 1])], (3, 3))
    assert refusal(net.build()) == "[1, 1] is not a permutation of 2 dimensions"
    net = Net()
    net.op("TRANSPOSE", [net.input((2, 3)), net.const([1, 0])], (2, 3))
    assert refusal(net.build()) == "it cannot make [2, 3] from [2, 3]"
    net = Net()
    transpose(net, net.input((2, 3, 2, 3, 2, 3)), (5, 4, 3, 2, 1, 0))
    assert refusal(net.build()) == "it has more than 5 dimensions"
