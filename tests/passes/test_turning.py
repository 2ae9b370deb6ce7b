"""Windows whose time runs along columns, with rows and columns swapped."""

from __future__ import annotations

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest

from lowtide.ir.operands import integers_of
from lowtide.passes.hop.turning import turned
from lowtide.tflite.read import parse
from schema_models import Net

_TIME = 2
"""The axis of columns."""


def _turned(axes: list[int], *, keep: bool) -> list[str]:
    """The operators of a sum along `axes` of a map whose columns are turned to rows."""
    net = Net(np.int8)
    shape = (1, 3, 4, 5)
    options = schema.ReducerOptionsT(keepDims=keep)
    left = [1 if axis in axes else n for axis, n in enumerate(shape) if keep or axis not in axes]
    net.op("SUM", [net.input(shape), net.const(axes)], left, options=options)
    return [op.type for op in turned(parse(net.build()).graph, _TIME).ops]


@pytest.mark.parametrize("axes", [[1, 2], [1], [2]])
def test_sums_along_rows_or_columns_are_turned(axes: list[int]) -> None:
    assert _turned(axes, keep=False) == ["SUM"]


def test_what_leaves_rows_and_columns_is_turned_back_first() -> None:
    assert _turned([3], keep=False) == ["TRANSPOSE", "SUM"]
    assert _turned([3], keep=True) == ["SUM", "TRANSPOSE"]


def test_slices_are_taken_along_the_other_axes() -> None:
    net = Net(np.int8)
    of = [[0, 1, 0, 2], [1, 3, 4, 5], [1, 1, 2, 1]]
    source = net.input((1, 3, 4, 5))
    net.op("STRIDED_SLICE", [source, *map(net.const, of)], (1, 2, 2, 3))
    graph = turned(parse(net.build()).graph, _TIME)
    op, back = graph.ops
    assert (op.type, back.type) == ("STRIDED_SLICE", "TRANSPOSE")
    assert back.inputs[0] == op.outputs[0]
    assert graph.tensors[op.outputs[0]].shape == (1, 2, 2, 3)
    taken = [integers_of(graph.tensors[t]) for t in op.inputs[1:]]
    assert taken == [[0, 0, 1, 2], [1, 4, 3, 5], [1, 2, 1, 1]]


def test_a_function_of_one_variable_is_turned() -> None:
    net = Net(np.int8)
    shape = (1, 3, 4, 5)
    net.op("LOGISTIC", [net.input(shape)], shape, quant=(1 / 256, -128))
    graph = turned(parse(net.build()).graph, _TIME)
    assert [op.type for op in graph.ops] == ["LOGISTIC", "TRANSPOSE"]
