"""Which plan: the least RAM at a cost (P1), the least cost in some RAM (P2), or all that are best.

All three come from one space of stages (`plans.space`). A plan's arena is known once its rows are
placed, which may take a little more than the peak of live rows. So each plan that is found is placed,
and a stage that turned out to need more counts with what it needs from then on, in that search: what is
returned fits as it is, and is the best there is as far as stages can be placed.

`least`, `within_cost`, `within_ram` and `front` are functions of `Plans`, which never change: an answer
depends on nothing that was asked before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from lowtide.errors import InfeasibleError
from lowtide.ir.macs import graph_macs
from lowtide.place.variables import state_bytes, variables_of
from lowtide.plans.cost import CostModel
from lowtide.plans.forms import costs, fitted, is_worth, quickened
from lowtide.plans.placed import stage_tops
from lowtide.plans.placer import Placer, Point, Tell
from lowtide.plans.search import Path, cheapest, choices_of, unbeaten_paths
from lowtide.plans.space import Edge, Space, space_of, without_strips
from lowtide.rows.prepare import Prepared

_TRIES = 12
"""How many plans are placed in search of one that fits, or of a smaller one."""

_FULL_TRIES = 4
"""How many plans that nearly fit are placed with full effort."""

_FULL = 0.8
"""The part of what lies below its highest row that a stage needs, for this to count as its need."""

WORTH_BLOCKS = 512
"""Bytes of arena that blocks must save by default: they take some 250 of stack, and 2 KB of flash."""

_FRONT_TRIES = 1
_NEAR = 0.02
_FINER = 0.98
"""A next point of the front needs at most this much of the last one's arena."""


@dataclass(frozen=True, eq=False)
class Plans:
    """The plans of one network: paths through its stages, placed by `placer`. With `strips`, there are
    stages that compute something twice, and lean forms. With a `model`, cost is the instructions that it
    predicts, else MACs.

    `effort` is a factor of what all searches may do; past it only some stages are looked at.
    """

    ready: Prepared
    placer: Placer = field(repr=False)
    model: CostModel | None
    strips: bool
    effort: float
    tell: Tell = field(repr=False)

    @cached_property
    def space(self) -> Space:
        """All stages."""
        self.tell("looking at all stages")
        return space_of(self.ready, strips=self.strips, effort=self.effort, model=self.model)

    @cached_property
    def plain(self) -> Space:
        """The stages that compute nothing twice."""
        if not self.strips:
            return self.space
        if self.space.complete:
            return without_strips(self.ready, self.space)
        return space_of(self.ready, strips=False, effort=self.effort, model=self.model)

    @cached_property
    def levels(self) -> tuple[tuple[Path, float], ...]:
        """By peaks alone, the plan of least peak for every cost that is worth it, the cheapest first;
        and the cost up to which it has the least peak."""
        found = list({path.cost: path for path in unbeaten_paths(self.space)}.values())
        nexts = [path.cost - 1 for path in found[1:]]
        return tuple(zip(found, [*nexts, float("inf")], strict=True))

    @property
    def complete(self) -> bool:
        """Whether all stages were looked at before the effort was used up."""
        return self.space.complete

    @cached_property
    def own(self) -> int:
        """What the network costs layer by layer; 1 if that is nothing, so that it can be divided by."""
        if self.model is None:
            return graph_macs(self.ready.graph) or 1
        prices = self.model.prices(self.ready.nodes)
        return sum(price.whole for price in prices.values()) or 1

    @property
    def unit(self) -> str:
        """What cost is counted in."""
        return "MACs" if self.model is None else "instructions, as predicted"

    def times(self, point: Point) -> float:
        """The cost of a plan over the network's own."""
        return point.cost / self.own


def plans_of(
    ready: Prepared,
    *,
    strips: bool,
    effort: float = 1.0,
    model: CostModel | None = None,
    tell: Tell = lambda _: None,
) -> Plans:
    """All plans of a network; with `strips`, also those that compute something twice, or in lean form.

    Plans are compared, and their cost limited, by MACs, or by instructions with a `model` of them.
    """
    return Plans(ready, Placer(ready, model, effort, tell), model, strips, effort, tell)


