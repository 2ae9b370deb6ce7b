"""What a plan reads again of slow flash: what the part's cache does not hold any more.

Operators whose rows interleave take turns, and each turn reads the code of a kernel and the constants of
an operator. Where all that a stage reads fits into the cache, it is read once; else each turn reads all
of its own again, as the turns before it have filled the cache. Where the constants of one step are more
than the cache holds, each pass over them reads all of them.

This is a model. What a program reads is counted on the emulated board (`lowtide run --profile`,
machines/flash.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowtide.lower.counts import Windowed
from lowtide.lower.nodes import AnyNode, Node
from lowtide.rows.prepare import Prepared
from lowtide.rows.scheduled import Scheduled
from lowtide.rows.table import Ints
from lowtide.target import FlashCache

CODE = 512
"""Bytes of code that a turn is assumed to read: operators share kernels."""


@dataclass(frozen=True, slots=True)
class FlashModel:
    """What operators read of flash, by number. A turn reads `turn` bytes of code and constants, each
    further step of it `step` bytes again."""

    cache: FlashCache
    turn: Ints
    step: Ints

    def refilled(self, order: Ints) -> int:
        """Bytes that a stage reads into the cache, whose steps are those of operators in this order, or
        of -1, which reads nothing."""
        order = order[order >= 0]
        count = np.bincount(order, minlength=len(self.turn))
        begins = np.flatnonzero(np.diff(order, prepend=-2))
        turns = np.bincount(order[begins], minlength=len(self.turn))
        if int(self.turn[count > 0].sum()) <= self.cache.bytes:
            turns = np.minimum(turns, 1)
        return int((turns * self.turn + (count - turns) * self.step).sum())


def flash_model(ready: Prepared) -> FlashModel | None:
    """What the operators of a network, and its blocks, read; None if the part's flash is not known."""
    cache = ready.target.flash
    if cache is None:
        return None
    count = 1 + max(ready.lowered, default=-1)
    turn, step = np.zeros((2, count), np.int64)
    for operator, lowered in ready.lowered.items():
        for node in lowered.nodes:
            once, again = _of_node(node, cache)
            turn[operator] += once
            step[operator] += again
    return FlashModel(cache, turn, step)


def _of_node(node: AnyNode, cache: FlashCache) -> tuple[int, int]:
    """Bytes that a turn of a node reads, and each further step of it."""
    if not isinstance(node, Node):
        return 0, 0
    constants = sum(array.bytes for array in node.params.arrays())
    if constants + CODE <= cache.bytes:
        return constants + CODE, 0
    passes = node.work.passes if isinstance(node.work, Windowed) else 1
    return constants * passes + CODE, constants * passes


def refilled_by(rows: Scheduled, model: FlashModel) -> int:
    """Bytes that a schedule reads into the cache."""
    operators = np.array(rows.plan.operators, np.int64)
    steps = operators[[node for node, _ in rows.plan.steps]]
    by_stage: dict[int, list[Ints]] = {}
    at, stage = 0, 0
    for segment in rows.plan.segments:
        while segment.first >= rows.plan.stages[stage].last:
            stage += 1
        end = at + rows.table.begin[segment.last] - rows.table.begin[segment.first]
        by_stage.setdefault(stage, []).extend([steps[at:end]] * segment.times)
        at = end
    return sum(model.refilled(np.concatenate(each)) for each in by_stage.values())


def layer_by_layer(ready: Prepared, model: FlashModel) -> int:
    """Bytes that are read into the cache if the network's operators run one after the other."""
    steps = {
        op.id: sum(node.steps for node in ready.lowered[op.id].nodes) for op in ready.graph.ops
    }
    return sum(model.refilled(np.full(count, op)) for op, count in steps.items() if count)
