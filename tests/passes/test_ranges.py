"""No value that the reference kernels make leaves the interval that it is said to be in.

The kernels' own tests say so of every operator (`differences` in kernels/harness.py); here are whole
networks, and intervals that are as narrow as they can be.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from intervals import outside
from lowtide.ir import DType, Graph, Op, Tensor
from lowtide.ir.graph import Quant
from lowtide.ir.windows import normalise_windows
from lowtide.oracle.interpreters import random_inputs, reference_tensors
from lowtide.passes.simplify.interval import Interval
from lowtide.passes.simplify.ranges import ranges
from lowtide.tflite.read import parse
from moving_nets import moving_network
from planted_nets import Planted, planted_network
from random_nets import random_network

MAKERS: dict[str, Callable[[int], bytes]] = {
    "planted": planted_network,
    "random": random_network,
    "moving": moving_network,
}
BATCH = 50


def left(data: bytes, samples: int = 6) -> list[str]:
    """The tensors of a network whose values are not where they should be."""
    graph = parse(data).graph
    shapes = [
        (i, graph.tensors[i].shape, np.dtype(graph.tensors[i].dtype.name.lower()))
        for i in graph.inputs
    ]
    made = [t for op in graph.ops for t in op.outputs]
    return outside(graph, reference_tensors(data, random_inputs(shapes, samples, 1), made))


@pytest.mark.parametrize(
    ("name", "seeds"),
    [("planted", range(24)), ("random", range(6)), ("moving", range(10))],
)
def test_no_value_leaves_its_interval(name: str, seeds: range) -> None:
    assert {seed: left(MAKERS[name](seed)) for seed in seeds} == {seed: [] for seed in seeds}


@pytest.mark.soak
@pytest.mark.parametrize("first", range(10_000, 10_500, BATCH))
def test_no_value_leaves_its_interval_in_many_networks(first: int) -> None:
    seeds = range(first, first + BATCH)
    assert {seed: left(planted_network(seed)) for seed in seeds} == {seed: [] for seed in seeds}


def _tensor(number: int, shape: tuple[int, ...], values: bytes | list[int] | None = None) -> Tensor:
    """A tensor of int8, quantised as 0.5 * (q - 3), or a constant of int8 or int32."""
    dtype = DType.INT32 if isinstance(values, list) else DType.INT8
    data = np.array(values, "<i4").tobytes() if isinstance(values, list) else values
    quant = Quant((0.5,), (3,), 0) if values is None else Quant((0.25,), (0,), 0)
    return Tensor(number, f"t{number}", shape, dtype, quant, data=data)


def _one_by_one(bias: list[int], weights: list[list[int]]) -> Graph:
    """A 1 x 1 convolution of as many channels as there are biases."""
    made, read = len(bias), len(weights[0])
    tensors = (
        _tensor(0, (1, 1, 1, read)),
        _tensor(1, (made, 1, 1, read), np.array(weights, np.int8).tobytes()),
        _tensor(2, (made,), bias),
        _tensor(3, (1, 1, 1, made)),
    )
    op = Op(0, "CONV_2D", (0, 1, 2), (3,), {"padding": 1, "stride_h": 1, "stride_w": 1})
    return normalise_windows(Graph("one", tensors, (op,), (0,), (3,)))


def _ends(interval: Interval) -> list[tuple[int, int]]:
    return list(zip(interval.low.tolist(), interval.high.tolist(), strict=True))


def test_intervals_of_a_convolution_are_as_narrow_as_they_can_be() -> None:
    """The factor is 0.25: 3 + (bias + w * (x - 3)) / 4, rounded, from -128 to 127."""
    graph = _one_by_one([0, 40, -8, 4000, 0], [[1, 0], [0, 0], [1, -1], [1, 1], [0, -2]])
    assert _ends(ranges(graph)[3]) == [(-30, 34), (13, 13), (-63, 65), (127, 127), (-59, 69)]


def test_the_border_sees_the_zero_point() -> None:
    """A constant of 13 before a window that hangs over: one, two or all three taps are inside."""
    constant = _one_by_one([40], [[0]])
    weights = _tensor(4, (1, 1, 3, 1), np.array([1, 1, 1], np.int8).tobytes())
    tensors = (
        *(replaced for replaced in constant.tensors[:3]),
        _tensor(3, (1, 1, 4, 1)),
        weights,
        _tensor(5, (1, 1, 4, 1)),
    )
    tensors = (_tensor(0, (1, 1, 4, 1)), *tensors[1:])
    window = Op(1, "DEPTHWISE_CONV_2D", (3, 4, -1), (5,), {"stride_h": 1, "stride_w": 1})
    graph = normalise_windows(Graph("border", tensors, (constant.ops[0], window), (0,), (5,)))
    # 3 + (10 + 10) / 4 and 3 + (10 + 10 + 10) / 4, rounded: halves away from zero
    assert _ends(ranges(graph)[5]) == [(8, 11)]


def test_a_part_without_elements_adds_nothing_to_a_concatenation() -> None:
    graph = _one_by_one([40, -40], [[0], [0]])
    tensors = (
        *graph.tensors,
        _tensor(4, (1, 0, 1, 2)),
        _tensor(5, (1, 1, 1, 2)),
    )
    joined = Op(1, "CONCATENATION", (4, 3), (5,), {"axis": 1})
    graph = Graph("joined", tensors, (*graph.ops, joined), (0, 4), (5,))
    assert _ends(ranges(graph)[5]) == [(13, 13), (-7, -7)]


def test_views_mix_the_channels_that_meet() -> None:
    low, high = np.array([0, 10, 20, 30]), np.array([1, 11, 21, 31])
    assert _ends(Interval(low, high).viewed(2)) == [(0, 21), (10, 31)]
    assert _ends(Interval(low, high).viewed(8)) == [(i * 10, i * 10 + 1) for i in (0, 1, 2, 3)] * 2
    assert _ends(Interval(low, high).viewed(3)) == [(0, 31)] * 3


@pytest.mark.parametrize("kind", ["MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"])
@pytest.mark.parametrize("axes", [[1, 2], [3]])
def test_reductions_of_less_than_the_type(kind: str, axes: list[int]) -> None:
    """Both ends of an interval are reached if all elements are at their ends, and nothing is beyond."""
    net = Planted(1, "INT8")
    x = net.input((1, 2, 3, 2))
    clamped = net.tensor((1, 2, 3, 2), 0.25)
    net.add("ADD", (x, x), clamped, "AddOptions", fused_activation_function=3)
    shape = (1, 2) if axes == [1, 2] else (1, 2, 3)
    # a maximum has its operand's scale
    factor, zero = (1.0, None) if kind.startswith("REDUCE") else (0.35, -20)
    made = net.tensor(shape, 0.25 * factor, zero)
    net.add(kind, (clamped, net.constant(axes, "INT32")), made, "ReducerOptions", keep_dims=False)
    data = net.finish(made)
    graph = parse(data).graph
    assert left(data) == []
    ends = [np.full((1, 2, 3, 2), value, np.int8) for value in (-128, 127)]
    samples = [{graph.inputs[0]: end} for end in ends]
    wanted = [s[made].reshape(-1) for s in reference_tensors(data, samples, [made]).samples]
    found = ranges(graph, both_roundings=True)[made]
    assert set(found.low.tolist()) == set(wanted[0].tolist())
    assert set(found.high.tolist()) == set(wanted[1].tolist())


def test_what_is_not_known_is_all_of_the_type() -> None:
    tensors = (_tensor(0, (1, 2)), _tensor(1, (1, 2)))
    graph = Graph("odd", tensors, (Op(0, "CUSTOM", (0,), (1,), custom="odd"),), (0,), (1,))
    assert _ends(ranges(graph)[1]) == [(-128, 127)] * 2
