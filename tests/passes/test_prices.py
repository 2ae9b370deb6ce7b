"""What simplification is told that an operator costs, beside what lowering counts for its kernel.

Why: a price that is off removes no wrong channel; it only keeps the wrong number of them.
"""

from __future__ import annotations

import pytest

from lowtide.commands.options import Options
from lowtide.commands.passing import passed
from lowtide.ir import Graph, Op
from lowtide.lower import lower_op
from lowtide.lower.nodes import Node
from lowtide.lower.prices import Price, instructions
from lowtide.machines.board import find_target
from lowtide.plans.cost import features, known_model
from networks import loaded

PRICED = ("CONV_2D", "FULLY_CONNECTED")


def _pads(op: Op) -> bool:
    axes = () if op.window is None else (op.window.rows, op.window.columns)
    return any(axis.before or axis.after for axis in axes)


def _channels(graph: Graph, op: Op) -> tuple[int, int]:
    """Channels that `op` reads and makes."""
    weights = graph.tensors[op.inputs[1]].shape
    return weights[-1], graph.tensors[op.outputs[0]].shape[-1]


@pytest.mark.parametrize("core", ["any", "cortex-m0", "cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("network", ["ds-cnn-kws", "resnet8"])
def test_layers_cost_what_their_kernels_do(core: str, network: str) -> None:
    """All channels of layers without padding, for which a price is exact but for what a step costs, and
    on a Cortex-M55 for kernels in parts."""
    target = find_target(core)
    model = known_model(target.priced_as)
    assert model is not None
    price = Price(model.of, target)
    graph = passed(loaded(network), Options(target=target, simplify=False)).graph
    layers = [op for op in graph.ops if op.type in PRICED and not _pads(op)]
    assert len(layers) > 2
    for op in layers:
        read, made = _channels(graph, op)
        (node,) = lower_op(graph, op, target=target).nodes
        assert isinstance(node, Node)
        counted = {k: n for k, n in features(node).items() if k not in ("step", "pointer")}
        wanted = model.of(node.works.name, counted)
        assert instructions(price, graph, op, read, made) == pytest.approx(wanted, rel=0.03)
        one, ten = (instructions(price, graph, op, None, of) for of in (1, 10))
        assert 10 * one == pytest.approx(ten)
        assert ten > 0
