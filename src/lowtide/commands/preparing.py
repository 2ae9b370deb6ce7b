"""From a model to the plan of its program: what is compiled, in which order, and in which stages.

model -> passes -> best order -> lowered -> the plans there are -> the one that the options ask for
"""

from __future__ import annotations

import math
from dataclasses import replace

from lowtide.commands.known import Known
from lowtide.commands.options import Options
from lowtide.ir import Model
from lowtide.order import OrderResult
from lowtide.passes.simplify.result import Simplified
from lowtide.plans import planner
from lowtide.plans.file import check_graph, stage_order, with_views
from lowtide.plans.placer import Point
from lowtide.plans.planner import Plans
from lowtide.rows.prepare import Prepared


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


def point_of(plans: Plans, options: Options) -> Point:
    """The plan that the options ask for."""
    if options.stages is not None:
        return plans.placer.best(with_views(plans.ready, options.stages))
    if options.max_ram is not None:
        return planner.within_ram(plans, options.max_ram, options.max_overhead or math.inf)
    if options.max_overhead is not None:
        return planner.within_cost(plans, options.max_overhead)
    return planner.least(plans)


def is_complete(options: Options, order: OrderResult, plans: Plans | None) -> bool:
    """Whether all searches came to their end."""
    if options.stages is not None:
        return True
    return order.proved_optimal and (plans is None or plans.complete)
