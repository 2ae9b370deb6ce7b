"""The search over stages against every plan there is, each assembled as a program.

Why: figures of a front are believed without anything being built. Here they are those of the programs,
and nothing that is missing from a front is better.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from row_cases import Sketch, plan_rows
from staged_nets import Known, Staged, cost_of, known, once, quickest
from strip_nets import (
    BLOCKS,
    all_edges,
    all_read,
    around,
    graph_of,
    hurry,
    operators,
    ready,
    sampled,
    scratch_changes,
    singles,
    space_of,
)

from assembled import assemble_rows
from lowtide.effort import Budget
from lowtide.errors import UsageError
from lowtide.ir.macs import graph_macs
from lowtide.order import best_order
from lowtide.plans.edges import Edge
from lowtide.plans.search import Path, cheapest, choices_of, ladder
from lowtide.plans.space import Space, Stages
from lowtide.rows.groups import Group, groups_of
from lowtide.rows.prepare import Prepared, prepare
from lowtide.rows.stages import Choice
from lowtide.tflite.read import parse
from lowtide.zoo.builder import NetBuilder

# Without those that are large.
SEEDS = [*range(28), *(BLOCKS + n for n in range(24) if n not in (4, 8, 16))]
SMALL = sampled(SEEDS)
LARGE = [*range(12), *range(BLOCKS, BLOCKS + 8)]
on_cores = pytest.mark.parametrize(
    ("seed", "core"),
    [
        *sampled(SEEDS, "any"),
        *(
            (n, core)
            for n in (14, BLOCKS + 12, BLOCKS + 18)
            for core in ("cortex-m4", "cortex-m55")
        ),
    ],
)
"""Small networks lowered for any core, and some for cores of other kernels."""


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


Figures = list[tuple[int, int]]
"""(peak, cost) of plans or stages."""


def best(figures: Iterable[tuple[int, int]]) -> Figures:
    """Those of the pairs that no other beats, of least peak first."""
    found: Figures = []
    for peak, cost in sorted(set(figures)):
        if not found or cost < found[-1][1]:
            found.append((peak, cost))
    return found


@on_cores
def test_a_stage_needs_and_costs_what_its_program_does(seed: int, core: str) -> None:
    """In all forms of all operators: to the byte, or no less; see `Staged`."""
    for stage in known(seed, core).all:
        peak, cost = stage.predicted
        assert stage.edge.macs == stage.macs
        assert peak == stage.peak if stage.same else peak >= stage.peak, stage.choice
        if stage.priced:
            assert cost == stage.cost, stage.choice
        elif core == "any":
            assert 0.7 * cost <= stage.cost <= cost, stage.choice
        else:
            assert 0.7 * stage.cost <= cost <= 1.6 * stage.cost, stage.choice


@pytest.mark.parametrize("seed", SMALL)
def test_an_edge_knows_the_best_of_its_forms(seed: int) -> None:
    """In any room: what it costs, in how many bytes, and which forms these are."""
    stages: dict[Edge, list[Staged]] = {}
    for stage in known(seed).all:
        stages.setdefault(stage.edge, []).append(stage)
    for edge, forms in stages.items():
        assert edge.cost == min(stage.predicted[1] for stage in forms)
        assert edge.least == min(stage.predicted[0] for stage in forms)
        fewest = min(stage.predicted for stage in forms if stage.predicted[1] == edge.cost)
        assert edge.peak == fewest[0]
        assert edge.within(edge.least - 1) is None
        for room in {room + by for stage in forms for room in stage.predicted[:1] for by in (0, 1)}:
            fits = [stage.predicted[::-1] for stage in forms if stage.predicted[0] <= room]
            assert edge.within(room) == min(fits)
            choice = known(seed).of.choice(
                edge.operators, edge.width, edge.limits(room, lean=False)
            )
            chosen = [stage.predicted[::-1] for stage in forms if stage.choice == choice]
            assert min(fits) in chosen


@pytest.mark.parametrize("seed", SMALL)
def test_plans_are_the_sum_of_their_stages(seed: int) -> None:
    """Any plan of any forms: so that what is shown of stages holds for plans."""
    of, rng = known(seed).of, Random(seed)
    cuts = list(known(seed).cuts)
    for _ in range(12):
        stages = [rng.choice(known(seed).stages[pair]) for pair in pairwise(rng.choice(cuts))]
        program = assemble_rows(of, [stage.choice for stage in stages])
        assert program.plan is not None
        if all(stage.same for stage in stages):
            assert [s.peak_bytes for s in program.plan.stages] == [s.peak for s in stages]
        for here, there in zip(program.plan.stages, stages, strict=True):
            assert here.peak_bytes <= there.predicted[0]
        assert program.plan.macs == sum(stage.macs for stage in stages)
        assert cost_of(known(seed), program) == sum(stage.cost for stage in stages)


def test_most_figures_are_compared_to_the_byte() -> None:
    """So that the ones before cannot come to say nothing."""
    stages = [stage for seed in range(0, 24, 2) for stage in known(seed).all]
    strips = [stage for stage in stages if stage.edge.width]
    assert len(strips) > 100
    assert sum(stage.same for stage in strips) > 0.8 * len(strips)
    blocks = [
        stage
        for seed in (BLOCKS, BLOCKS + 2, BLOCKS + 5, BLOCKS + 6)
        for stage in known(seed).all
        if stage.edge.width and stage.edge.blocks
    ]
    assert sum(stage.same for stage in blocks) > 0.2 * len(blocks) > 15
    several = [stage for stage in stages if len(stage.choice.limits) > 1]
    assert len(several) > 20


@on_cores
def test_the_cheapest_plan_within_a_limit(seed: int, core: str) -> None:
    """Of the least cost, over all cuts, widths, blocks and forms."""
    found = known(seed, core)
    for limit in [*_limits(found), 1 << 60]:
        least = found.least(limit)
        path = cheapest(found.space, limit)
        assert (path is None) == (least is None)
        if path is None:
            continue
        assert path.cost == least
        if limit == 1 << 60:
            assert cheapest(found.space) is not None
        program = assemble_rows(found.of, choices_of(path, found.of))
        assert program.plan is not None
        stages = [
            _staged(found, edge, room) for edge, room in zip(path.edges, path.rooms, strict=True)
        ]
        assert path.macs == program.plan.macs
        if all(stage.same for stage in stages):
            assert path.peak == max(stage.peak_bytes for stage in program.plan.stages)
        if all(stage.priced for stage in stages):
            assert path.cost == cost_of(found, program)
        if all(stage.same and stage.priced for stage in found.all):
            assert path.cost == found.least(limit, lambda s: (s.peak, s.cost))


def _limits(found: Known) -> list[int]:
    """Of peaks, all that make a difference."""
    peaks = sorted({stage.predicted[0] for stage in found.all})
    return [peaks[0] - 1, *peaks]


def _staged(found: Known, edge: Edge, room: int) -> Staged:
    """The stage in the forms that a path has it in."""
    choice = found.of.choice(edge.operators, edge.width, edge.limits(room, lean=False))
    return next(s for s in found.all if s.edge == edge and s.choice == choice)


@pytest.mark.parametrize("seed", SMALL)
def test_the_ladder_is_that_of_all_plans(seed: int) -> None:
    """Every plan that no other beats in peak and cost, in order; at the end the last in its smallest
    forms."""
    found = known(seed)
    paths = list(ladder(found.space, step=1.0))
    if paths[-1].lean:
        smallest = paths.pop()
        assert smallest.edges == paths[-1].edges
        choices = choices_of(smallest, found.of)
        stages = [
            next(s for s in found.all if s.edge == edge and s.choice == choice)
            for edge, choice in zip(smallest.edges, choices, strict=True)
        ]
        for stage in stages:
            forms = [s.predicted for s in found.all if s.edge == stage.edge]
            assert stage.predicted[0] == min(peak for peak, _ in forms)
        assert smallest.cost == sum(stage.predicted[1] for stage in stages) > paths[-1].cost
    every = [
        (limit, least) for limit in _limits(found) if (least := found.least(limit)) is not None
    ]
    assert best((path.peak, path.cost) for path in paths) == best(every)
    peaks, costs = [path.peak for path in paths], [path.cost for path in paths]
    assert peaks == sorted(set(peaks), reverse=True)
    assert costs == sorted(costs)
    for path in paths:
        assert path.peak == max(path.rooms)
        assert path.macs == sum(edge.macs for edge in path.edges)
        each = [edge.within(room) for edge, room in zip(path.edges, path.rooms, strict=True)]
        assert path.cost == sum(cost for cost, _ in each if cost is not None)  # type: ignore[misc]  # a float
        assert [edge.first for edge in path.edges] == [0, *(e.last for e in path.edges[:-1])]
        assert path.edges[-1].last == len(found.of.groups)
    few = [path for path in ladder(found.space) if not path.lean]
    assert {(p.peak, p.cost) for p in few} <= {(p.peak, p.cost) for p in paths}
    assert (few[0].peak, few[-1].peak) == (paths[0].peak, paths[-1].peak)


@pytest.mark.parametrize("seed", SMALL)
def test_an_edge_that_turns_out_to_need_more(seed: int) -> None:
    """It counts with that, whoever uses it."""
    found = known(seed)
    whole = cheapest(found.space)
    assert whole is not None
    edge = max(whole.edges, key=lambda edge: edge.peak)
    more = {edge: 5}

    def need(stage: Staged) -> int:
        return stage.predicted[0] + 5 * (stage.edge == edge)

    for limit in sorted({need(stage) for stage in found.all}):
        path = cheapest(found.space, limit, more)
        least = found.least(limit, lambda s: (need(s), s.predicted[1]))
        assert (None if path is None else path.cost) == least
    worst = cheapest(found.space, whole.peak, more)
    assert (
        worst is None or edge not in worst.edges or worst.rooms[worst.edges.index(edge)] < edge.peak
    )


@pytest.mark.parametrize("seed", LARGE)
def test_stages_of_larger_networks(seed: int) -> None:
    """A stage needs the same in any plan: here all others run operator by operator."""
    of = ready(seed, small=False)
    edges = all_edges(space_of(of))
    Random(seed).shuffle(edges)
    strips = [edge for edge in edges if edge.width][:12]
    for edge in (*strips, *[edge for edge in edges if not edge.width][:4]):
        choices = around(of, edge)
        program = assemble_rows(of, choices)
        assert program.plan is not None
        stage = program.plan.stages[edge.first]
        assert program.plan.macs == edge.macs + sum(
            e.macs
            for e in edges
            if (e.last - e.first, e.width) == (1, None) and not edge.first <= e.first < edge.last
        )
        if edge.width is None or (
            not scratch_changes(of, program, quickest(of, edge))
            and all_read(of, choices, choices[edge.first])
        ):
            assert stage.peak_bytes == edge.peak, edge
        assert stage.peak_bytes <= edge.peak, edge
        assert program.plan.peak_bytes >= stage.peak_bytes


def test_rows_that_nobody_reads_are_counted_at_most_as_live() -> None:
    """A kernel of one row takes every other row of what the strips make: the search counts all."""
    net = NetBuilder("unread")
    x = net.conv(net.conv(net.input((1, 8, 12, 2)), "a", 4), "b", 4)
    graph = parse(net.finish(net.conv(x, "c", 1, 1, (2, 1)))).graph
    of = prepare(graph, range(3), input_mode="const")
    for edge in all_edges(space_of(of)):
        if edge.width == 6 and edge.last == 2:
            program = assemble_rows(of, around(of, edge))
            assert program.plan is not None
            assert not scratch_changes(of, program, quickest(of, edge))
            assert program.plan.stages[0].peak_bytes <= edge.peak


@pytest.mark.parametrize("seed", SMALL)
def test_without_strips_nothing_is_computed_twice(seed: int) -> None:
    of = ready(seed, small=True)
    again = {block.op for block in of.blocks if block.again}
    space = space_of(of, strips=False)
    assert all(edge.width is None for edge in all_edges(space))
    paths = list(ladder(space))
    # Blocks do not even make what nobody reads.
    assert max(path.macs for path in paths) <= graph_macs(of.graph)
    assert not any(again & set(edge.operators) for edge in all_edges(space))
    found = known(seed)
    assert found.least(paths[-1].peak, once(again)) == 0
    assert found.least(paths[-1].peak - 1, once(again)) is None


def _space(of: Prepared, work: int) -> Space:
    """The stages of a network, without blocks."""
    space = Space(len(of.groups), Budget(work))
    space.add(Stages(of.graph, of.table, of.groups, strips=True))
    return space


def test_without_effort_stages_are_single_operators() -> None:
    of = ready(3, small=True)
    space = _space(of, 0)
    assert not space.complete
    assert all(edge.last == edge.first + 1 for edge in all_edges(space))
    assert cheapest(space) is not None
    half = _space(of, 200)
    assert not half.complete
    assert len(all_edges(space)) < len(all_edges(half)) < len(all_edges(space_of(of)))
    single = Sketch()
    made = single.tensor(1, 4)
    single.node([()], [(made.first,)])
    assert plan_rows(single.table([], [made]), hurry=True).complete


@pytest.mark.parametrize("seed", [BLOCKS + 1, BLOCKS + 16])
def test_without_effort_blocks_are_stages_of_their_own(seed: int) -> None:
    of = ready(seed, small=True)
    space = space_of(of, effort=0)
    assert not space.complete
    assert all(len(edge.operators) == 1 for edge in all_edges(space))
    assert any(edge.blocks for edge in all_edges(space))
    assert list(ladder(space))


def _refusals(of: Prepared) -> Iterator[tuple[int, ...]]:
    """Runs of operators that the space has in no strips."""
    edges = {operators(of, e.first, e.last) for e in all_edges(space_of(of)) if e.width}
    count = len(of.groups)
    for first in range(count):
        for last in range(first + 2, count + 1):
            if operators(of, first, last) not in edges:
                yield operators(of, first, last)


@pytest.mark.parametrize("seed", SMALL)
def test_what_has_no_strips_is_refused(seed: int) -> None:
    """Stages of several outputs, heads, exchanges with the caller; and only these."""
    of = ready(seed, small=True)
    numbers = [g.operator for g in of.groups]
    for stage in _refusals(of):
        first, last = numbers.index(stage[0]), numbers.index(stage[-1]) + 1
        plan = [*singles(of, 0, first), Choice(stage, 1), *singles(of, last, len(numbers))]
        with pytest.raises(UsageError) as caught:
            assemble_rows(of, plan)
        assert caught.value.cause == (
            f"operators {stage[0]} to {stage[-1]} cannot run together in strips of 1 columns"
        )
        assert caught.value.remedy == (
            "strips need operators on feature maps with one output; see `lowtide plan --front`"
        )


def test_a_stage_of_two_outputs_has_no_strips() -> None:
    """Another operator, or the caller, reads what is made on the way."""
    seen: set[int] = set()
    for seed in range(80):
        graph = graph_of(seed, small=True)
        if len(graph.outputs) < 2 or graph.outputs[0] == graph.outputs[1]:
            continue
        of = prepare(graph, best_order(graph).order)
        made = {t: op.id for op in graph.ops for t in op.outputs}
        first, second = (made[of.views.get(t, t)] for t in graph.outputs)
        for edge in all_edges(space_of(of)):
            if edge.width:
                assert not {first, second} <= set(operators(of, edge.first, edge.last))
                seen.add(seed)
        numbers = tuple(g.operator for g in of.groups)
        with pytest.raises(UsageError, match="cannot run together in strips of 2 columns"):
            assemble_rows(of, [Choice(numbers, 2)])
    assert len(seen) > 3


def test_groups_are_operators_with_the_exchanges_that_belong_to_them() -> None:
    assert groups_of([]) == []
    assert groups_of([4, 4, 2, 7, 7]) == [Group(4, 0, 2), Group(2, 2, 3), Group(7, 3, 5)]
    assert groups_of([-1, -1, 4, 2, -1, 7]) == [
        Group(4, 0, 3, True),
        Group(2, 3, 5, True),
        Group(7, 5, 6),
    ]
    assert groups_of([-1, -1]) == [Group(-1, 0, 2, True)]


def test_a_path_beats_another_that_is_better_in_nothing() -> None:
    one = Path((), (), peak=100, macs=20, cost=50)
    assert one.beats(one)
    for better in ({"peak": 99}, {"macs": 19}, {"cost": 49}, {"lean": True}):
        other = replace(one, **better)
        assert other.beats(one), better
        assert not one.beats(other), better


def test_a_stage_is_new_once() -> None:
    space = Space(3)
    assert space.is_new((0, 1), 1)
    assert not space.is_new((0, 1), 1)
    assert space.is_new((0, 1), 2)
    assert space.is_new((0, 2), 1)
