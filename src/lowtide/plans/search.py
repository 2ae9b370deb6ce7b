"""The best paths through the stages of a network, for every RAM there is.

A plan is a path over positions in the order of the operators, from edge to edge of a `Space`, its
operators in the quickest forms that its memory has room for. `ladder` walks memory from above: the
cheapest path whose edges all need less than the last path's peak, until there is none. This is exact
over the edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from lowtide.plans.edges import Edge
from lowtide.plans.space import Space
from lowtide.rows.prepare import Prepared
from lowtide.rows.stages import Choice

_STEP = 0.995
"""Each path of a ladder has at most this much of the last one's peak, as long as there is one."""


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """A plan: its edges, and in how many bytes the forms of each fit; the most that one of them needs in
    bytes, its MACs and its cost. If it is `lean`, operators are in their smallest forms where they have
    the least scratch memory in any case."""

    edges: tuple[Edge, ...]
    rooms: tuple[int, ...]
    peak: int
    macs: int
    cost: int
    lean: bool = False

    @property
    def blocks(self) -> int:
        """How many of the operators that run are blocks."""
        return sum(edge.blocks for edge in self.edges)

    @property
    def strips(self) -> bool:
        """Whether a stage runs in strips."""
        return any(edge.width is not None for edge in self.edges)

    def beats(self, other: Path) -> bool:
        """Whether the other one is better in nothing; to have no blocks is better, and so is to be lean,
        which may place better."""
        return (
            self.cost <= other.cost
            and self.peak <= other.peak
            and self.macs <= other.macs
            and (not self.blocks or other.blocks > 0)
            and (self.lean or not other.lean)
        )

    def leanest(self) -> Path:
        """The same, lean."""
        each = zip(self.edges, self.rooms, strict=True)
        return replace(self, lean=True, cost=sum(edge.leanest(room) for edge, room in each))

    @property
    def reserved(self) -> int:
        """The bytes that it needs before forms take what is free: see `Edge.reserved`."""
        found = 0
        for edge, room in sorted(zip(self.edges, self.rooms, strict=True), key=lambda of: -of[1]):
            if room <= found:
                break
            found = max(found, edge.least if self.lean else edge.reserved(room))
        return found

    @property
    def quickest(self) -> int:
        """The instructions that its kernels take with all operators in the quickest forms."""
        return sum(edge.cost - edge.waits - edge.between for edge in self.edges)


def ladder(space: Space, step: float = _STEP) -> Iterator[Path]:
    """Plans that nothing beats in peak and cost, the cheapest first, the last of least peak; `step` is
    as for `_STEP`. That one comes again, lean, which may place better.
    """
    path = cheapest(space)
    while path is not None:
        last = path
        yield path
        limit = path.peak - 1
        if limit < 0:  # no operators
            return
        path = cheapest(space, min(limit, int(path.peak * step))) or cheapest(space, limit)
        if path is None and (leanest := last.leanest()).cost > last.cost:
            yield leanest


def cheapest(
    space: Space,
    limit: int | None = None,
    more: Mapping[Edge, int] = MappingProxyType({}),
) -> Path | None:
    """The plan of least cost whose peak is at most `limit` bytes, and of those one of least peak.

    Of some edges `more` says how many bytes they need beyond what is live in them: rows have to be
    placed.
    """
    n = space.count
    most = _MOST if limit is None else limit
    best: list[tuple[int, int] | None] = [(0, 0)] + [None] * n
    came: list[tuple[Edge, int] | None] = [None] * (n + 1)
    for last in range(1, n + 1):
        least, peak = _MOST, _MOST
        for first, between in space.best[last - 1].items():
            before = best[first]
            if before is None or before[0] > least:
                continue
            for edge in between:
                if before[0] + edge.cost > least:
                    break  # those that follow cost more
                extra = more.get(edge, 0) if more else 0
                found = edge.within(most - extra)
                if found is None:
                    continue
                cost, need = before[0] + found[0], max(before[1], found[1] + extra)
                if cost < least or (cost == least and need < peak):
                    least, peak, came[last] = cost, need, (edge, found[1])
        best[last] = (least, peak) if least < _MOST else None
    end = best[n]
    if end is None:
        return None
    edges: list[Edge] = []
    rooms: list[int] = []
    at = n
    while at:
        step = came[at]
        assert step is not None
        edges.append(step[0])
        rooms.append(step[1])
        at = step[0].first
    beside = [more.get(edge, 0) for edge in edges]
    peak = _settle(edges, rooms, beside)
    macs = sum(edge.macs for edge in edges)
    costs = (edge.within(room) for edge, room in zip(edges, rooms, strict=True))
    cost = sum(found[0] for found in costs if found is not None)
    return Path(tuple(edges[::-1]), tuple(rooms[::-1]), peak, macs, cost)


def _settle(edges: Sequence[Edge], rooms: list[int], beside: Sequence[int]) -> int:
    """What a path needs, whose stages need so many bytes `beside` their `rooms`; these become less where
    only forms would need them that take what is free."""
    while rooms:
        needs = [room + more for room, more in zip(rooms, beside, strict=True)]
        need = max(needs)
        at = needs.index(need)
        least = max(edges[at].reserved(rooms[at]) + beside[at], *needs[:at], *needs[at + 1 :], 0)
        found = edges[at].within(least - beside[at])
        if least == need or found is None:
            return need
        rooms[at] = found[1]
    return 0


_MOST = 1 << 60


def choices_of(path: Path, ready: Prepared, most: int = _MOST) -> tuple[Choice, ...]:
    """The stages of a path; with `most`, in forms that fit in so many bytes, or the smallest where none
    do."""
    return tuple(
        ready.choice(
            edge.operators, edge.width, edge.limits(min(room, most), lean=path.lean), edge.go
        )
        for edge, room in zip(path.edges, path.rooms, strict=True)
    )
