"""SVDF against the reference kernel: states of both types, ranks, batches, several calls in a row."""

from __future__ import annotations

from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from harness import differences

from assembled import refusal
from schema_models import Net


def svdf(
    net: Net,
    source: int,
    units: int,
    rank: int,
    memory: int,
    kind: Any,
    *,
    calls: int = 1,
    state_scale: float = 0.05,
    state_zero: int = 0,
    output: tuple[float, int] = (0.02, -9),
) -> None:
    """`calls` operators that share one state: each goes on where the one before stopped."""
    rng = np.random.default_rng(len(net.tensors))
    batches, inputs = net.tensors[source].shape
    filters = units * rank
    times = np.iinfo(kind).max // 4
    feature_scale, time_scale = (0.0005, 0.02) if kind is np.int8 else (0.01, 1.3e-6)
    constants = [
        net.const(rng.integers(-127, 128, (filters, inputs)), np.int8, quant=(feature_scale, 0)),
        net.const(rng.integers(-times, times, (filters, memory)), kind, quant=(time_scale, 0)),
        net.const(rng.integers(-999, 999, units), quant=(state_scale * time_scale, 0)),
    ]
    shape = (batches, memory * filters)
    state = net.tensor(shape, kind, quant=(state_scale, state_zero), variable=True)
    options = schema.SVDFOptionsT(rank=rank)
    for _ in range(calls):
        operands = [source, *constants, state]
        net.op("SVDF", operands, (batches, units), options=options, quant=output)


@pytest.mark.parametrize("kind", [np.int8, np.int16])
def test_svdf(kind: Any) -> None:
    net = Net()
    one, two = net.input((1, 9)), net.input((2, 9))
    for units, rank, memory in ((4, 1, 3), (3, 2, 5), (1, 1, 1), (2, 3, 2), (5, 1, 8)):
        svdf(net, one, units, rank, memory, kind, calls=3)
    svdf(net, two, 4, 2, 3, kind, calls=4)
    for scale in (1e-4, 1e-3, 3.0):
        svdf(net, one, 4, 2, 3, kind, calls=3, state_scale=scale)
        svdf(net, one, 4, 2, 3, kind, calls=3, output=(scale, 127))
    if kind is np.int8:
        svdf(net, one, 4, 2, 3, kind, calls=4, state_zero=4)
        svdf(net, one, 4, 2, 3, kind, calls=4, state_zero=-128)
    assert differences(net.build(), engine="tflm") == []


def test_refusals() -> None:
    net = Net()
    svdf(net, net.input((1, 9)), 4, 1, 3, np.int16, state_zero=1)
    assert refusal(net.build()) == "its state has a zero point other than 0"
    net = Net()
    svdf(net, net.input((1, 9)), 4, 1, 3, np.int16)
    net.operators[0].builtinOptions.rank = 2
    assert refusal(net.build()) == "4 filters of rank 2 do not make 4 units"
    net = Net()
    svdf(net, net.input((1, 9)), 4, 1, 3, np.int16)
    net.tensors[net.operators[0].inputs[4]].isVariable = False
    net.inputs.append(net.operators[0].inputs[4])
    assert (
        refusal(net.build())
        == "its state is not a variable of its time weights' type, int8 or int16"
    )
