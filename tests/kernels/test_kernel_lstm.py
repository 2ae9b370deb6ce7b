"""UNIDIRECTIONAL_SEQUENCE_LSTM against the reference kernel: both layouts, batches, clipping."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness import differences

from assembled import assemble, refusal
from lowtide.errors import ModelError
from lowtide.lower import lower_op
from lowtide.lower.nodes import Node
from lowtide.tflite.read import parse
from recurrent import lstm
from schema_models import Net


def test_lstm() -> None:
    net = Net(scale=0.02, zero=-7)
    one, many = net.input((1, 6, 5)), net.input((3, 4, 5))
    lstm(net, one, 4, calls=2)
    lstm(net, one, 4, time_major=True, calls=2)
    lstm(net, many, 7, calls=2)
    lstm(net, many, 7, time_major=True, calls=2)
    lstm(net, one, 1)
    for exponent in (-15, -13, -12, -10, -9):
        lstm(net, one, 6, cell_exponent=exponent)
    for scale in (1e-5, 0.001, 0.3, 5.0):
        lstm(net, one, 6, weight_scale=scale)
    lstm(net, one, 6, weight_scale=0.1, clip=0.25)
    lstm(net, one, 6, weight_scale=0.1, clip=1e6)
    for hidden in ((1 / 128, -128), (1 / 16, 127), (1 / 3000, 0)):
        lstm(net, one, 6, hidden=hidden)
    assert differences(net.build(), engine="tflm") == []


def test_factors_beyond_those_of_int16() -> None:
    """A factor of 16384 and more: refused for int16, and not for int8."""
    net = Net(scale=0.9, zero=4)
    lstm(net, net.input((1, 6, 5)), 4, weight_scale=10.0)
    assert differences(net.build(), engine="tflm") == []


def test_int16() -> None:
    net = Net(np.int16, scale=0.0001)
    one, many = net.input((1, 6, 5)), net.input((3, 4, 5))
    hidden = (1 / 32768, 0)
    lstm(net, one, 4, calls=2, hidden=hidden)
    lstm(net, one, 4, time_major=True, calls=2, hidden=hidden)
    lstm(net, many, 7, calls=2, hidden=hidden)
    lstm(net, many, 7, time_major=True, calls=2, hidden=hidden)
    lstm(net, one, 1, hidden=hidden)
    for exponent in (-15, -13, -12, -10, -9):
        lstm(net, one, 6, cell_exponent=exponent, hidden=hidden)
    for scale in (1e-5, 0.001, 0.3, 5.0):
        lstm(net, one, 6, weight_scale=scale, hidden=hidden)
    lstm(net, one, 6, weight_scale=0.1, clip=0.25, hidden=hidden)
    for other in ((1 / 128, 0), (1 / 3000, 77), (1 / 20000, -9)):
        lstm(net, one, 6, hidden=other)
    assert differences(net.build(), engine="tflm") == []


def test_quick_arithmetic_wherever_it_fits() -> None:
    """Products of two int16 are at most 30 bits: lt_narrow can scale them by just less than 2 ** -18."""
    least = float(np.nextafter(np.float32(2.0**-12), np.float32(1)))
    for scale, quick in ((1 / 128, 1), (least, 1), (2.0**-31, 0)):
        net = Net(scale=0.02, zero=-7)
        lstm(net, net.input((1, 6, 5)), 4, hidden=(scale, 0), weight_scale=0.001)
        graph = parse(net.build()).graph
        (node,) = lower_op(graph, graph.ops[0]).nodes
        assert isinstance(node, Node)
        assert dict(node.params.fields)["quick"] == quick


@pytest.mark.parametrize("steps", [32767, 32768])
def test_as_many_steps_as_a_counter_holds(steps: int) -> None:
    net = Net()
    lstm(net, net.input((1, steps, 1)), 1)
    graph = parse(net.build()).graph
    if steps < 1 << 15:
        assert lower_op(graph, graph.ops[0]).nodes
        return
    with pytest.raises(ModelError):
        lower_op(graph, graph.ops[0])


def refused(**fields: Any) -> str:
    net = Net()
    lstm(net, net.input((1, 6, 5)), 4, **fields)
    return refusal(net.build())


def test_refusals() -> None:
    assert refused(activation=1) == "its activation is not tanh"
    assert refused(cell_exponent=2) == "its cell state has scale 4 and zero point 0"
    assert refused(clip=1e-9) == "its cell clip, 1e-09, is below the cell state's scale"
    wide = Net(np.int16, scale=0.9)
    lstm(wide, wide.input((1, 6, 5)), 4, weight_scale=10.0, hidden=(1 / 32768, 0))
    assert refusal(wide.build()) == "a factor of its sums is 16384 or more"
    net = Net(np.float32)
    lstm(net, net.input((1, 6, 5)), 4)
    graph = parse(net.build()).graph
    with pytest.raises(ModelError) as caught:
        assemble(graph, (0,))
    assert "its type is FLOAT32, but its kernels are for INT16, INT8" in caught.value.cause
    assert "quantise its activations, too" in caught.value.remedy
