"""Searches on the state graph: a path of least peak from "nothing done" to "all done".

The exact search asks: is there a path within B bytes? It starts with B at a proved lower bound and
looks from both ends at once, forward from "nothing done" and backward from "all done". When one end
has no state left to look at within B, no path exists within B, and B rises to the least value that
opens a new edge there. So when the two ends meet, B is the optimum, and whenever the search is
stopped, B is a lower bound. Two ends, because memory is often tight near one of them only: that end
runs dry at once where the other has exponentially many states to try.

What keeps it small is one dominance rule. In a state of f bytes, run a chain of operators (each
reads the one before) until at most f bytes are live again. If that fits in B, nothing is lost by
doing it at once: any path that does it later can be changed to do it here, because live bytes are
submodular (f(A and B) + f(A or B) <= f(A) + f(B)), and between the two ends of a chain lie only its
own prefixes. The same holds backward.

An edge is a stage: for now one operator, or a chain of them run one after the other.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from lowtide.effort import Budget
from lowtide.order.bitgraph import BitGraph, bits


@dataclass(frozen=True, slots=True)
class Found:
    """What a search knows: an order or none, its peak, and a bound that no order beats."""

    order: tuple[int, ...] | None
    peak: int
    lower_bound: int


@dataclass(frozen=True, slots=True)
class Edge:
    """A stage: the state it leads to, its peak bytes, live bytes after it, the operators it runs."""

    to: int
    peak: int
    live: int
    ops: tuple[int, ...]


class Direction(Protocol):
    """The state graph as seen from one end. A state is the mask of finished operators."""

    start: int
    base: int

    def ready(self, state: int) -> Iterator[int]:
        """Operators that the next edge may run (or undo)."""

    def step(self, state: int, live: int, op: int) -> tuple[int, int, int]:
        """(state, peak, live) of running (or undoing) `op` in a state with `live` bytes."""

    def opened(self, state: int, op: int) -> Iterator[int]:
        """Operators that can run (be undone) in `state` because `op` just was."""


class Forward:
    """From "nothing done": run operators."""

    def __init__(self, bg: BitGraph) -> None:
        self.bg = bg
        self.start = 0
        self.base = bg.base

    def ready(self, state: int) -> Iterator[int]:
        return self.bg.ready(state)

    def step(self, state: int, live: int, op: int) -> tuple[int, int, int]:
        return state | 1 << op, live + self.bg.out[op], self.bg.live_after(state, live, op)

    def opened(self, state: int, op: int) -> Iterator[int]:
        preds = self.bg.preds
        return (s for s in bits(self.bg.succs[op]) if preds[s] & state == preds[s])


class Backward:
    """From "all done": undo operators."""

    def __init__(self, bg: BitGraph) -> None:
        self.bg = bg
        self.start = bg.all
        self.base = sum(v.size for v in bg.values if v.kept)

    def ready(self, state: int) -> Iterator[int]:
        succs = self.bg.succs
        return (i for i in bits(state) if not succs[i] & state)

    def step(self, state: int, live: int, op: int) -> tuple[int, int, int]:
        before = self.bg.live_before(state, live, op)
        return state & ~(1 << op), before + self.bg.out[op], before

    def opened(self, state: int, op: int) -> Iterator[int]:
        succs = self.bg.succs
        return (p for p in bits(self.bg.preds[op]) if not succs[p] & state)


_MAX_CHAIN = 64


def _free_chain(view: Direction, state: int, live: int, op: int, limit: int) -> Edge | None:
    """The shortest chain from `op` after which at most `live` bytes are live, if within `limit`."""
    at, now, peak = state, live, 0
    ops = []
    for _ in range(_MAX_CHAIN):
        at, high, now = view.step(at, now, op)
        peak = max(peak, high)
        if peak > limit:
            return None
        ops.append(op)
        if now <= live:
            return Edge(at, peak, now, tuple(ops))
        ahead = [(view.step(at, now, s)[2], s) for s in view.opened(at, op)]
        if not ahead:
            return None
        op = min(ahead)[1]
    return None


def edges(view: Direction, state: int, live: int, limit: int) -> tuple[list[Edge], int | None]:
    """Edges out of a state that fit in `limit`; and the least peak among those that do not.

    A free chain within the limit is the only edge returned: it dominates all others.
    """
    found: list[Edge] = []
    above: int | None = None
    for op in view.ready(state):
        to, peak, after = view.step(state, live, op)
        if peak > limit:
            above = peak if above is None else min(above, peak)
        elif after <= live:
            return [Edge(to, peak, after, (op,))], None
        else:
            found.append(Edge(to, peak, after, (op,)))
    for edge in found:
        chain = _free_chain(view, state, live, edge.ops[0], limit)
        if chain is not None:
            return [chain], None
    return found, above


class _End:
    """One end of the exact search: states reached within the limit, and those waiting for more."""

    def __init__(self, view: Direction) -> None:
        self.view = view
        self.came: dict[int, tuple[int, tuple[int, ...]]] = {view.start: (view.start, ())}
        self.stack = [(view.start, view.base)]
        self.later: list[tuple[int, int, int]] = []  # (least peak of a new edge, state, live)

    def expand(self, limit: int, other: _End) -> int | None:
        """Look at one state; return a state that both ends have reached, if this shows one."""
        state, live = self.stack.pop()
        found, above = edges(self.view, state, live, limit)
        if above is not None:
            heapq.heappush(self.later, (above, state, live))
        found.sort(key=lambda edge: -edge.live)  # the fewest live bytes are looked at first
        for edge in found:
            if edge.to not in self.came:
                self.came[edge.to] = (state, edge.ops)
                if edge.to in other.came:
                    return edge.to
                self.stack.append((edge.to, edge.live))
        return None

    def reopen(self, limit: int) -> None:
        """Look again at the states that `limit` gives a new edge."""
        while self.later and self.later[0][0] <= limit:
            _, state, live = heapq.heappop(self.later)
            self.stack.append((state, live))

    def trace(self, state: int) -> list[int]:
        """Operators between this end's start and `state`, from the state outward."""
        ops: list[int] = []
        while state != self.view.start:
            state, run = self.came[state]
            ops.extend(reversed(run))
        return ops


