"""What less RAM may cost by default."""

from __future__ import annotations

from dataclasses import dataclass

RATE = 4
"""Percent of the instructions that a percent of the RAM may cost."""

_MOST_FOR_FORMS, _RATE_FOR_FORMS = 1.05, 1
"""If smaller forms of kernels take more than so many times the instructions of the quickest ones, the
second number is the rate."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Bytes of arena and state, the instructions of a run's kernels as predicted, and what is `beside`
    them: cycles of waiting for slow flash, instructions of the step program."""

    ram: int
    instructions: int
    beside: int = 0

    @property
    def work(self) -> int:
        """All together."""
        return self.instructions + self.beside


def is_worth(less: Costs, than: Costs, quickest: int) -> bool:
    """Whether a plan may be the default instead of what `than` takes: it never is if it takes more work
    by more than `RATE` times the RAM it saves, as parts of the other's. The rate is lower if it takes
    many more instructions by its forms alone, than the `quickest` of its stages take."""
    rate = RATE if less.instructions <= _MOST_FOR_FORMS * quickest else _RATE_FOR_FORMS
    spent = (less.work - than.work) * than.ram
    saved = (than.ram - less.ram) * than.work
    return less.work <= than.work or spent <= rate * saved
