"""What the bench of row plans does with one program: compile it once, then run it, count or look inside.

Why jobs: many rows read the same run (its RAM, its instructions, its flash), so rows say which `RowJob`s
they need, each is done once, in one of two processes, and rows are made of the `Outcome`s.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.shared.built import compile_only, count_macs
from bench.shared.outside import NeedsError
from bench.shared.programs import M4, Outcome, Program, end_of, path_of, problem_of
from bench.shared.work import in_two_processes, note
from lowtide.commands import checking
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.errors import LowtideError
from lowtide.ir.macs import graph_macs
from lowtide.machines.board import load_boards
from lowtide.machines.finding import TOOLCHAINS, find_program
from lowtide.report.deployment import ran_document
from lowtide.target import Target
from lowtide.zoo.loading import load

COUNTED = "counted"  # MACs of one inference on the host, counted by the kernels
TABLES = "tables"  # bytes of the step program's tables and of its interpreter

_SAMPLES = 4  # all kinds of inputs that lowtide makes: random, all least, all greatest, zero
_TABLES = ("rows", "ports", "nodes", "turns", "places", "codes", "tables", "kinds")


@dataclass(frozen=True, slots=True)
class RowJob:
    """One program, and `COUNTED`, `TABLES` or a board to run it on."""

    program: Program
    what: str = M4


RowOutcomes = Mapping[RowJob, Outcome]
"""`figures` has the plan's arena_bytes, peak_bytes, bound_bytes, macs and own_macs (the network's); for
`COUNTED` also counted_macs, for `TABLES` the bytes of each table, and "lowtide.o"."""


def do_all(jobs: Iterable[RowJob]) -> dict[RowJob, Outcome]:
    """Every job once, in two processes, with progress on stderr."""
    by_program: dict[Program, list[str]] = {}
    for job in dict.fromkeys(jobs):
        by_program.setdefault(job.program, []).append(job.what)
    outcomes: dict[RowJob, Outcome] = {}
    for progress, (program, found, seconds) in in_two_processes(_do_program, by_program.items()):
        outcomes |= {RowJob(program, what): outcome for what, outcome in found.items()}
        problem = next((o.problem for o in found.values() if o.problem), "fine")
        said = f"{program.label}, {program.schedule}: {problem} ({seconds:.1f} s)"
        note(f"{progress} programs done: {said}")
    return outcomes


def _do_program(
    task: tuple[Program, Sequence[str]],
) -> tuple[Program, dict[str, Outcome], float]:
    program, whats = task
    begin = time.perf_counter()
    boards = {what: load_boards()[M4 if what in (COUNTED, TABLES) else what] for what in whats}
    # As `lowtide run` does, for the board's core.
    targets = {board.core.target for board in boards.values()}
    compiled = {target: _compiled(program, target) for target in targets}
    found = {what: _do(compiled[boards[what].core.target], what) for what in whats}
    return program, found, time.perf_counter() - begin


def _compiled(program: Program, target: Target) -> Compiled | Exception:
    try:
        options = replace(program.options, target=target)
        return compile_model(load(path_of(program.network)), options)
    except (NeedsError, LowtideError, ValueError) as error:
        return error


def _do(compiled: Compiled | Exception, what: str) -> Outcome:
    try:
        if isinstance(compiled, Exception):
            raise compiled
        figures = _figures(compiled)
        if what == COUNTED:
            counted = {"counted_macs": count_macs(compiled)}
            return Outcome("done", figures=figures | counted)
        if what == TABLES:
            return Outcome("done", figures=figures | _tables(compiled))
        ran = checking.run(compiled, load_boards()[what], samples=_SAMPLES)
        return Outcome("done", problem_of(ran), figures=figures, document=ran_document(ran))
    except (NeedsError, LowtideError, ValueError) as error:
        return Outcome(*end_of(error))


def _figures(compiled: Compiled) -> dict[str, int]:
    own = graph_macs(compiled.graph)
    plan, placement = compiled.assembly.plan, compiled.assembly.placement
    return {
        "arena_bytes": compiled.arena_bytes,
        "peak_bytes": plan.peak_bytes if plan else compiled.order.peak_bytes,
        "bound_bytes": plan.lower_bound_bytes if plan else placement.lower_bound_bytes,
        "macs": plan.macs if plan else own,
        "own_macs": own,
    }


def _tables(compiled: Compiled) -> dict[str, int]:
    """Bytes of the step program for the M4: what `nm` says of its tables, and lowtide.o's code."""
    board = load_boards()[M4]
    name, files = compiled.name, compiled.files
    sources = (f"{name}.c", "lowtide.c")
    bundle = {n: text for n, text in files.items() if n.endswith(".h") or n in sources}
    nm = find_program("arm-none-eabi-nm", TOOLCHAINS["arm-none-eabi"].install)
    with tempfile.TemporaryDirectory(prefix="lowtide-") as folder:
        toolchain = board.core.toolchain
        compile_only(bundle, toolchain, Path(folder), *board.flags, board.optimise)
        own, code = (_symbols(nm, Path(folder, "bundle", s).with_suffix(".o")) for s in sources)
    found = {table: own.get(f"{name}_{table}", 0) for table in _TABLES}
    return {**found, "lowtide.o": sum(code.values())}


def _symbols(nm: str, item: Path) -> dict[str, int]:
    """Bytes of every symbol of an object file."""
    command = [nm, "--size-sort", "--radix=d", str(item)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = (line.split() for line in done.stdout.splitlines())
    return {symbol: int(size) for size, _, symbol in lines}
