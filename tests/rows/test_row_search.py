"""The search over stages against every plan there is, each assembled as a program.

Why: figures of a front are believed without anything being built. Here they are those of the programs,
and nothing that is missing from a front is better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

import pytest
from row_cases import Sketch, plan_rows
from strip_nets import (
    BLOCKS,
    all_edges,
    all_read,
    around,
    every_plan,
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
from lowtide.plans.search import cheapest, choices_of, unbeaten_paths
from lowtide.plans.space import Edge, Space, Stages
from lowtide.rows.groups import Group, groups_of
from lowtide.rows.prepare import Prepared, prepare
from lowtide.rows.stages import Choice
from lowtide.tflite.read import parse
from lowtide.zoo.builder import NetBuilder

# Without those that are large.
SMALL = sampled([*range(28), *(BLOCKS + n for n in range(24) if n not in (4, 8, 16))])
LARGE = [*range(12), *range(BLOCKS, BLOCKS + 8)]


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan with its edges in the space, and what the program needs and computes.

    `same` says that the search can know what is live: strips use the scratch memory of whole operators,
    and somebody reads all that they make.
    """

    choices: tuple[Choice, ...]
    edges: tuple[Edge, ...]
    peak: int
    macs: int
    same: bool


@cache
def plans(seed: int) -> tuple[Prepared, Space, list[Plan]]:
    """The space of a small network, and every plan that it has."""
    of = ready(seed, small=True)
    space = space_of(of)
    edges = {(e.operators, e.width, e.lean): e for e in all_edges(space)}
    found = []
    for choices, program in every_plan(of, lean=True):
        assert program.plan is not None
        # A lean form that needs no less than the usual one is not among the edges.
        path = tuple(
            edges.get((of.chosen(c), c.strip_width, c.lean))
            or edges[of.chosen(c), c.strip_width, False]
            for c in choices
        )
        peak = max(stage.peak_bytes for stage in program.plan.stages)
        same = not scratch_changes(of, program) and all(
            all_read(of, choices, choice) for choice in choices if choice.strip_width
        )
        found.append(Plan(choices, path, peak, program.plan.macs, same))
    return of, space, found


