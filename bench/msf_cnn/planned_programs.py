"""What the msf-CNN bench does with lowtide's own plans: find, compile, verify, run and count them.

Why jobs: many rows read the same plan, and many limits lead to the same plan. So rows say which
`PlanJob`s they need; one process does all of a network in one input and output mode, where a plan is
compiled, verified, run or counted once, however many limits it answers. The stages are looked at once
as well, but every limit is answered as if it were the only one, as `lowtide plan` would.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bench.shared.built import count_macs
from bench.shared.outside import NeedsError
from bench.shared.programs import Outcome, Program, end_of, path_of, problem_of
from bench.shared.work import in_two_processes, note
from lowtide.commands import checking
from lowtide.commands.compiling import Compiled, compiled_of
from lowtide.commands.preparing import prepared
from lowtide.errors import InfeasibleError, LowtideError
from lowtide.ir.macs import graph_macs
from lowtide.machines.board import load_boards
from lowtide.modes import InputMode
from lowtide.plans.placer import Point
from lowtide.plans.planner import default, front, plans_of, within_cost, within_ram
from lowtide.program.assemble import assemble_placed
from lowtide.report.deployment import ran_document, verified_text
from lowtide.report.planned import live_at_peak, network_tensor
from lowtide.rows.stages import Choice
from lowtide.zoo.loading import load

PLANNED = "planned"  # the plan alone
HOST = "host"  # every tensor compared with the reference kernels, under sanitizers
COUNTED = "counted"  # MACs of one inference, counted by the kernels on this computer

_SAMPLES = 2
_LIVE = 3


@dataclass(frozen=True, slots=True)
class Net(Program):
    """A network by rows, and where its input and output are."""

    input_mode: InputMode = "const"

    @property
    def label(self) -> str:
        """The network and both modes."""
        return f"{self.network}, {self.input_mode} input, {self.output_mode} output"


@dataclass(frozen=True, slots=True)
class Ask:
    """Which plan: of `least` RAM at no cost and without strips, that within an overhead (`cost`: P1)
    or within bytes of arena (`ram`: P2), or the whole `front`.
    """

    net: Net
    kind: Literal["least", "cost", "ram", "front"]
    limit: float = 0.0


@dataclass(frozen=True, slots=True)
class PlanJob:
    """A plan, and `PLANNED`, `HOST`, `COUNTED` or a board to run it on."""

    ask: Ask
    what: str = PLANNED


@dataclass(frozen=True, slots=True)
class PlanOutcome(Outcome):
    """How a job ended.

    `figures` has the plan's arena_bytes, peak_bytes, macs and own_macs (the network's), and
    least_peak_bytes: no plan of the search's stages that keeps to the same overhead has a smaller peak
    of live rows (0 if that was not asked for, or not all stages were looked at). For `COUNTED` also
    counted_macs. `worst` says what is live in the stage that needs most, `front` has (arena, overhead).
    """

    worst: str = ""
    front: tuple[tuple[int, float], ...] = ()

    @property
    def arena(self) -> int:
        """Bytes of arena."""
        return self.figures.get("arena_bytes", 0)

    @property
    def overhead(self) -> float:
        """The plan's MACs over the network's own."""
        return self.figures.get("macs", 0) / max(1, self.figures.get("own_macs", 0))

    def as_values(self) -> dict[str, object]:
        """All of it, for programs to read."""
        return dataclasses.asdict(self)


PlanOutcomes = Mapping[PlanJob, PlanOutcome]


def do_all(jobs: Iterable[PlanJob]) -> dict[PlanJob, PlanOutcome]:
    """Every job once, in two processes, with progress on stderr."""
    by_net: dict[Net, list[PlanJob]] = {}
    for job in dict.fromkeys(jobs):
        by_net.setdefault(job.ask.net, []).append(job)
    # What takes longest should not be begun last.
    groups = sorted(by_net.items(), key=lambda item: "320k" not in item[0].network)
    outcomes: dict[PlanJob, PlanOutcome] = {}
    for progress, (net, found, plans, seconds) in in_two_processes(_do_net, groups):
        outcomes |= found
        note(f"{progress} done: {net.label}, {plans} plans ({seconds:.1f} s)")
    return outcomes


def _do_net(
    task: tuple[Net, Sequence[PlanJob]],
) -> tuple[Net, dict[PlanJob, PlanOutcome], int, float]:
    net, jobs = task
    begin = time.perf_counter()
    try:
        worker = _Worker(net)
    except (NeedsError, LowtideError, ValueError) as error:
        return net, dict.fromkeys(jobs, PlanOutcome(*end_of(error))), 0, 0.0
    found = {job: worker.do(job) for job in jobs}
    return net, found, worker.programs, time.perf_counter() - begin


@dataclass(frozen=True, slots=True)
class _Tried:
    problem: str = ""
    document: Mapping[str, Any] = field(default_factory=dict)
    macs: int | None = None


class _Worker:
    """One network in one pair of modes: its plans, and what became of each."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self.model = load(path_of(net.network))
        self.simplified, self.order, ready = prepared(self.model, net.options)
        self.ready, self.plans = ready, plans_of(ready, strips=True)
        self.own_macs = graph_macs(ready.graph)
        self._asked: dict[Ask, Point | InfeasibleError] = {}
        self._programs: dict[tuple[Choice, ...], Compiled] = {}
        self._tried: dict[tuple[tuple[Choice, ...], str], _Tried] = {}

    @property
    def programs(self) -> int:
        """How many different plans there were."""
        return len(self._programs)

    def do(self, job: PlanJob) -> PlanOutcome:
        """The outcome of a job; errors meant for the user are part of it."""
        try:
            if job.ask.kind == "front":
                points = front(self.plans)
                return PlanOutcome("done", front=tuple((p.arena_bytes, p.overhead) for p in points))
            found = self._point(job.ask)
            if isinstance(found, InfeasibleError):
                return PlanOutcome("done", shortage=found.cause)
            compiled = self._compiled(found)
            tried = self._try(found, compiled, job.what)
        except (NeedsError, LowtideError, ValueError) as error:
            return PlanOutcome(*end_of(error))
        figures = {
            "arena_bytes": found.arena_bytes,
            "peak_bytes": found.peak_bytes,
            "macs": found.macs,
            "own_macs": self.own_macs,
            "least_peak_bytes": self._least_peak(job.ask),
        }
        if tried.macs is not None:
            figures["counted_macs"] = tried.macs
        worst = _worst(compiled)
        return PlanOutcome("done", tried.problem, "", figures, tried.document, worst)

    def _point(self, ask: Ask) -> Point | InfeasibleError:
        if ask not in self._asked:
            solve: dict[str, Callable[[], Point]] = {
                "least": lambda: default(self.plans),
                "cost": lambda: within_cost(self.plans, ask.limit),
                "ram": lambda: within_ram(self.plans, int(ask.limit)),
            }
            try:
                self._asked[ask] = solve[ask.kind]()
            except InfeasibleError as error:
                self._asked[ask] = error
        return self._asked[ask]

    def _least_peak(self, ask: Ask) -> int:
        if ask.kind != "cost" or not self.plans.complete:
            return 0
        limit = ask.limit * self.own_macs
        return min(of.path.peak for of in self.plans.candidates if of.path.macs <= limit)

    def _compiled(self, point: Point) -> Compiled:
        if point.choices not in self._programs:
            assembly = assemble_placed(self.ready, point.placed)
            self._programs[point.choices] = compiled_of(
                *(self.model, self.net.options, "network", self.order, assembly, self.simplified)
            )
        return self._programs[point.choices]

    def _try(self, point: Point, compiled: Compiled, what: str) -> _Tried:
        key = (point.choices, what)
        if key not in self._tried:
            self._tried[key] = _TRY.get(what, _on_board)(compiled, what)
        return self._tried[key]


