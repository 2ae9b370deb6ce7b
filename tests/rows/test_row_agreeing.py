"""Plans agree: every answer is a point of the front, limits that allow more never give a worse plan.

Why so many limits: an answer is found in the order of bounds, and placed only where it has to be. At, below
and above each arena and cost that there is, another plan is the first to be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise

import pytest
from strip_nets import BLOCKS, ready, sampled

from lowtide.commands.options import Options
from lowtide.commands.preparing import searched
from lowtide.errors import InfeasibleError
from lowtide.plans.planner import (
    WORTH_BLOCKS,
    Plans,
    Unit,
    default,
    fastest,
    front,
    plans_of,
    smallest,
    within_cost,
    within_ram,
)
from lowtide.plans.placer import Point
from lowtide.plans.worth import RATE
from networks import NETWORKS, model_of

CORES = ("any", "cortex-m4", "cortex-m55")
SEEDS = sampled([*range(16), *(BLOCKS + n for n in range(16) if n not in (4, 8))])
UNITS: tuple[Unit, ...] = ("macs", "instructions")


def new_plans(seed: int) -> Plans:
    """All plans of a small network, on one of the cores."""
    return plans_of(ready(seed, small=True, core=CORES[seed // 2 % len(CORES)]), strips=True)


@cache
def plans(seed: int) -> Plans:
    """The same, once."""
    return new_plans(seed)


def key(point: Point) -> tuple[int, int]:
    return point.arena_bytes, point.cost


def all_points(of: Plans) -> list[Point]:
    """Everything that is or could be placed."""
    return [point for candidate in of.candidates for point in candidate.points]


def beside(figures: Iterable[int]) -> list[int]:
    """The figures, what is one less and one more, and what is in the middle between two; rising."""
    ordered = sorted(set(figures))
    between = ((a + b) // 2 for a, b in pairwise(ordered))
    return sorted({*between, *(f + by for f in ordered for by in (-1, 0, 1))})


def answers_in_ram(of: Plans, limits: Sequence[int]) -> Iterator[tuple[int, Point]]:
    for most in limits:
        try:
            yield most, within_ram(of, most)
        except InfeasibleError:
            continue


def answers_at_cost(of: Plans, unit: Unit, limits: Sequence[float]) -> Iterator[tuple[float, Point]]:
    for most in limits:
        try:
            yield most, within_cost(of, most, unit)
        except InfeasibleError:
            continue


def of_cost(of: Plans, points: Sequence[Point], unit: Unit) -> list[float]:
    """Limits at and around the costs of plans."""
    own = of.own(unit)
    figures = beside(point.macs if unit == "macs" else point.cost for point in points)
    return [*(figure / own for figure in figures), float("inf")]


def check(of: Plans, points: Sequence[Point]) -> None:
    """All sentences on one network; limits are those of `points`."""
    best = {key(point) for point in front(of)}
    check_front(front(of))
    check_worth(of, default(of), points)
    for found in (default(of), fastest(of), smallest(of)):
        assert key(found) in best
    cost: int | None = None
    rams = beside(point.arena_bytes + of.state for point in points)
    for most, point in answers_in_ram(of, [*rams, 1 << 60]):
        assert point.arena_bytes + of.state <= most
        assert key(point) in best
        assert cost is None or point.cost <= cost
        cost = point.cost
    assert cost is not None
    for unit in UNITS:
        arena: int | None = None
        for times, point in answers_at_cost(of, unit, of_cost(of, points, unit)):
            assert of.times(point, unit) <= times
            assert key(point) in best
            assert arena is None or point.arena_bytes <= arena
            arena = point.arena_bytes
        assert arena is not None


def check_front(points: Sequence[Point]) -> None:
    """None beats another."""
    for one, other in pairwise(points):
        assert one.arena_bytes > other.arena_bytes
        assert one.cost < other.cost


def check_worth(of: Plans, chosen: Point, points: Sequence[Point]) -> None:
    """The default against all that compute nothing twice; blocks take stack as well."""

    def ram(point: Point) -> int:
        return point.arena_bytes + of.state + (WORTH_BLOCKS if point.blocks else 0)

    for other in points:
        spent = chosen.cost - other.cost
        if spent > 0 and computes_once(other):
            saved = ram(other) - ram(chosen)
            assert spent * ram(other) <= RATE * saved * other.cost


def computes_once(point: Point) -> bool:
    """Whether a plan has neither strips nor blocks that compute something twice."""
    ready = point.ready
    again = {block.op for block in ready.blocks if block.again}
    return all(
        choice.strip_width is None and again.isdisjoint(ready.chosen(choice))
        for choice in point.choices
    )
