"""Random networks for more than one image at a time, in every way of running them."""

from __future__ import annotations

import pytest

from lowtide.commands.checking import verify
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.tflite.read import parse
from random_nets import random_network

SOAK = range(2000, 2120)
WAYS = (
    Options(),
    Options(schedule="operators"),
    Options(input_mode="streamed", output_mode="streamed"),
    Options(input_mode="const", max_overhead=4.0),
    Options(max_overhead=2.0, simplify=False),
    Options(rounding="litert", preserve_input=True),
)


def check(seed: int) -> None:
    batch, options = 2 + seed % 2, WAYS[seed % len(WAYS)]
    model = parse(random_network(seed, batch), path=f"batch-{seed}")
    compiled = compile_model(model, options)
    assert verify(compiled, samples=2).bit_exact, seed


@pytest.mark.parametrize("seed", range(12))
def test_batches(seed: int) -> None:
    check(seed)


@pytest.mark.soak
@pytest.mark.parametrize("first", SOAK[::20])
def test_many_batches(first: int) -> None:
    for seed in range(first, first + 20):
        check(seed)


def test_rows_of_one_image_are_enough() -> None:
    """The second image is read after the first has gone through: it costs rows, not a map."""
    options = Options(input_mode="streamed", output_mode="streamed")
    one, two = (
        compile_model(parse(random_network(3, batch), path="net"), options) for batch in (1, 4)
    )
    assert two.arena_bytes < 2 * one.arena_bytes
