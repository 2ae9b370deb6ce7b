"""Random networks of every generator with options drawn together; `make hunt` tries thousands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import hunting
from lowtide.commands import checking
from lowtide.commands.checking import Verified
from lowtide.oracle.interpreters import Difference

SEEDS = range(3)
FOUND = [("moving", 259), ("moving", 413), ("batch", 75), ("mutant", 621)]
"""Something was wrong in these: slices of constants, blocks of batches, carried rows that met."""
SOAK = range(50_000, 50_100)
BATCH = 10


def finds(generator: str, seeds: range) -> list[hunting.Outcome]:
    return [found for n in seeds if (found := hunting.outcome(generator, n)).is_find]


@pytest.mark.parametrize("name", hunting.GENERATORS)
def test_networks_of_every_generator(name: str) -> None:
    assert finds(name, SEEDS) == []


@pytest.mark.parametrize(("name", "seed"), FOUND)
def test_networks_that_were_finds(name: str, seed: int) -> None:
    assert finds(name, range(seed, seed + 1)) == []


@pytest.mark.soak
@pytest.mark.parametrize("name", hunting.GENERATORS)
@pytest.mark.parametrize("first", SOAK[::BATCH])
def test_many_networks_of_every_generator(name: str, first: int) -> None:
    assert finds(name, range(first, first + BATCH)) == []


def test_a_wrong_byte_is_a_find_that_says_what_repeats_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    verify = checking.verify

    def wrong(*given: Any, **named: Any) -> Verified:
        right = verify(*given, **named)
        tensor = right.compiled.graph.outputs[0]
        difference = Difference(0, tensor, 0, 1, 2)
        return replace(right, mismatch=checking.Mismatch(0, "ADD", difference))

    monkeypatch.setattr(checking, "verify", wrong)
    monkeypatch.setattr("sys.argv", ["hunting.py", "--repeat", "random:1"])
    assert hunting.main() == 1
    assert capsys.readouterr().out.startswith("WRONG: Mismatch(operator=0, type='ADD'")
