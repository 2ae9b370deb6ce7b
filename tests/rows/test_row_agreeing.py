"""Plans agree: every answer is a point of the front, limits that allow more never give a worse plan.

Why so many limits: an answer is found in the order of bounds, and placed only where it has to be. At,
below and above each arena and cost that there is, another plan is the first to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
from strip_nets import BLOCKS, MODES, network_of, ready, sampled

from lowtide.commands.options import Options
from lowtide.commands.preparing import point_of, prepared, searched
from lowtide.errors import InfeasibleError
from lowtide.machines.board import find_target
from lowtide.plans.placer import Point
from lowtide.plans.planner import (
    WORTH_BLOCKS,
    Plans,
    Unit,
    default,
    fastest,
    front,
    plans_of,
    sketch,
    smallest,
    within_cost,
    within_ram,
)
from lowtide.plans.worth import RATE
from lowtide.tflite.read import parse
from networks import NETWORKS, model_of, present

CORES = ("any", "cortex-m4", "cortex-m55")
SEEDS = sampled([*range(16), *(BLOCKS + n for n in range(16) if n not in (4, 8))])
UNITS: tuple[Unit, ...] = ("macs", "instructions")


def new_plans(seed: int, *, overlap: bool = True) -> Plans:
    """All plans of a small network, on one of the cores; or those that compute nothing twice."""
    prepared_net = ready(seed, small=True, core=CORES[seed // 2 % len(CORES)])
    return plans_of(prepared_net, strips=True, overlap=overlap)


@cache
def plans(seed: int) -> Plans:
    """The same, once."""
    return new_plans(seed)


def key(point: Point) -> tuple[int, int, int]:
    """What plans are compared by."""
    return point.arena_bytes, point.cost, point.macs


def all_points(of: Plans) -> list[Point]:
    """Everything that is or could be placed."""
    return [point for candidate in of.candidates for point in candidate.points]


def beside(figures: Iterable[int]) -> list[int]:
    """The figures, what is one less and one more, and what is in the middle between two; rising."""
    ordered = sorted(set(figures))
    between = ((a + b) // 2 for a, b in pairwise(ordered))
    return sorted({*between, *(f + by for f in ordered for by in (-1, 0, 1))})


def in_ram(of: Plans, limits: Iterable[int]) -> Iterator[tuple[int, Point]]:
    """The answers of P2, where there are any."""
    for most in limits:
        try:
            yield most, within_ram(of, most)
        except InfeasibleError:
            continue


def at_cost(of: Plans, unit: Unit, limits: Iterable[float]) -> Iterator[tuple[float, Point]]:
    """The answers of P1, where there are any."""
    for most in limits:
        try:
            yield most, within_cost(of, most, unit)
        except InfeasibleError:
            continue


def rams(of: Plans, points: Sequence[Point]) -> list[int]:
    """Limits at, around and between the arenas of plans, and none."""
    return [*beside(point.arena_bytes + of.state for point in points), 1 << 60]


def times(of: Plans, points: Sequence[Point], unit: Unit) -> list[float]:
    """Limits at, around and between the costs of plans, and none."""
    figures = beside(point.macs if unit == "macs" else point.cost for point in points)
    return [*(figure / of.own(unit) for figure in figures), float("inf")]


def check(of: Plans, points: Sequence[Point]) -> None:
    """All sentences on one network; limits are those of `points`."""
    found = front(of)
    best = {key(point) for point in found}
    once = default(of), smallest(of)
    assert {key(point) for point in (*once, fastest(of))} <= best
    assert [point.cost for point in found] == sorted(point.cost for point in found)
    unbeaten = [point for point in found if key(point) != key(once[0])]
    assert not any(beats(key(one), key(other)) for one in found for other in unbeaten)
    check_worth(of, once[0], points)
    assert once[1].arena_bytes <= min(p.arena_bytes for p in points if computes_once(p))
    cost = 1 << 60
    for most, point in in_ram(of, rams(of, points)):
        assert point.arena_bytes + of.state <= most
        assert key(point) in best
        assert point.cost <= cost
        cost = point.cost
    assert cost == fastest(of).cost
    for unit in UNITS:
        arena = 1 << 60
        for most_times, point in at_cost(of, unit, times(of, points, unit)):
            assert of.times(point, unit) <= most_times
            assert key(point) in best
            assert point.arena_bytes <= arena
            arena = point.arena_bytes
        assert arena == min(point.arena_bytes for point in found)


def check_worth(of: Plans, chosen: Point, points: Sequence[Point]) -> None:
    """The default against all that compute nothing twice; blocks take stack as well."""

    def ram(point: Point) -> int:
        return (
            point.arena_bytes
            + of.state
            + (WORTH_BLOCKS if any(choice.blocks for choice in point.choices) else 0)
        )

    for other in points:
        spent = chosen.cost - other.cost
        if spent > 0 and computes_once(other):
            saved = ram(other) - ram(chosen)
            assert spent * ram(other) <= RATE * saved * other.cost


def computes_once(point: Point) -> bool:
    """Whether a plan has neither strips nor blocks that compute something twice."""
    of = point.ready
    again = {block.op for block in of.blocks if block.again}
    return all(
        choice.strip_width is None and again.isdisjoint(of.chosen(choice))
        for choice in point.choices
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_plans_of_small_networks_agree(seed: int) -> None:
    check(plans(seed), all_points(plans(seed)))


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_without_limits_need_no_strips_that_overlap(seed: int) -> None:
    once, every = new_plans(seed, overlap=False), plans(seed)
    assert all(point.macs <= once.own("macs") for point in all_points(once))
    assert key(default(once)) == key(default(every))
    assert key(smallest(once)) == key(smallest(every))
    assert key(fastest(once)) == key(fastest(every))


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_are_those_of_all_plans(seed: int) -> None:
    """Whatever is placed, in whatever order it is asked: of all plans, placed, none answers better."""
    every = all_points(plans(seed))

    def anew() -> Plans:
        return replace(plans(seed))

    asked = anew()
    best = min(map(fewest, every))
    assert fewest(fastest(anew())) == fewest(fastest(asked)) == best
    assert key(default(anew())) == key(default(asked)) == key(default(plans(seed)))
    for most, point in in_ram(anew(), rams(plans(seed), every)):
        fits = [p for p in every if p.arena_bytes + plans(seed).state <= most]
        assert fewest(point) == min(map(fewest, fits)) == fewest(within_ram(asked, most))
    for unit in UNITS:
        for most_times, point in at_cost(anew(), unit, times(plans(seed), every, unit)):
            allowed = [p for p in every if plans(seed).times(p, unit) <= most_times]
            assert key(point) == key(within_cost(asked, most_times, unit))
            assert key(point) == min(map(key, allowed))
    unbeaten = {key(p) for p in every if not any(beats(key(q), key(p)) for q in every)}
    assert unbeaten | {key(default(asked))} == {key(point) for point in front(anew())}


def fewest(point: Point) -> tuple[int, int, int]:
    return point.cost, point.arena_bytes, point.macs


Figures = tuple[int, int, int]


def beats(one: Figures, other: Figures) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_candidate_is_what_its_path_says(seed: int) -> None:
    """Rows that nobody reads are live before the first stage, and in strips the search does not know all
    that is live, nor, of blocks and of cores with kernels of their own, all that is run."""
    of = new_plans(seed)
    any_core = of.ready.target.core == "any"
    for candidate in of.candidates:
        path = candidate.path
        bounds = candidate.cost, candidate.peak, candidate.macs, candidate.waits, candidate.between
        exact = candidate.is_exact
        draft = candidate.draft
        now = candidate.cost, candidate.peak, candidate.macs, candidate.waits, candidate.between
        assert bounds == now if exact else all(a <= b for a, b in zip(bounds, now, strict=True))
        point, *others = candidate.points
        peak = max(stage.peak_bytes for stage in draft.rows.plan.stages)
        strips = any(edge.width for edge in path.edges)
        assert point.macs == path.macs
        assert peak <= path.peak
        assert peak == path.peak or strips
        cost = draft.cost - of.placer.exchanged
        assert 0.7 * cost <= path.cost <= 1.6 * cost
        if not strips or (any_core and not any(e.width and e.blocks for e in path.edges)):
            assert cost == path.cost
        assert point.cost >= draft.cost  # not all forms may find room where rows lie
        assert point.arena_bytes >= point.peak_bytes >= peak
        for other in others:
            assert other.macs >= path.macs


def of_network(name: str, core: str) -> Plans:
    """All plans of a network of the zoo or of `../shared`, its input streamed, quickly placed."""
    options = Options(target=find_target(core), input_mode="streamed")
    return plans_of(prepared(model_of(name), options)[2], strips=True, placing=0.05)


SMALL_ONES = present(
    *("figure1", "ds-cnn-kws", "tflm_micro_speech_int8", "mlperf_ad01_int8"),
    *("mlperf_kws_int8", "mlperf_resnet8_int8"),
)


@pytest.mark.parametrize(
    ("name", "core"),
    [
        (name, "cortex-m4")
        if core == "cortex-m4" and name in SMALL_ONES
        else pytest.param(name, core, marks=pytest.mark.soak)
        for name in NETWORKS
        if name != "tflm_mnist_lstm"  # of floats
        for core in ("cortex-m4", "cortex-m55")
    ],
)
def test_plans_of_real_networks_agree(name: str, core: str) -> None:
    of = of_network(name, core)
    check(of, front(of))


@pytest.mark.parametrize("apart", [0.0, 0.03])
@pytest.mark.parametrize("seed", sampled([1, 5, 11, BLOCKS + 3, BLOCKS + 7]))
def test_a_sketch_is_never_better_than_the_front(seed: int, apart: float) -> None:
    prepared_net = ready(seed, small=True, core=CORES[seed // 2 % len(CORES)])
    of = plans_of(prepared_net, strips=False)
    usual = default(of)
    found = sketch(of, usual, apart)
    assert key(usual) in map(key, found)
    assert [point.cost for point in found] == sorted(point.cost for point in found)
    assert all(computes_once(point) for point in found)
    for one in found:
        assert not any(beats(key(one), key(other)) for other in found if other is not usual)
    if not apart:
        whole = [key(point) for point in front(of)]
        assert not any(
            beats(key(one), best) for one in found for best in whole if best != key(usual)
        )


EFFORTS = 0.1, 0.5, 1.0, 4.0


@pytest.mark.parametrize(
    ("seed", "work"),
    [
        *sampled([5, 11, 3, BLOCKS + 3, BLOCKS + 7], 100),
        *sampled([5, 11, 3, BLOCKS + 3, BLOCKS + 7], 20_000),
        (BLOCKS + 4, 100),
        (BLOCKS + 4, 20_000),
    ],
)
def test_more_effort_is_never_worse(seed: int, work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether what is looked at is all there is, or goes by the effort."""
    monkeypatch.setattr("lowtide.plans.space.WORK", work)
    given, left, preserve = MODES[seed % len(MODES)]
    target = find_target(CORES[seed // 2 % len(CORES)])
    options = Options(input_mode=given, output_mode=left, preserve_input=preserve, target=target)
    model = parse(network_of(seed, small=False), path=f"random {seed}")
    found = [
        searched(model, replace(options, effort=effort), strips=True).plans for effort in EFFORTS
    ]
    points = [point for of in found for point in front(of)]
    for less, more in pairwise(found):
        better = dict(in_ram(more, rams(more, points)))
        for most, point in in_ram(less, rams(less, points)):
            assert fewest(better[most]) <= fewest(point)
        for unit in UNITS:
            smaller = dict(at_cost(more, unit, times(more, points, unit)))
            for most_times, point in at_cost(less, unit, times(less, points, unit)):
                assert smaller[most_times].arena_bytes <= point.arena_bytes
        assert smallest(more).arena_bytes <= smallest(less).arena_bytes
        assert fewest(fastest(more)) <= fewest(fastest(less))
        assert not beats(key(default(less)), key(default(more)))


def test_no_memory_is_a_limit() -> None:
    """A limit of 0 bytes is one, and no lack of one."""
    options = Options(max_ram=0, input_mode="const", output_mode="streamed")
    with pytest.raises(InfeasibleError, match="an arena of 0 bytes"):
        point_of(searched(model_of("figure1"), options).plans, options)
