"""Functions of one variable against the oracle: all 256 values of int8; int16 in its kernels."""

from __future__ import annotations

import numpy as np
import pytest
from harness import differences

from lowtide.errors import ModelError
from lowtide.lower import lower_op
from lowtide.tflite.read import parse
from schema_models import plain_net, samples_of

ALL = np.arange(-128, 128, dtype=np.int8)
SCALES = (0.1, 0.0235, 0.0039, 0.3, 1.7, 40.0, 1e-4)
ZEROS = ((0, 0), (-128, -128), (127, 127), (-5, 31), (100, -100))


def test_int8() -> None:
    net = plain_net()
    for case, scale in enumerate(SCALES):
        for in_zero, out_zero in ZEROS:
            source = net.input((1, 256), "int8", scale, in_zero)
            for out_scale in (scale, (0.05, 0.5)[case % 2]):
                out = net.tensor((1, 256), "int8", out_scale, out_zero)
                for kind in ("RELU", "ABS", "ELU"):
                    net.add(kind, [source], net.like(out))
                net.add("RELU6", [source], net.like(source))
                alpha = (0.1, 0.01, 1.5, 0.0, 0.9999, 1e-9)[case % 6]
                net.add("LEAKY_RELU", [source], net.like(out), alpha=alpha)
                if out_scale * 128 >= scale:
                    net.add("HARD_SWISH", [source], net.like(out))
            net.add("LOGISTIC", [source], net.tensor((1, 256), "int8", 1 / 256, -128))
            net.add("TANH", [source], net.tensor((1, 256), "int8", 1 / 128, 0))
    sample = {i: ALL.reshape(1, 256) for i in net.inputs}
    assert differences(net.build(), inputs=[sample], engine="tflm") == []


def test_uint8() -> None:
    net = plain_net()
    for case, scale in enumerate(SCALES):
        for in_zero, out_zero in ((0, 0), (255, 255), (123, 159), (228, 28)):
            source = net.input((1, 256), "uint8", scale, in_zero)
            for out_scale in (scale, (0.05, 0.5)[case % 2]):
                out = net.tensor((1, 256), "uint8", out_scale, out_zero)
                for kind in ("RELU", "RELU6"):
                    net.add(kind, [source], net.like(out))
                alpha = (0.1, 0.01, 1.5, 0.0, 0.9999, 1e-9)[case % 6]
                net.add("LEAKY_RELU", [source], net.like(out), alpha=alpha)
                if out_scale * 128 >= scale:
                    net.add("HARD_SWISH", [source], net.like(out))
            net.add("LOGISTIC", [source], net.tensor((1, 256), "uint8", 1 / 256, 0))
            net.add("TANH", [source], net.tensor((1, 256), "uint8", 1 / 128, 128))
    sample = {i: np.arange(256, dtype=np.uint8).reshape(1, 256) for i in net.inputs}
    assert differences(net.build(), inputs=[sample], engine="litert") == []


def close_to(ratio: float, count: int, seed: int) -> list[tuple[float, float]]:
    """(a, b) whose quotient is `ratio` in single precision but not in double."""
    rng = np.random.default_rng(seed)
    found: list[tuple[float, float]] = []
    while len(found) < count:
        b = np.float32(rng.uniform(0.01, 1))
        a = np.nextafter(np.float32(float(b) * ratio), np.float32(rng.choice([0, 9])))
        if a / b == np.float32(ratio) and float(a) / float(b) != ratio:
            found.append((float(a), float(b)))
    return found


def test_precision_of_scales() -> None:
    """Quotients of scales are of double precision, but that of the 6 of RELU6 is of single."""
    net = plain_net()
    for ratio in (0.75, 0.375, 1.5):
        for scale, out_scale in close_to(ratio, 12, 3):
            source = net.input((1, 256), "int8", scale)
            out = net.tensor((1, 256), "int8", out_scale, -120)
            for kind in ("RELU", "ABS", "LEAKY_RELU", "HARD_SWISH"):
                net.add(kind, [source], net.like(out))
    for k in range(1, 120, 3):
        source = net.input((1, 256), "int8", 6 / (k + 0.5), -128)
        net.add("RELU6", [source], net.like(source))
    sample = {i: ALL.reshape(1, 256) for i in net.inputs}
    assert differences(net.build(), inputs=[sample], engine="tflm") == []


