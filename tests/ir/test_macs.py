"""Multiplications, counted by hand for each kind of operator and in total for known networks.

The totals of the plain chains are those of the patch-fusion literature, which counts the same way:
every tap of a kernel, padding included.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lowtide.commands.analysis import analyze
from lowtide.ir import DType, Graph, Op, Option, Tensor
from lowtide.ir.macs import graph_macs, op_macs
from networks import loaded

Shape = tuple[int, ...]


def macs(kind: str, inputs: Sequence[Shape | None], output: Shape | None, **options: Option) -> int:
    """MACs of one operator with inputs and output of these shapes; None stands for an absent one."""
    shapes = [*(shape or () for shape in inputs), output or ()]
    tensors = tuple(Tensor(i, "", shape, DType.INT8) for i, shape in enumerate(shapes))
    ids = tuple(-1 if shape is None else i for i, shape in enumerate(inputs))
    op = Op(0, kind, ids, () if output is None else (len(inputs),), options)
    return op_macs(Graph("", tensors, (op,), (), ()), op)


def test_conv_2d() -> None:
    """8 filters of 3x3x4 at 10x12 positions; stride and padding show in the output alone."""
    shapes: list[Shape | None] = [(1, 10, 12, 4), (8, 3, 3, 4), (8,)]
    assert macs("CONV_2D", shapes, (1, 10, 12, 8)) == 10 * 12 * 8 * 3 * 3 * 4
    assert macs("CONV_2D", shapes[:2], (2, 5, 6, 8)) == 2 * 5 * 6 * 8 * 3 * 3 * 4


def test_conv_2d_in_groups() -> None:
    """16 input channels in 4 groups: the filter reads 4 of them."""
    assert macs("CONV_2D", [(1, 5, 5, 16), (8, 3, 3, 4)], (1, 5, 5, 8)) == 5 * 5 * 8 * 9 * 4


def test_conv_3d() -> None:
    """Filter of depth 2, 3x3, from 4 channels to 5."""
    found = macs("CONV_3D", [(1, 6, 7, 8, 4), (2, 3, 3, 4, 5)], (1, 5, 5, 6, 5))
    assert found == (5 * 5 * 6) * 5 * (2 * 3 * 3 * 4)


@pytest.mark.parametrize("multiplier", [1, 2])
def test_depthwise_conv_2d(multiplier: int) -> None:
    """Every output channel reads one input channel."""
    out = 4 * multiplier
    found = macs("DEPTHWISE_CONV_2D", [(1, 9, 9, 4), (1, 3, 5, out), (out,)], (1, 9, 9, out))
    assert found == 9 * 9 * out * 3 * 5


def test_transpose_conv() -> None:
    """Every input element goes to each tap of every filter (shape, filter OHWI, input)."""
    found = macs("TRANSPOSE_CONV", [(4,), (8, 3, 3, 4), (1, 5, 6, 4)], (1, 10, 12, 8))
    assert found == 5 * 6 * 4 * 8 * 3 * 3


def test_fully_connected() -> None:
    assert macs("FULLY_CONNECTED", [(2, 30), (10, 30), (10,)], (2, 10)) == 2 * 10 * 30
    assert macs("FULLY_CONNECTED", [(2, 5, 6), (10, 30), None], (2, 10)) == 2 * 10 * 30


def test_batch_matmul() -> None:
    """3 products of 4x5 by 5x6, given as they are and transposed."""
    assert macs("BATCH_MATMUL", [(3, 4, 5), (3, 5, 6)], (3, 4, 6)) == 3 * 4 * 5 * 6
    assert macs("BATCH_MATMUL", [(3, 4, 5), (3, 6, 5)], (3, 4, 6), adj_y=True) == 360
    assert macs("BATCH_MATMUL", [(3, 5, 4), (3, 5, 6)], (3, 4, 6), adj_x=True) == 360


def test_batch_matmul_with_one_matrix_for_the_whole_batch() -> None:
    assert macs("BATCH_MATMUL", [(3, 4, 5), (5, 6)], (3, 4, 6)) == 3 * 4 * 5 * 6


def test_svdf() -> None:
    """Rank 2, 8 units, 10 features, memory of 7: 16 filters over features and over time."""
    shapes: list[Shape | None] = [(2, 10), (16, 10), (16, 7), (8,), (2, 16 * 7)]
    assert macs("SVDF", shapes, (2, 8)) == 2 * (16 * 10 + 16 * 7)


def test_unidirectional_sequence_lstm() -> None:
    """4 gates, 28 steps of 28 features, state of 20."""
    weights: list[Shape | None] = [*[(20, 28)] * 4, *[(20, 20)] * 4]
    shapes = [(1, 28, 28), *weights, None, None, None, *[(20,)] * 4]
    found = macs("UNIDIRECTIONAL_SEQUENCE_LSTM", shapes, (1, 28, 20))
    assert found == 28 * 4 * (20 * 28 + 20 * 20)


def test_unidirectional_sequence_lstm_without_an_input_gate() -> None:
    """Input and forget gate coupled: the input gate's two matrices are omitted."""
    weights: list[Shape | None] = [None, *[(20, 28)] * 3, None, *[(20, 20)] * 3]
    found = macs("UNIDIRECTIONAL_SEQUENCE_LSTM", [(1, 28, 28), *weights], (1, 28, 20))
    assert found == 28 * 3 * (20 * 28 + 20 * 20)


