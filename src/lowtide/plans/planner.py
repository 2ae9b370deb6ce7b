"""Which plan: the least RAM at a cost (P1), the least cost in some RAM (P2), or all that are best.

All three come from one space of stages (`rows.search`). A plan's arena is known once its rows are
placed, which may take a little more than the peak of live rows. So each plan that is found is placed,
and a stage that turned out to need more counts with what it needs from then on: what is returned fits
as it is, and is the best there is as far as stages can be placed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import accumulate
from time import monotonic

from lowtide.errors import InfeasibleError
from lowtide.ir.macs import graph_macs
from lowtide.place.rows import FULL, QUICK
from lowtide.plans.cost import CostModel, Prices
from lowtide.plans.search import Edge, Path, Space, cheapest, front
from lowtide.program.assemble import Assembly, assemble_rows
from lowtide.rows.prepare import Prepared, choices_of, space_of, without_strips
from lowtide.rows.stages import Choice

Tell = Callable[[str], None]
"""Is told what is going on."""

_TRIES = 12
"""How many plans are placed in search of one that fits, or of a smaller one."""

_FULL_TRIES = 4
"""How many plans that nearly fit are placed with full effort."""

_SHARES = (1, 0.75, 0.5, 0.25)
"""Of the lean operators that may have room for their normal form, how many are tried in it."""

_FULL = 0.8
"""The part of what lies below its highest row that a stage needs, for this to count as its need."""

_WORTH_BLOCKS = 512
"""Bytes of arena that blocks must save by default: they take some 250 of stack, and 2 KB of flash."""

_FRONT_TRIES = 1
_NEAR = 0.02
_FINER = 0.98
"""A next point of the front needs at most this much of the last one's arena."""


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A plan that was placed. `overhead` is its MACs over the network's own; `cost` is what plans are
    compared by, MACs or instructions as a model predicts them."""

    macs: int
    overhead: float
    peak_bytes: int
    choices: tuple[Choice, ...]
    assembly: Assembly = field(repr=False)
    cost: int

    @property
    def arena_bytes(self) -> int:
        """Bytes of arena."""
        return self.assembly.arena_bytes


@dataclass(slots=True, eq=False)
class Planner:
    """Plans of one network. `seconds` limits the search; past it only some stages are looked at.

    Plans are compared, and their cost limited, by MACs, or by instructions with a `model` of them.
    """

    ready: Prepared
    strips: bool
    seconds: float = 60.0
    tell: Tell = lambda _: None
    model: CostModel | None = None
    _spaces: dict[bool, Space] = field(default_factory=dict)
    _placed: dict[tuple[Choice, ...], Point] = field(default_factory=dict)
    _best: dict[tuple[Choice, ...], Point] = field(default_factory=dict)
    _tried: dict[tuple[Path, float], Point] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether all stages were looked at before the time was up."""
        return all(space.complete for space in self._spaces.values())

    def least(self) -> Point:
        """The plan of least arena that computes nothing twice, without strips and lean forms.

        Blocks are worth it only if they save clearly more arena than their kernels need stack.
        """
        space = self._space(strips=False)
        path = cheapest(space, blocks=False)
        assert path is not None
        plain = self._place(space, path)
        path = front(space)[-1]
        if path.peak + _WORTH_BLOCKS <= plain.arena_bytes:
            best = self.place(self._least(space, path, path.cost, _FRONT_TRIES).choices)
            if best.arena_bytes + _WORTH_BLOCKS <= plain.arena_bytes:
                return best
        return self.place(plain.choices)

    def place(self, choices: tuple[Choice, ...]) -> Point:
        """The plan of these stages, placed as well as can be."""
        if choices not in self._best:
            quick = self._quick(choices)
            best = quick
            if quick.arena_bytes > quick.assembly.placement.lower_bound_bytes:
                best = self._point(choices, FULL)
            # More effort goes other ways, which need not be better.
            self._best[choices] = min(best, quick, key=lambda p: p.arena_bytes)
        return self._best[choices]

    def _quick(self, choices: tuple[Choice, ...]) -> Point:
        """The plan of these stages, placed in short time."""
        if choices not in self._placed:
            self._placed[choices] = self._point(choices, QUICK)
        return self._placed[choices]

    def _point(self, choices: tuple[Choice, ...], effort: int) -> Point:
        assembly = assemble_rows(self.ready, choices, effort=effort)
        assert assembly.plan is not None
        macs = assembly.plan.macs
        cost = macs if self.model is None else self.model.program(assembly)
        return Point(macs, macs / self._own_macs, assembly.plan.peak_bytes, choices, assembly, cost)

    def within_cost(self, most: float) -> Point:
        """P1: the least arena of the plans that cost at most `most` times what the network itself does.

        Raises InfeasibleError if `most` is below 1.
        """
        self.tell("looking at all stages")
        limit = most * self._own
        found = [(path, upto) for path, upto in self._levels() if path.cost <= limit]
        if not found:
            raise InfeasibleError(
                f"no plan computes less than the network itself: {most:g} times its {self._unit} is "
                "too little",
                "allow an overhead of 1 or more",
            )
        best = self._least(self._space(strips=self.strips), found[-1][0], limit, _TRIES)
        for path, upto in found:
            if path.peak < best.arena_bytes and upto <= limit:
                point = self._level(path, upto)  # as for the front, which has nothing better then
                best = min(best, point, key=lambda p: (p.arena_bytes, p.cost))
        of_least_peak = choices_of(found[-1][0], self.ready)
        tried = (self.place(choices) for choices in (best.choices, of_least_peak))
        best = min((best, *tried), key=lambda p: (p.arena_bytes, p.cost))
        return self._quickened(best, best.arena_bytes)

    def within_ram(self, most: int, max_overhead: float = float("inf")) -> Point:
        """P2: the least cost of the plans whose arena is at most `most` bytes.

        Raises InfeasibleError, which names the nearest plans on both sides, if there is none.
        """
        self.tell("looking at all stages")
        space = self._space(strips=self.strips)
        best = self._cheapest(space, most)
        for path, upto in self._levels():
            if path.peak <= most and (best is None or path.cost < best.cost):
                point = self._level(path, upto)
                if point.arena_bytes <= most and (best is None or point.cost < best.cost):
                    best = point
        if best is None or self._times(best) > max_overhead:
            nearest = self.within_cost(max_overhead)
            if nearest.arena_bytes > most:
                raise self._too_little(most, max_overhead, nearest, best)
            best = nearest
        return self._quickened(best, most)

    def _cheapest(self, space: Space, most: int) -> Point | None:
        """The first plan, from the cheapest on, whose arena is at most `most` bytes."""
        space.needs.clear()
        tried: set[tuple[Edge, ...]] = set()
        more = _FULL_TRIES
        while (path := cheapest(space, most)) is not None and path.edges not in tried:
            tried.add(path.edges)  # a plan comes again if what is in the way is in no stage
            point = self._place(space, path)
            if point.assembly.placement.lower_bound_bytes <= most < point.arena_bytes and more:
                more -= 1
                point = self.place(point.choices)
            if point.arena_bytes <= most:
                return point
        return None

    def _level(self, path: Path, most: float) -> Point:
        """`_least` in few tries; they depend on nothing else, so the answer is always the same."""
        if (path, most) not in self._tried:
            space = self._space(strips=self.strips)
            self._tried[path, most] = self._least(space, path, most, _FRONT_TRIES, _NEAR)
        return self._tried[path, most]

    def _least(self, space: Space, path: Path, most: float, tries: int, near: float = 0.0) -> Point:
        """The least arena of the plans that cost at most `most`, of which `path` has the least peak.

        What is at most 1 + `near` times what is possible is good enough.
        """
        space.needs.clear()
        best = self._place(space, path)
        low = path.peak
        for _ in range(tries):
            if best.arena_bytes <= low * (1 + near):
                break
            limit = (low + best.arena_bytes - 1) // 2
            other = cheapest(space, limit)
            if other is None or other.cost > most:
                low = limit + 1
                continue
            point = self._place(space, other)
            if point.arena_bytes < best.arena_bytes:
                best = point
        # The same arena may do with fewer lean kernels and blocks, or less work.
        for _ in range(2 if tries > _FRONT_TRIES else 0):
            same = cheapest(space, best.arena_bytes)
            if same is not None:
                point = self._place(space, same)
                if point.cost <= best.cost and point.arena_bytes <= best.arena_bytes:
                    best = point
            space.needs.clear()  # what a stage needed beside others
        return best

    def _quickened(self, point: Point, most: int) -> Point:
        """The plan with as few lean operators as `most` bytes of arena allow, as far as tried."""
        plan = point.assembly.plan
        assert plan is not None
        room = self._room(point, most)
        lean = {
            member
            for choice in point.choices
            if choice.lean
            for op in self.ready.chosen(choice)
            if (more := self._more_scratch(op)) and more <= room.get(op, 0)
            for member in self.ready.members(op)
        }
        ranked = sorted(
            (op for op in room if lean.issuperset(self.ready.members(op))),
            key=lambda op: self._more_scratch(op) - room[op],
        )
        for share in _SHARES:
            kept = {
                m for op in ranked[: round(len(ranked) * share)] for m in self.ready.members(op)
            }
            if not kept:
                break
            choices = tuple(
                replace(c, normal=tuple(op for op in c.operators if op in kept)) if c.lean else c
                for c in point.choices
            )
            quick = self.place(choices)
            if quick.arena_bytes <= most and quick.cost <= point.cost:
                return quick
        return point

    def _room(self, point: Point, most: int) -> dict[int, int]:
        """Operator -> bytes below `most` that are free in all its steps."""
        plan = point.assembly.plan
        assert plan is not None
        change = [0] * (len(plan.steps) + 3)
        for block in point.assembly.placement.blocks:
            change[block.start] += block.size
            change[block.end] -= block.size
        live = list(accumulate(change))
        room: dict[int, int] = {}
        for slot, (node, _) in enumerate(plan.steps, start=1):
            op = plan.operators[node]
            room[op] = min(room.get(op, most), most - live[slot])
        return room

    def _more_scratch(self, operator: int) -> int:
        """Bytes that an operator's normal form needs beyond its lean form; 0 if it has none."""
        nodes = self.ready.lowered[operator].nodes if operator >= 0 else ()
        return max((node.scratch - node.leaner.scratch for node in nodes), default=0)

    def _levels(self) -> list[tuple[Path, float]]:
        """By peaks alone, the plan of least peak for every cost that is worth it, the cheapest first;
        and the cost up to which it has the least peak."""
        space = self._space(strips=self.strips)
        space.needs.clear()
        found = list({path.cost: path for path in front(space)}.values())
        nexts = [path.cost - 1 for path in found[1:]]
        return list(zip(found, [*nexts, float("inf")], strict=True))

    def _too_little(
        self, most: int, max_overhead: float, nearest: Point, beyond: Point | None
    ) -> InfeasibleError:
        assert nearest.assembly.plan is not None
        worst = max(nearest.assembly.plan.stages, key=lambda s: s.peak_bytes)
        operators = f"operators {worst.operators[0]} to {worst.operators[-1]}"
        if len(worst.operators) == 1:
            operators = f"operator {worst.operators[0]}"
        cause = (
            f"no plan of this network fits an arena of {most:,} bytes"
            + (
                f" at {max_overhead:g} times its {self._unit}"
                if max_overhead != float("inf")
                else ""
            )
            + f"; the nearest needs {nearest.arena_bytes:,} bytes at {self._times(nearest):.3f} times "
            f"(in the way: {operators}, {worst.peak_bytes:,} bytes)"
        )
        if beyond is not None:
            cause += f"; {beyond.arena_bytes:,} bytes take {self._times(beyond):.3f} times"
        return InfeasibleError(
            cause, "allow more RAM or a larger overhead, or let the input be const or streamed"
        )

    def points(self) -> list[Point]:
        """The front: plans that no other beats in both arena and cost, the cheapest first.

        For every cost there is the plan that `within_cost` finds, placed in less time, but for those
        whose arena is less than 2 % below that of a cheaper one.
        """
        self.tell("looking at all stages")
        low: float = float("inf")
        for path, upto in self._levels():
            if path.peak <= low * _FINER:
                low = self._level(path, upto).arena_bytes
        found: list[Point] = []
        placed = (*self._placed.values(), *self._best.values())
        for point in sorted(placed, key=lambda p: (p.cost, p.arena_bytes)):
            if not found or point.arena_bytes <= found[-1].arena_bytes * _FINER:
                found.append(point)
        return found

    @property
    def _own_macs(self) -> int:
        """The network's MACs; 1 if it has none, so that they can be divided by."""
        return graph_macs(self.ready.graph) or 1

    @property
    def _own(self) -> int:
        """What the network costs layer by layer."""
        if self._prices is None:
            return self._own_macs
        return sum(price.whole for price in self._prices.values()) or 1

    @property
    def _unit(self) -> str:
        return "MACs" if self.model is None else "instructions, as predicted"

    def _times(self, point: Point) -> float:
        """The cost of a plan over the network's own."""
        return point.cost / self._own

    @property
    def _prices(self) -> Prices | None:
        if self.model is None:
            return None
        return self.model.prices(self.ready.nodes)

    def _place(self, space: Space, path: Path) -> Point:
        """Place a path, and note what its stages turned out to need.

        Rows of a stage that needs little may lie high because there is room. So only stages are noted
        that need nearly all below their highest row, and of those that reach the top the largest.
        """
        choices = choices_of(path, self.ready)
        if choices not in self._placed:
            self.tell(f"placing plan {len(self._placed) + 1}")
        point = self._quick(choices)
        tops = stage_tops(point.assembly)
        highest = max(zip(tops, (e.peak for e in path.edges), strict=True), default=(0, 0))
        for edge, top in zip(path.edges, tops, strict=True):
            if edge.peak >= _FULL * top or (top, edge.peak) == highest:
                space.needs[edge] = max(edge.peak, top)
        return point

    def _space(self, *, strips: bool) -> Space:
        if strips not in self._spaces:
            whole = self._space(strips=True) if self.strips and not strips else None
            if whole is not None and whole.complete:
                self._spaces[strips] = without_strips(self.ready, whole)
                return self._spaces[strips]
            until = monotonic() + self.seconds
            self._spaces[strips] = space_of(
                self.ready, strips=strips, goes_on=lambda: monotonic() < until, model=self.model
            )
        return self._spaces[strips]


def stage_tops(assembly: Assembly) -> list[int]:
    """The highest end, in bytes, of what is live while each stage runs."""
    plan = assembly.plan
    assert plan is not None
    counts = Counter(node for node, _ in plan.steps)
    ends: list[int] = []
    at = 1
    for stage in plan.stages:
        at += sum(counts[node] for node in range(stage.first, stage.last))
        ends.append(at)
    tops = [0] * len(ends)
    starts = [1, *ends[:-1]]
    for block in assembly.placement.blocks:
        if block.start < block.end and block.size:
            first = bisect_right(ends, max(block.start, 1))
            while first < len(ends) and starts[first] < block.end:
                tops[first] = max(tops[first], block.offset + block.size)
                first += 1
    return tops
