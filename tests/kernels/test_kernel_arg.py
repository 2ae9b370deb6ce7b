"""ARG_MAX and ARG_MIN against the oracle: every axis, ties, both types of places."""

from __future__ import annotations

from typing import Any, Literal

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from harness import differences

from assembled import refusal
from schema_models import Net

SHAPES = ((1, 4, 3, 5), (2, 3, 4, 2), (1, 7), (9,), (3, 4), (2, 3, 4), (1, 2, 3, 2, 3))


def arg(net: Net, kind: str, source: int, axis: int, out: Any = np.int32) -> int:
    shape = net.tensors[source].shape
    at = axis % len(shape)
    code = schema.TensorType.INT64 if out is np.int64 else schema.TensorType.INT32
    name = "ArgMax" if kind == "ARG_MAX" else "ArgMin"
    options = getattr(schema, f"{name}OptionsT")(outputType=code)
    sources = [source, net.const([axis])]
    return net.op(kind, sources, (*shape[:at], *shape[at + 1 :]), options=options, dtype=out)


@pytest.mark.parametrize(
    ("dtype", "engine"),
    [(np.int8, "tflm"), (np.uint8, "litert"), (np.int32, "litert")],
)
def test_axes(dtype: Any, engine: Literal["tflm", "litert"]) -> None:
    net = Net(dtype)
    for shape in SHAPES:
        source = net.input(shape)
        for kind in ("ARG_MAX", "ARG_MIN"):
            for axis in range(len(shape)):
                arg(net, kind, source, axis)
            arg(net, kind, source, -1)
            if engine == "litert":
                arg(net, kind, source, 0, np.int64)
                arg(net, kind, source, -1, np.int64)
    rng = np.random.default_rng(3)
    low, high = (-2, 3) if dtype != np.uint8 else (0, 5)  # many that are equal
    drawn = [
        {i: rng.integers(low, high, net.tensors[i].shape).astype(dtype) for i in net.inputs}
        for _ in range(4)
    ]
    assert differences(net.build(), engine=engine) == []
    assert differences(net.build(), inputs=drawn, engine=engine) == []


def test_refusals() -> None:
    net = Net()
    net.op("ARG_MAX", [net.input((0, 7)), net.const([1])], (0,), dtype=np.int32)
    assert refusal(net.build()) == "tensor 0 (t0) is empty"
    net = Net()
    net.op("ARG_MAX", [net.input((2, 7)), net.const([0, 1])], (2,), dtype=np.int32)
    assert refusal(net.build()) == "it has 2 axes instead of one"
    net = Net()
    net.op("ARG_MAX", [net.input((2, 7)), net.const([2])], (2,), dtype=np.int32)
    assert refusal(net.build()) == "axis 2 does not exist in 2 dimensions"
    net = Net()
    net.op("ARG_MIN", [net.input((2, 7)), net.const([1])], (7,), dtype=np.int32)
    assert refusal(net.build()) == "it cannot make [7] from [2, 7]"
    net = Net()
    net.op("ARG_MIN", [net.input((2, 7)), net.const([1])], (2,), dtype=np.int8)
    assert refusal(net.build()) == "there is no kernel for indices of type INT8"
    net = Net()
    net.op("ARG_MIN", [net.input((2, 7)), net.input((1,), np.int32)], (2,), dtype=np.int32)
    assert refusal(net.build()) == "input 1 must be a constant"
