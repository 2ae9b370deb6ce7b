"""Operators that together move nothing: chains of RESHAPE, pairs of TRANSPOSE, SPLIT and CONCATENATION
that undo each other, a SLICE or PAD of nothing.

Every element gets a number; operators that only move elements move the numbers. A tensor that has the
numbers of another in the same order is that one again, or a RESHAPE of it, which costs nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lowtide.ir.graph import Graph, Op
from lowtide.passes.rewriting import readers_of, with_ops
from lowtide.passes.simplify.aliases import can_be_read, read_instead, take_place, view
from lowtide.passes.simplify.moving import MOVES, move, moved_inputs, pad_value
from lowtide.passes.simplify.result import Simplified, changed, then, unchanged

Numbers = NDArray[np.int64]

_ONE = {"moves of nothing": 1}
_MOST_NUMBERS = 1 << 22
"""Elements that get a number, in all: operators that would need more are left as they are."""


def drop_moves(graph: Graph) -> Simplified:
    """Without tensors that have the elements of another in the same order."""
    result = unchanged(graph)
    while (step := _without_some(result.graph)).graph is not result.graph:
        result = then(result, step)
    return result


def _without_some(graph: Graph) -> Simplified:
    """Without all tensors in whose place another can be read, or without one of the rest."""
    readers = readers_of(graph)
    place: dict[int, int] = {}
    for op, out, source in _repeated(graph):
        if out not in readers and out not in graph.outputs:
            continue
        if can_be_read(graph, out, source):
            place[out] = source
        if place:
            continue
        done = take_place(graph, op, out, source)
        if done is not None:
            return changed(graph, done[0], dropped=done[1:], saved=_ONE)
        seen = op.type == "RESHAPE" and op.inputs[0] == source
        if seen or len(op.outputs) != 1 or graph.tensors[source].is_constant:
            continue
        ops = (view(graph, op, source) if o.id == op.id else o for o in graph.ops)
        return changed(graph, with_ops(graph, ops), saved=_ONE)
    return read_instead(graph, place, "moves of nothing")


def _repeated(graph: Graph) -> Iterator[tuple[Op, int, int]]:
    """(operator, its output, the first tensor with these elements in this order)."""
    numbers: dict[int, Numbers] = {}
    first: dict[tuple[object, bytes], int] = {}
    count = spent = 0

    def key(tensor: int) -> tuple[object, bytes]:
        digest = hashlib.sha256(numbers[tensor].tobytes()).digest()
        return graph.tensors[tensor].dtype, digest

    for op in graph.ops:
        sources = moved_inputs(op)
        if op.type not in MOVES or -1 in sources or _varies(graph, op):
            continue
        more = [graph.tensors[t].elements for t in (*op.outputs, *sources) if t not in numbers]
        spent += sum(more)
        if spent > _MOST_NUMBERS:
            spent -= sum(more)
            continue
        for tensor in sources:
            if tensor not in numbers:
                of = graph.tensors[tensor]
                numbers[tensor] = np.arange(count, count + of.elements, dtype=np.int64).reshape(
                    of.shape
                )
                count += of.elements
                first.setdefault(key(tensor), tensor)
        fill = pad_value(graph, op) if op.type.startswith("PAD") else 0
        if fill is None:
            continue
        made = move(graph, op, [numbers[t] for t in sources], -1 - fill % (1 << 32))
        for out, of_out in zip(op.outputs, made or (), strict=made is not None):
            numbers[out] = of_out
            if of_out.size:
                source = first.setdefault(key(out), out)
                if source != out:
                    yield op, out, source


def _varies(graph: Graph, op: Op) -> bool:
    """Whether it reads a variable, whose elements are others once it is assigned to."""
    return any(t >= 0 and graph.tensors[t].is_variable for t in op.inputs)
