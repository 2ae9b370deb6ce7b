"""Some cases of every family in each run, many in soak runs; and that faults are found."""

from __future__ import annotations

import pytest

from .families import FAMILIES
from .oracle import differences
from .running import run


@pytest.mark.parametrize("family", FAMILIES)
def test_reference_is_that_of_the_interpreters(family: str) -> None:
    lines, asked = differences(family, 1, 24)
    assert lines == []
    assert sum(asked.values()) >= 12


@pytest.mark.parametrize("family", FAMILIES)
def test_some_cases(family: str) -> None:
    assert [str(found) for found in run(family, 1000, 1).finds] == []


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 6))
@pytest.mark.parametrize("family", FAMILIES)
def test_many_cases(family: str, seed: int) -> None:
    assert [str(found) for found in run(family, 100_000, seed).finds] == []
