"""Damaged files are refused in order, whatever the damage: a thousand seeded mutants of real files.

Each either loads, and can then be analysed, or raises ModelError with a cause and a remedy. No other
exception, no hang. What loads may describe an absurd network: sizes, shapes and graphs that no
converter makes.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import pytest
from guarded import guard

from lowtide.commands.analysis import analyze
from lowtide.errors import ModelError
from lowtide.ir import Model
from lowtide.tflite.read import parse
from networks import NETWORKS, contents

BATCHES = 40
MUTANTS = 25
EXTREMES = (0, 1, -1, 2**31 - 1, -(2**31), 2**16, 127, 128, 255, 256, 1 << 20, -2, 4)

Mutation = Callable[[bytearray, random.Random], None]


def place(source: bytearray, rng: random.Random) -> int:
    """A position: mostly near one of the file's ends, where writers put the tables."""
    near = min(len(source), rng.choice((64, 2048, 16384)))
    match rng.randrange(5):
        case 0 | 1:
            return rng.randrange(near)
        case 2 | 3:
            return len(source) - 1 - rng.randrange(near)
        case _:
            return rng.randrange(len(source))


def flip_bits(source: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        source[place(source, rng)] ^= 1 << rng.randrange(8)


def overwrite(source: bytearray, rng: random.Random) -> None:
    at, length = place(source, rng), rng.choice((1, 2, 4, 16, 256))
    source[at : at + length] = rng.randbytes(min(length, len(source) - at))


def fill(source: bytearray, rng: random.Random) -> None:
    at, length = place(source, rng), rng.choice((4, 64, 1024))
    source[at : at + length] = bytes([rng.choice((0, 255))]) * min(length, len(source) - at)


def set_integers(source: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 1, 4))):
        at = place(source, rng) // 4 * 4
        if at + 4 <= len(source):
            struct.pack_into("<i", source, at, rng.choice(EXTREMES))


def nudge_integers(source: bytearray, rng: random.Random) -> None:
    """Small changes of small numbers: tensor ids, dimensions, lengths, enumerations."""
    small = [
        at
        for at in range(place(source, rng) // 4 * 4, len(source) - 3, 4)[:500]
        if 0 <= struct.unpack_from("<i", source, at)[0] < 1000
    ]
    for at in rng.sample(small, min(len(small), rng.choice((1, 2, 5)))):
        (value,) = struct.unpack_from("<i", source, at)
        struct.pack_into("<i", source, at, value + rng.choice((-1, 1, 2, 100)))


def truncate(source: bytearray, rng: random.Random) -> None:
    del source[place(source, rng) :]


def splice(source: bytearray, rng: random.Random) -> None:
    """Copy a stretch elsewhere, or drop one so that all behind it moves."""
    start, target = place(source, rng), place(source, rng)
    length = rng.choice((4, 32, 512, 8192))
    if rng.random() < 0.5:
        stretch = source[start : start + length][: len(source) - target]
        source[target : target + len(stretch)] = stretch
    else:
        del source[start : start + length]


MUTATIONS: list[Mutation] = [
    flip_bits, flip_bits, overwrite, fill, set_integers, set_integers, nudge_integers,
    nudge_integers, truncate, splice,
]  # fmt: skip


def mutant(rng: random.Random) -> bytes:
    """A network's file with one to three mutations; mostly still called a .tflite file."""
    source = bytearray(contents(rng.choice(NETWORKS)))
    for _ in range(rng.choice((1, 1, 2, 3))):
        if source:
            rng.choice(MUTATIONS)(source, rng)
    if rng.random() < 0.95:
        source[4:8] = b"TFL3"
    return bytes(source)


def check_message(error: ModelError) -> None:
    cause, remedy = str(error).split("\n  remedy: ")
    assert cause == error.cause
    assert remedy == error.remedy
    for line in (cause, remedy):
        assert line.isprintable(), ascii(line)
        assert 0 < len(line) < 1_000
        assert "Traceback" not in line


def check_analysis(model: Model) -> None:
    found = analyze(model, effort=0.01)
    assert sorted(found.best_order.order) == list(range(len(model.graph.ops)))
    assert found.best.peak_bytes == found.best_order.peak_bytes <= found.peak_bytes
    assert found.best_order.lower_bound_bytes <= found.best_order.peak_bytes


@pytest.mark.parametrize("batch", range(BATCHES))
def test_mutants_load_or_are_refused(batch: int) -> None:
    rng = random.Random(f"mutants {batch}")
    for _ in range(MUTANTS):
        source = mutant(rng)
        with guard():
            try:
                model = parse(source)
            except ModelError as error:
                check_message(error)
            else:
                assert model.source == source
                check_analysis(model)


def test_mutants_are_of_both_kinds() -> None:
    """The mutations are neither too mild nor too rough to test anything."""
    rng = random.Random("kinds")
    refused = 0
    for _ in range(100):
        try:
            parse(mutant(rng))
        except ModelError:
            refused += 1
    assert 20 <= refused <= 80
