"""What the bench of row plans does with one program: compile it once, then run it, count or look inside.

Why jobs: many rows read the same run (its RAM, its instructions, its flash), so rows say which `Job`s
they need, each is done once, in one of two processes, and rows are made of the `Outcome`s.
"""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from lowtide import deploy, pipeline
from lowtide.compiler import Compiled, Options, compile_model
from lowtide.emit.assemble import InputMode, Schedule
from lowtide.errors import LowtideError, MissingToolError
from lowtide.ir.macs import graph_macs
from lowtide.report.deployment import ran_document, ran_text
from lowtide.run.board import load_boards
from lowtide.run.toolchain import compile_only, find_program
from reorder_rows import NeedsError, shared_model

M4 = "mps2-an386"
COUNTED = "counted"  # MACs of one inference on the host, counted by the kernels
TABLES = "tables"  # bytes of the step program's tables and of its interpreter

FLOAT_BOUNDARY = "te_vww"
"""The model whose float input and output are dropped (--quantized-io)."""

_WORKERS = 2
_SAMPLES = 4  # all kinds of inputs that lowtide makes: random, all least, all greatest, zero
_TABLES = ("rows", "ports", "nodes", "turns", "places", "tables", "kinds")


@dataclass(frozen=True, slots=True)
class Program:
    """A network (zoo:NAME or the name of a shared model) compiled one way. Outputs are resident."""

    network: str
    input_mode: InputMode = "resident"
    schedule: Schedule = "rows"

    @property
    def options(self) -> Options:
        """How to compile it."""
        return Options(
            schedule=self.schedule,
            input_mode=self.input_mode,
            quantized_io=self.network == FLOAT_BOUNDARY,
        )

    @property
    def label(self) -> str:
        """The network and its input mode."""
        return f"{self.network}, {self.input_mode}"

    @property
    def by_operators(self) -> Program:
        """The same network, layer by layer; that needs its whole input."""
        return Program(self.network, "resident", "operators")


@dataclass(frozen=True, slots=True)
class Job:
    """One program, and `COUNTED`, `TABLES` or a board to run it on."""

    program: Program
    what: str = M4


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended; `problem` is "" if all went well and all outputs were bit-exact.

    `figures` has the plan's arena_bytes, peak_bytes, bound_bytes, macs and own_macs (the network's);
    for `COUNTED` also counted_macs, for `TABLES` the bytes of each table, and "lowtide.o".
    `document` is that of `lowtide run`.
    """

    state: Literal["done", "absent", "failed"]
    problem: str = ""
    figures: Mapping[str, int] = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """Measured, and bit-exact."""
        return self.state == "done" and not self.problem

    @property
    def total_ram(self) -> int:
        """Bytes of RAM in all, measured."""
        return int(self.document["ram"]["total_bytes"]) if self.document else 0

    @property
    def instructions(self) -> int:
        """Instructions of the inference that took most."""
        return int(self.document["instructions"]) if self.document else 0

    def flash(self, *parts: str) -> int:
        """Bytes of these parts of the flash: code, constant, weights."""
        return sum(int(self.document["flash"][f"{part}_bytes"]) for part in parts)


Outcomes = Mapping[Job, Outcome]


def note(text: str) -> None:
    """Say on stderr what is going on."""
    print(f"bench/rows: {text}", file=sys.stderr, flush=True)


def path_of(network: str) -> str:
    """What `lowtide` takes for the network. Raises NeedsError for a shared model that is absent."""
    return network if network.startswith("zoo:") else str(shared_model(network))


def do_all(jobs: Iterable[Job]) -> dict[Job, Outcome]:
    """Every job once, in two processes, with progress on stderr."""
    by_program: dict[Program, list[str]] = {}
    for job in dict.fromkeys(jobs):
        by_program.setdefault(job.program, []).append(job.what)
    outcomes: dict[Job, Outcome] = {}
    # Threads of this process must not be forked.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_WORKERS, mp_context=context) as pool:
        pending = [pool.submit(_do_program, *both) for both in by_program.items()]
        for number, done in enumerate(as_completed(pending), start=1):
            program, found, seconds = done.result()
            outcomes |= {Job(program, what): outcome for what, outcome in found.items()}
            problem = next((o.problem for o in found.values() if o.problem), "fine")
            said = f"{program.label}, {program.schedule}: {problem} ({seconds:.1f} s)"
            note(f"{number} of {len(pending)} programs done: {said}")
    return outcomes


def _do_program(
    program: Program, whats: Sequence[str]
) -> tuple[Program, dict[str, Outcome], float]:
    begin = time.perf_counter()
    compiled: Compiled | Exception
    try:
        compiled = compile_model(pipeline.load(path_of(program.network)), program.options)
    except (NeedsError, LowtideError, ValueError) as error:
        compiled = error
    found = {what: _do(compiled, what) for what in whats}
    return program, found, time.perf_counter() - begin


def _do(compiled: Compiled | Exception, what: str) -> Outcome:
    try:
        if isinstance(compiled, Exception):
            raise compiled
        figures = _figures(compiled)
        if what == COUNTED:
            return Outcome("done", "", figures | {"counted_macs": deploy.count_macs(compiled)})
        if what == TABLES:
            return Outcome("done", "", figures | _tables(compiled))
        ran = deploy.run(compiled, load_boards()[what], samples=_SAMPLES)
        problem = "" if ran.bit_exact else ran_text(ran).partition("\n")[0]
        problem = problem or ("the compiler warns" if ran.measured.warnings else "")
        return Outcome("done", problem, figures, ran_document(ran))
    except NeedsError as error:
        return Outcome("absent", str(error))
    except MissingToolError as error:
        return Outcome("absent", f"needs a tool: {error.cause}")
    except (LowtideError, ValueError) as error:
        return Outcome("failed", str(error).partition("\n")[0])


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
    nm = find_program("arm-none-eabi-nm", "binutils-arm-none-eabi")
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
