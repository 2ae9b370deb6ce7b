"""Mutants of networks: each compiles, or is refused with one message; what compiles computes the same.

Why: shapes, types, scales and options that contradict one another reach every stage in ways that nobody
would write down. Effort bounds what a mutant may cost; only the soak, which tries thousands, has an
alarm as a last resort.
"""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lowtide.commands import checking
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.errors import FaultError, LowtideError
from lowtide.oracle.interpreters import OracleError
from lowtide.report.deployment import verified_text
from lowtide.tflite.read import parse
from mutants import mutant

EFFORT = 0.01
MODES = (
    Options(effort=EFFORT),
    Options(schedule="operators", effort=EFFORT),
    Options(input_mode="streamed", output_mode="streamed", effort=EFFORT),
    Options(input_mode="const", effort=EFFORT),
    Options(max_overhead=2.0, effort=EFFORT),
)
SEEDS = range(60)
SOAK = range(1000, 3000)
BATCH = 50
VERIFIED = 10
"""Of a batch, those that are verified: 400 in all, of which the oracle runs more than 300."""
_MOST_BYTES = 1 << 20
_SECONDS = 600
_ADDRESSES = 6 << 30


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "batch" in metafunc.fixturenames:
        given = metafunc.config.getoption("--seeds")
        seeds = range(*map(int, given.split(":"))) if given else SOAK
        batches = [seeds[at : at + BATCH] for at in range(0, len(seeds), BATCH)]
        metafunc.parametrize("batch", batches, ids=str)


def compiled(seed: int) -> Compiled | None:
    """The mutant as a program, if it is not refused."""
    try:
        model = parse(mutant(seed), path=f"mutant_{seed}")
        return compile_model(model, MODES[seed % len(MODES)])
    except FaultError:
        raise
    except LowtideError as error:
        cause, remedy = str(error).split("\n  remedy: ")
        assert "\n" not in cause + remedy, f"mutant {seed}"
        return None


def check(seed: int, program: Compiled) -> bool:
    """Compare every tensor with the oracle's; False if no oracle runs the mutant."""
    try:
        result = checking.verify(program, samples=None if program.state_bytes else 4, seed=seed)
    except OracleError:
        return False
    assert result.bit_exact, f"mutant {seed}: {verified_text(program, result)}"
    return True


@contextmanager
def limited(seed: int) -> Iterator[None]:
    """A mutant that hangs, or eats up all memory, fails by itself."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"mutant {seed}: no end after {_SECONDS} seconds")

    handler = signal.signal(signal.SIGALRM, stop)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, limits[1]))
    signal.alarm(_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGALRM, handler)


def test_mutants() -> None:
    """Of both kinds: the changes are neither too mild nor too rough to test anything."""
    programs = [program for seed in SEEDS if (program := compiled(seed)) is not None]
    assert len(SEEDS) // 5 <= len(programs) <= len(SEEDS) * 4 // 5


@pytest.mark.soak
def test_many_mutants(batch: range) -> None:
    verified = 0
    for seed in batch:
        with limited(seed):
            program = compiled(seed)
        if program is not None and verified < VERIFIED and program.ram_bytes <= _MOST_BYTES:
            verified += check(seed, program)
