"""Random networks of operators that rearrange, compare, select, cast and count, against the oracle."""

from __future__ import annotations

import pytest

from lowtide.commands.checking import verify
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.tflite.read import parse
from wider_nets import wider_network

SOAK = range(1000, 1600)
BATCH = 20
WAYS = (
    Options(name="net", schedule="operators"),
    Options(name="net"),
    Options(name="net", max_overhead=3.0, simplify=False),
    Options(name="net", input_mode="streamed", output_mode="streamed"),
)


def check(seed: int) -> None:
    compiled = compile_model(
        parse(wider_network(seed), path=f"wider-{seed}"), WAYS[seed % len(WAYS)]
    )
    assert verify(compiled, samples=3).bit_exact, seed


@pytest.mark.parametrize("seed", range(8))
def test_wider(seed: int) -> None:
    check(seed)


@pytest.mark.soak
@pytest.mark.parametrize("first", SOAK[::BATCH])
def test_many_wider(first: int) -> None:
    for seed in range(first, first + BATCH):
        check(seed)
