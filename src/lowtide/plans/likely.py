"""What plans need in all likelihood: known of some because they were placed, and expected of the others.

Why: the order in which plans are tried decides how many of them must be placed well, which takes ten
times as long as placing them quickly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lowtide.plans.candidates import AS_LARGE, Candidate

_ENOUGH = 3
"""So many plans that are placed show what is to be expected of the others."""


@dataclass(eq=False)
class Looks:
    """Which plans were placed `quickly`, and which of them `well`."""

    quickly: set[Candidate] = field(default_factory=set)
    well: set[Candidate] = field(default_factory=set)
    _parts: list[float] = field(default_factory=list)
    _left: list[float] = field(default_factory=list)

    def look(self, of: Candidate) -> None:
        """Place a plan quickly, or well if that was done."""
        if of not in self.quickly:
            self.quickly.add(of)
            self._parts.append(of.above / (of.peak or 1))
            return
        self.well.add(of)
        if of.above:
            least = min(point.arena_bytes for point in of.points)
            self._left.append((least - of.peak) / of.above)

    def above(self, of: Candidate) -> int:
        """By how many bytes a plan that is not placed well lies above its peak once it is: by the usual
        part of what it is when it is placed quickly; if it is not, by that part of what others are."""
        quick = of.above if of in self.quickly else int(_usual(self._parts, 0.0) * of.peak)
        return int(_usual(self._left, AS_LARGE) * quick)


def _usual(known: Sequence[float], at_first: float) -> float:
    """The median, the lower one of two; another number as long as little is known."""
    return sorted(known)[(len(known) - 1) // 2] if len(known) >= _ENOUGH else at_first
