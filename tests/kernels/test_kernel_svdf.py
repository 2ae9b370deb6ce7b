"""SVDF against the reference kernel: states of both types, ranks, batches, several calls in a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness import differences

from assembled import refusal
from recurrent import svdf
from schema_models import Net


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
