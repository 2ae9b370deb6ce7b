"""What the bench of generated programs does with one network: compile, verify, run, as values.

The programs are those of --schedule operators, one operator after the other.

Why values: many rows read the same run (its RAM, its instructions, its code), and the work is spread
over processes. So rows say which `LayerJob`s they need, each is done once, and rows are made of the
`LayerOutcome`s. A worker takes all jobs of one network, so that each program is compiled once.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from bench.shared.built import compile_only
from bench.shared.outside import NeedsError
from bench.shared.programs import end_of, path_of, problem_of
from bench.shared.work import in_two_processes, note
from lowtide.commands.checking import run, verify
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.errors import LowtideError
from lowtide.machines.board import load_boards
from lowtide.modes import Allocator
from lowtide.report.deployment import ran_document, verified_document, verified_text
from lowtide.target import ANY, Target
from lowtide.zoo.loading import load

HOST = "host"
WHOLE = Options(schedule="operators")
_HOST_SAMPLES = 8
_BOARD_SAMPLES = 4  # all kinds of inputs that lowtide makes: random, all least, all greatest, zero


@dataclass(frozen=True, slots=True)
class LayerJob:
    """One network on one target: `HOST` (every tensor, sanitizers on) or a board's name.

    `network` is zoo:NAME or the name of a shared model.
    """

    network: str
    target: str
    allocator: Allocator = "planned"
    quantized_io: bool = False

    @property
    def label(self) -> str:
        """The network, with the options that not all jobs have."""
        options = [f"--allocator {self.allocator}"] if self.allocator != "planned" else []
        options += ["--quantized-io"] if self.quantized_io else []
        return " ".join([self.network, *options])


@dataclass(frozen=True, slots=True)
class LayerOutcome:
    """How a job ended. `document` is the JSON document of `lowtide verify` or `lowtide run`.

    `problem` is "" if all was bit-exact, else what was not; `state` tells whether it was measured.
    `arena_bytes` and `moved_bytes` are the compiler's own figures.
    """

    state: Literal["done", "absent", "failed"]
    problem: str = ""
    document: Mapping[str, Any] = field(default_factory=dict)
    arena_bytes: int = 0
    moved_bytes: int = 0
    seconds: float = 0.0

    @property
    def exact(self) -> bool:
        """Measured, and bit-exact."""
        return self.state == "done" and not self.problem


LayerOutcomes = Mapping[LayerJob, LayerOutcome]


def compiled(network: str, options: Options) -> Compiled:
    """The network as C. Raises NeedsError or a LowtideError."""
    return compile_model(load(path_of(network)), options)


def do_all(jobs: Iterable[LayerJob]) -> dict[LayerJob, LayerOutcome]:
    """Every job once, in two processes, with progress on stderr."""
    by_network: dict[str, list[LayerJob]] = {}
    for job in dict.fromkeys(jobs):
        by_network.setdefault(job.network, []).append(job)
    outcomes: dict[LayerJob, LayerOutcome] = {}
    for progress, found in in_two_processes(_do_network, by_network.values()):
        outcomes |= found
        note(f"{progress} networks done")
    return outcomes


def _do_network(jobs: Sequence[LayerJob]) -> dict[LayerJob, LayerOutcome]:
    programs: dict[Options, Compiled | Exception] = {}
    outcomes = {}
    for job in jobs:
        options = replace(
            WHOLE, allocator=job.allocator, quantized_io=job.quantized_io, target=_target(job)
        )
        if options not in programs:
            try:
                programs[options] = compiled(job.network, options)
            except (NeedsError, LowtideError, ValueError) as error:
                programs[options] = error
        begin = time.perf_counter()
        outcomes[job] = _do(job, programs[options])
        seconds = time.perf_counter() - begin
        if outcomes[job].state != "absent":
            note(
                f"{job.label} on {job.target}: {outcomes[job].problem or 'fine'} ({seconds:.1f} s)"
            )
    return outcomes


def _target(job: LayerJob) -> Target:
    """As `lowtide run` does, for the board's core."""
    return ANY if job.target == HOST else load_boards()[job.target].core.target


def _do(job: LayerJob, program: Compiled | Exception) -> LayerOutcome:
    begin = time.perf_counter()
    try:
        if isinstance(program, Exception):
            raise program
        if job.target == HOST:
            verified = verify(program, samples=_HOST_SAMPLES)
            document = verified_document(program, verified)
            problem = "" if verified.bit_exact else verified_text(program, verified)
        else:
            ran = run(program, load_boards()[job.target], samples=_BOARD_SAMPLES)
            document = ran_document(ran)
            problem = problem_of(ran)
    except (NeedsError, LowtideError, ValueError) as error:
        return LayerOutcome(*end_of(error))
    return LayerOutcome(
        "done",
        problem,
        document,
        program.arena_bytes,
        program.assembly.placement.moved_bytes,
        time.perf_counter() - begin,
    )


@dataclass(frozen=True, slots=True)
class CrossCompiler:
    """A compiler with the flags for one processor."""

    name: str
    toolchain: str
    flags: tuple[str, ...]


def warnings_of(files: Mapping[str, bytes], target: CrossCompiler) -> str:
    """What the compiler says about `files`, "" if nothing. Raises MissingToolError, BuildError."""
    with tempfile.TemporaryDirectory() as folder:
        return compile_only(files, target.toolchain, Path(folder), *target.flags)


def as_values(outcome: LayerOutcome) -> dict[str, object]:
    """An outcome for programs to read."""
    return asdict(outcome)
