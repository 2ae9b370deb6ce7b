"""All plans that any command would place: known by their bounds until somebody has to know more.

A path through the stages says what its plan costs and needs, for stages in strips nearly. What its arena
is shows once its rows are placed, which takes long. So a question is answered in the order in which
bounds say that plans may be the answer, and plans are placed until one is sure to be: the answer is the
same as if all were placed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from lowtide.plans.edges import Edge
from lowtide.plans.placed import stage_tops
from lowtide.plans.placer import Draft, Placer, Point
from lowtide.plans.search import Path, cheapest, choices_of
from lowtide.plans.space import Space
from lowtide.rows.stages import Choice

_NEARLY = 0.75
"""Of what a path in strips costs and needs, its plan costs and needs at least this part."""

_NEAR = 1.02
"""A plan whose arena is at most so many times its peak is placed well enough."""

_TRIES, _MOST_TRIES = 3, 10
"""How many plans are tried in place of one whose rows lie above its peak; the second number while they
lie far above it."""

_FAR = 1.05
"""A plan whose arena is more than so many times its peak is placed badly."""

_LESS = (0.995, 0.99, 0.985)
"""In so much of its peak the kernels of such a plan are tried, too."""

_AS_COSTLY = 0.995
AS_LARGE = 1 / 3
"""In all likelihood a plan that is placed well costs at least so much of what it costs when it is placed
quickly, since forms for which there is no room in the one find little in the other; and its arena is
above its peak by at least so much of what it is above it then."""

_FULL = 0.8
"""The part of what lies below its highest row that a stage needs, for this to count as its need."""


@dataclass(eq=False)
class Candidate:
    """A path of a `space`, and, once they are asked for, the plans placed on its behalf: its own, and,
    if its rows lie above its peak, one of other stages and one of the same that place better. None of
    them costs less than the path's own but for what spare forms save, has fewer MACs or less that is
    live at the peak."""

    path: Path
    space: Space = field(repr=False)
    placer: Placer = field(repr=False)
    _reserved: int | None = None
    _choices: tuple[Choice, ...] | None = None
    _points: tuple[Point, ...] | None = None

    @property
    def is_exact(self) -> bool:
        """Whether its bounds are what its plan costs and needs."""
        return self._choices is not None or not self.path.strips

    @property
    def cost(self) -> int:
        """What its plans cost at least."""
        spared = self.placer.spared
        if self._choices is None:
            least = self.path.cost + self.placer.exchanged - spared
            return least if not self.path.strips else int(_NEARLY * least)
        return self.draft.cost - spared

    @property
    def peak(self) -> int:
        """What its plans' arenas are at least, in bytes."""
        if self._choices is not None:
            return self.draft.peak_bytes
        if self.path.strips:
            return int(_NEARLY * self.path.peak)
        if self._reserved is None:
            self._reserved = self.path.reserved
        return self._reserved

    @property
    def waits(self) -> int:
        """How many of these are cycles of waiting for slow flash."""
        if self._choices is None:
            waits = sum(edge.waits for edge in self.path.edges)
            return waits if not self.path.strips else int(_NEARLY * waits)
        return self.draft.waits

    @property
    def between(self) -> int:
        """How many of these are instructions of the step program, between the steps of kernels."""
        if self._choices is None:
            least = self.placer.exchanged + sum(edge.between for edge in self.path.edges)
            return least if not self.path.strips else int(_NEARLY * least)
        return self.draft.between

    @property
    def macs(self) -> int:
        """What its plans compute at least."""
        return self.path.macs

    @property
    def draft(self) -> Draft:
        """Its own plan, before it is placed."""
        if self._choices is None:
            self._choices = choices_of(self.path, self.placer.ready)
        return self.placer.draft(self._choices)

    @property
    def quick(self) -> Point:
        """Its own plan, placed quickly."""
        return self.placer.place(self.draft.rows.choices, quick=True)

    @property
    def likely_cost(self) -> int:
        """What its plans cost at least, in all likelihood; known once it is placed quickly."""
        return max(self.cost, int(_AS_COSTLY * self.quick.cost) - self.placer.spared)

    @property
    def above(self) -> int:
        """By how much its arena is above its peak when it is placed quickly."""
        return self.quick.arena_bytes - self.draft.peak_bytes

    @property
    def likely_arena(self) -> int:
        """What its plans' arenas are at least, in all likelihood; known once it is placed quickly."""
        return self.draft.peak_bytes + int(AS_LARGE * self.above)

    @property
    def points(self) -> tuple[Point, ...]:
        """Its plans, placed."""
        if self._points is None:
            self._points = tuple(self._made())
        return self._points

    def _made(self) -> Iterator[Point]:
        own = self.draft
        assert self._choices is not None
        well = self.placer.place(self._choices)
        yield well
        if self.quick.cost < well.cost:  # there is more room for forms
            yield self.quick
        for best in dict.fromkeys((self._tried(own), self._leaner(own))):
            if best != self._choices:
                yield self.placer.place(best)

    def _leaner(self, own: Draft) -> tuple[Choice, ...]:
        """Its stages in the forms that place best, by quick tries: scratch memory has to find room in
        every step, beside rows that lie where they did before."""
        best = self.quick
        if best.arena_bytes > own.peak_bytes * _NEAR:
            for part in _LESS:
                most = int(part * own.peak_bytes)
                choices = choices_of(self.path, self.placer.ready, most)
                if not _is_beyond(self.placer.draft(choices), own):
                    break
                best = min(best, self.placer.place(choices, quick=True), key=_arena)
        return best.choices

    def _tried(self, own: Draft) -> tuple[Choice, ...]:
        """The stages that place best, by quick tries."""
        assert self._choices is not None
        best = self.quick
        low, more = own.peak_bytes, _beyond(self.path, best)
        for tried in range(_MOST_TRIES):
            if best.arena_bytes <= low * (_NEAR if tried < _TRIES else _FAR):
                break
            limit = (low + best.arena_bytes - 1) // 2
            path = cheapest(self.space, limit, more)
            choices = None if path is None else choices_of(path, self.placer.ready)
            if path is None or choices is None or not _is_beyond(self.placer.draft(choices), own):
                low = limit + 1
                continue
            point = self.placer.place(choices, quick=True)
            for edge, extra in _beyond(path, point).items():
                more[edge] = max(extra, more.get(edge, 0))
            if point.arena_bytes < best.arena_bytes:
                best = point
        return best.choices


