"""All plans that any command would place: known by their bounds until somebody has to know more.

A path through the stages says what its plan costs, and that its arena is no smaller than its peak. What
its arena is shows once its rows are placed, which takes long. So a question is answered in the order in
which bounds say that plans may be the answer, and plans are placed until one is sure to be: the answer
is the same as if all were placed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lowtide.plans.edges import Edge
from lowtide.plans.placed import stage_tops
from lowtide.plans.placer import Placer, Point
from lowtide.plans.search import Path, cheapest, choices_of
from lowtide.plans.space import Space

_NEAR = 1.02
"""A plan whose arena is at most so many times its peak is placed well enough."""

_FULL = 0.8
"""The part of what lies below its highest row that a stage needs, for this to count as its need."""


@dataclass(eq=False)
class Candidate:
    """A path of a `space`, and, once they are asked for, the plans placed on its behalf: its own, and, if
    its rows lie above its peak, one that places better. None of them has less arena than the path's
    peak, a lower cost, or fewer MACs."""

    path: Path
    space: Space
    placer: Placer = field(repr=False)
    _points: tuple[Point, ...] | None = None

    @property
    def is_placed(self) -> bool:
        """Whether its plans are placed."""
        return self._points is not None

    @property
    def points(self) -> tuple[Point, ...]:
        """Its plans, which are placed if they are not yet."""
        return self.place()

    def place(self) -> tuple[Point, ...]:
        """The same."""
        if self._points is None:
            self._points = tuple(self._made())
        return self._points

    def _made(self) -> Iterator[Point]:
        ready, path = self.placer.ready, self.path
        point = self.placer.place(choices_of(path, ready))
        yield point
        if point.arena_bytes > path.peak * _NEAR:
            more = _beyond(path, point)
            limit = (path.peak + point.arena_bytes - 1) // 2
            other = cheapest(self.space, limit, more)
            if other is not None and _is_beyond(other, path):
                yield self.placer.place(choices_of(other, ready))


def _is_beyond(other: Path, path: Path) -> bool:
    return (
        max(other.rooms) >= path.peak and other.cost >= path.cost and other.macs >= path.macs
    )


def _beyond(path: Path, point: Point) -> dict[Edge, int]:
    """By stage, the bytes that it needs beyond what is live in it, once it is placed.

    Rows of a stage that needs little may lie high because there is room. So only stages count that need
    nearly all below their highest row, and of those that reach the top the largest.
    """
    tops = stage_tops(point.placed)
    needs = list(zip(tops, path.rooms, path.edges, strict=True))
    highest = max(((top, need) for top, need, _ in needs), default=(0, 0))
    return {
        edge: top - need
        for top, need, edge in needs
        if top > need and (need >= _FULL * top or (top, need) == highest)
    }
