"""The best order of whole operators: split, search exactly, else bound and beam.

Why split: an operator that is an ancestor or descendant of every other one divides the order; what
comes before and after it is found on its own, and the peak is the larger of the parts'. A chain of a
thousand operators is a thousand trivial parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

from lowtide.arguments import number
from lowtide.effort import Budget, budget
from lowtide.ir import Graph
from lowtide.ir.liveness import in_arena
from lowtide.ir.soundness import graph_of
from lowtide.order.bitgraph import BitGraph, from_graph, restrict
from lowtide.order.bounds import best_isolated, relatives, structural, topological
from lowtide.order.improve import improve
from lowtide.order.search import Found, beam, exact
from lowtide.zoo.loading import Named, load

_WORK = 60_000_000
"""What may be spent by default: states looked at, times operators, since a state of more operators takes
longer; and arcs of networks looked at."""

_FIRST_SHARE, _LAST_SHARE = 0.05, 0.25
"""What part of it an exact search may spend, before and after the beam searches."""

_BEAM_WIDTHS = (4, 16, 64, 256)


@dataclass(frozen=True, slots=True)
class OrderResult:
    """An order of all operators (ids in the file), its peak, and what is proved about it.

    `peak_bytes` is never below `lower_bound_bytes`, which no order can beat.
    """

    peak_bytes: int
    lower_bound_bytes: int
    order: tuple[int, ...] = field(repr=False)

    @property
    def proved_optimal(self) -> bool:
        """True when no order has a smaller peak."""
        return self.peak_bytes == self.lower_bound_bytes

    @property
    def gap(self) -> float:
        """How far the peak can be from the optimum, as a fraction of the lower bound."""
        return self.peak_bytes / self.lower_bound_bytes - 1 if self.lower_bound_bytes else 0.0

    def __str__(self) -> str:
        proof = (
            "proved optimal"
            if self.proved_optimal
            else f"lower bound {self.lower_bound_bytes:,} B, gap at most {self.gap:.1%}"
        )
        return f"peak {self.peak_bytes:,} B ({proof})"


def best_order(model: Named | Graph, *, effort: float = 1.0) -> OrderResult:
    """Find the order of operators with the least peak memory (Liberis and Lane's problem).

    The order is exact, with proof, unless a part of the graph exceeds the search's budget of
    states. Then the result is the order of a beam search, with the best lower bound found. `effort`
    is a factor of that budget. If the file's order is already optimal, it is the result. Raises
    UsageError for an effort below 0.
    """
    effort = number("effort", effort, 0)
    graph = graph_of(model if isinstance(model, Graph) else load(model))
    work = budget(_WORK, effort)
    bg = from_graph(graph)
    # All inputs are there before anything runs, also those that nothing reads.
    floor = sum(t.bytes for t in (graph.tensors[i] for i in set(graph.inputs)) if in_arena(t))
    found = solve(bg, floor, work)
    assert found.order is not None
    peak, order = max(floor, found.peak), found.order
    given = tuple(range(bg.n))
    if max(floor, bg.peak(given)) <= peak:
        peak, order = max(floor, bg.peak(given)), given
    return OrderResult(peak, min(peak, max(floor, found.lower_bound)), order)


def solve(bg: BitGraph, floor: int, work: Budget) -> Found:
    """Least-peak order of `bg`, given that no order needs less than `floor` bytes.

    `work` is spent by the operators of every state looked at, and by `Network.max_flow`.
    """
    whole = work.left
    order: list[int] = []
    peak = bound = floor
    live = bg.base
    for done, part in _parts(bg):
        if len(part) == 1:
            order.append(part[0])
            peak, bound = max(peak, live + bg.out[part[0]]), max(bound, live + bg.out[part[0]])
        else:
            result = _solve_part(restrict(bg, done, part), bound, work, whole)
            assert result.order is not None
            order.extend(part[k] for k in result.order)
            peak, bound = max(peak, result.peak), max(bound, result.lower_bound)
        for op in part:
            live = bg.live_after(done, live, op)
            done |= 1 << op
    return Found(tuple(order), peak, bound)


def _parts(bg: BitGraph) -> list[tuple[int, list[int]]]:
    """(state before it, operators) of each independent part, in the order they must run."""
    above, below = relatives(bg)
    parts: list[tuple[int, list[int]]] = []
    done, pending = 0, []
    for op in topological(bg):
        if above[op] | below[op] | 1 << op != bg.all:
            pending.append(op)
            continue
        # Everything that can come before `op` must, so what is pending is a part of its own.
        if pending:
            parts.append((done, sorted(pending)))
            done |= sum(1 << i for i in pending)
            pending = []
        parts.append((done, [op]))
        done |= 1 << op
    if pending:
        parts.append((done, sorted(pending)))
    return parts


def _solve_part(bg: BitGraph, floor: int, work: Budget, whole: int) -> Found:
    """Exact if shares of the `whole` budget allow it; else the best of several searches and the
    strongest bound."""
    above, below = relatives(bg)
    promise = structural(bg, above, below)
    bound = max(floor, *promise)
    quick = beam(bg, width=4, backward=False, budget=work)
    # Parts list operators in the file's order, which is an order that works, if not a good one.
    order = quick.order or tuple(range(bg.n))
    peak = bg.peak(order)
    if peak <= bound:
        return Found(order, peak, bound)
    proof = exact(bg, bound, states=int(whole * _FIRST_SHARE) // bg.n, ceiling=peak, budget=work)
    bound = proof.lower_bound
    if proof.order is None and bound < peak:
        bound = best_isolated(bg, above, below, promise, bound, peak, work)
        for width, backward in product(_BEAM_WIDTHS, (False, True)):
            if peak <= bound or work.used_up:
                break
            start = beam(bg, width=width, backward=backward, budget=work)
            if start.order is not None:
                better, high = improve(bg, start.order, floor=bound, budget=work)
                if high < peak:
                    order, peak = better, high
        if bound < peak:
            states = int(whole * _LAST_SHARE) // bg.n
            proof = exact(bg, bound, states=states, ceiling=peak, budget=work)
            bound = proof.lower_bound
    if proof.order is not None:
        order, peak = proof.order, bg.peak(proof.order)
    return Found(order, peak, min(peak, bound))
