"""Clamps that never act: fused activations, and operators that give what they are given.

Why: what a clamp would cut off is often out of reach, and a kernel without one is shorter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from lowtide.errors import ModelError
from lowtide.ir.byte_tables import BYTE_FUNCTIONS, byte_table
from lowtide.ir.graph import Graph, Op
from lowtide.ir.operands import Operands, activation_range, type_range
from lowtide.passes.rewriting import readers_of, with_ops
from lowtide.passes.simplify.aliases import take_place
from lowtide.passes.simplify.bounding import Bounding
from lowtide.passes.simplify.interval import Interval
from lowtide.passes.simplify.ranges import bounded, ranges
from lowtide.passes.simplify.result import Simplified, changed, then, unchanged

_FUSED = "fused_activation_function"
_CLAMPED = frozenset(
    {
        *("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV", "ADD", "SUB", "MUL"),
        *("AVERAGE_POOL_2D", "MAX_POOL_2D"),
    }
)
"""Operators whose fused activation is a clamp of their results, and nothing else."""

_IDLE = frozenset({*BYTE_FUNCTIONS, "MINIMUM", "MAXIMUM"})
"""Operators that may change nothing within the intervals that they meet."""


def drop_clamps(graph: Graph, *, both_roundings: bool = False) -> Simplified:
    """Without fused activations that cut nothing off, but for those that are all of the type anyway."""
    known = ranges(graph, both_roundings=both_roundings)
    idle = {
        op.id
        for op in graph.ops
        if op.type in _CLAMPED and _is_idle(graph, op, known, both_roundings)
    }
    if not idle:
        return unchanged(graph)
    ops = (
        replace(op, options={**op.options, _FUSED: 0}) if op.id in idle else op for op in graph.ops
    )
    return changed(graph, with_ops(graph, ops), saved={"clamps that never act": len(idle)})


def drop_idle(graph: Graph, *, both_roundings: bool = False) -> Simplified:
    """Without operators that give what they are given, as far as it can be at all."""
    result = unchanged(graph)
    while (step := _without_one(result.graph, both_roundings)).graph is not result.graph:
        result = then(result, step)
    return result


def _without_one(graph: Graph, both_roundings: bool) -> Simplified:
    if not any(op.type in _IDLE for op in graph.ops):
        return unchanged(graph)
    known = ranges(graph, both_roundings=both_roundings)
    readers = readers_of(graph)
    for op in graph.ops:
        source = _given_back(graph, op, known) if op.type in _IDLE else None
        if source is None or not (op.outputs[0] in readers or op.outputs[0] in graph.outputs):
            continue
        taken = take_place(graph, op, op.outputs[0], source)
        if taken is not None:
            new = taken[0]
            if len(new.ops) == len(graph.ops):
                new = with_ops(new, (o for o in new.ops if o.id != op.id))
            saved = {"operators that never act": 1}
            return changed(graph, new, dropped=[taken[1]], saved=saved)
    return unchanged(graph)


def _is_idle(graph: Graph, op: Op, known: Mapping[int, Interval], both_roundings: bool) -> bool:
    """Whether the operator gives the same without its fused activation."""
    operands = Operands(graph, op)
    fused = operands.option(_FUSED)
    if not fused:
        return False
    try:
        low, high = activation_range(operands, operands.output(), fused)
    except ModelError:
        return False
    if (low, high) == type_range(operands.output().dtype):
        return False
    free = replace(op, options={**op.options, _FUSED: 0})
    (found,) = bounded(graph, free, known, both_roundings)
    return found is not None and bool((found.low >= low).all() and (found.high <= high).all())


def _given_back(graph: Graph, op: Op, known: Mapping[int, Interval]) -> int | None:
    """The input that the only output of `op` equals, whatever the network's inputs are."""
    bounding = Bounding(graph, op, known)
    try:
        if op.type in ("MINIMUM", "MAXIMUM"):
            wins = _never_less if op.type == "MAXIMUM" else _never_more
            a, b = bounding.source(0), bounding.source(1)
            return op.inputs[0] if wins(a, b) else op.inputs[1] if wins(b, a) else None
        table = byte_table(bounding) if bounding.op.inputs else None
        if table is None or bounding.output().dtype is not bounding.input(0).dtype:
            return None
        source = bounding.source(0)
    except ModelError:
        return None
    least, _ = type_range(bounding.input(0).dtype)
    reached = slice(int(source.low.min()) - least, int(source.high.max()) - least + 1)
    values = np.arange(len(table)) + least
    return op.inputs[0] if (table[reached] == values[reached]).all() else None


def _never_less(a: Interval, b: Interval) -> bool:
    """Whether no element of `a` is less than what it meets of `b`."""
    high = b.high if a.channels == b.channels else b.high.max()
    return bool((a.low >= high).all())


def _never_more(a: Interval, b: Interval) -> bool:
    low = b.low if a.channels == b.channels else b.low.min()
    return bool((a.high <= low).all())
