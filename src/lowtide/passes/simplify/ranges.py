"""What every tensor can be: per channel, an interval of integers that no input leads out of.

Why: weights, scales and zero points are known, so bounds on what is fed in bound everything after it. A
channel whose interval is one value is that value for every input. Nothing is sampled: each interval
follows from those before it by the operator's own arithmetic, rounded as the reference kernels round.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lowtide.errors import ModelError
from lowtide.ir.graph import Graph, Op
from lowtide.passes.simplify import elementwise, moves
from lowtide.passes.simplify.bounding import Bounding, interval_of
from lowtide.passes.simplify.interval import Interval
from lowtide.passes.simplify.sums import sums_of


def ranges(graph: Graph, *, both_roundings: bool = False) -> Mapping[int, Interval]:
    """The interval of each channel, an index of the last axis, of every tensor that is given or made.

    What is not known is all of the type: graph inputs, variables, operators that have no rule or no
    kernel. Tensors of other types than int8, uint8, int16 and int32, and empty ones, have none. With
    `both_roundings` the intervals hold for a FULLY_CONNECTED rounded as by TFLM and as by LiteRT.
    """
    known: dict[int, Interval] = {}
    for op in graph.ops:
        found = zip(op.outputs, bounded(graph, op, known, both_roundings), strict=True)
        known.update({tensor: interval for tensor, interval in found if interval is not None})
    given = {tensor: interval_of(graph.tensors[tensor]) for tensor in graph.inputs}
    return {**{tensor: each for tensor, each in given.items() if each is not None}, **known}


def bounded(
    graph: Graph, op: Op, known: Mapping[int, Interval], both_roundings: bool = False
) -> tuple[Interval | None, ...]:
    """The intervals of the outputs of `op`, which has its window, from those of its inputs."""
    anything = tuple(interval_of(graph.tensors[tensor]) for tensor in op.outputs)
    if all(interval is None for interval in anything):
        return anything
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            found = _by_rule(Bounding(graph, op, known, both_roundings))
    except ModelError:  # there is no kernel for it
        return anything
    if len(found) != len(anything):
        return anything
    return tuple(
        interval
        if interval is not None and limit is not None and interval.channels == limit.channels
        else limit
        for interval, limit in zip(found, anything, strict=True)
    )


def _by_rule(op: Bounding) -> tuple[Interval, ...]:
    kind = op.op.type
    if kind in elementwise.RULES:
        return (elementwise.RULES[kind](op),)
    if kind in moves.RULES:
        return moves.RULES[kind](op)
    sums = sums_of(op, both_roundings=op.both_roundings)
    if sums is None:
        return ()
    source = op.source(sums.source)
    if kind == "FULLY_CONNECTED":  # whatever the shape, rows of as many values as a filter has
        source = source.viewed(sums.reads)
    return (sums.outputs(sums.accumulated(source)),)
