"""LOG_SOFTMAX and L2_NORMALIZATION against the oracle: scales, shapes, zero points."""

from __future__ import annotations

import pytest
from harness import differences

from assembled import refusal
from lowtide.errors import ModelError
from lowtide.lower import lower_op
from lowtide.tflite.read import parse
from schema_models import plain_net, samples_of

SHAPES = ((1, 4, 3, 5), (7,), (1, 1), (1, 300), (3, 10), (2, 3, 12))


def test_log_softmax() -> None:
    net = plain_net()
    for scale in (1e-6, 1e-4, 0.003, 0.05, 0.1, 0.25, 0.9, 2.0, 40.0):
        for shape in SHAPES:
            source = net.input(shape, "int8", scale, 9)
            net.add("LOG_SOFTMAX", (source,), net.tensor(shape, "int8", 1 / 16, 127))
    bounds = dict.fromkeys(net.inputs[::2], (-3, 3))
    assert differences(net.build(), inputs=samples_of(net), engine="tflm") == []
    assert differences(net.build(), inputs=samples_of(net, bounds=bounds), engine="tflm") == []


def test_l2_normalization() -> None:
    net = plain_net()
    for zero in (-128, -3, 0, 127):
        for shape in SHAPES:
            source = net.input(shape, "int8", 0.1, zero)
            net.add("L2_NORMALIZATION", (source,), net.tensor(shape, "int8", 1 / 128, 0))
    bounds = dict.fromkeys(net.inputs, (-2, 2))
    assert differences(net.build(), inputs=samples_of(net), engine="tflm") == []
    assert differences(net.build(), inputs=samples_of(net, bounds=bounds), engine="tflm") == []


@pytest.mark.parametrize(
    ("kind", "shape", "scale", "out", "cause"),
    [
        ("LOG_SOFTMAX", (1, 4), 0.1, (0.1, 127), "should have scale 0.0625 and zero point 127"),
        ("LOG_SOFTMAX", (1, 4), 1e-9, (1 / 16, 127), "scale, 1e-09, is too small"),
        ("LOG_SOFTMAX", (1, 5000), 0.1, (1 / 16, 127), "but the limit is 4095"),
        ("L2_NORMALIZATION", (1, 40000), 0.1, (1 / 128, 0), "but the limit is 33025"),
    ],
)
def test_refusals(
    kind: str, shape: tuple[int, int], scale: float, out: tuple[float, int], cause: str
) -> None:
    net = plain_net()
    net.add(kind, [net.input(shape, "int8", scale)], net.tensor(shape, "int8", *out))
    graph = parse(net.build()).graph
    with pytest.raises(ModelError, match=cause):
        lower_op(graph, graph.ops[0])


@pytest.mark.parametrize("kind", ["LOG_SOFTMAX", "L2_NORMALIZATION"])
def test_floats_are_refused(kind: str) -> None:
    net = plain_net()
    net.add(kind, [net.input((1, 4), "float32")], net.tensor((1, 4), "float32"))
    cause = "its type is FLOAT32, but its kernels are for INT8"
    if kind == "LOG_SOFTMAX":
        cause += "; of floats, its results differ from one C library to another"
    assert refusal(net.build()) == cause
