"""A plan whose rows lie somewhere: what the planner compares, and what programs are assembled from.

choices --rows.scheduled--> steps and lives --place.layout--> offsets --> PlacedPlan
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field

from lowtide.place import Placement
from lowtide.place.layout import RowLayout, RowLayouts
from lowtide.place.rows import FULL
from lowtide.plans.changes import Worth
from lowtide.plans.refit import refitted
from lowtide.rows.scheduled import Scheduled
from lowtide.rows.stages import Choice, RowPlan


@dataclass(frozen=True, slots=True, eq=False)
class PlacedPlan:
    """Steps in their order, their rows and scratch memory at their offsets in the arena, in bytes;
    `before` is where these lay before steps took what is free."""

    rows: Scheduled
    layout: RowLayout = field(repr=False)
    before: Placement = field(repr=False)

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The stages asked for."""
        return self.rows.choices

    @property
    def plan(self) -> RowPlan:
        """The steps, and the stages with what is live while they run."""
        return self.rows.plan

    @property
    def placement(self) -> Placement:
        """Where rows and scratch memory lie."""
        return self.layout.placement

    @property
    def bound_bytes(self) -> int:
        """No placement of the rows, and of the scratch memory that each step is to have, is smaller,
        even if it takes tensors apart that lie in one piece in this one."""
        peak = max((stage.peak_bytes for stage in self.plan.stages), default=0)
        return min(self.before.lower_bound_bytes, peak)

    @property
    def arena_bytes(self) -> int:
        """Bytes of arena."""
        return self.placement.arena_bytes


def layouts_of(rows: Scheduled) -> RowLayouts:
    """Where the rows of a schedule may lie."""
    plan, align = rows.plan, rows.table.align
    return RowLayouts(rows.table, plan.steps, rows.lives, plan.segments, align=align)


def placed(
    rows: Scheduled,
    worth: Worth,
    *,
    effort: int = FULL,
    layouts: RowLayouts | None = None,
    before: PlacedPlan | None = None,
) -> PlacedPlan:
    """A schedule with its rows placed; `effort` goes into placing them: see `place.rows`. Operators
    change their form where that is `worth` it. What was found with less effort is in its `layouts`; the
    plan that it led to `before` stays if nothing better is found."""
    layout = (layouts or layouts_of(rows)).within(effort)
    if before is not None and before.before is layout.placement:
        return before
    return PlacedPlan(*refitted(rows, layout, worth), layout.placement)


def stage_tops(of: PlacedPlan) -> list[int]:
    """The highest end, in bytes, of what is live while each stage runs, before it takes what is free."""
    counts = Counter(node for node, _ in of.plan.steps)
    ends: list[int] = []
    at = 1
    for stage in of.plan.stages:
        at += sum(counts[node] for node in range(stage.first, stage.last))
        ends.append(at)
    tops = [0] * len(ends)
    starts = [1, *ends[:-1]]
    for rectangle in of.before.rectangles:
        if rectangle.start < rectangle.end and rectangle.size:
            first = bisect_right(ends, max(rectangle.start, 1))
            while first < len(ends) and starts[first] < rectangle.end:
                tops[first] = max(tops[first], rectangle.offset + rectangle.size)
                first += 1
    return tops
