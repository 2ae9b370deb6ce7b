"""Stages as edges of the search: what one needs and costs, in whatever forms there is room for.

Kernels have forms with more and with less scratch memory (`Node.forms`); the more, the faster. Scratch
memory matters only in the steps of its operator: where little else is live, there is room for more. So
an edge has not one peak but stairs: for each amount of memory, the least that the stage costs in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from lowtide.lower.nodes import NORMAL
from lowtide.rows.stages import Limit


@dataclass(frozen=True, slots=True)
class Formed:
    """Some steps of an operator in a stage, from `step` on, form by form: the most that is live in them,
    what they cost, and the limit of scratch memory that picks the form (`Limit.bytes`). Forms come by
    their scratch memory, the least first. `wholes` are the costs of all steps, if these are not all."""

    operator: int
    needs: Sequence[int]
    costs: Sequence[int]
    limits: Sequence[int]
    step: int = 0
    wholes: Sequence[int] = ()

    def within(self, room: int) -> int:
        """The cheapest form that fits, of equal ones that of least scratch memory; the smallest if none
        fits."""
        fits = [at for at, need in enumerate(self.needs) if need <= room]
        if not fits:
            return min(range(len(self.needs)), key=lambda at: (self.needs[at], self.costs[at]))
        wholes = self.wholes or self.costs  # shares are rounded
        return min(fits, key=lambda at: (self.costs[at], wholes[at], self.needs[at]))


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """Groups [first, last) as one stage, in strips of `width` columns if that is not None, or else `go`
    rows in a go.

    `operators` are those that run, of which `blocks` are blocks, in place of what they stand for. In
    the quickest forms it costs `cost` and needs `peak` bytes; no form needs less than `least` bytes. Of
    the cost, `waits` are cycles of waiting for slow flash, in any form, and `between` instructions of
    the step program, which goes from one operator to another.
    `formed` works out those of its operators that have several, an operator's steps in their order.
    """

    first: int
    last: int
    width: int | None
    macs: int
    operators: tuple[int, ...]
    blocks: int
    cost: int
    peak: int
    least: int
    formed: Callable[[], Sequence[Formed]] = field(default=tuple, repr=False)
    go: int = 1
    waits: int = 0
    between: int = 0
    _known: list[list[tuple[int, int]]] = field(default_factory=list, repr=False)

    def within(self, room: int) -> tuple[int, int] | None:
        """What it costs in at most `room` bytes, and the least bytes in which it costs as much; None if
        there are too few."""
        if room >= self.peak:
            return self.cost, self.peak
        if room < self.least:
            return None
        at = len(self._stairs)
        while self._stairs[at - 1][0] > room:
            at -= 1
        need, cost = self._stairs[at - 1]
        return cost, need

    def reserved(self, room: int) -> int:
        """The bytes that it needs before forms take what is free: each operator has in all its steps as
        much scratch memory as in those in which it has the least. At most `room`, which picks the
        forms."""
        found = self.least
        for parts in self._by_operator():
            form = min(of.within(room) for of in parts)
            found = max(found, *(of.needs[form] for of in parts))
        return min(room, found)

    def leanest(self, room: int) -> int:
        """What it costs in so many bytes if operators are in their smallest form where they have the
        least scratch memory in any case."""
        picked = self._picked(room, lean=True)
        formed = sum(of.costs[form] for of, form in picked)
        return self.cost - sum(min(of.costs) for of, _ in picked) + formed

    def limits(self, room: int, *, lean: bool) -> tuple[Limit, ...]:
        """The scratch memory that operators may take in so many bytes, but for those in their normal
        form; `lean` is as for `leanest`."""
        picked = self._picked(room, lean=lean)
        each = [Limit(of.operator, of.limits[form], of.step) for of, form in picked]
        other = {limit.operator for limit in each if limit.bytes != NORMAL}
        found: list[Limit] = []
        for limit in each:
            last = found[-1] if found else None
            goes_on = last is not None and replace(last, step=limit.step) == limit
            if limit.operator in other and not goes_on:
                found.append(limit)
        return tuple(found)

    def _picked(self, room: int, *, lean: bool) -> list[tuple[Formed, int]]:
        found: list[tuple[Formed, int]] = []
        for parts in self._by_operator():
            forms = [of.within(room) for of in parts]
            least = min(forms) if lean else -1
            found += [
                (of, 0 if form == least else form) for of, form in zip(parts, forms, strict=True)
            ]
        return found

    def _by_operator(self) -> list[list[Formed]]:
        return [list(parts) for _, parts in groupby(self.formed(), lambda of: of.operator)]

    @property
    def _stairs(self) -> list[tuple[int, int]]:
        """(bytes, cost), the fewest bytes first."""
        if not self._known:
            self._known.append(self._made_stairs())
        return self._known[0]

    def _made_stairs(self) -> list[tuple[int, int]]:
        now: list[int] = []
        wider: list[tuple[int, int, int]] = []  # a need, whose, and the cost from there on
        for at, of in enumerate(self.formed()):
            each = list(zip(of.needs, of.costs, strict=True))
            now.append(min(cost for need, cost in each if need <= self.least))
            wider += [(need, at, cost) for need, cost in each if need > self.least]
        total = self.cost - sum(min(of.costs) for of in self.formed()) + sum(now)
        found = [(self.least, total)]
        for need, at, cost in sorted(wider):
            if cost < now[at]:
                total += cost - now[at]
                now[at] = cost
                if found[-1][0] == need:
                    found.pop()
                found.append((need, total))
        return found


def unbeaten(edges: Sequence[Edge]) -> dict[int, list[Edge]]:
    """By first group, the edges that no other is better than in any memory, the cheapest first."""
    best: dict[int, list[Edge]] = {}
    for edge in sorted(edges, key=lambda e: (e.cost, e.peak, e.least)):
        others = best.setdefault(edge.first, [])
        if not any(_beats(other, edge) for other in others):
            others.append(edge)
    return best


def _beats(other: Edge, edge: Edge) -> bool:
    """Whether `other`, which costs no more, does so in the least memory that `edge` can run in. (Of
    those that do so in some forms only, most are kept: stairs take longer to make than to go past.)"""
    return other.peak <= edge.least