def _verify(compiled: Compiled, _: str) -> _Tried:
    verified = checking.verify(compiled, samples=_SAMPLES)
    return _Tried("" if verified.bit_exact else verified_text(compiled, verified))


def _count(compiled: Compiled, _: str) -> _Tried:
    return _Tried(macs=count_macs(compiled))


def _on_board(compiled: Compiled, board: str) -> _Tried:
    ran = checking.run(compiled, load_boards()[board], samples=_SAMPLES)
    return _Tried(problem_of(ran), ran_document(ran))


_TRY: dict[str, Callable[[Compiled, str], _Tried]] = {
    PLANNED: lambda *_: _Tried(),
    HOST: _verify,
    COUNTED: _count,
}


def _worst(compiled: Compiled) -> str:
    """The stage that needs most: its operators, its bytes, and the largest tensors live then."""
    plan = compiled.assembly.plan
    assert plan is not None, "plans of rows only"
    stage = max(plan.stages, key=lambda stage: stage.peak_bytes)
    ids, width = stage.operators, stage.strip_width
    live = live_at_peak(compiled.assembly, stage)
    how = "one after the other" if len(ids) == 1 else "by rows"
    how = how if width is None else f"in strips of {width}"
    named = ", ".join(f"{_tensor(compiled, tensor)} {size:,}" for tensor, size in live[:_LIVE])
    rest = sum(size for _, size in live[_LIVE:])
    named += f", {len(live) - _LIVE} others {rest:,}" if rest else ""
    many = "operator " if len(ids) == 1 else f"{len(ids)} operators from "
    return f"{many}{min(ids)}, {how}: {stage.peak_bytes:,} B, of them {named}"


def _tensor(compiled: Compiled, tensor: int) -> str:
    if tensor < 0:
        return "scratch"
    of, what = network_tensor(compiled.assembly, tensor)
    return f"{what} of tensor {of}" if what else f"tensor {of}"
