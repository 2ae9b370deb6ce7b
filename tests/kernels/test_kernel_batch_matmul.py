"""BATCH_MATMUL against the reference kernel: transposed operands, broadcast batches, constants."""

from __future__ import annotations

import itertools
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from harness import differences

from assembled import refusal
from schema_models import Net

Shape = tuple[int, ...]


def matmul(net: Net, left: int, right: int, x: bool = False, y: bool = False, **fields: Any) -> int:
    shapes = [tuple(net.tensors[t].shape) for t in (left, right)]
    rows = shapes[0][-1 if x else -2]
    columns = shapes[1][-2 if y else -1]
    batch = np.broadcast_shapes(shapes[0][:-2], shapes[1][:-2])
    options = schema.BatchMatMulOptionsT(adjX=x, adjY=y)
    return net.op("BATCH_MATMUL", [left, right], (*batch, rows, columns), options=options, **fields)


def flip(shape: Shape, yes: bool) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if yes else shape


def test_shapes() -> None:
    net = Net()
    batches: list[tuple[Shape, Shape]] = [
        ((), ()),
        ((1,), (1,)),
        ((3,), (3,)),
        ((3,), (1,)),
        ((1,), (3,)),
        ((2, 3), (2, 3)),
        ((1, 2), (3, 2)),
        ((2, 1), (1, 3)),
        ((2, 3), (2, 1)),
    ]
    small = (0.04, -3)
    for (one, two), x, y in itertools.product(batches, (False, True), (False, True)):
        left = net.input(flip((*one, 4, 5), x), quant=(0.05, 7))
        right = net.input(flip((*two, 5, 6), y), quant=small)
        matmul(net, left, right, x, y, quant=(0.1, -11))
    assert differences(net.build(), samples=1, engine="tflm") == []


def test_int16() -> None:
    net = Net(np.int16, scale=2e-4)
    for shapes in (((4, 5), (5, 6)), ((3, 4, 5), (3, 5, 6)), ((1, 2, 7, 300), (1, 2, 300, 3))):
        for x, y in itertools.product((False, True), (False, True)):
            left, right = (net.input(flip(s, f)) for s, f in zip(shapes, (x, y), strict=True))
            for scale in (1e-5, 2e-4, 0.1):
                matmul(net, left, right, x, y, quant=(scale, 0))
    assert differences(net.build(), engine="tflm") == []


def test_attention() -> None:
    """Scores and their product with the values, heads as batches; one operand may be constant."""
    net = Net(scale=0.06, zero=2)
    query, key = net.input((1, 2, 7, 8)), net.input((1, 2, 7, 8))
    scores = matmul(net, query, key, y=True, quant=(0.4, 5))
    matmul(net, scores, key, quant=(0.5, 0))
    constant = net.const(np.arange(-28, 28).reshape(7, 8), np.int8)
    matmul(net, scores, constant)
    matmul(net, constant, query, x=True)
    assert differences(net.build(), engine="tflm") == []


@pytest.mark.parametrize("zero", [-128, 127])
def test_values(zero: int) -> None:
    """Zero points at both ends, and factors from vanishing to saturating."""
    net = Net(zero=zero)
    left, right = net.input((3, 16)), net.input((16, 5))
    for scale in (1e-3, 0.5, 7.0, 1e4, 1e9):
        for output in (-128, 0, 127):
            matmul(net, left, right, quant=(scale, output))
    assert differences(net.build(), engine="tflm") == []


def test_refusals() -> None:
    net = Net()
    matmul(net, net.input((2, 3)), net.input((4, 5)))
    assert refusal(net.build()) == "[2, 3] times [4, 5] does not give [2, 5]"
    net = Net()
    matmul(net, net.input((2, 3)), net.input((3, 5), np.int16))
    assert refusal(net.build()) == "its tensors are of different types (INT8, INT16, INT8)"
    net = Net(np.int16)
    matmul(net, net.input((2, 3)), net.input((3, 5)), quant=(0.5, 3))
    assert refusal(net.build()) == "an int16 tensor has a zero point other than 0"
    net = Net(np.int16)
    matmul(net, net.input((2, 3)), net.input((3, 5)), quant=(1e-6, 0))
    assert refusal(net.build()) == "a factor of its sums is 16384 or more"
    net = Net()
    operands = [net.input((2, 2, 3)), net.input((3, 3, 5))]
    net.op("BATCH_MATMUL", operands, (2, 2, 5), options=schema.BatchMatMulOptionsT())
    assert refusal(net.build()) == "its batches [2] and [3] do not match"
