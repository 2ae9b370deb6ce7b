"""Plans within limits: they keep them, and no plan that is known keeps them better.

Why small networks: all their plans are known, so that a limit is known to be met or not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise, permutations

import numpy as np
import pytest
from staged_nets import known, once
from strip_nets import BLOCKS, all_edges, graph_of, hurry, ready, space_of

from lowtide.errors import InfeasibleError
from lowtide.ir import DType, Graph, Op, Quant, Tensor
from lowtide.ir.macs import graph_macs
from lowtide.modes import InputMode
from lowtide.order import best_order
from lowtide.passes import fold_pads
from lowtide.place.rows import FULL
from lowtide.place.variables import state_bytes, variables_of
from lowtide.plans import placer
from lowtide.plans.placed import stage_tops
from lowtide.plans.placer import Point
from lowtide.plans.planner import (
    WORTH_BLOCKS,
    Plans,
    Unit,
    default,
    front,
    plans_of,
    smallest,
    within_cost,
    within_ram,
)
from lowtide.plans.search import choices_of, ladder
from lowtide.plans.space import without_blocks
from lowtide.rows.prepare import Prepared, prepare
from lowtide.rows.stages import Choice
from lowtide.tflite.read import parse
from lowtide.zoo.builder import NetBuilder
from networks import loaded

OF_BLOCKS = tuple(BLOCKS + n for n in (3, 4, 7, 9, 10, 16, 30, 31, 33))
SEEDS = (0, 1, 3, 4, 5, 9, 12, 14, 16, 19, 22, 23, *OF_BLOCKS)
LARGER = tuple(BLOCKS + n for n in (3, 4, 5, 7, 9))
_REMEDY = "allow more RAM, or try whether a const or streamed input fits"


class LostError(Exception):
    """The search goes on and on."""


def plans(of: Prepared, *, strips: bool = True) -> Plans:
    """All plans of a network; a search of them that does not end gives up."""
    told = 0

    def tell(_: str) -> None:
        nonlocal told
        told += 1
        if told > 500:
            raise LostError

    return plans_of(of, strips=strips, tell=tell)


@cache
def points(seed: int) -> tuple[Prepared, tuple[Point, ...]]:
    of = ready(seed, small=True)
    return of, tuple(front(plans(of)))


@cache
def least_peaks(seed: int) -> list[tuple[int, int]]:
    """(least that is live, cost) of the plans that no other beats: no arena can be smaller. What blocks
    in strips cost is known nearly."""
    of, _ = points(seed)
    paths = ladder(space_of(of), step=1.0)
    return [(path.peak, int(path.cost * (0.7 if path.strips else 1))) for path in paths]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_front_goes_down(seed: int) -> None:
    of, found = points(seed)
    usual = default(plans(of))
    best = [(p.arena_bytes, p.cost, p.macs) for p in found if p.choices != usual.choices]
    assert found
    assert [p.cost for p in found] == sorted(p.cost for p in found)
    assert len(set(best)) == len(best)
    for one, other in permutations(best, 2):
        assert any(a < b for a, b in zip(one, other, strict=True))
    own = graph_macs(of.graph)
    for point in found:
        plan = point.placed.plan
        assert (point.macs, point.peak_bytes) == (plan.macs, plan.peak_bytes)
        assert point.overhead == point.macs / (own or 1)
        assert point.arena_bytes >= min(
            peak for peak, cost in least_peaks(seed) if cost <= point.cost
        )
        assert tuple(stage.choice for stage in plan.stages) == point.choices


def between(figures: Sequence[int]) -> list[int]:
    """The figures and those in the middle between them."""
    ordered = sorted(figures)
    return sorted({*ordered, *((a + b) // 2 for a, b in pairwise(ordered))})


def check_ram_at_a_cost(
    one: Plans, found: Sequence[Point], costs: Sequence[float], unit: Unit
) -> None:
    """Never dearer than allowed, never larger than a plan of the front that is no dearer."""
    for most in costs:
        point = within_cost(one, most, unit)
        assert one.times(point, unit) <= most
        allowed = [other.arena_bytes for other in found if one.times(other, unit) <= most]
        assert point.arena_bytes == min(allowed)


def check_cost_in_some_ram(one: Plans, found: Sequence[Point], arenas: Sequence[int]) -> None:
    """Never larger than allowed, never dearer than a plan of the front that is no larger."""
    for most in arenas:
        cheap = within_ram(one, most)
        assert cheap.arena_bytes <= most
        assert cheap.cost <= min(other.cost for other in found if other.arena_bytes <= most)


def between_costs(one: Plans, found: Sequence[Point], unit: Unit) -> list[float]:
    """Limits at and between those of plans."""
    each = between([p.macs if unit == "macs" else p.cost for p in found])
    least = min(one.times(p, unit) for p in found)
    return [*(t for m in each if (t := m / one.own(unit)) >= least), math.inf]


@pytest.mark.parametrize("unit", ["macs", "instructions"])
@pytest.mark.parametrize("seed", SEEDS)
def test_least_ram_at_a_cost(seed: int, unit: Unit) -> None:
    """At and between the points of the front, whether the front was looked for before or not."""
    of, found = points(seed)
    one = plans(of)
    allowed = between_costs(one, found, unit)
    check_ram_at_a_cost(one, found, allowed, unit)
    one = plans(of)
    front(one)
    check_ram_at_a_cost(one, found, allowed, unit)


@pytest.mark.parametrize("seed", SEEDS)
def test_least_cost_in_some_ram(seed: int) -> None:
    of, found = points(seed)
    arenas = [p.arena_bytes for p in found]
    every = [*between(arenas), *(a + 1 for a in arenas), 2 * arenas[0]]
    check_cost_in_some_ram(plans(of), found, every)
    one = plans(of)
    front(one)
    check_cost_in_some_ram(one, found, every)
    for point in found:
        cheap = within_ram(one, point.arena_bytes, point.overhead)
        assert cheap.macs <= point.macs
        assert cheap.cost <= point.cost
        assert cheap.cost >= min(c for peak, c in least_peaks(seed) if peak <= point.arena_bytes)


@pytest.mark.parametrize("seed", LARGER)
def test_limits_of_larger_networks(seed: int) -> None:
    of = ready(seed, small=False)
    one = plans(of)
    found = front(one)
    check_ram_at_a_cost(one, found, between_costs(one, found, "macs"), "macs")
    check_cost_in_some_ram(one, found, between([p.arena_bytes for p in found]))


@pytest.mark.parametrize("name", ["figure1", "ds-cnn-kws"])
def test_limits_of_a_real_network_find_its_front(name: str) -> None:
    graph = fold_pads(loaded(name).graph)
    of = prepare(graph, best_order(graph).order)
    one = plans_of(of, strips=True)
    found = front(one)
    assert len(found) >= 1
    check_ram_at_a_cost(one, found, between_costs(one, found, "instructions"), "instructions")
    check_cost_in_some_ram(one, found, between([point.arena_bytes for point in found]))


@pytest.mark.parametrize("seed", SEEDS)
def test_operators_run_in_larger_forms_where_there_is_room(seed: int) -> None:
    """The least arena needs no more than in the quickest forms, and those run where any fit."""
    of, _ = points(seed)
    point = within_cost(plans(of), math.inf)
    for choice in point.choices:
        assert {limit.operator for limit in choice.limits} <= set(choice.operators)
    plain = plans(of).placer.place(tuple(replace(choice, limits=()) for choice in point.choices))
    assert point.macs == plain.macs
    assert point.arena_bytes <= plain.arena_bytes
    roomy = within_ram(plans(of), 10 * plain.arena_bytes)
    whole = next(ladder(space_of(of)))
    fast = plans(of).placer.place(choices_of(whole, of))
    assert roomy.cost <= fast.cost
    between = sum(edge.between for edge in whole.edges)
    assert fast.cost - plans(of).placer.exchanged <= whole.cost == whole.quickest + between


@pytest.mark.parametrize("kept", [0, placer._KEPT])
def test_plans_are_placed_with_the_effort_that_they_are_worth(
    kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is as low as it can be is not placed again; no effort gives a larger arena than less,
    even if the layouts that were found before are not `kept`."""
    monkeypatch.setattr(placer, "_KEPT", kept)
    improved = 0
    for seed in LARGER:
        candidates = plans(ready(seed, small=False)).candidates[:12]
        for of, quick in [(of, of.quick) for of in candidates]:
            rows = of.draft.rows
            well = of.placer.place(rows.choices)
            assert well.arena_bytes <= quick.arena_bytes
            if quick.arena_bytes == quick.placed.bound_bytes:
                assert well is quick
            improved += well.arena_bytes < quick.arena_bytes
    assert improved


