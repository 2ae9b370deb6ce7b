"""ADD_N and CUMSUM against the oracle: axes, both directions, scales."""

from __future__ import annotations

import numpy as np
from harness import differences

from assembled import refusal
from schema_models import Net, plain_net, samples_of

SHAPES = ((1, 4, 3, 5), (2, 3, 4), (1, 9), (6,), (3, 4))


def cumsum(net: Net, source: int, axis: int, out: int, **options: bool) -> int:
    return net.add("CUMSUM", (source, net.constant(np.array(axis, np.int32))), out, **options)


def test_add_n() -> None:
    net = plain_net()
    for shape in SHAPES:
        for count, scale, zero in ((2, 0.1, 0), (3, 0.06, -128), (5, 1.0, 5), (15, 0.3, -9)):
            given = [net.input(shape, "int8", 0.1, zero) for _ in range(count)]
            net.add("ADD_N", given, net.tensor(shape, "int8", scale, 7))
    assert differences(net.build(), inputs=samples_of(net), engine="tflm") == []


def test_cumsum() -> None:
    net = plain_net()
    for shape in SHAPES:
        for case, (scale, zero) in enumerate(((0.1, 0), (0.06, -128), (1.0, 5), (0.3, 127))):
            source = net.input(shape, "int8", 0.1, zero)
            flags = {"exclusive": bool(case & 1), "reverse": bool(case & 2)}
            for axis in (*range(len(shape)), -1):
                cumsum(net, source, axis, net.tensor(shape, "int8", scale, -3), **flags)
    assert differences(net.build(), inputs=samples_of(net), engine="tflm") == []


def test_refusals() -> None:
    net = plain_net()
    net.add("ADD_N", [net.input((1, 4)), net.input((1, 4), "int8", 0.5)], net.tensor((1, 4)))
    assert refusal(net.build()) == "its inputs differ in shape, scale or zero point"
    net = plain_net()
    net.add("ADD_N", [net.input((1, 4)) for _ in range(16)], net.tensor((1, 4)))
    assert refusal(net.build()) == "it adds 16 tensors, but only 2 to 15 are supported"
    net = plain_net()
    cumsum(net, net.input((1, 4)), 2, net.tensor((1, 4)))
    assert refusal(net.build()) == "axis 2 does not exist in 2 dimensions"
    net = plain_net()
    cumsum(net, net.input((1, 4)), 1, net.tensor((1, 4), "int8", 1e-7))
    assert refusal(net.build()) == "its output's scale is too small for its input's"