@pytest.mark.parametrize(
    "kind", ["ADD", "MUL", "AVERAGE_POOL_2D", "MEAN", "SOFTMAX", "RESHAPE", "CUSTOM", "BUILTIN_300"]
)
def test_operators_that_are_no_sums_of_products(kind: str) -> None:
    assert macs(kind, [(1, 8, 8, 4), (1, 8, 8, 4)], (1, 8, 8, 4)) == 0


@pytest.mark.parametrize(
    "kind",
    [
        "CONV_2D", "CONV_3D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", "FULLY_CONNECTED",
        "BATCH_MATMUL", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("inputs", "output"),
    [([], None), ([None], (1,)), ([(), ()], ()), ([(2,), (3,), (4,)], (5,)), ([(0,)] * 12, (0,))],
)
def test_odd_shapes_do_no_harm(kind: str, inputs: list[Shape | None], output: Shape | None) -> None:
    """What the kernels would refuse still loads, so counting must come back with some number."""
    assert macs(kind, inputs, output) >= 0


TOTALS = {
    "mbv2-w0.35-144-chain": 18_909_490,
    "mn2-vww5-80-chain": 11_578_496,
    "mn2-320k-176-chain": 81_625_520,
    "figure1": 254_464,
    "mobilenet-v1-0.25-96": 7_489_664,
    "resnet8": 12_501_632,
    "ds-cnn-kws": 2_656_768,
    # Three projections and the last, 64x64 for each of 64 tokens; 4 heads of 64x16 by 16x64, twice.
    "attention-block": 4 * 64 * 64 * 64 + 2 * 4 * 64 * 16 * 64,
}


@pytest.mark.parametrize("name", TOTALS)
def test_totals_of_known_networks(name: str) -> None:
    graph = loaded(name).graph
    assert graph_macs(graph) == TOTALS[name]
    found = analyze(graph)
    assert found.macs == sum(step.macs for step in found.file.steps) == TOTALS[name]
    assert [step.macs for step in found.best.steps] == [
        op_macs(graph, graph.ops[i]) for i in found.best.order
    ]


def test_figure1_layer_by_layer() -> None:
    graph = loaded("figure1").graph
    assert [op_macs(graph, op) for op in graph.ops] == [
        7 * 7 * 64 * 32,
        7 * 7 * 32 * 64,
        4 * 4 * 32 * 9,
        4 * 4 * 32 * 64,
        4 * 4 * 16 * 32,
        4 * 4 * 16 * 32,
        0,
    ]
