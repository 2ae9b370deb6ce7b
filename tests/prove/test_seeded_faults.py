"""A fault in a program's tables is caught, unless no kernel reads anything else because of it.

One number of the C is another one. Either the proof fails, or every row that an operator's kernel reads
or makes has the labels of one that it touches without the fault: then the fault is none (a row lies
elsewhere, where it is as well off; a step is left out that makes what nobody reads; a move takes bytes
along that nobody needs). Planted faults of planning, in whole programs, are in tests/rows and
tests/program.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest
from faults import Fault, faults

from lowtide.commands.compiling import Compiled
from lowtide.commands.options import Options
from lowtide.ir.state import SHIFT_ROWS
from lowtide.machines.board import find_target
from lowtide.prove.proof import ProofError
from networks import compiled, shared_models
from proving import claims, in_batches, kept_in_strips, touched

STREAMS = Options(input_mode="streamed", output_mode="streamed")

PROGRAMS: Mapping[str, Callable[[], Compiled]] = {
    "figure1": lambda: compiled("figure1"),
    "kept rows in strips": lambda: kept_in_strips(),
    "kept rows, streamed": lambda: kept_in_strips(STREAMS, None),
    "blocks 4x2": lambda: kept_in_strips(Options(target=find_target("cortex-m4"))),
    "blocks vector": lambda: kept_in_strips(Options(target=find_target("cortex-m55"))),
    "strips": lambda: compiled(6, Options(max_overhead=3.0)),
    "moves": lambda: compiled(
        "branchy-cell", Options(schedule="operators", allocator="compacting")
    ),
    "state": lambda: compiled("streaming-wake-word"),
    "sound": lambda: compiled("audio-front-end"),
    "lstm": lambda: compiled("lstm-gestures", Options(input_mode="const")),
    "attention": lambda: compiled("attention-block"),
    "batches": lambda: in_batches(),
    "streams": lambda: compiled("ds-cnn-kws", STREAMS),
}

FEW = 5
"""Of each program; in the soak, with `MANY`, more than 1,000 in all."""
MANY = 90


def check(program: Compiled, count: int, seed: int) -> dict[str, int]:
    """Try so many faults of all kinds; how many were caught, and how many are none."""
    code = program.files[f"{program.name}.c"].decode()
    kinds: dict[str, list[Fault]] = {}
    for fault in faults(code, program.name):
        kinds.setdefault(fault.where, []).append(fault)
    told = claims(program)
    computing = {
        number
        for number, node in enumerate(told.nodes)
        if any(program.graph.ops[op].type != SHIFT_ROWS for op in node.operators)
    }
    sound = set(touched(program.graph, program.files, program.name, told))
    rng = random.Random(seed)
    counts = {"caught": 0, "none": 0}
    for _ in range(count):
        fault = rng.choice(kinds[rng.choice(sorted(kinds))])
        changed = fault.in_(code, rng)
        files = {**program.files, f"{program.name}.c": changed.encode()}
        try:
            found = touched(program.graph, files, program.name, told)
        except ProofError:
            counts["caught"] += 1
            continue
        other = [row for row in found if row not in sound and row[0] in computing]
        line = changed.splitlines()[changed.count("\n", 0, fault.start)]
        assert other == [], f"{fault.where}: {code[fault.start : fault.stop]} became {line.strip()}"
        counts["none"] += 1
    return counts


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_few_faults(program: str) -> None:
    counts = check(PROGRAMS[program](), FEW, 1)
    assert counts["caught"] >= 1


@pytest.mark.soak
@pytest.mark.parametrize("program", PROGRAMS)
def test_many_faults(program: str) -> None:
    counts = check(PROGRAMS[program](), MANY, 2)
    assert counts["caught"] > MANY // 4


def test_there_are_faults_of_all_tables() -> None:
    """So that all this cannot come to say nothing."""
    programs = [PROGRAMS[name]() for name in ("kept rows in strips", "moves", "state", "sound")]
    found = {
        fault.where
        for program in programs
        for fault in faults(program.files[f"{program.name}.c"].decode(), program.name)
    }
    tables = {
        "rows",
        "ports",
        "nodes",
        "turns",
        "places",
        "codes",
        r"shifts_\d+",
        "strip",
        "functions",
    }
    assert tables <= found
    assert {"lt_block_s8.kept", "lt_block_s8.pad_top", "lt_slide.bytes"} <= found


@pytest.mark.skipif(not shared_models(), reason="needs the real models")
def test_faults_of_a_real_network() -> None:
    check(compiled("mlperf_vww_96_int8", STREAMS), FEW, 3)
