"""What `lowtide plan` shows: a program's plan, beside the plans that it could have and a lower bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal

from lowtide.commands.compiling import Compiled, compiled_of
from lowtide.commands.known import Known
from lowtide.commands.options import Options, options_from
from lowtide.commands.preparing import point_of, searched
from lowtide.commands.refusing import advising
from lowtide.commands.sliding import best_of, fronts, settled
from lowtide.emit.names import program_name
from lowtide.errors import UsageError
from lowtide.ir import Model
from lowtide.plans import planner
from lowtide.plans.bound import plan_bound
from lowtide.plans.placer import Point, Tell
from lowtide.program.assemble import assemble_placed
from lowtide.shown import Shown
from lowtide.target import FlashCache
from lowtide.zoo.loading import Named, load

Front = Literal["none", "sketch", "whole"]
"""No front; the plans that the program was chosen from, most of them placed quickly; all plans."""


@dataclass(frozen=True, slots=True)
class Refills:
    """Bytes of slow flash that a program reads into the part's cache, the cycles that it waits for
    them, and the bytes that it would read layer by layer, all predicted."""

    cache: FlashCache
    bytes: int
    wait_cycles: int
    layer_by_layer_bytes: int

    @property
    def lines(self) -> int:
        """Lines that are missed."""
        return self.cache.lines(self.bytes)


@dataclass(frozen=True, eq=False)
class Planned(Shown):
    """The result of `plan`: what `lowtide plan` shows.

    `points` is the front, if you ask for it; `complete` says whether it is exact. `ways` are named
    plans that you can choose without a limit: the one with the fewest instructions, the default
    one, and the one with the least RAM that computes nothing twice. There are none if the options
    already choose a plan, or if the front is only a sketch.

    `refills` is what the program reads from slow flash, or None if the target's flash is not
    described. `tflm_bytes` is the predicted arena of TFLM, without variables: by the file's offline
    plan if it has one, or else by its own planner. `bound` computes the lower bound on demand.
    """

    compiled: Compiled
    points: tuple[Point, ...] | None
    ways: tuple[tuple[str, Point], ...]
    complete: bool
    tflm_bytes: int
    bound: Callable[[], int] = field(repr=False)
    refills: Refills | None = None

    @cached_property
    def lower_bound_bytes(self) -> int:
        """No order of the program's steps, each run once, needs an arena of less."""
        return self.bound()

    @property
    def wait_cycles(self) -> int:
        """Cycles that the program waits for slow flash, predicted; 0 if the flash is not described."""
        return 0 if self.refills is None else self.refills.wait_cycles

    @property
    def cost(self) -> int:
        """Of the program, what `Point.cost` is of others."""
        return self.compiled.instructions_predicted + self.wait_cycles

    @property
    def proved_optimal(self) -> bool:
        """Whether the arena meets the bound."""
        return self.compiled.arena_bytes == self.lower_bound_bytes


def planned_model(
    model: Named,
    options: Options | None = None,
    *,
    front: bool = False,
    tell: Tell = lambda _: None,
    known: Known | None = None,
) -> Planned:
    """Compile `model`, and show what its plan needs, beside lower bounds and TFLM. Sizes are in
    bytes.

    With `front`, also find all plans that no other plan beats in RAM, instructions and MACs. `tell`
    is called with the progress. With `known`, results for the same model are not computed again.
    `options.schedule` must be "rows". Otherwise the same as `compile_model`, with the same errors.
    """
    loaded, options = load(model), options_from(options)
    how: Front = "whole" if front else "none"
    return planned_beside(loaded, options, how, 0.0, tell, known or Known(loaded))


def planned_beside(
    model: Model, options: Options, front: Front, apart: float, tell: Tell, known: Known
) -> Planned:
    """The same, with a front whose plans are at least so far `apart`, as a fraction of RAM,
    instructions and MACs (`planner.front`, `planner.sketch`)."""
    with advising(model, options):
        return _planned(model, options, front, apart, tell, known)


def _planned(
    model: Model, options: Options, front: Front, apart: float, tell: Tell, known: Known
) -> Planned:
    if options.schedule == "operators":
        raise UsageError(
            "operators that run one after the other have no stages to plan",
            "see what they need with `lowtide analyze`",
        )
    name = program_name(options.name, model.path)
    asked, options = options, settled(model, options, known, tell)
    free = options.stages is None and not options.limited and front != "sketch"
    whole = front == "whole"
    found = searched(model, options, strips=free, overlap=whole, tell=tell, known=known)
    plans = found.plans
    point = point_of(plans, options)
    ways: tuple[tuple[str, Point], ...] = ()
    if free:
        if asked.hop is None:
            smallest, fastest = planner.smallest(plans), planner.fastest(plans)
        else:  # other plans may keep other rows
            smallest = best_of(model, replace(asked, smallest=True), known, tell)
            fastest = best_of(model, replace(asked, fastest=True), known, tell)
        ways = ("fastest", fastest), ("default", point), ("smallest", smallest)
    points = None
    if front == "sketch":
        points = tuple(planner.sketch(plans, point, apart))
    elif whole:
        best = fronts(model, asked, known, tell, apart)
        taken = any(p.choices == point.choices for p in best)  # a plan that is given need not be
        points = tuple(best if taken else sorted([point, *best], key=lambda p: p.cost))
    assembly = assemble_placed(point.ready, point.placed)
    complete = found.complete or options.stages is not None
    of = options, name, found.order_of(point), assembly, found.simplified
    compiled = compiled_of(model, *of, complete=complete, known=known)
    effort = options.effort * (0.1 if whole else 1.0)
    bound = partial(plan_bound, point.placed, effort=effort)
    refills, flash = None, options.target.flash
    if flash is not None and point.refilled_bytes is not None:
        waits = point.cost - point.instructions
        refills = Refills(flash, point.refilled_bytes, waits, plans.own_refilled_bytes or 0)
    shown = compiled, points, ways, plans.complete, compiled.tflm_bytes.arena, bound
    return Planned(*shown, refills)