@pytest.mark.parametrize("seed", SEEDS)
def test_what_cannot_be_is_said(seed: int) -> None:
    """Whatever the limit: there is a plan that keeps it, or an error, and no end without either."""
    of, found = points(seed)
    low = min(peak for peak, _ in least_peaks(seed))
    fitted: list[int] = []
    one, high = plans(of), found[-1].arena_bytes
    for most in sorted({0, low - 1, low, (low + high) // 2, high - 1, high}, reverse=True):
        try:
            point = within_ram(one, most)
        except InfeasibleError:
            assert not fitted or most < min(fitted)
        else:
            assert low <= point.arena_bytes <= most
            fitted.append(point.arena_bytes)
    assert fitted


def test_an_input_that_is_streamed_is_not_to_be_streamed() -> None:
    asked: list[tuple[InputMode, float, str]] = [
        ("resident", math.inf, _REMEDY),
        ("resident", 1.5, _REMEDY.replace("RAM", "RAM or a larger overhead")),
        ("const", math.inf, "allow more RAM"),
        ("streamed", 2.0, "allow more RAM or a larger overhead"),
    ]
    for mode, most, remedy in asked:
        graph = loaded("figure1").graph
        of = prepare(graph, best_order(graph).order, input_mode=mode)
        with pytest.raises(InfeasibleError) as caught:
            within_ram(plans_of(of, strips=False), 0, most)
        assert caught.value.remedy == remedy


@pytest.mark.parametrize("seed", [1, 5, 14, 16])
def test_what_is_said(seed: int) -> None:
    of, found = points(seed)
    nearest = within_cost(plans(of), math.inf)
    with pytest.raises(InfeasibleError) as caught:
        within_ram(plans(of), 0)
    assert caught.value.cause == (
        f"no plan of this network fits an arena of 0 bytes; the smallest plan needs {_way(nearest)}"
    )
    assert caught.value.remedy == (_REMEDY if of.input_mode == "resident" else "allow more RAM")
    assert caught.value.exit_code == 1
    if found[-1].overhead <= 1:
        return
    nearest = within_cost(plans(of), 1.0)
    with pytest.raises(InfeasibleError) as caught:
        within_ram(plans(of), found[-1].arena_bytes, 1.0)
    beyond = within_ram(plans(of), found[-1].arena_bytes)
    assert caught.value.cause.startswith(
        f"no plan of this network fits an arena of {found[-1].arena_bytes:,} bytes "
        f"at 1 times its MACs; the smallest plan needs {nearest.arena_bytes:,} bytes; "
    )
    assert caught.value.cause.endswith(
        f"; a plan of {beyond.arena_bytes:,} bytes exists at {beyond.overhead:.3f} times the MACs"
    )


def _way(nearest: Point) -> str:
    """What a plan needs, and what stands in the way of less."""
    worst = max(nearest.placed.plan.stages, key=lambda stage: stage.peak_bytes)
    ids = worst.operators
    way = f"operators {ids[0]} to {ids[-1]} are" if len(ids) > 1 else f"operator {ids[0]} is"
    times = f"{nearest.overhead:.3f}"
    at = f" at {times} times the MACs" if times != "1.000" else ""
    return (
        f"{nearest.arena_bytes:,} bytes{at}; {way} the bottleneck, with {worst.peak_bytes:,} bytes"
    )


def test_less_than_the_network_itself_is_too_little() -> None:
    of = ready(0, small=True)
    with pytest.raises(InfeasibleError) as caught:
        within_cost(plans(of), 0.5)
    assert caught.value.cause == (
        "no plan computes less than the network itself: 0.5 times its MACs is too little"
    )
    assert caught.value.remedy == "allow an overhead of 1 or more"


@pytest.mark.parametrize("seed", SEEDS)
def test_without_strips_it_is_the_least_of_those_that_compute_nothing_twice(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With blocks only if these save more than their kernel takes."""
    of, _ = points(seed)
    one = plans(of, strips=False)
    point = default(one)
    assert default(plans(of, strips=True)).choices == point.choices
    assert point.macs <= graph_macs(of.graph)
    assert all(c.strip_width is None for c in point.choices)
    again = {block.op for block in of.blocks if block.again}
    assert all(again.isdisjoint(of.chosen(choice)) for choice in point.choices)
    space = space_of(of, strips=False)
    (*_, path), (*_, plain) = ladder(space), ladder(without_blocks(space))
    with_blocks, without = (one.placer.place(choices_of(p, of)).arena_bytes for p in (path, plain))
    if any(choice.blocks for choice in point.choices):
        quicker = point.cost < plain.cost - one.placer.spared  # then they need not save RAM
        assert quicker or point.arena_bytes <= without - WORTH_BLOCKS
    assert point.arena_bytes >= path.peak
    assert smallest(one).arena_bytes <= min(with_blocks, without, point.arena_bytes)
    hurry(monkeypatch)
    assert known(seed).least(path.peak, once(again)) == 0
    assert known(seed).least(path.peak - 1, once(again)) is None


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_the_least_ram_is_enough_ram(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The arena that one limit gives is one that the other finds, badly placed as plans may be."""
    of, _ = points(seed)
    for full in (FULL, 0):
        monkeypatch.setattr("lowtide.plans.placer.FULL", full)
        for most in (1.0, 1.3, float("inf")):
            small = within_cost(plans(of), most)
            found = within_ram(plans(of), small.arena_bytes)
            assert found.arena_bytes <= small.arena_bytes
            assert found.cost <= small.cost


@pytest.mark.parametrize("seed", [0, 5, 9, 14])
def test_the_tops_of_stages(seed: int) -> None:
    """The highest end of all that is placed while a stage runs; the highest of all is the arena."""
    _, found = points(seed)
    for point in found:
        plan = point.placed.plan
        tops = stage_tops(point.placed)
        slots: list[set[int]] = [set() for _ in plan.stages]
        for slot, (node, _) in enumerate(plan.steps, start=1):
            (number,) = (
                i for i, stage in enumerate(plan.stages) if stage.first <= node < stage.last
            )
            slots[number].add(slot)
        blocks = [b for b in point.placed.placement.rectangles if b.size]
        assert tops == [
            max((b.offset + b.size for b in blocks if mine & set(range(b.start, b.end))), default=0)
            for mine in slots
        ]


def test_without_effort_it_says_so() -> None:
    of = ready(5, small=True)
    hurried = plans_of(of, strips=True, effort=0)
    points = front(hurried)
    assert points
    assert default(hurried).arena_bytes
    assert not hurried.complete
    patient = plans(of)
    assert front(patient)[-1].arena_bytes <= points[-1].arena_bytes
    assert patient.complete


def test_strips_are_told_apart_by_what_they_are_for() -> None:
    """The same plan is placed once, whoever asks for it."""
    of = ready(5, small=True)
    one = plans(of)
    choices = tuple(Choice((g.operator,)) for g in of.groups)
    assert one.placer.place(choices) is one.placer.place(choices)
    assert {edge.width for edge in all_edges(space_of(of))} > {None}


def _state() -> Graph:
    """An SVDF layer: 4 inputs, 3 units, and a state of 15 bytes that outlives everything."""
    quant = Quant((0.25,), (-7,), 0)

    def tensor(number: int, shape: tuple[int, ...], size: int = 0, *, wide: bool = False) -> Tensor:
        kind = DType.INT32 if wide else DType.INT8
        data = bytes(size) if size else None
        return Tensor(number, f"t{number}", shape, kind, quant=quant, data=data)

    state = Tensor(4, "state", (1, 15), DType.INT8, quant=quant, is_variable=True)
    tensors = (
        tensor(0, (1, 4)),
        *(tensor(1, (3, 4), 12), tensor(2, (3, 5), 15), tensor(3, (3,), 12, wide=True)),
        state,
        tensor(5, (1, 3)),
    )
    options = {"rank": 1, "fused_activation_function": 0}
    return Graph("svdf", tensors, (Op(0, "SVDF", (0, 1, 2, 3, 4), (5,), options),), (0,), (5,))


def _unread() -> Graph:
    """A convolution that takes one row in four of its input."""
    net = NetBuilder("unread")
    x = net.input((1, 16, 12, 2))
    assert isinstance(x.q, np.ndarray)
    return parse(net.finish(net.conv(x, "c", 1, 1, (4, 1)))).graph


@pytest.mark.parametrize("make", [_state, _unread])
def test_memory_that_no_stage_needs_counts(make: type[object]) -> None:
    """Variables, and rows of the input that nobody reads: an arena can be larger than all stages."""
    graph = make()
    assert isinstance(graph, Graph)
    of = prepare(graph, best_order(graph).order)
    arena = default(plans(of)).arena_bytes
    whole = arena + state_bytes(variables_of(of))
    assert within_ram(plans(of), whole).arena_bytes == arena
    for most in (whole - 1, max(stage_tops(default(plans(of)).placed))):
        with pytest.raises(InfeasibleError, match="the smallest plan needs"):
            within_ram(plans(of), most)


def test_networks_of_nothing_but_views() -> None:
    """No stages, no MACs; the arena is what is given and left."""
    tensors = tuple(
        Tensor(i, f"t{i}", shape, DType.INT8, Quant((0.5,), (0,), 0))
        for i, shape in enumerate([(1, 12), (3, 4)])
    )
    graph = Graph("views", tensors, (Op(0, "RESHAPE", (0,), (1,)),), (0,), (1,))
    of = prepare(graph, (0,))
    assert default(plans(of)).arena_bytes >= 12
    assert within_cost(plans(of), 1.0).macs == 0
    assert len(front(plans(of))) == 1
    with pytest.raises(InfeasibleError, match="fits an arena of 0 bytes"):
        within_ram(plans(of), 0)


def test_the_networks_above_have_strips() -> None:
    """So that all this cannot come to say nothing."""
    chosen = [p for seed in SEEDS for p in points(seed)[1]]
    assert sum(any(c.strip_width for c in p.choices) for p in chosen) >= 3
    assert sum(any(c.limits for c in p.choices) for p in chosen) >= 5
    assert sum(any(c.blocks for c in p.choices) for p in chosen) >= 5
    assert all(graph_of(seed, small=True).ops for seed in SEEDS)


def _chain() -> Graph:
    """Four convolutions of many channels, and a mean that needs next to nothing."""
    net = NetBuilder("chain")
    x = net.input((1, 8, 16, 2))
    for number, channels in enumerate((8, 8, 8, 1)):
        x = net.conv(x, f"conv_{number}", channels, 3)
    return parse(net.finish(net.mean(x, "mean"))).graph


def test_a_stage_that_needs_little_is_in_nobodys_way() -> None:
    """Its rows may lie high because there is room; that says nothing of other plans."""
    graph = _chain()
    of = prepare(graph, best_order(graph).order)
    small = within_cost(plans(of), math.inf)
    assert front(plans(of))[-1].arena_bytes <= small.arena_bytes * 1.015
    for most in range(small.arena_bytes, 1300, 150):
        assert within_ram(plans(of), most).arena_bytes <= most


def test_what_a_network_without_products_costs_divides_nothing_by_zero() -> None:
    tensors = [Tensor(i, f"t{i}", (1, 4, 4, 2), DType.INT8, Quant((1.0,), (0,), 0)) for i in (0, 1)]
    graph = Graph("relu", tuple(tensors), (Op(0, "RELU", (0,), (1,)),), (0,), (1,))
    found = plans_of(prepare(graph, [0]), strips=False)
    assert found.own("macs") == 1
    assert found.own("instructions") > 1
    assert {found.times(point, "macs") for point in front(found)} == {1.0}
