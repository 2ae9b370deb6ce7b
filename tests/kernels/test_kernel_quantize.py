"""QUANTIZE and DEQUANTIZE against the oracle: floats, and every pair of integer types."""

from __future__ import annotations

import numpy as np
import pytest
from boards import board_differences
from harness import differences

from lowtide.errors import ModelError
from lowtide.lower import lower_op
from lowtide.tflite.read import parse
from schema_models import Engine, Net, plain_net, samples_of

SHAPE = (1, 4, 5, 16)
SCALES = (1.0, 0.0078125, 0.1, 0.003921569, 37.5)


def ends(dtype: str) -> tuple[int, ...]:
    """Zero points to test: both ends of the type and between."""
    info = np.iinfo("int16" if dtype == "int32" else dtype)
    return (int(info.min), int(info.max), (int(info.min) + int(info.max) + 1) // 2 + 3)


def floats(net: Net) -> list[dict[int, np.ndarray]]:
    """Samples for float inputs: halves, their neighbours, signed zeros, large and tiny values."""
    rng = np.random.default_rng(5)
    count = int(np.prod(SHAPE))
    halves = (np.arange(count) - count / 2 + 0.5).astype(np.float32)
    special = np.resize(
        np.array([0, -0.0, 0.49999997, -0.49999997, 1e-40, 1e6, -1e6, 3e5, -127.5], np.float32),
        count,
    )
    values = [
        halves,
        np.nextafter(halves, np.float32(0)),
        np.nextafter(halves, np.float32(1e9) * np.sign(halves)),
        halves * np.float32(0.1),
        special,
        rng.normal(0, 3, count).astype(np.float32),
        rng.normal(0, 1e4, count).astype(np.float32),
    ]
    return [{i: v.reshape(SHAPE).astype(np.float32) for i in net.inputs} for v in values]


@pytest.mark.parametrize(
    ("dtypes", "engine"), [(("int8", "int16"), "tflm"), (("uint8",), "litert")]
)
def test_floats_to_integers(dtypes: tuple[str, ...], engine: Engine) -> None:
    net = plain_net()
    source = net.input(SHAPE, "float32")
    for dtype in dtypes:
        for scale in SCALES:
            for zero in ends(dtype):
                net.add("QUANTIZE", [source], net.tensor(SHAPE, dtype, scale, zero))
    assert differences(net.build(), inputs=floats(net), engine=engine) == []


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_floats_to_bytes_with_a_floating_point_unit(dtype: str) -> None:
    """Rows with quotients that are no numbers, or none that a float can hold, take another way there.
    For bytes without a sign, the reference has a result for some of them."""
    net = plain_net()
    source = net.input(SHAPE, "float32")
    for scale in SCALES:
        for zero in ends(dtype):
            net.add("QUANTIZE", [source], net.tensor(SHAPE, dtype, scale, zero))
    odd = np.resize(np.array([0.25, np.nan, -1e38, -np.inf, 3], np.float32), SHAPE)
    engine: Engine = "litert" if dtype == "uint8" else "tflm"
    inputs = [*floats(net), *([{source: odd}] if dtype == "uint8" else [])]
    assert board_differences(net.build(), "mps2-an386", inputs=inputs, engine=engine) == []


def test_integers_to_floats() -> None:
    net = plain_net()
    for dtype in ("int8", "uint8", "int16"):
        for scale in (*SCALES, 1e-30):
            for zero in ends(dtype):
                source = net.input(SHAPE, dtype, scale, zero)
                net.add("DEQUANTIZE", [source], net.tensor(SHAPE, "float32"))
    assert differences(net.build(), inputs=samples_of(net), engine="tflm") == []


@pytest.mark.parametrize(
    ("pairs", "engine"),
    [
        (
            ("int8 int8", "uint8 int8", "int8 uint8", "int8 int16", "int16 int8", "int16 int16"),
            "tflm",
        ),
        (("int8 int32", "int16 int32", "int32 int8", "int32 int16"), "tflm"),
        (("uint8 uint8", "uint8 int8"), "litert"),
    ],
)
def test_integers_to_integers(pairs: tuple[str, ...], engine: Engine) -> None:
    net = plain_net()
    for pair in pairs:
        kind, to = pair.split()
        for out_scale in (0.1, 0.05, 0.0003, 0.7, 1e6, 0.1000001):
            for zero, out_zero in zip(ends(kind), ends(to)[::-1], strict=True):
                source = net.input((1, 9, 60), kind, 0.1 if kind != "int32" else 1e-7, zero)
                net.add("QUANTIZE", [source], net.tensor((1, 9, 60), to, out_scale, out_zero))
        if {kind, to} == {"int8", "uint8"}:  # the same reals: a shift by 128
            source = net.input((1, 9, 60), kind, 0.1, 0 if kind == "int8" else 128)
            target = net.tensor((1, 9, 60), to, 0.1, 0 if to == "int8" else 128)
            net.add("QUANTIZE", [source], target)
    assert differences(net.build(), inputs=samples_of(net), engine=engine) == []


@pytest.mark.parametrize(
    ("kind", "source", "target", "cause"),
    [
        ("QUANTIZE", ("int8", 1.0), ("float32", None), "no kernel from INT8 to FLOAT32"),
        ("QUANTIZE", ("int8", 1.0), ("int32", None), "is not quantised"),
        ("QUANTIZE", ("int8", 1.0), ("int32", 2.0, 40000), "a zero point needs more than 16 bits"),
        ("QUANTIZE", ("float32",), ("int8", None), "is not quantised"),
        ("QUANTIZE", ("int8", 1e30), ("int8", 1e-30), "differ by a factor of 1e[+]60"),
        ("DEQUANTIZE", ("int8", 1.0), ("int16", 1.0), "no kernel from INT8 to INT16"),
        ("DEQUANTIZE", ("float32",), ("float32",), "its kernels are for INT16, INT8, UINT8"),
    ],
)
def test_refusals(
    kind: str, source: tuple[str, float], target: tuple[str, float], cause: str
) -> None:
    net = plain_net()
    net.add(kind, [net.input((1, 4), *source)], net.tensor((1, 4), *target))
    graph = parse(net.build()).graph
    with pytest.raises(ModelError, match=cause):
        lower_op(graph, graph.ops[0])
