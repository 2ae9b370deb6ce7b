"""MEAN, SUM, REDUCE_MAX and REDUCE_MIN against the oracle: any axes, ranks, scales."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from harness import differences

from lowtide.errors import ModelError
from lowtide.lower import lower_op
from lowtide.tflite.read import parse
from schema_models import Net, plain_net, samples_of

SHAPES = ((2, 5, 3, 4), (1, 7, 6, 5), (1, 3, 7), (4, 9), (11,), (2, 3, 2, 3, 2))

# (input scale, zero), (output scale, zero)
QUANTS = (
    ((0.05, 0), (0.05, 0)),
    ((0.05, -128), (0.013, 127)),
    ((0.02, 127), (0.5, -128)),
    ((0.03, 7), (0.0001, -30)),
    ((0.03, 7), (1000.0, 5)),
)


def reduce(
    net: Net, kind: str, source: int, axes: Sequence[int], keep: bool, scale: float, zero: int
) -> None:
    shape = net.tensors[source].shape
    gone = {axis % len(shape) for axis in axes}
    kept = [1 if i in gone else d for i, d in enumerate(shape) if keep or i not in gone]
    dtype = {7: "int16", 3: "uint8", 6: "bool"}.get(net.tensors[source].type, "int8")
    net.add(
        kind,
        [source, net.constant(np.array(axes, np.int32))],
        net.tensor(kept, dtype, scale, zero),
        keepDims=keep,
    )


def all_axes(net: Net, kinds: Sequence[str], dtype: str, shapes: Sequence[Sequence[int]]) -> None:
    """Every set of axes of every shape, with the quantisations in turn."""
    case = 0
    for shape in shapes:
        for count in range(len(shape) + 1):
            for axes in combinations(range(len(shape)), count):
                case += 1
                quants = QUANTS[case % len(QUANTS)]
                (in_scale, in_zero), (scale, zero) = quants
                if dtype in ("int16", "bool"):
                    in_zero = zero = 0
                if dtype == "uint8":
                    in_zero, zero = in_zero + 128, zero + 128
                if dtype == "bool":
                    in_scale = 1.0
                source = net.input(shape, dtype, in_scale, in_zero)
                for kind in kinds:
                    out = (in_scale, in_zero) if kind.startswith("REDUCE") else (scale, zero)
                    reduce(net, kind, source, axes, bool(case % 2), *out)


def test_int8() -> None:
    net = plain_net()
    all_axes(net, ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"), "int8", SHAPES[:5])
    all_axes(net, ("MEAN",), "int8", SHAPES[5:])
    source = net.input((1, 4, 3, 5), "int8", 0.1, 4)
    for axes in ((-1,), (-2, 1), (1, 1, 2), (-3, -1)):
        reduce(net, "MEAN", source, axes, True, 0.2, 9)
    assert differences(net.build(), inputs=samples_of(net, 2), engine="tflm") == []


def test_int16() -> None:
    net = plain_net()
    all_axes(net, ("MEAN", "SUM"), "int16", SHAPES[:3])
    assert differences(net.build(), inputs=samples_of(net, 2), engine="tflm") == []


def test_extremes_of_int16() -> None:
    net = plain_net()
    all_axes(net, ("REDUCE_MAX", "REDUCE_MIN"), "int16", SHAPES[:3])
    assert differences(net.build(), inputs=samples_of(net, 2), engine="litert") == []


def test_uint8() -> None:
    net = plain_net()
    all_axes(net, ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"), "uint8", SHAPES[:4])
    assert differences(net.build(), inputs=samples_of(net, 2), engine="litert") == []


def test_bool() -> None:
    net = plain_net()
    all_axes(net, ("REDUCE_ALL",), "bool", SHAPES[:4])
    assert differences(net.build(), inputs=samples_of(net, 4), engine="tflm") == []
    net = plain_net()
    all_axes(net, ("REDUCE_ANY",), "bool", SHAPES[:4])
    assert differences(net.build(), inputs=samples_of(net, 4), engine="litert") == []


def test_many_elements_and_factors() -> None:
    net = plain_net()
    source = net.input((1, 60, 70, 2), "int8", 0.05, -128)
    for scale in (1e-4, 0.0003, 0.05, 0.11, 3.0, 1e3, 1e9):
        for axes in ((1, 2), (1,), (2,), (1, 2, 3)):
            reduce(net, "MEAN", source, axes, True, scale, -128)
            reduce(net, "SUM", source, axes, True, scale * 1000, 127)
    assert differences(net.build(), inputs=samples_of(net), engine="tflm") == []


@pytest.mark.parametrize(
    ("shape", "axes", "steps", "elements"),
    [
        ((1, 6, 5, 4), (1, 2), 6, 4),
        ((1, 6, 5, 4), (1,), 6, 20),
        ((1, 6, 5, 4), (2,), 6, 4),
        ((1, 6, 5, 4), (3,), 6, 5),
        ((1, 6, 5, 4), (1, 3), 6, 5),
        ((1, 9, 8), (1,), 9, 8),
        ((1, 50), (1,), 1, 1),
        ((2, 2, 3, 4, 5), (2, 4), 12, 4),
    ],
)
def test_one_row_of_totals(
    shape: tuple[int, ...], axes: tuple[int, ...], steps: int, elements: int
) -> None:
    """Each step eats one row; scratch holds the totals of one output row."""
    net = plain_net()
    reduce(net, "MEAN", net.input(shape), axes, True, 1.0, 0)
    graph = parse(net.build()).graph
    (node,) = lower_op(graph, graph.ops[0]).nodes
    assert (node.steps, node.scratch) == (steps, 4 * elements)
    assert node.outputs[0].row_bytes == elements
    assert node.inputs[0].count == 1
    made = node.outputs[0].table or [
        node.outputs[0].first + i * node.outputs[0].stride for i in range(steps)
    ]
    assert [row for row in made if row >= 0] == list(range(node.outputs[0].rows))


@pytest.mark.parametrize(
    ("axis", "dtype", "kind", "shape", "cause"),
    [
        (2, "int32", "MEAN", (1, 1), "axis 2 does not exist in 2 dimensions"),
        (1, "int8", "MEAN", (1, 1), "its axes are of type INT8"),
        (1, "int32", "MEAN", (1, 3), "its output should have 1 elements"),
        (1, "int32", "REDUCE_MAX", (1, 1), "its input and output differ in scale or zero point"),
    ],
)
def test_refusals(axis: int, dtype: str, kind: str, shape: tuple[int, ...], cause: str) -> None:
    net = plain_net()
    axes = net.constant(np.array([axis], dtype))
    net.add(kind, [net.input((1, 4)), axes], net.tensor(shape, "int8", 0.5), keepDims=True)
    graph = parse(net.build()).graph
    with pytest.raises(ModelError, match=cause):
        lower_op(graph, graph.ops[0])


def test_refuses_axes_made_at_run_time() -> None:
    net = plain_net()
    net.add("MEAN", [net.input((1, 4)), net.input((1,), "int32")], net.tensor((1, 1)))
    graph = parse(net.build()).graph
    with pytest.raises(ModelError, match="input 1 must be a constant"):
        lower_op(graph, graph.ops[0])


def test_refuses_too_many_steps() -> None:
    net = plain_net()
    source = net.input((20, 20, 300, 2, 3, 2))
    axes = net.constant(np.array([3, 5], np.int32))
    net.add("SUM", [source, axes], net.tensor((20, 20, 300, 1, 3, 1)), keepDims=True)
    graph = parse(net.build()).graph
    with pytest.raises(ModelError, match="more than 32767 steps"):
        lower_op(graph, graph.ops[0])
