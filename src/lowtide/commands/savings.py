"""What simplification saves, in the figures that users count: channels, MACs, weights, instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lowtide.ir import Graph, Model
from lowtide.ir.macs import graph_macs, op_macs
from lowtide.lower import lower_op
from lowtide.passes import resolve_variables
from lowtide.passes.simplify import Always, Simplified, simplify
from lowtide.plans.cost import CostModel
from lowtide.target import ANY, Target

_LAYERS: Final = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", "FULLY_CONNECTED"})


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer with weights, by its `operator` in the file: of `channels` outputs, `left` are computed.

    `constant` of the others never change; the rest are read by nobody, or are another's. MACs as they
    were and as they are.
    """

    operator: int
    type: str
    name: str
    channels: int
    constant: int
    left: int
    macs: int
    macs_left: int


@dataclass(frozen=True, slots=True)
class Change:
    """A figure before and after."""

    before: int
    after: int

    @property
    def saved(self) -> int:
        """How much less it is."""
        return self.before - self.after


@dataclass(frozen=True, slots=True)
class Savings:
    """Figures before and after, sizes in bytes; `weights` are the constants that operators read.

    `channels` are the outputs of `layers`. `done` says how often what was done. `instructions` are those
    that a cost model predicts for operators run once each; None without one.
    """

    operators: Change
    channels: Change
    macs: Change
    weights: Change
    instructions: Change | None
    layers: tuple[Layer, ...]
    done: tuple[tuple[str, int], ...]

    @property
    def anything(self) -> bool:
        """Whether there is less to do; a clamp that never acts costs nothing."""
        return any(what != "clamps that never act" for what, _ in self.done)

    @property
    def constant(self) -> int:
        """Channels that never change."""
        return sum(layer.constant for layer in self.layers)


def savings_of_model(model: Model) -> Savings:
    """What compiling `model` would save."""
    graph = resolve_variables(model.graph)
    return savings(model, graph, simplify(graph))


def savings(
    model: Model,
    before: Graph,
    simplified: Simplified,
    prices: CostModel | None = None,
    target: Target = ANY,
) -> Savings:
    """What `simplified` saves of `before`, which is the graph of `model` after other passes.

    With `prices`, instructions are predicted for `target`.
    """
    after = simplified.graph
    layers = _layers(model, simplified)
    instructions = None
    if prices is not None:
        instructions = Change(*(_instructions(g, prices, target) for g in (before, after)))
    return Savings(
        Change(len(before.ops), len(after.ops)),
        Change(sum(layer.channels for layer in layers), sum(layer.left for layer in layers)),
        Change(graph_macs(before), graph_macs(after)),
        Change(_weights(before), _weights(after)),
        instructions,
        layers,
        simplified.saved,
    )


def _layers(model: Model, simplified: Simplified) -> tuple[Layer, ...]:
    """The layers of the file; a tensor that is kept keeps its id."""
    after = simplified.graph
    made = {t: op for op in after.ops for t in op.outputs}
    constant: dict[int, int] = {}
    for entry in simplified.dropped:
        if isinstance(entry.claim, Always):
            count = _channels(model.graph, entry.tensor)
            dropped = count if entry.channels is None else len(entry.channels)
            constant[entry.tensor] = constant.get(entry.tensor, 0) + dropped
    layers = []
    for op in model.graph.ops:
        if op.type not in _LAYERS:
            continue
        out = model.graph.tensors[op.outputs[0]]
        maker = made.get(out.id)
        layers.append(
            Layer(
                op.id,
                op.type,
                out.name,
                _channels(model.graph, out.id),
                constant.get(out.id, 0),
                0 if maker is None else _channels(after, out.id),
                op_macs(model.graph, op),
                0 if maker is None else op_macs(after, maker),
            )
        )
    return tuple(layers)


def _channels(graph: Graph, tensor: int) -> int:
    """Elements along a tensor's last axis; 1 for a tensor without axes."""
    return (*graph.tensors[tensor].shape[-1:], 1)[0]


def _weights(graph: Graph) -> int:
    """Bytes of the constants that operators read, contents that several share counted once.

    A table is none: it takes the place of tables that are their kernels' own.
    """
    read = {t for op in graph.ops if op.type != "TABLE" for t in op.inputs if t >= 0}
    tensors = (graph.tensors[t] for t in read)
    return sum({t.buffer: len(t.data) for t in tensors if t.data is not None}.values())


def _instructions(graph: Graph, prices: CostModel, target: Target) -> int:
    nodes = [node for op in graph.ops for node in lower_op(graph, op, target=target).nodes]
    return prices.program((node, 1) for node in nodes)