def exact(
    bg: BitGraph, floor: int, *, states: int, ceiling: int | None = None, budget: Budget
) -> Found:
    """Least peak over all orders, starting from the proved lower bound `floor`.

    Gives up after expanding `states` states, when `budget` is used up (a state costs it one per
    operator), or when no order has a peak below `ceiling`; then `order` is None and `lower_bound` is
    what was proved by then. The memory taken grows with `states`, by about 300 bytes each.
    """
    limit = floor
    front, back = _End(Forward(bg)), _End(Backward(bg))
    for expanded in range(states):
        if budget.used_up:
            break
        budget.spend(bg.n)
        this, other = (front, back) if expanded & 1 else (back, front)
        if not this.stack:
            limit = max(limit, this.later[0][0])
            if ceiling is not None and limit >= ceiling:
                return Found(None, 0, ceiling)
            front.reopen(limit)
            back.reopen(limit)
        met = this.expand(limit, other)
        if met is not None:
            order = list(reversed(front.trace(met))) + back.trace(met)
            return Found(tuple(order), limit, limit)
    return Found(None, 0, limit)


def beam(
    bg: BitGraph, *, width: int, backward: bool, below: int | None = None, budget: Budget
) -> Found:
    """A good order: of the states with k operators finished, only the `width` best go on.

    Best is the least peak so far, then the fewest live bytes, looking from either end. With `below`,
    only orders of a smaller peak are looked for. `order` is None if none was found, or `budget` was
    used up before.
    """
    limit = below - 1 if below is not None else 1 << 62
    view: Direction = Backward(bg) if backward else Forward(bg)
    goal = bg.all ^ view.start
    # layers[k]: state k operators from the start -> (peak so far, live, where from, operators run)
    layers: list[dict[int, tuple[int, int, int, tuple[int, ...]]]] = [{} for _ in range(bg.n + 1)]
    layers[0][view.start] = (view.base, view.base, view.start, ())
    for layer in layers[:-1]:
        if budget.used_up:
            return Found(None, 0, 0)
        best = heapq.nsmallest(width, layer.items(), key=lambda item: item[1][:2])
        budget.spend(len(best) * bg.n)
        for state, (peak, live, _, _) in best:
            # Only what is free within the peak so far dominates; the rest competes in the beam.
            found, _ = edges(view, state, live, min(peak, limit))
            if len(found) != 1 or found[0].live > live:
                found, _ = edges(view, state, live, limit)
            for edge in found:
                reached = (max(peak, edge.peak), edge.live, state, edge.ops)
                target = layers[(edge.to ^ view.start).bit_count()]
                if edge.to not in target or reached[:2] < target[edge.to][:2]:
                    target[edge.to] = reached
    if goal not in layers[-1]:
        return Found(None, 0, 0)
    order: list[int] = []
    state = goal
    while state != view.start:
        _, _, state, ops = layers[(state ^ view.start).bit_count()][state]
        order.extend(reversed(ops))
    return Found(tuple(order if backward else reversed(order)), layers[-1][goal][0], 0)