def in_turn(
    candidates: Iterable[Candidate], rank: Callable[[Candidate], tuple[int, ...]]
) -> Iterator[Candidate]:
    """The candidates by `rank`, the least first, each with exact bounds."""
    heap = [(rank(of), number, of) for number, of in enumerate(candidates)]
    heapify(heap)
    while heap:
        _, number, of = heappop(heap)
        if of.is_exact:
            yield of
        else:
            _ = of.draft
            heappush(heap, (rank(of), number, of))


def _is_beyond(other: Draft, own: Draft) -> bool:
    """Whether another plan keeps the promise of `Candidate`."""
    return other.peak_bytes >= own.peak_bytes and other.cost >= own.cost and other.macs >= own.macs


def _arena(point: Point) -> int:
    return point.arena_bytes


def _beyond(path: Path, point: Point) -> dict[Edge, int]:
    """By stage, the bytes that it needs beyond what is live in it, once it is placed.

    Rows of a stage that needs little may lie high because there is room. So only stages count that need
    nearly all below their highest row, and of those that reach the top the largest.
    """
    tops = stage_tops(point.placed)
    rooms = (
        edge.least if path.lean else max(room, edge.least)
        for room, edge in zip(path.rooms, path.edges, strict=True)
    )
    needs = list(zip(tops, rooms, path.edges, strict=True))
    highest = max(((top, need) for top, need, _ in needs), default=(0, 0))
    return {
        edge: top - need
        for top, need, edge in needs
        if top > need and (need >= _FULL * top or (top, need) == highest)
    }
