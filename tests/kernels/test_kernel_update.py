"""DYNAMIC_UPDATE_SLICE against the oracle: every rank and type, boxes inside, at the edge and beyond."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness import differences

from assembled import refusal
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.tflite.read import parse
from schema_models import Net, Shape

CASES: tuple[tuple[Shape, Shape], ...] = (
    ((7,), (3,)),
    ((4, 5), (1, 5)),
    ((4, 5), (2, 3)),
    ((3, 4, 5), (1, 2, 5)),
    ((3, 4, 5), (3, 4, 5)),
    ((2, 3, 4, 5), (1, 2, 2, 3)),
    ((2, 3, 4, 5), (2, 1, 4, 5)),
    ((2, 2, 3, 2, 4), (1, 2, 2, 1, 3)),
    ((2, 2, 2, 3, 2, 3), (1, 2, 1, 2, 2, 2)),
)


def starts(shape: Shape, box: Shape) -> list[list[int]]:
    """Where a box may begin: at the front, at the end, and beyond either."""
    ends = [n - b for n, b in zip(shape, box, strict=True)]
    return [[0] * len(shape), ends, [-3] * len(shape), [n + 9 for n in shape]]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_boxes(dtype: Any) -> None:
    net = Net(dtype)
    indices = {}
    for number, (shape, box) in enumerate(CASES):
        source, part = net.input(shape, dtype), net.input(box, dtype)
        kind = (np.int32, np.int64)[number % 2]
        start = net.input((len(shape),), kind)
        indices[start] = shape, box, kind
        net.op("DYNAMIC_UPDATE_SLICE", [source, part, start], shape)
        middle = [n // 2 for n in shape]
        net.op("DYNAMIC_UPDATE_SLICE", [source, part, net.const(middle, kind)], shape)
    rng = np.random.default_rng(1)
    samples = []
    for sample in range(4):
        given = {}
        for i in net.inputs:
            if i in indices:
                shape, box, kind = indices[i]
                given[i] = np.array(starts(shape, box)[sample], kind)
            else:
                size = net.tensors[i].shape
                given[i] = rng.integers(-100, 100, size).astype(dtype)
        samples.append(given)
    assert differences(net.build(), inputs=samples) == []


def test_a_box_of_nothing() -> None:
    """Its output is its input: that is what the kernel does, and the proof takes it for a move."""
    net = Net(np.int8)
    box = net.const(np.zeros((1, 0, 3)), np.int8, quant=net.quant)
    for start in (net.const([0, 1, 0]), net.input((3,), np.int32)):
        net.op("DYNAMIC_UPDATE_SLICE", [net.input((2, 4, 3)), box, start], (2, 4, 3))
    data = net.build()
    assert differences(data) == []
    made = compile_model(parse(data, path="net"), Options())
    assert made.proof.data_flow
    assert not made.proof.left_out


def test_refusals() -> None:
    def refused(box: Shape, indices: int, kind: Any = np.int32, rank: int = 2) -> str:
        net = Net()
        shape = (4,) * rank
        operands = [net.input(shape), net.input(box), net.input((indices,), kind)]
        net.op("DYNAMIC_UPDATE_SLICE", operands, shape)
        return refusal(net.build())

    assert refused((5, 2), 2) == "it cannot write [5, 2] into [4, 4]"
    assert refused((2,), 2) == "it cannot write [2] into [4, 4]"
    assert refused((1,) * 7, 7, rank=7) == f"it cannot write {[1] * 7} into {[4] * 7}"
    assert refused((2, 2), 3) == "its indices are not an int32 or int64 per dimension"
    assert refused((2, 2), 2, np.int16) == "its indices are not an int32 or int64 per dimension"


def test_more_rows_than_a_counter_holds() -> None:
    """Such tensors have less and longer rows, whose boxes go on in two dimensions."""
    net = Net(np.int8)
    source, part = net.input((300, 300, 2, 2), np.int8), net.input((2, 3, 2, 2), np.int8)
    at = net.const([7, 290, 0, 0], np.int32)
    net.op("DYNAMIC_UPDATE_SLICE", [source, part, at], (300, 300, 2, 2))
    rng = np.random.default_rng(2)
    given = {i: rng.integers(-100, 100, net.tensors[i].shape).astype(np.int8) for i in net.inputs}
    assert differences(net.build(), inputs=[given]) == []
