"""Which operators treat all rows of a window that slides alike, and which have to be run whole."""

from __future__ import annotations

import numpy as np
import pytest

from lowtide.passes.hop.flows import flow_of
from lowtide.tflite.read import parse
from schema_models import Net

_SHAPE = (1, 6, 3, 4)
_ROWS = 1
"""The axis of time."""


def _flows(kind: str, others: list[str]) -> bool:
    """Whether an operator flows whose first operand moves, and whose others are moving or still."""
    net = Net(np.int8)
    operands = [net.input(_SHAPE)]
    operands += [net.input(_SHAPE) for _ in others]
    net.op(kind, operands, _SHAPE)
    graph = parse(net.build()).graph
    moving = [t for t, other in zip(operands[1:], others, strict=True) if other == "moving"]
    times = dict.fromkeys((operands[0], *moving), _ROWS)
    return flow_of(graph, graph.ops[0], times) is not None


@pytest.mark.parametrize(
    ("kind", "others", "flows"),
    [
        ("RELU", [], True),
        ("ADD", ["moving"], True),
        ("ADD", ["still"], False),
        ("RESIZE_BILINEAR", [], False),
    ],
)
def test_who_treats_all_rows_alike(kind: str, others: list[str], flows: bool) -> None:
    assert _flows(kind, others) is flows
