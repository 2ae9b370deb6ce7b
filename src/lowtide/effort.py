"""Effort: how much work a search may do, counted and never timed.

Why: a search that stops by the clock gives one answer on a fast computer and another on a slow or busy
one. Here every search counts its elementary work (states expanded, rows weighed, arcs looked at)
against a `Budget`, so that the same model, options and version give the same result on any machine.
What users give is a factor, `--effort`: 1 is the default, in which common networks are searched
completely.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Budget:
    """What a search may still spend, in units of its own. It says when the search must end: what is
    begun is brought to its end, so that `left` may fall below 0."""

    left: int

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
