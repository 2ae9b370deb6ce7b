"""Whatever a file claims: done, or refused in one message, in bounded memory and with counted effort."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from effort import at_most
from hostile import KINDS, SHAPES, absurd, answer, damaged, within

_REPRO = Path(__file__).resolve().parents[3] / "shared" / "repro"
_MEMORY = 1 << 30
_CALLS = 12_000_000
_SOAK_CALLS = 400_000_000
"""Attention networks, of which some are damaged, place seven thousand rows."""
_SEEDS = range(60)
_BATCH = 100
_SOAK = range(1000, 11_000)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "batch" in metafunc.fixturenames:
        given = metafunc.config.getoption("--seeds")
        seeds = range(*map(int, given.split(":"))) if given else _SOAK
        batches = [seeds[at : at + _BATCH] for at in range(0, len(seeds), _BATCH)]
        metafunc.parametrize("batch", batches, ids=str)


def test_damaged_files() -> None:
    """Some are refused when they are read, some later, and some are done."""
    ends = {"read": 0, "later": 0, "done": 0}
    for seed in _SEEDS:
        with within(_MEMORY), at_most(_CALLS):
            codes = answer(damaged(seed), seed)
        ends["read" if codes == [3] else "later" if any(codes) else "done"] += 1
    assert min(ends.values()) > len(_SEEDS) // 20, ends


@pytest.mark.soak
def test_many_damaged_files(batch: range) -> None:
    for seed in batch:
        with within(_MEMORY), at_most(_SOAK_CALLS):
            answer(damaged(seed), seed)


def check_sizes(kind: str, numbers: Sequence[int]) -> None:
    """They agree with one another, so that only their size is wrong."""
    for number in numbers:
        with within(2 * _MEMORY), at_most(4 * _CALLS):
            answer(absurd(kind, SHAPES[number]), number)


@pytest.mark.parametrize("kind", KINDS)
def test_absurd_sizes(kind: str) -> None:
    """Each kind with one of the shapes."""
    check_sizes(kind, [KINDS.index(kind) % len(SHAPES)])


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_all_absurd_sizes(kind: str) -> None:
    check_sizes(kind, range(len(SHAPES)))


@pytest.mark.parametrize("path", sorted(_REPRO.glob("*.tflite")), ids=lambda path: path.stem)
def test_files_that_took_all_there_is(path: Path) -> None:
    for number in (0, 1):
        with within(_MEMORY), at_most(_CALLS):
            answer(path.read_bytes(), number)
