"""What a plan reads again of slow flash: what the part's cache does not hold any more.

Operators whose rows interleave take turns, and each turn reads the code of a kernel and the constants of
an operator. Where all that a stage reads fits into the cache, it is read once; else each turn reads
its own again, as far as the turns before it have taken its place. Where the constants of one step are
more than the cache holds, that goes for each pass over them.

This is a model. What a program reads is counted on the emulated board (`lowtide run --profile`,
machines/flash.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowtide.lower.nodes import AnyNode, Node
from lowtide.rows.prepare import Prepared
from lowtide.rows.scheduled import Scheduled
from lowtide.rows.table import Ints, summed
from lowtide.target import FlashCache, Target

CODE = 512
"""Bytes of code that a turn is assumed to read: operators share kernels."""


@dataclass(frozen=True, slots=True)
class FlashModel:
    """What operators read of flash, by number: `sizes` bytes of code and constants, in so many `passes`
    a step, of which one that follows another reads `again` bytes anew."""

    cache: FlashCache
    sizes: Ints
    passes: Ints
    again: Ints

    def refilled(self, order: Ints, passes: Ints | None = None) -> int:
        """Bytes that a stage reads into the cache, whose steps are those of operators in this order, or
        of -1, which reads nothing; each takes as many `passes` as it does at full width, if nothing else
        is said."""
        reads = order >= 0
        order = order[reads].astype(np.intp)  # as bincount wants it where indices have 32 bits
        each = self.passes[order] if passes is None else passes[reads]
        count = np.bincount(order, minlength=len(self.sizes))
        begins = np.flatnonzero(np.diff(order, prepend=-2))
        turns = np.bincount(order[begins], minlength=len(self.sizes))
        once = int(self.sizes[count > 0].sum())
        back = int((turns * self.sizes).sum()) - once
        further = summed(order, each, len(self.sizes)).astype(np.int64) - turns
        return once + round(back * self.cache.missed(once)) + int((further * self.again).sum())


def flash_model(ready: Prepared) -> FlashModel | None:
    """What the operators of a network, and its blocks, read; None if the part's flash is not known."""
    cache = ready.target.flash
    if cache is None:
        return None
    sizes, passes, again = np.zeros((3, 1 + max(ready.lowered, default=-1)), np.int64)
    for operator, lowered in ready.lowered.items():
        passes[operator] = max((_passes(node, ready.target) for node in lowered.nodes), default=1)
        for node in lowered.nodes:
            sizes[operator] += CODE + sum(array.bytes for array in node.params.arrays())
        again[operator] = round(sizes[operator] * cache.missed(int(sizes[operator])))
    return FlashModel(cache, sizes, passes, again)


def _passes(node: AnyNode, target: Target) -> int:
    """How often a step of a node goes over its constants."""
    if not isinstance(node, Node) or node.work is None:
        return 1
    return node.work.passes(is_short=target.is_short)


def refilled_by(rows: Scheduled, ready: Prepared, model: FlashModel) -> list[int]:
    """Bytes that each stage of a schedule reads into the cache."""
    operators = np.array(rows.plan.operators, np.int64)
    passes = np.array([_passes(node, ready.target) for node in rows.nodes], np.int64)
    nodes = np.array([node for node, _ in rows.plan.steps], np.int64)
    by_stage: dict[int, list[Ints]] = {}
    at, stage = 0, 0
    for segment in rows.plan.segments:
        while segment.first >= rows.plan.stages[stage].last:
            stage += 1
        end = at + rows.table.begin[segment.last] - rows.table.begin[segment.first]
        by_stage.setdefault(stage, []).extend([nodes[at:end]] * segment.times)
        at = end
    found = []
    for number, each in by_stage.items():
        steps = np.concatenate(each)
        cut = rows.plan.stages[number].strip_width is not None
        found.append(model.refilled(operators[steps], passes[steps] if cut else None))
    return found


def layer_by_layer(ready: Prepared, model: FlashModel) -> list[int]:
    """Bytes that each operator reads into the cache if they run one after the other."""
    steps = {
        op.id: sum(node.steps for node in ready.lowered[op.id].nodes) for op in ready.graph.ops
    }
    return [model.refilled(np.full(count, op)) for op, count in steps.items() if count]
