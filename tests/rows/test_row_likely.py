"""What plans are expected to need, from those that were placed."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from lowtide.plans.candidates import AS_LARGE
from lowtide.plans.likely import Looks


@dataclass(eq=False)
class Plan:
    """A plan whose rows lie `above` its peak when it is placed quickly, and `well` above it later."""

    peak: int
    above: int
    well: int

    @property
    def points(self) -> tuple[Any, ...]:
        """Its own, and one that lies higher."""
        return tuple(SimpleNamespace(arena_bytes=self.peak + self.well + at) for at in (9, 0))


def looked(looks: Any, plans: list[Plan], *, times: int) -> None:
    for plan in plans * times:
        looks.look(plan)


def test_little_is_expected_at_first() -> None:
    looks: Any = Looks()
    plans = [Plan(1_000, 90, 60), Plan(1_000, 300, 60)]
    looked(looks, plans, times=1)
    assert looks.above(Plan(2_000, 500, 0)) == 0  # two plans show nothing yet
    assert [looks.above(plan) for plan in plans] == [int(AS_LARGE * 90), int(AS_LARGE * 300)]


def test_plans_are_expected_to_be_as_others() -> None:
    looks: Any = Looks()
    plans = [Plan(1_000, 100, 50), Plan(1_000, 200, 80), Plan(1_000, 400, 300)]
    looked(looks, plans, times=1)
    other = Plan(2_000, 1, 1)
    assert looks.above(other) == int(AS_LARGE * 2_000 * 0.2)
    looked(looks, plans, times=1)  # of 100, 200 and 400 bytes, 0.5, 0.4 and 0.75 are left
    assert looks.above(other) == pytest.approx(0.5 * 2_000 * 0.2)
    looks.look(other)
    assert looks.above(other) == 0  # half of a byte
    assert looks.well == set(plans) and looks.quickly == {*plans, other}


def test_plans_at_their_peaks_show_nothing_of_others() -> None:
    looks: Any = Looks()
    looked(looks, [Plan(1_000, 0, 0) for _ in range(4)], times=2)
    fresh = Plan(1_000, 30, 0)
    assert looks.above(fresh) == 0
    looks.look(fresh)
    assert looks.above(fresh) == int(AS_LARGE * 30)
