"""Effort: how much work a search may do, counted and never timed.

Why: a search that stops by the clock gives one answer on a fast computer and another on a slow or busy
one. Here every search counts its elementary work (states expanded, rows weighed, arcs looked at)
against a `Budget`, so that the same model, options and version give the same result on any machine.
What users give is a factor, `--effort`: 1 is the default, in which common networks are searched
completely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

_watchers: list[Callable[[Budget], None]] = []


@contextmanager
def watched(begun: Callable[[Budget], None]) -> Iterator[None]:
    """Have `begun` told of each budget as it is given out, so that somebody can say how far a search
    is. Nothing that is searched for depends on it."""
    _watchers.append(begun)
    try:
        yield
    finally:
        _watchers.remove(begun)


@dataclass(slots=True)
class Budget:
    """What a search may still spend, in units of its own. It says when the search must end: what is
    begun is brought to its end, so that `left` may fall below 0."""

    left: int
    whole: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        self.whole = self.left
        for begun in _watchers:
            begun(self)

    @property
    def part_spent(self) -> float:
        """How much of it is spent, from 0 to 1: most searches end before all is."""
        return min(1.0, 1 - self.left / self.whole) if self.whole > 0 else 1.0

    def spend(self, work: int) -> None:
        """Note that so much was done."""
        self.left -= work

    @property
    def used_up(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0


def budget(units: int, effort: float) -> Budget:
    """`effort` times the `units` that a search may spend by default."""
    return Budget(int(units * effort))
