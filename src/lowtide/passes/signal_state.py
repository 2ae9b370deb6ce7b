"""What signal operators remember becomes variable tensors, which a program places, resets and counts."""

from __future__ import annotations

from dataclasses import replace

from lowtide.ir.graph import Graph, Op, Tensor
from lowtide.ir.operands import Operands
from lowtide.ir.signal import state_of
from lowtide.passes.rewriting import rewritten


def show_signal_state(graph: Graph) -> Graph:
    """Give each signal operator that keeps something a variable tensor as its last input."""
    tensors = list(graph.tensors)
    instead: dict[int, Op] = {}
    for op in graph.ops:
        state = state_of(Operands(graph, op))
        if state is not None:
            dtype, shape = state
            name = f"{graph.tensors[op.outputs[0]].name}/state"
            instead[op.id] = replace(op, inputs=(*op.inputs, len(tensors)))
            tensors.append(Tensor(len(tensors), name, shape, dtype, is_variable=True))
    return rewritten(graph, instead=instead, tensors=tensors) if instead else graph
