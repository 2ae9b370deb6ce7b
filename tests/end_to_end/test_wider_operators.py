"""Random networks of operators that rearrange, compare, select, cast and count, against the oracle."""

from __future__ import annotations

import pytest

from lowtide.commands.checking import verify
from lowtide.commands.compiling import Options, compile_model
from lowtide.tflite.read import parse
from wider_nets import wider_network

SOAK = range(1000, 1600)
BATCH = 20


def check(seed: int, schedule: str) -> None:
    assert schedule in ("rows", "operators")
    options = Options(schedule="rows" if schedule == "rows" else "operators", name="net")
    compiled = compile_model(parse(wider_network(seed), path=f"wider-{seed}"), options)
    result = verify(compiled, samples=3)
    assert result.bit_exact, (seed, schedule)


@pytest.mark.parametrize("seed", range(8))
def test_wider(seed: int) -> None:
    check(seed, "rows" if seed % 2 else "operators")


@pytest.mark.soak
@pytest.mark.parametrize("first", SOAK[::BATCH])
def test_many_wider(first: int) -> None:
    for seed in range(first, first + BATCH):
        check(seed, ("rows", "operators")[seed % 2])