def least(plans: Plans) -> Point:
    """The plan of least arena that computes nothing twice, without strips.

    Blocks are worth it only if they save clearly more arena than their kernels need stack, and forms of
    less scratch memory if what they save is worth their instructions (`plans.forms`).
    """
    path = cheapest(plans.plain, blocks=False)
    assert path is not None
    plain = plans.placer.quick(choices_of(path, plans.ready))
    path = unbeaten_paths(plans.plain)[-1]
    if path.peak + WORTH_BLOCKS <= plain.arena_bytes:
        found, _ = _least(plans, plans.plain, path, path.cost, _FRONT_TRIES)
        best = fitted(plans.placer, found)
        less, than = (costs(plans.placer, point) for point in (best, plain))
        if less.ram + WORTH_BLOCKS <= than.ram and is_worth(less, than):
            return best
    return fitted(plans.placer, plain)


def within_cost(plans: Plans, most: float) -> Point:
    """P1: the least arena of the plans that cost at most `most` times what the network itself does.

    Raises InfeasibleError if `most` is below 1.
    """
    limit = most * plans.own
    found = [(path, upto) for path, upto in plans.levels if path.cost <= limit]
    if not found:
        raise InfeasibleError(
            f"no plan computes less than the network itself: {most:g} times its {plans.unit} is "
            "too little",
            "allow an overhead of 1 or more",
        )
    best, _ = _least(plans, plans.space, found[-1][0], limit, _TRIES)
    for path, upto in found:
        if path.peak < best.arena_bytes and upto <= limit:
            point, _ = _level(plans, path, upto)  # as for the front, which has nothing better then
            best = min(best, point, key=lambda p: (p.arena_bytes, p.cost))
    best = plans.placer.best(best.choices)
    if found[-1][0].peak < best.arena_bytes:
        of_least_peak = plans.placer.best(choices_of(found[-1][0], plans.ready))
        best = min(best, of_least_peak, key=lambda p: (p.arena_bytes, p.cost))
    return quickened(plans.placer, best, best.arena_bytes)


def within_ram(plans: Plans, most: int, max_overhead: float = float("inf")) -> Point:
    """P2: the least cost of the plans whose arena and state are at most `most` bytes together.

    Raises InfeasibleError, which names the nearest plans on both sides, if there is none.
    """
    state = state_bytes(variables_of(plans.ready))
    most -= state
    best = _cheapest(plans, most)
    for path, upto in plans.levels:
        if path.peak <= most and (best is None or path.cost < best.cost):
            point, _ = _level(plans, path, upto)
            if point.arena_bytes <= most and (best is None or point.cost < best.cost):
                best = point
    if best is None or plans.times(best) > max_overhead:
        nearest = within_cost(plans, max_overhead)
        if nearest.arena_bytes > most:
            raise _too_little(plans, most, state, max_overhead, nearest, best)
        best = nearest
    return plans.placer.best(quickened(plans.placer, best, most).choices)


def front(plans: Plans, also: Iterable[Point] = ()) -> list[Point]:
    """Plans that no other beats in both arena and cost, those of `also` included; the cheapest first.

    For every cost there is the plan that `within_cost` finds, placed in less time, but for those
    whose arena is less than 2 % below that of a cheaper one.
    """
    low: float = float("inf")
    tried = [*also]
    for path, upto in plans.levels:
        if path.peak <= low * _FINER:
            best, seen = _level(plans, path, upto)
            low = best.arena_bytes
            tried += seen
    found: list[Point] = []
    for point in sorted(tried, key=lambda p: (p.cost, p.arena_bytes)):
        if not found or point.arena_bytes <= found[-1].arena_bytes * _FINER:
            found.append(point)
    return found


