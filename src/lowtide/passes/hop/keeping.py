"""Of which tensors rows are kept: state against work.

Kept rows take memory from one run to the next, rows that are not are computed anew. Which tensors to
keep rows of is a choice for each of them; of all these choices there is a ladder, from all tensors to
none but the input, that leaves out one more at a time: the one whose rows cost least for what they take.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from lowtide.ir.graph import Graph
from lowtide.ir.macs import op_macs
from lowtide.passes.hop.cones import Cones, Rows, rows_of

_MOST = 24
"""Tensors of which any may be left out next; of more, the last ones are."""


_WORTH = 1.05
"""By default no more is kept than it takes to be within so many times the least work."""


@dataclass(frozen=True, slots=True)
class Step:
    """Tensors to keep rows of beside the input, and the work of an invocation, in multiplications."""

    tensors: frozenset[int]
    work: int


def usual(steps: Sequence[Step]) -> int:
    """How many tensors to keep rows of if nobody says."""
    return next(n for n, step in enumerate(steps) if step.work <= _WORTH * steps[-1].work)


def ladder(graph: Graph, cones: Cones, hop: int, ring: bool = False) -> list[Step]:
    """What to keep rows of if it is none, one, two ... tensors. The input's in a `ring` are no state."""
    own = cones.moving.keys() - ({graph.inputs[0]} if ring else set())
    every = rows_of(graph, cones, hop, cones.moving.keys())
    left = frozenset(t for t, of in every.items() if of.kept) - {graph.inputs[0]}
    now = _costs(graph, cones, every, hop, own)
    steps = [Step(left, now[1])]
    while left:
        ways = sorted(left)
        if len(left) > _MOST:
            ways = ways[-1:]
        found = []
        for tensor in ways:
            fewer = left - {tensor}
            state, work = _costs(graph, cones, rows_of(graph, cones, hop, fewer), hop, own)
            more, saved = work - now[1], now[0] - state
            worth = more / saved if saved > 0 else float("inf")
            found.append((worth, tensor, fewer, (state, work)))
        _, _, left, now = min(found, key=lambda way: way[:2])
        steps.append(Step(left, now[1]))
    return steps[::-1]


def _costs(
    graph: Graph, cones: Cones, work: Mapping[int, Rows], hop: int, own: Collection[int]
) -> tuple[int, int]:
    """Bytes of state, of tensors that are our `own`, and multiplications of an invocation; what has none
    counts by its elements."""
    state = sum(_kept_bytes(graph, cones, t, of, hop) for t, of in work.items() if t in own)
    done = 0
    for op in graph.ops:
        if op.id not in cones.flows:
            continue
        made = op.outputs[0]
        rows = cones.moving[made].rows
        each = (op_macs(graph, op) or graph.tensors[made].elements) // rows
        done += each * _count(work[made].made)
    return state, done


def _kept_bytes(graph: Graph, cones: Cones, tensor: int, of: Rows, hop: int) -> int:
    if not of.kept:
        return 0
    moving = cones.moving[tensor]
    slots = of.slots(moving.period(hop), moving.shift(hop))
    return slots * graph.tensors[tensor].bytes // moving.rows


def _count(runs: Collection[range]) -> int:
    return sum(map(len, runs))