def test_rsqrt() -> None:
    net = plain_net()
    sample = {}
    for scale in (0.1, 0.0039, 3.0):
        for zero in (-128, 0, 120):
            source = net.input((1, 128 - zero), "int8", scale, zero)
            sample[source] = np.arange(zero, 128).astype(np.int8).reshape(1, -1)
            for out_scale in (0.03, 1.0, 0.001):
                net.add("RSQRT", [source], net.tensor((1, 128 - zero), "int8", out_scale, -128))
    assert differences(net.build(), inputs=[sample], engine="tflm") == []


def test_int16() -> None:
    net = plain_net()
    shape = (1, 8, 5, 30)
    for scale in (1 / 4096, 1 / 2048, 1 / 8192, 0.001, 3e-5, 0.9, 2.6, 1e-9, 1.0005 / 4096):
        source = net.input(shape, "int16", scale)
        for kind in ("LOGISTIC", "TANH"):
            net.add(kind, [source], net.tensor(shape, "int16", 1 / 32768))
        if scale > 1e-8:
            net.add("RELU6", [source], net.like(source))
        for out in (scale, scale * 2, scale * 3, scale / 5):  # twice: halves are rounded
            made = net.tensor(shape, "int16", out)
            net.add("RELU", [source], made)
            net.add("ABS", [source], net.like(made))
            for alpha in (0.1, 0.0, 2.0):
                net.add("LEAKY_RELU", [source], net.like(made), alpha=alpha)
    source = net.input(shape, "int16", 0.001, 300)
    net.add("LEAKY_RELU", [source], net.tensor(shape, "int16", 0.002, -7), alpha=0.3)
    assert differences(net.build(), inputs=samples_of(net), engine="tflm") == []


def test_rows() -> None:
    net = plain_net()
    source = net.input((1, 6, 5, 4), "int8", 0.1)
    net.add("RELU", [source], net.like(source))
    graph = parse(net.build()).graph
    (node,) = lower_op(graph, graph.ops[0]).nodes
    assert (node.kernel, node.steps, node.inputs[0].row_bytes) == ("lt_lut_8_row", 6, 20)


@pytest.mark.parametrize(
    ("kind", "source", "target", "cause"),
    [
        ("LOGISTIC", ("int8", 0.1, 0), ("int8", 1 / 256, 0), "zero point should be -128, and is 0"),
        ("LOGISTIC", ("int8", 1e-9, 0), ("int8", 1 / 256, -128), "scale, 1e-09, is too small"),
        ("LOGISTIC", ("int16", 0.1, 0), ("int16", 1 / 256, 0), "scale should be 1/32768"),
        ("TANH", ("int16", 0.1, 3), ("int16", 1 / 32768, 0), "zero point other than 0"),
        ("TANH", ("int16", 3.0, 0), ("int16", 1 / 32768, 0), "scale, 3, is too large"),
        ("HARD_SWISH", ("int8", 1.0, 0), ("int8", 1e-3, 0), "output's scale is too small"),
        ("RELU", ("int8", 1e30, 0), ("int8", 1e-30, 0), "differ by a factor of 1e[+]60"),
        ("RELU", ("int8", 1.0, 0), ("int16", 1.0, 0), "of different types"),
        ("ABS", ("uint8", 1.0, 0), ("uint8", 1.0, 0), "its kernels are for INT16, INT8"),
        ("ABS", ("int16", 1.0, 0), ("int16", 1.0, 3), "zero point other than 0"),
        ("RELU", ("int16", 1.0, 5), ("int16", 1.0, 0), "zero point other than 0"),
        ("RELU", ("int8", 1.0, 0), ("int8", None, 0), "is not quantised"),
    ],
)
def test_refusals(
    kind: str, source: tuple[str, float, int], target: tuple[str, float, int], cause: str
) -> None:
    net = plain_net()
    net.add(kind, [net.input((1, 4), *source)], net.tensor((1, 4), *target))
    graph = parse(net.build()).graph
    with pytest.raises(ModelError, match=cause):
        lower_op(graph, graph.ops[0])
