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
from lowtide.ir.operands import Operands
from lowtide.ir.slices import pad_value
from lowtide.passes.simplify.aliases import one_of_each
from lowtide.passes.simplify.moving import MOVES, move, moved_inputs
from lowtide.passes.simplify.result import Simplified, repeated

Numbers = NDArray[np.int64]

_MOST_NUMBERS = 1 << 22
"""Elements that get a number, in all: operators that would need more are left as they are."""


def drop_moves(graph: Graph) -> Simplified:
    """Without tensors that have the elements of another in the same order."""
    return repeated(graph, lambda now: one_of_each(now, _repeated(now), "moves of nothing"))


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
        operands = Operands(graph, op)
        fill = pad_value(operands) if op.type.startswith("PAD") else 0
        if fill is None:
            continue
        made = move(operands, [numbers[t] for t in sources], -1 - fill % (1 << 32))
        for out, of_out in zip(op.outputs, made or (), strict=made is not None):
            numbers[out] = of_out
            if of_out.size:
                source = first.setdefault(key(out), out)
                if source != out:
                    yield op, out, source


def _varies(graph: Graph, op: Op) -> bool:
    """Whether it reads a variable, whose elements are others once it is assigned to."""
    return any(t >= 0 and graph.tensors[t].is_variable for t in op.inputs)