def best(figures: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those of the (peak, MACs) pairs that no other beats."""
    found: list[tuple[int, int]] = []
    for peak, macs in sorted(set(figures)):
        if not found or macs < found[-1][1]:
            found.append((peak, macs))
    return found


@pytest.mark.parametrize("seed", SMALL)
def test_a_path_needs_what_its_program_needs(seed: int) -> None:
    """To the byte, or no less: see `Plan.same`."""
    of, space, found = plans(seed)
    seen: set[Edge] = set()
    for plan in found:
        seen.update(plan.edges)
        predicted = max(edge.peak for edge in plan.edges)
        assert sum(edge.macs for edge in plan.edges) == plan.macs
        if plan.same:
            assert predicted == plan.peak, plan.choices
        assert predicted >= plan.peak, plan.choices
    assert seen == set(all_edges(space))
    assert {tuple(c.operators for c in plan.choices) for plan in found} >= {
        tuple(operators(of, n, n + 1) for n in range(len(of.groups)))
    }


def test_most_figures_are_compared_to_the_byte() -> None:
    """So that the one before cannot come to say nothing."""
    strips = [
        plan
        for seed in range(0, 24, 2)
        for plan in plans(seed)[2]
        if any(choice.strip_width for choice in plan.choices)
    ]
    assert len(strips) > 300
    assert sum(plan.same for plan in strips) > 0.8 * len(strips)
    blocks = [
        plan
        for seed in (BLOCKS, BLOCKS + 2, BLOCKS + 5, BLOCKS + 6)
        for plan in plans(seed)[2]
        if any(choice.strip_width and choice.blocks for choice in plan.choices)
    ]
    assert sum(plan.same for plan in blocks) > 0.2 * len(blocks) > 20


@pytest.mark.parametrize("seed", SMALL)
def test_the_front_is_that_of_all_plans(seed: int) -> None:
    """Over all cuts of the operators and all widths; in order, each worth having."""
    of, space, found = plans(seed)
    paths = unbeaten_paths(space)
    peaks, macs = [path.peak for path in paths], [path.macs for path in paths]
    assert peaks == sorted(set(peaks), reverse=True)
    assert macs == sorted(macs)
    predicted = [(max(e.peak for e in p.edges), p.macs) for p in found]
    assert best([(path.peak, path.macs) for path in paths]) == best(predicted)
    real = [(p.peak, p.macs) for p in found]
    if all(plan.same for plan in found):
        assert best([(path.peak, path.macs) for path in paths]) == best(real)
    by_choices = {plan.choices: plan for plan in found}
    for path in paths:
        assert path.peak == max(edge.peak for edge in path.edges)
        assert path.macs == sum(edge.macs for edge in path.edges)
        assert by_choices[choices_of(path, of)].macs == path.macs
        assert [edge.first for edge in path.edges] == [0, *(e.last for e in path.edges[:-1])]
        assert path.edges[-1].last == len(of.groups)


@pytest.mark.parametrize("seed", SMALL)
def test_the_cheapest_plan_within_a_limit(seed: int) -> None:
    """Of the least MACs; then of the least in lean forms and blocks; then of the least peak."""
    of, space, found = plans(seed)

    def slow(edges: Sequence[Edge], choices: Sequence[Choice]) -> int:
        both = zip(edges, choices, strict=True)
        return sum(edge.macs for edge, choice in both if choice.lean or choice.blocks)

    def cost(plan: Plan) -> tuple[int, int, int]:
        peak = max(edge.peak for edge in plan.edges)
        return plan.macs, slow(plan.edges, plan.choices), peak

    peaks = sorted({cost(plan)[2] for plan in found})
    for limit in (None, *peaks, peaks[0] - 1):
        fits = [cost(plan) for plan in found if limit is None or cost(plan)[2] <= limit]
        path = cheapest(space, limit)
        assert (path is None) == (not fits)
        if path is not None:
            assert (path.macs, slow(path.edges, choices_of(path, of)), path.peak) == min(fits)


@pytest.mark.parametrize("seed", SMALL)
def test_an_edge_that_turns_out_to_need_more(seed: int) -> None:
    """It counts with that, whoever uses it."""
    _, space, found = plans(seed)
    whole = cheapest(space)
    assert whole is not None
    edge = max(whole.edges, key=lambda edge: edge.peak)
    needs = {edge: edge.peak + 5}

    def need(plan: Plan) -> int:
        return max(e.peak + 5 * (e == edge) for e in plan.edges)

    for limit in {need(plan) for plan in found}:
        path = cheapest(space, limit, needs=needs)
        assert path is not None
        assert path.macs == min(plan.macs for plan in found if need(plan) <= limit)
    worst = cheapest(space, whole.peak, needs=needs)
    assert worst is None or edge not in worst.edges


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
            if (e.last - e.first, e.width, e.lean) == (1, None, False)
            and not edge.first <= e.first < edge.last
        )
        if edge.width is None or (
            not scratch_changes(of, program) and all_read(of, choices, choices[edge.first])
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
            assert not scratch_changes(of, program)
            assert program.plan.stages[0].peak_bytes <= edge.peak


@pytest.mark.parametrize("seed", SMALL)
def test_without_strips_nothing_is_computed_twice(seed: int) -> None:
    of = ready(seed, small=True)
    again = {block.op for block in of.blocks if block.again}
    space = space_of(of, strips=False)
    assert all(edge.width is None and not edge.lean for edge in all_edges(space))
    path = unbeaten_paths(space)[-1]
    # Blocks do not even make what nobody reads.
    assert max(path.macs for path in unbeaten_paths(space)) <= graph_macs(of.graph)
    assert not any(again & set(edge.operators) for edge in all_edges(space))
    whole = [
        plan.peak
        for plan in plans(seed)[2]
        if not any(e.width or e.lean or again & set(e.operators) for e in plan.edges)
    ]
    assert path.peak == min(whole)


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
    assert unbeaten_paths(space)


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
