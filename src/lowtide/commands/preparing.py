"""From a model to the plan of its program: what is compiled, in which order, and in which stages.

model -> passes -> best order -> lowered -> the plans there are -> the one that the options ask for
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from lowtide.commands.known import Known
from lowtide.commands.options import Options
from lowtide.ir import Model
from lowtide.order import OrderResult
from lowtide.passes.simplify.result import Simplified
from lowtide.plans import planner
from lowtide.plans.file import check_graph, stage_order, with_views
from lowtide.plans.placer import Point, Tell
from lowtide.plans.planner import Plans
from lowtide.rows.prepare import Prepared

_LEAST_EFFORT, _FINER = 1 / 16, 16
"""What a search begins with, and by what it goes on as long as something is left to look at."""


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """The plans of a network, all of which the options leave open, and the orders that they are in."""

    simplified: Simplified
    plans: Plans
    orders: tuple[OrderResult, ...]

    @property
    def complete(self) -> bool:
        """Whether all searches came to their end."""
        return self.orders[-1].proved_optimal and self.plans.complete

    def order_of(self, point: Point) -> OrderResult:
        """What is known of the order of a plan."""
        return next(found for found in self.orders[::-1] if found.order == point.ready.order)


def prepared(
    model: Model, options: Options, known: Known | None = None
) -> tuple[Simplified, OrderResult, Prepared]:
    """What is compiled: simplified, in the best order, or that of the stages prescribed, and lowered.
    What is not `known` of the model is made, and known then."""
    known = known or Known(model)
    simplified = known.passed(options)
    graph = simplified.graph
    order = known.order(graph, options.effort)
    if options.stages is not None:
        check_graph(graph, options.stages_of)
        order = replace(order, order=stage_order(graph, options.stages))
    return simplified, order, known.prepared(graph, order.order, options)


def searched(
    model: Model,
    options: Options,
    *,
    strips: bool = False,
    overlap: bool = False,
    tell: Tell = lambda _: None,
    known: Known | None = None,
) -> Searched:
    """The plans that the options ask for; with `strips`, all that compute nothing twice; with `overlap`,
    all. What is not `known` of the model is made, and known then.

    A search with more effort begins with all that less had found, so that it ends no worse; it ends
    where nothing is left to look at.
    """
    known = known or Known(model)
    overlap = overlap or options.bounded
    strips = strips or overlap or options.limited
    if options.stages is not None:
        simplified, order, ready = prepared(model, options, known)
        plans = planner.plans_of(
            ready, strips=strips, overlap=overlap, effort=options.effort, tell=tell
        )
        return Searched(simplified, plans, (order,))
    asked = replace(
        options, max_ram=None, max_overhead=None, cost="macs", fastest=False, smallest=False
    )
    return known.once(
        ("searched", asked, strips, overlap),
        lambda: _searched(asked, strips, overlap, tell, known),
    )


def _searched(options: Options, strips: bool, overlap: bool, tell: Tell, known: Known) -> Searched:
    simplified = known.passed(options)
    graph = simplified.graph
    found: Searched | None = None
    for effort in _efforts(options.effort):
        order = known.order(graph, effort)
        plans = planner.plans_of(
            known.prepared(graph, order.order, options),
            strips=strips,
            overlap=overlap,
            effort=effort,
            placing=options.effort,
            tell=tell,
            before=None if found is None else found.plans,
        )
        orders = () if found is None else found.orders
        found = Searched(simplified, plans, (*orders, order))
        if found.complete:
            break
    assert found is not None
    return found


def _efforts(most: float) -> list[float]:
    """The efforts that a search goes through: the same for all who allow as much."""
    found = [_LEAST_EFFORT]
    while found[-1] * _FINER <= most:
        found.append(found[-1] * _FINER)
    return found


def point_of(plans: Plans, options: Options) -> Point:
    """The plan that the options ask for."""
    if options.stages is not None:
        return plans.placer.place(with_views(plans.ready, options.stages))
    if options.smallest:
        return planner.smallest(plans)
    if options.max_ram is not None or options.fastest:
        most = _ANY if options.max_ram is None else options.max_ram
        times = math.inf if options.max_overhead is None else options.max_overhead
        return planner.within_ram(plans, most, times, options.cost)
    if options.max_overhead is not None:
        return planner.within_cost(plans, options.max_overhead, options.cost)
    return planner.default(plans)


_ANY = 1 << 60
"""More memory than there is."""
