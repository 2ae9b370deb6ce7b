"""AVERAGE_POOL_2D and MAX_POOL_2D against the oracle: every padding side, stride and activation."""

from __future__ import annotations

from itertools import product
from typing import Literal

import numpy as np
import pytest
from boards import board_differences
from harness import differences

from lowtide.errors import ModelError
from lowtide.lower import lower_op
from lowtide.machines.board import find_target
from lowtide.tflite.read import parse
from schema_models import Engine, Net, plain_net, samples_of

SAME, VALID = 0, 1

# (kernel, stride) as (height, width): overlapping, gapped, global along one or both axes, 1 x 1.
WINDOWS = (
    ((2, 2), (2, 2)),
    ((3, 3), (1, 1)),
    ((3, 2), (2, 1)),
    ((2, 3), (3, 2)),
    ((1, 1), (1, 1)),
    ((1, 1), (2, 3)),
    ((5, 4), (5, 4)),
    ((4, 5), (6, 7)),
    ((1, 6), (1, 6)),
    ((7, 1), (7, 1)),
    ((7, 6), (1, 1)),
    ((7, 6), (7, 6)),
)


def pool(
    net: Net, source: int, kernel: tuple[int, int], stride: tuple[int, int], **options: int
) -> None:
    """Both kinds of pooling of `source`, where a window fits."""
    batch, height, width, channels = net.tensors[source].shape
    padding, activation = options.get("padding", VALID), options.get("activation", 0)
    if padding == VALID:
        if kernel[0] > height or kernel[1] > width:
            return
        rows, columns = (height - kernel[0]) // stride[0] + 1, (width - kernel[1]) // stride[1] + 1
    else:
        rows, columns = -(-height // stride[0]), -(-width // stride[1])
    for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        net.add(
            kind,
            [source],
            net.like(source, (batch, rows, columns, channels)),
            padding=padding,
            filterHeight=kernel[0],
            filterWidth=kernel[1],
            strideH=stride[0],
            strideW=stride[1],
            fusedActivationFunction=activation,
        )


@pytest.mark.parametrize(
    ("dtype", "zeros"), [("int8", (-128, 5)), ("uint8", (0, 131)), ("int16", (0, 0))]
)
def test_windows(dtype: str, zeros: tuple[int, int]) -> None:
    net = plain_net()
    shapes = ((1, 7, 6, 5), (1, 1, 9, 2), (1, 9, 1, 3), (1, 8, 10, 1))
    for shape, zero in zip(shapes, zeros * 2, strict=True):
        source = net.input(shape, dtype, 0.05, zero)
        for (kernel, stride), padding in product(WINDOWS, (SAME, VALID)):
            pool(net, source, kernel, stride, padding=padding)
        for activation in (1, 2, 3):
            pool(net, source, (2, 1), (1, 1), activation=activation)
            pool(net, source, shape[1:3], shape[1:3], activation=activation)
    engine: Engine = "litert" if dtype == "uint8" else "tflm"
    assert differences(net.build(), inputs=samples_of(net), engine=engine) == []


def test_global_pooling_eats_rows() -> None:
    net = plain_net()
    pool(net, net.input((1, 25, 5, 64)), (25, 5), (25, 5))
    graph = parse(net.build()).graph
    for op in graph.ops:
        (node,) = lower_op(graph, op).nodes
        assert node.kernel.endswith("_s8_eat")
        assert node.steps == 25
        assert node.scratch == (64 if node.kernel == "lt_max_pool_s8_eat" else 4 + 4 * 64)
        assert [port.count for port in (*node.inputs, *node.outputs)] == [1, 1]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_rows_of_few_columns_are_eaten_several_at_once(dtype: str) -> None:
    """As many as totals that are bytes save: not those after the window, nor those of other images."""
    net = Net(np.dtype(dtype).type)
    for (batch, height, width), kernel, count in (
        ((1, 21, 1), 21, 4),
        ((1, 22, 3), 22, 2),
        ((1, 21, 4), 21, 1),
        ((1, 23, 1), 22, 1),
        ((2, 21, 1), 21, 1),
    ):
        source = net.input((batch, height, width, 5))
        pool(net, source, (kernel, width), (kernel, width))
        node = lower_op(parse(net.build()).graph, parse(net.build()).graph.ops[-1]).nodes[0]
        assert (node.kernel[3:6], node.inputs[0].count) == ("max", count), (height, width)
    engine: Engine = "litert" if dtype == "uint8" else "tflm"
    assert differences(net.build(), inputs=samples_of(net), engine=engine) == []


@pytest.mark.parametrize(
    ("board", "core"),
    [("microbit", "cortex-m0"), ("mps2-an386", "cortex-m4"), ("mps3-an547", "cortex-m55")],
)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_the_greatest_are_eaten_alike_on_boards(board: str, core: str, dtype: str) -> None:
    net = Net(np.dtype(dtype).type)
    for channels in (1, 3, 4, 7, 16, 19):
        for height, width in ((13, 1), (6, 3), (4, 5)):
            source = net.input((1, height, width, channels))
            pool(net, source, (height, width), (height, width), activation=channels % 2)
            pool(net, source, (height, 3), (1, 2), padding=SAME)
            pool(net, source, (height, 1), (height, 1))
    engine: Literal["tflm", "litert"] = "litert" if dtype == "uint8" else "tflm"
    target = find_target(core)
    assert board_differences(net.build(), board, target=target, engine=engine, plenty=True) == []


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"batch": 2}, "its input and output must have the same batch size"),
        ({"scale": 0.06}, "its input and output differ in scale or zero point"),
        ({"stride": 0}, "a window's size or stride is below 1"),
        ({"columns": 3}, "its output should be 2 x 2 elements"),
        ({"scale": 0.0}, r"tensor 1 \(t1\) has scale 0 and zero point 0"),
        ({"height": 0}, r"tensor 0 \(t0\) is empty"),
    ],
)
def test_refusals(change: dict[str, float], cause: str) -> None:
    net = plain_net()
    batch = int(change.get("batch", 1))
    source = net.input((batch, int(change.get("height", 4)), 4, 3), "int8", 0.05)
    shape = (1, 2, int(change.get("columns", 2)), 3)
    net.add(
        "MAX_POOL_2D",
        [source],
        net.tensor(shape, "int8", change.get("scale", 0.05)),
        padding=VALID,
        filterHeight=2,
        filterWidth=2,
        strideH=2,
        strideW=int(change.get("stride", 2)),
    )
    graph = parse(net.build()).graph
    with pytest.raises(ModelError, match=cause):
        lower_op(graph, graph.ops[0])