def _cheapest(plans: Plans, most: int) -> Point | None:
    """The first plan, from the cheapest on, whose arena is at most `most` bytes."""
    needs: dict[Edge, int] = {}
    tried: set[tuple[Edge, ...]] = set()
    more = _FULL_TRIES
    while (path := cheapest(plans.space, most, needs=needs)) and path.edges not in tried:
        tried.add(path.edges)  # a plan comes again if what is in the way is in no stage
        point = _placed(plans, path, needs)
        if point.placed.placement.lower_bound_bytes <= most < point.arena_bytes and more:
            more -= 1
            point = plans.placer.best(point.choices)
        if point.arena_bytes <= most:
            return point
    return None


def _level(plans: Plans, path: Path, most: float) -> tuple[Point, list[Point]]:
    """`_least` in few tries."""
    return _least(plans, plans.space, path, most, _FRONT_TRIES, _NEAR)


def _least(
    plans: Plans, space: Space, path: Path, most: float, tries: int, near: float = 0.0
) -> tuple[Point, list[Point]]:
    """The least arena of the plans that cost at most `most`, of which `path` has the least peak; and
    all plans that were placed on the way.

    What is at most 1 + `near` times what is possible is good enough.
    """
    needs: dict[Edge, int] = {}
    best = _placed(plans, path, needs)
    seen = [best]
    low = path.peak
    for _ in range(tries):
        if best.arena_bytes <= low * (1 + near):
            break
        limit = (low + best.arena_bytes - 1) // 2
        other = cheapest(space, limit, needs=needs)
        if other is None or other.cost > most:
            low = limit + 1
            continue
        seen.append(_placed(plans, other, needs))
        if seen[-1].arena_bytes < best.arena_bytes:
            best = seen[-1]
    # The same arena may do with fewer lean kernels and blocks, or less work.
    for _ in range(2 if tries > _FRONT_TRIES else 0):
        same = cheapest(space, best.arena_bytes, needs=needs)
        if same is not None:
            seen.append(_placed(plans, same, needs))
            if seen[-1].cost <= best.cost and seen[-1].arena_bytes <= best.arena_bytes:
                best = seen[-1]
        needs = {}  # what a stage needed beside others
    return best, seen


def _placed(plans: Plans, path: Path, needs: dict[Edge, int]) -> Point:
    """A path placed; what its stages turned out to need is noted in `needs`.

    Rows of a stage that needs little may lie high because there is room. So only stages are noted
    that need nearly all below their highest row, and of those that reach the top the largest.
    """
    point = plans.placer.quick(choices_of(path, plans.ready))
    tops = stage_tops(point.placed)
    highest = max(zip(tops, (e.peak for e in path.edges), strict=True), default=(0, 0))
    for edge, top in zip(path.edges, tops, strict=True):
        if edge.peak >= _FULL * top or (top, edge.peak) == highest:
            needs[edge] = max(edge.peak, top)
    return point


def _too_little(
    plans: Plans, most: int, state: int, max_overhead: float, nearest: Point, beyond: Point | None
) -> InfeasibleError:
    worst = max(nearest.placed.plan.stages, key=lambda s: s.peak_bytes)
    operators = f"operators {worst.operators[0]} to {worst.operators[-1]}"
    if len(worst.operators) == 1:
        operators = f"operator {worst.operators[0]}"
    limit = f"an arena of {most:,} bytes"
    if state:
        limit = f"{most + state:,} bytes of arena and state ({state:,})"
    cause = (
        f"no plan of this network fits {limit}"
        + (f" at {max_overhead:g} times its {plans.unit}" if max_overhead != float("inf") else "")
        + f"; the nearest needs {nearest.arena_bytes + state:,} bytes at "
        f"{plans.times(nearest):.3f} times "
        f"(in the way: {operators}, {worst.peak_bytes:,} bytes)"
    )
    if beyond is not None:
        cause += f"; {beyond.arena_bytes + state:,} bytes take {plans.times(beyond):.3f} times"
    return InfeasibleError(
        cause, "allow more RAM or a larger overhead, or let the input be const or streamed"
    )
