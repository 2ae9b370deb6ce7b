"""LSTM and SVDF operators for the models of tests; what they remember is in variable tensors."""

from __future__ import annotations

from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np

from schema_models import Net


def lstm(
    net: Net,
    source: int,
    units: int,
    *,
    time_major: bool = False,
    cell_exponent: int = -11,
    hidden: tuple[float, int] = (1 / 128, 5),
    weight_scale: float = 0.01,
    clip: float = 0.0,
    activation: int = 4,
    calls: int = 1,
) -> None:
    """`calls` operators that share their states: each goes on where the one before stopped."""
    rng = np.random.default_rng(len(net.tensors))
    steps, inputs = net.tensors[source].shape[:2], net.tensors[source].shape[2]
    batches = steps[1] if time_major else steps[0]

    def weights(columns: int) -> int:
        values = rng.integers(-127, 128, (units, columns))
        return net.const(values, np.int8, quant=(weight_scale * rng.uniform(0.5, 1.5), 0))

    def bias() -> int:
        wide = net.dtype == np.int16
        values = rng.integers(-9999, 9999, units) * (300 if wide else 1)
        kind = np.int64 if wide else np.int32
        return net.const(values, kind, quant=(weight_scale / 2, 0))

    state = (batches, units)
    operands = [
        source,
        *(weights(inputs) for _ in range(4)),
        *(weights(units) for _ in range(4)),
        *(-1, -1, -1),
        *(bias() for _ in range(4)),
        *(-1, -1),
        net.tensor(state, quant=hidden, variable=True),
        net.tensor(state, np.int16, quant=(2.0**cell_exponent, 0), variable=True),
        *(-1, -1, -1, -1),
    ]
    options = schema.UnidirectionalSequenceLSTMOptionsT(
        fusedActivationFunction=activation, timeMajor=time_major, cellClip=clip
    )
    kind = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    for _ in range(calls):
        net.op(kind, operands, (*steps, units), options=options, quant=hidden)


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
