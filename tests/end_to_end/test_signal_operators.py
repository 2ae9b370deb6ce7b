"""Random networks of signal operators, against TFLM, their state carried from call to call."""

from __future__ import annotations

import pytest

from lowtide.commands.checking import verify
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.tflite.read import parse
from signal_nets import signal_network

SOAK = range(1000, 1200)
BATCH = 20


def check(seed: int) -> None:
    options = Options(schedule=("rows", "operators")[seed % 2], name="net")
    compiled = compile_model(parse(signal_network(seed), path=f"signal-{seed}"), options)
    result = verify(compiled, samples=12, seed=seed)
    assert result.bit_exact, (seed, result.mismatch)


@pytest.mark.parametrize("seed", range(6))
def test_signal_networks(seed: int) -> None:
    check(seed)


@pytest.mark.soak
@pytest.mark.parametrize("first", SOAK[::BATCH])
def test_many_signal_networks(first: int) -> None:
    for seed in range(first, first + BATCH):
        check(seed)
