"""What the bench of speed runs: a network compiled for one core, on its board, with a profile."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bench.shared.outside import ROOT, NeedsError, shared_model
from bench.shared.programs import FLOAT_BOUNDARY, Outcome, end_of, problem_of
from bench.shared.work import in_two_processes, note
from lowtide.commands import checking
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.errors import LowtideError
from lowtide.machines.board import load_boards
from lowtide.report.deployment import ran_document
from lowtide.zoo.loading import load

BOARDS = {
    "m4": "mps2-an386",
    "m7": "mps2-an500",
    "m33": "mps2-an505",
    "m55": "mps3-an547",
    "m3": "mps2-an385",
    "rv32": "rv32-virt",
    # The micro:bit has 16 KiB of RAM; the same instructions run where there are 4 MiB.
    "m0": "microbit",
}
"""Core -> the board that it is measured on."""


@dataclass(frozen=True, slots=True)
class SpeedJob:
    """A network (zoo:NAME, or the name of a shared model) on a core; where there are limits of RAM, its
    input is const, its output streamed, and the plan the one of fewest instructions as predicted."""

    network: str
    core: str
    max_ram: int | None = None


Outcomes = Mapping[SpeedJob, Outcome]


def do_all(jobs: Iterable[SpeedJob]) -> dict[SpeedJob, Outcome]:
    """Every job once, in two processes, with progress on stderr."""
    outcomes: dict[SpeedJob, Outcome] = {}
    for progress, (job, outcome, seconds) in in_two_processes(_do, dict.fromkeys(jobs)):
        outcomes[job] = outcome
        said = f"{job.network} on {job.core}: {outcome.problem or 'fine'} ({seconds:.1f} s)"
        note(f"{progress} programs done: {said}")
    return outcomes


def path_of(network: str) -> str:
    """What `lowtide` takes for the network. Raises NeedsError for a shared one that is absent."""
    if network.startswith("zoo:"):
        return network
    other = ROOT.parent / "shared" / "world" / f"{network}.tflite"
    return str(other if other.is_file() else shared_model(network))


def _do(job: SpeedJob) -> tuple[SpeedJob, Outcome, float]:
    begin = time.perf_counter()
    try:
        board = load_boards()[BOARDS[job.core]]
        if job.core == "m0":
            board = board.with_plenty
        limited = job.max_ram is not None
        options = Options(
            target=board.core.target,
            input_mode="const" if limited else "resident",
            output_mode="streamed" if limited else "resident",
            quantized_io=job.network == FLOAT_BOUNDARY,
            max_ram=job.max_ram,
            cost="instructions" if limited else "macs",
        )
        compiled = compile_model(load(path_of(job.network)), options)
        ran = checking.run(compiled, board, profile=True)
        outcome = Outcome("done", problem_of(ran), document=ran_document(ran))
    except (NeedsError, LowtideError, ValueError) as error:
        outcome = Outcome(*end_of(error))
    return job, outcome, time.perf_counter() - begin
