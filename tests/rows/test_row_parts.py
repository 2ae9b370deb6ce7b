"""Operators that change their form while a stage runs: parts of nodes, and what finds room."""

from __future__ import annotations

from random import Random

import pytest
from strip_nets import hurry, random_plan, ready

from assembled import FREE
from lowtide.lower.nodes import Node, Port
from lowtide.place.layout import RowLayout
from lowtide.plans import placed as placing
from lowtide.plans.changes import Worth
from lowtide.plans.cost import load_model
from lowtide.plans.placed import layouts_of, placed
from lowtide.plans.planner import default, plans_of, smallest
from lowtide.rows.scheduled import Scheduled, scheduled

SEEDS = range(8)
CORES = ("any", "cortex-m4", "cortex-m55")


def _windows(port: Port, steps: int) -> list[list[int]]:
    return [[*port.inside(step)] for step in range(steps)]


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("seed", SEEDS)
def test_parts_touch_what_the_whole_does(seed: int, core: str) -> None:
    """Step by step, whatever the cut; and they cost as much together."""
    of, rng, model = ready(seed, small=False, core=core), Random(seed), load_model("cortex-m4")
    parted = 0
    for lowered in of.lowered.values():
        for node in (n for found in lowered.nodes for n in (found, *found.forms)):
            if not node.can_part or node.steps < 2:
                continue
            parted += 1
            cut = rng.randint(1, node.steps - 1)
            parts = node.part(0, cut), node.part(cut, node.steps)
            assert [part.whole for part in parts] == [node, node]
            for at, port in enumerate(node.inputs):
                both = [w for p in parts for w in _windows(p.inputs[at], p.steps)]
                assert both == _windows(port, node.steps)
            for at, port in enumerate(node.outputs):
                both = [w for p in parts for w in _windows(p.outputs[at], p.steps)]
                assert both == _windows(port, node.steps)
            assert sum(map(model.node, parts)) == model.node(node)
    assert parted


def _before(rows: Scheduled) -> RowLayout:
    """Where the rows of a plan lie before forms take what is free."""
    found: list[RowLayout] = []

    def keep(rows: Scheduled, layout: RowLayout, _: Worth) -> tuple[Scheduled, RowLayout]:
        found.append(layout)
        return rows, layout

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placing, "refitted", keep)
        _ = placed(rows, FREE, effort=0)
    return found[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_plan_stays_until_its_rows_lie_better(seed: int) -> None:
    """What less effort led to is what more effort makes anew."""
    of = ready(seed, small=False, core="cortex-m4")
    for number in range(4):
        rows = scheduled(of, random_plan(of, 10 * seed + number))
        layouts = layouts_of(rows)
        plan = placed(rows, FREE, effort=0, layouts=layouts)
        for effort in (3_000, 20_000):
            plan = placed(rows, FREE, effort=effort, layouts=layouts, before=plan)
            anew = placed(rows, FREE, effort=effort)
            assert (plan.before, plan.placement) == (anew.before, anew.placement)
            assert plan.rows.table.scratch == anew.rows.table.scratch


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("seed", SEEDS)
def test_forms_take_what_is_free_and_no_more(
    seed: int, core: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The arena and the rows stay; each step has at least what it had, and at most what is wanted."""
    hurry(monkeypatch)
    of = ready(seed, small=False, core=core)
    for number in range(4):
        rows = scheduled(of, random_plan(of, 10 * seed + number))
        before, after = _before(rows), placed(rows, FREE, effort=0)
        assert after.placement.arena_bytes <= before.placement.arena_bytes
        count = len(rows.table.size)
        assert [r for r in after.placement.rectangles if r.item < count] == [
            r for r in before.placement.rectangles if r.item < count
        ]
        wanted = [
            part.scratch
            for parts in rows.wanted
            for part in parts
            for _ in range(part.steps if isinstance(part, Node) else 0)
            if isinstance(part, Node)
        ]
        made = after.rows
        assert len(made.plan.steps) == len(rows.plan.steps)
        for (node, step), (own, same) in zip(made.plan.steps, rows.plan.steps, strict=True):
            took, least = made.table.scratch[node], rows.table.scratch[own]
            assert least <= took <= max(wanted, default=0) or took == least
            part = made.nodes[node]
            first = part.first if isinstance(part, Node) else 0
            assert first + step == same


@pytest.mark.parametrize("seed", SEEDS)
def test_a_plan_costs_no_less_than_is_wanted_of_it(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)
    of = ready(seed, small=False, core="cortex-m4")
    plans = plans_of(of, strips=False, placing=0.05)
    for point in (default(plans), smallest(plans)):
        draft = plans.placer.draft(point.choices)
        assert point.cost >= draft.cost
        assert point.arena_bytes >= draft.peak_bytes
