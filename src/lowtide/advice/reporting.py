"""What `lowtide report` shows of a network, gathered: orders, plans, the front, figures, advice.

Why one value: the page and the JSON document are made of the same figures, and what is shown was all
computed with the same options. Nothing here formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from lowtide.advice.fitting import Fit, Needed, first_fit
from lowtide.advice.hints import CORES, Hint, hints
from lowtide.commands.analysis import Analysis, analyze
from lowtide.commands.certifying import certified
from lowtide.commands.checking import Ran, run
from lowtide.commands.compiling import Compiled
from lowtide.commands.known import Known
from lowtide.commands.options import Options
from lowtide.commands.planned import Front, Planned, planned_beside
from lowtide.commands.verdict import Figures, measured, predicted
from lowtide.errors import LowtideError, MissingToolError, UsageError
from lowtide.ir import Model
from lowtide.ir.macs import graph_macs
from lowtide.machines.mcus import Mcu, load_mcus
from lowtide.machines.parts import Board
from lowtide.passes.branches import inline_branches
from lowtide.place import Placement
from lowtide.place import planned as planned_offsets
from lowtide.place.greedy import greedy
from lowtide.place.tensors import stored_offsets, tflm_placement, tflm_problem
from lowtide.plans.placer import Point, Tell

APART: Final = 0.03
"""How far apart plans are that a report shows, in parts of their RAM, instructions and MACs: one that is
nearer to another looks the same. `lowtide plan --front` has them all."""


@dataclass(frozen=True, slots=True, eq=False)
class Reported:
    """What is told of one network.

    `tflm` and `ordered` are what TFLM makes of whole tensors: in the file's order, by its offline plan
    if it has one, and in the best order by TFLM's planner, or by a new offline plan. `planned` is the
    program by the options that were given, with its front, or a sketch of it; `streamed` the same with
    its input streamed, None if it is already. `front` says whether the fronts are whole. `figures` are
    of `planned`: measured, if `ran` is there. `fits` says for all parts whose core the program is for
    how they run it, `mcu` for the one that was asked about. `work` are the instructions that are
    predicted of each operator of the program's graph, run alone. `certificate` is that of the program,
    None if it was not asked for.
    """

    analysis: Analysis
    tflm: Placement = field(repr=False)
    ordered: Placement = field(repr=False)
    planned: Planned
    streamed: Planned | None
    front: bool
    figures: Figures
    ran: Ran | None
    advice: tuple[Hint, ...]
    fits: tuple[Fit, ...] = ()
    mcu: Fit | None = None
    work: Mapping[int, int] = field(default_factory=dict, repr=False)
    certificate: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def compiled(self) -> Compiled:
        """The program."""
        return self.planned.compiled

    @property
    def streams_for_less(self) -> bool:
        """Whether there is a program with the input streamed, and it takes less RAM."""
        return (
            self.streamed is not None and self.streamed.compiled.ram_bytes < self.compiled.ram_bytes
        )


def report_on(
    model: Model,
    options: Options | None = None,
    board: Board | None = None,
    *,
    mcu: Mcu | None = None,
    front: bool = False,
    prove: bool = False,
    tell: Tell = lambda _: None,
    cached: bool = True,
) -> Reported:
    """Analyse and plan `model` in all the ways that a report compares; measure it on `board`, if given,
    and say how it fits `mcu`. With `mcu`, where the tools to emulate it are missing, it is predicted.
    With `prove`, certify the program.

    With `front`, or if no plan of the sketch fits `mcu`, find all plans that no other beats, which takes
    several times as long as all else.

    Raises UsageError for options without rows, and RefusedError if the proof fails; else as
    `planned_model` and, with a board, as `run`.
    """
    options = options or Options()
    if options.schedule != "rows":
        raise UsageError(
            "a report shows how rows are scheduled", "leave out --schedule and --allocator"
        )
    tell("looking for the best order")
    inlined = replace(model, graph=inline_branches(model.graph))
    analysis = analyze(inlined, effort=options.effort)
    graph = analysis.graph
    tflm = tflm_placement(inlined)
    # As `reorder` writes a file: a new plan takes the place of one that it has.
    place = planned_offsets if stored_offsets(inlined) else greedy
    ordered = place(tflm_problem(graph, analysis.best.order))
    known = Known(model)
    planned, streamed = _programs(model, options, front, tell, known)
    compiled = planned.compiled
    ran = None
    if board is not None:
        tell(f"measuring on {board.name}")
        try:
            ran = run(compiled, board.with_plenty, cached=cached, profile=True)
        except MissingToolError:
            if mcu is None:
                raise
    certificate = None
    if prove:
        tell("proving")
        certificate = certified(compiled)
    tell("trying other options")
    figures = predicted(compiled) if ran is None else measured(ran)
    fit = None
    if mcu is not None:
        fit = first_fit(model.path, _ways(planned, streamed, figures), mcu)
        lacks_ram = fit.way == "not" and fit.spare_flash_bytes >= 0
        if lacks_ram and not front and options.stages is None:
            front = True
            planned, streamed = _programs(model, options, front, tell, known)
            fit = first_fit(model.path, _ways(planned, streamed, figures), mcu)
    ways = _ways(planned, streamed, figures)
    cores = CORES if mcu is None else ()
    return Reported(
        analysis=analysis,
        tflm=tflm,
        ordered=ordered,
        planned=planned,
        streamed=streamed,
        front=front,
        figures=figures,
        ran=ran,
        advice=hints(
            planned, (planned.points or ()) if front else (), known, cores=cores, streamed=streamed
        ),
        fits=tuple(first_fit(model.path, ways, part) for part in _parts(options)),
        mcu=fit,
        work=_work(compiled, known),
        certificate=certificate,
    )


def _programs(
    model: Model, options: Options, front: bool, tell: Tell, known: Known
) -> tuple[Planned, Planned | None]:
    """The program, and that with its input streamed, if there is another; with their fronts."""
    how: Front = "none" if options.stages is not None else "whole" if front else "sketch"
    planned = planned_beside(model, options, how, APART, tell, known)
    if options.input_mode == "streamed" or options.stages is not None:
        return planned, None
    other = replace(options, input_mode="streamed", preserve_input=False)
    try:
        return planned, planned_beside(model, other, how, APART, tell, known)
    except LowtideError:
        return planned, None


def _work(compiled: Compiled, known: Known) -> dict[int, int]:
    """Operator -> its instructions, predicted, in its quickest form and computed once."""
    options = compiled.options
    nodes = known.lowerings(compiled.graph).nodes(options.target)
    return {op: cost.whole for op, cost in options.predictor.prices(nodes).items()}


def _parts(options: Options) -> list[Mcu]:
    """The parts that run a program for that core."""
    core = options.target.core
    return [mcu for mcu in load_mcus().values() if core in ("any", mcu.core)]


def _ways(planned: Planned, streamed: Planned | None, figures: Figures) -> list[Needed]:
    """The ways that a report shows, those with more work by how much."""
    compiled = planned.compiled
    rest = figures.ram_bytes - compiled.ram_bytes
    given = compiled.options.input_mode == "streamed"
    ways = [Needed("as is", figures.ram_bytes, figures.flash_bytes, streamed=given)]
    if streamed is not None:
        other = predicted(streamed.compiled).flash_bytes - predicted(compiled).flash_bytes
        ways.append(
            Needed(
                "streamed",
                streamed.compiled.ram_bytes + rest,
                figures.flash_bytes + other,
                streamed=True,
            )
        )
    more = [
        Needed(
            "more work",
            point.ram_bytes + rest,
            figures.flash_bytes,
            _times(point, compiled),
            each is streamed or given,
        )
        for point, each in sorted(
            ((point, each) for each in (planned, streamed) if each for point in each.points or ()),
            key=lambda of: (_times(of[0], compiled), of[0].cost),
        )
    ]
    return [*ways, *more]


def _times(point: Point, compiled: Compiled) -> float:
    """The MACs of a plan as a factor: of a window that slides, of those of the program, since plans may
    keep less."""
    if point.ready.graph.hop is None:
        return point.overhead
    return max(1.0, point.macs / max(1, graph_macs(compiled.graph)))
