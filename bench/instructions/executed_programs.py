"""What the bench of the cost model runs: a network compiled one way, on boards, and what it executed.

Why: plans of real networks show how far the model is off where it is used; bench/cliffs fits it,
operator by operator.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from bench.cliffs.measured import BOARDS, Key
from bench.shared.programs import Program, path_of
from bench.shared.work import in_two_processes, note
from lowtide.commands import checking
from lowtide.commands.compiling import compile_model
from lowtide.machines.board import find_target, load_boards
from lowtide.plans.cost import STEP_PROGRAM, features
from lowtide.zoo.loading import load

ANY = "any"
OWN = ("cortex-m3", "cortex-m4", "cortex-m55")
"""Cores that plans are also compiled for: those without DSP instructions, with them, and with Helium."""
_ALIKE = {"cortex-m3": ("cortex-m0", "cortex-m3", "rv32imac")}
"""Core of OWN -> those that run the same programs."""


@dataclass(frozen=True, slots=True)
class Case:
    """A network, zoo:NAME or a shared model, compiled one way.

    It is compiled for any core, or for `core`. With `max_overhead`, the input is const and the output
    streamed: what is resident whatever the plan would leave strips nothing to save.
    """

    network: str
    max_overhead: float | None = None
    core: str = ANY

    @property
    def label(self) -> str:
        """Which plan this is."""
        kind = "" if self.core == ANY else ", for that core"
        if self.max_overhead is None:
            return f"{self.network}{kind}"
        return f"{self.network}, at most {self.max_overhead:g} x MACs{kind}"

    def cores(self, wanted: Sequence[str]) -> tuple[str, ...]:
        """Those of `wanted` that it runs on."""
        mine = wanted if self.core == ANY else _ALIKE.get(self.core, (self.core,))
        return tuple(core for core in wanted if core in mine)


@dataclass(frozen=True, slots=True)
class Executed:
    """What a program did in one run: `counts` of every feature, its MACs, and the instructions that
    were measured on each core."""

    case: Case
    counts: Mapping[Key, float]
    macs: int
    arena_bytes: int
    instructions: Mapping[str, int]


def run_all(cases: Sequence[Case], cores: Sequence[str]) -> list[Executed]:
    """Every case on a board of every core, in two processes, with progress on stderr."""
    cases = [case for case in cases if case.cores(cores)]
    found: dict[Case, Executed] = {}
    for progress, executed_ in in_two_processes(partial(run_case, cores=tuple(cores)), cases):
        found[executed_.case] = executed_
        said = f"{progress} programs done: {executed_.case.label}"
        note(said)
    return [found[case] for case in cases]


def run_case(case: Case, cores: Sequence[str]) -> Executed:
    """Compile, run on a board of each core, and count."""
    model = load(path_of(case.network))
    program = Program(case.network)
    if case.max_overhead is not None:
        program = Program(case.network, "const", "streamed")
    options = replace(program.options, max_overhead=case.max_overhead)
    options = replace(options, target=find_target(case.core))
    compiled = compile_model(model, options)
    counts: dict[Key, float] = defaultdict(float)
    for node, times in compiled.assembly.executed:
        for name, number in features(node).items():
            called, _, own = name.rpartition("/")
            counts[called or node.kernel, own] += times * number
    for name, number in compiled.assembly.between.items():
        counts[STEP_PROGRAM, name] += number
    plan = compiled.assembly.plan
    assert plan is not None
    boards, measured = load_boards(), {}
    for core in case.cores(cores):
        board = boards[BOARDS[core]]
        board = board if board.roomy == board.machine else board.with_plenty
        ran = checking.run(compiled, board, samples=1)
        assert ran.bit_exact, case
        measured[core] = ran.measured.max_instructions
    return Executed(case, dict(counts), plan.macs, compiled.arena_bytes, measured)
