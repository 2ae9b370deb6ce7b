"""Work that is done twice, and clamps and operators that do nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from lowtide.ir import DType, Graph, Op, Quant, Tensor
from lowtide.passes import fold_pads
from lowtide.passes.simplify.aliases import drop_unread
from lowtide.passes.simplify.clamps import drop_clamps, drop_idle
from lowtide.passes.simplify.equal import merge_equal
from lowtide.passes.simplify.result import Dropped, Same, Simplified
from lowtide.tflite.read import parse
from planted_nets import Planted

RELU, RELU6 = 1, 3
WHAT = "operators whose results nothing reads"


def _net(zero: int = -128) -> Planted:
    net = Planted(0, "INT8")
    net.zero = zero
    return net


def _graph(net: Planted, *outputs: int) -> Graph:
    return fold_pads(parse(net.finish(*outputs)).graph)


def _conv(net: Planted, x: int, weights: list[list[int]], bias: list[int], act: int = 0) -> int:
    """A 1 x 1 convolution by a factor of 1/50."""
    scales = np.array([0.02], np.float32)
    values = np.array(weights, np.int8)[:, None, None, :]
    sources = (
        x,
        net.constant(values, "INT8", scales=scales),
        net.constant(bias, "INT32", scales=scales),
    )
    out = net.tensor((*net.shape(x)[:3], len(weights)))
    return net.add(
        *("CONV_2D", sources, out, "Conv2DOptions"),
        padding=1,
        stride_h=1,
        stride_w=1,
        fused_activation_function=act,
    )


def test_twins_are_run_once() -> None:
    net = _net()
    x = net.input((1, 2, 2, 2))
    first, second = (_conv(net, x, [[5, 3]], [7]) for _ in range(2))
    other = _conv(net, x, [[5, 3]], [8])
    shape = (1, 2, 2, 3)
    joined = net.add("CONCATENATION", (first, second, other), net.tensor(shape), axis=3)
    result = merge_equal(_graph(net, joined))
    assert [op.type for op in result.graph.ops] == ["CONV_2D", "CONV_2D", "CONCATENATION"]
    assert result.graph.ops[-1].inputs == (first, first, other)
    assert result.dropped == (Dropped(second, None, Same(first)),)
    assert result.saved == (("operators equal to others", 1),)


def test_twins_of_twins_are_run_once_too() -> None:
    net = _net()
    x = net.input((1, 2, 2, 2))
    both = [_conv(net, _conv(net, x, [[5, 3]], [7]), [[90]], [1]) for _ in range(2)]
    total = net.add("ADD", both, net.tensor((1, 2, 2, 1)), fused_activation_function=0)
    assert len(merge_equal(_graph(net, total)).graph.ops) == 3


def test_an_output_that_is_a_twin_keeps_its_name() -> None:
    net = _net()
    x = net.input((1, 2, 2, 2))
    first, second = (_conv(net, x, [[5, 3]], [7]) for _ in range(2))
    last = _conv(net, first, [[9]], [0])
    result = merge_equal(_graph(net, second, last))
    assert [op.outputs for op in result.graph.ops] == [(second,), (last,)]
    assert result.graph.outputs == (second, last)


def test_two_outputs_stay_two() -> None:
    net = _net()
    x = net.input((1, 2, 2, 2))
    both = [_conv(net, x, [[5, 3]], [7]) for _ in range(2)]
    graph = _graph(net, *both)
    assert merge_equal(graph).graph is graph


@pytest.mark.parametrize(("weight", "acts"), [(1, False), (3, False), (5, True)])
def test_a_clamp_out_of_reach_goes(weight: int, acts: bool) -> None:
    """Up to 255 * weight / 50 above the zero point, where 6 is 24 of 0.25."""
    net = _net()
    y = _conv(net, net.input((1, 2, 2, 1)), [[weight]], [0], RELU6)
    graph = _graph(net, y)
    result = drop_clamps(graph)
    assert (result.graph is graph) == acts
    assert result.saved == (() if acts else (("clamps that never act", 1),))


def test_a_clamp_to_all_of_the_type_is_none() -> None:
    net = _net()
    graph = _graph(net, _conv(net, net.input((1, 2, 2, 1)), [[1]], [0], RELU))
    assert drop_clamps(graph).graph is graph


@pytest.mark.parametrize(
    ("kind", "bound", "acts"),
    [
        *(("RELU", 0, False), ("RELU6", 0, False), ("LEAKY_RELU", 0, False)),
        *(("MINIMUM", -100, False), ("MINIMUM", -124, True)),
        *(("MAXIMUM", -128, False), ("MAXIMUM", -127, True)),
    ],
)
def test_what_gives_back_what_it_is_given_goes(kind: str, bound: int, acts: bool) -> None:
    """Its input is from -128, the zero point, to -123."""
    net = _net()
    x = _conv(net, net.input((1, 2, 2, 1)), [[1]], [0])
    sources: tuple[int, ...] = (x,)
    table = "LeakyReluOptions"
    if kind in ("MINIMUM", "MAXIMUM"):
        scales = np.array([0.25], np.float32)
        limit = net.constant([bound], "INT8", scales=scales, zero_point=net.zero)
        sources, table = (x, limit), "MaximumMinimumOptions"
    y = net.add(kind, sources, net.tensor(net.shape(x)), table)
    z = _conv(net, y, [[9]], [0])
    graph = _graph(net, z)
    result = drop_idle(graph)
    assert (result.graph is graph) == acts
    if not acts:
        assert result.graph.ops[-1].inputs[0] == x
        assert result.dropped == (Dropped(y, None, Same(x)),)


@pytest.mark.parametrize(
    "made", [merge_equal, drop_clamps, drop_idle, partial(drop_idle, both_roundings=True)]
)
def test_nothing_to_do_is_the_graph_itself(made: Callable[[Graph], Simplified]) -> None:
    net = _net(3)
    graph = _graph(net, _conv(net, net.input((1, 2, 2, 2)), [[50, 20]], [0], RELU6))
    assert made(graph).graph is graph


def test_a_variable_that_is_known_by_name_is_read_each_time() -> None:
    """In files variables are handles: between two reads there may be an assignment."""
    quant = Quant((0.5,), (0,), 0)
    handle = Tensor(0, "handle", (), DType.RESOURCE)
    values = (Tensor(i, f"t{i}", (1, 4), DType.INT8, quant) for i in (1, 2, 3))
    ops = (
        Op(0, "VAR_HANDLE", (), (0,), {"shared_name": "v"}),
        Op(1, "READ_VARIABLE", (0,), (2,)),
        Op(2, "ASSIGN_VARIABLE", (0, 1), ()),
        Op(3, "READ_VARIABLE", (0,), (3,)),
    )
    graph = Graph("g", (handle, *values), ops, (1,), (2, 3))
    assert merge_equal(graph).graph is graph


def test_the_last_operator_stays_though_nobody_reads_it() -> None:
    tensors = tuple(Tensor(i, f"t{i}", (1, 4), DType.INT8) for i in range(3))
    copies = tuple(Op(i, "ABS", (i,), (i + 1,)) for i in range(2))
    for count, output, left in ((1, 0, 1), (1, 1, 1), (2, 1, 1), (2, 2, 2)):
        graph = Graph("copies", tensors, copies[:count], (0,), (output,))
        result = drop_unread(graph)
        assert len(result.graph.ops) == left
        assert (result.graph is graph) == (left == count)
        assert dict(result.saved) == ({} if left == count else {WHAT: count - left})
