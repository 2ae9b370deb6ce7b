"""What less RAM may cost by default."""

from __future__ import annotations

from dataclasses import dataclass

RATE = 4
"""Percent of the instructions that a percent of the RAM may cost."""

_MOST_FOR_FORMS = 1.05
"""Smaller forms of kernels may take so many times the instructions of the quickest ones."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Bytes of arena and state, and the instructions of a run as predicted."""

    ram: int
    instructions: int


def is_worth(less: Costs, than: Costs, quickest: int) -> bool:
    """Whether a plan may be the default instead of what `than` takes: it never is if it takes more
    instructions by more than `RATE` times the RAM it saves, as parts of the other's, or by its forms
    alone: those of the same plan with the `quickest` forms are no plan of their own."""
    if less.instructions > _MOST_FOR_FORMS * quickest:
        return False
    spent = (less.instructions - than.instructions) * than.ram
    saved = (than.ram - less.ram) * than.instructions
    return less.instructions <= than.instructions or spent <= RATE * saved
