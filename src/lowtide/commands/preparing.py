"""From a model to the plan of its program: what is compiled, in which order, and in which stages.

model -> passes -> best order -> lowered -> the plans there are -> the one that the options ask for
"""

from __future__ import annotations

import math
from dataclasses import replace

from lowtide.commands.options import Options
from lowtide.commands.passing import passed
from lowtide.ir import Model
from lowtide.order import OrderResult, best_order
from lowtide.passes.simplify.result import Simplified
from lowtide.plans import planner
from lowtide.plans.file import check_graph, stage_order, with_views
from lowtide.plans.placer import Point, Tell
from lowtide.plans.planner import Plans
from lowtide.rows.prepare import Prepared, prepare


def prepared(model: Model, options: Options) -> tuple[Simplified, OrderResult, Prepared]:
    """What is compiled: simplified, in the best order, or that of the stages prescribed, and lowered."""
    simplified = passed(model, options)
    graph = simplified.graph
    order = best_order(graph, effort=options.effort)
    if options.stages is not None:
        check_graph(graph, options.stages_of)
        order = replace(order, order=stage_order(graph, options.stages))
    ready = prepare(
        graph,
        order.order,
        input_mode=options.input_mode,
        output_mode=options.output_mode,
        preserve_input=options.preserve_input,
        align=options.align,
        join=options.schedule == "rows",
        target=options.target,
    )
    return simplified, order, ready


def plans_for(
    ready: Prepared, options: Options, *, strips: bool = False, tell: Tell = lambda _: None
) -> Plans:
    """The space of plans that the options ask for; with `strips`, all of them."""
    return planner.plans_of(
        ready, strips=strips or options.limited, effort=options.effort, tell=tell
    )


def point_of(plans: Plans, options: Options) -> Point:
    """The plan that the options ask for."""
    if options.stages is not None:
        return plans.placer.place(with_views(plans.ready, options.stages))
    if options.smallest:
        return planner.smallest(plans)
    if options.max_ram is not None or options.fastest:
        most, times = options.max_ram or _ANY, options.max_overhead or math.inf
        return planner.within_ram(plans, most, times, options.cost)
    if options.max_overhead is not None:
        return planner.within_cost(plans, options.max_overhead, options.cost)
    return planner.default(plans)


_ANY = 1 << 60
"""More memory than there is."""


def is_complete(options: Options, order: OrderResult, plans: Plans | None) -> bool:
    """Whether all searches came to their end."""
    if options.stages is not None:
        return True
    return order.proved_optimal and (plans is None or plans.complete)
