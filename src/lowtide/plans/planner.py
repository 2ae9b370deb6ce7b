"""Which plan: the least RAM at a cost (P1), the least cost in some RAM (P2), or all that are best.

There is one set of plans, `Plans.candidates`: ladders of paths through the stages (`plans.search`), each
of which costs least in its memory, operators in the forms that there is room for. Every answer is the
best of that set, so that answers agree: those of `front` are the plans of the set that no other beats,
and all others are among them. A larger limit never gives a slower plan.

Cost is predicted instructions, and, for a part whose flash is slow, the cycles of waiting for it; only
the limit of P1 may be one of MACs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from typing import Literal

from lowtide.errors import InfeasibleError
from lowtide.ir.macs import graph_macs
from lowtide.place.variables import state_bytes, variables_of
from lowtide.plans.candidates import Candidate, in_turn
from lowtide.plans.copies import copied_bytes
from lowtide.plans.cost import CostModel, load_model
from lowtide.plans.likely import Looks
from lowtide.plans.placer import Placer, Point, Tell
from lowtide.plans.refills import layer_by_layer
from lowtide.plans.search import choices_of, ladder
from lowtide.plans.space import Space, space_of, without_blocks, without_overlap, without_strips
from lowtide.plans.worth import Costs, is_worth
from lowtide.rows.prepare import Prepared
from lowtide.rows.stages import Choice

Unit = Literal["macs", "instructions"]
"""What an overhead is counted in."""

WORTH_BLOCKS = 512
"""Bytes of arena that blocks must save by default: they take some 250 of stack, and 2 KB of flash."""

FLASH_FOR_RAM = 8
"""Bytes of flash for weights in a second layout that a byte of arena is worth by default."""


@dataclass(frozen=True, eq=False)
class Plans:
    """The plans of one network, placed by `placer`. With `strips`, stages may run in strips; with both
    that and `overlap`, they may compute something twice.

    `effort` is a factor of what is spent to look at stages; past it only some are. What was found
    `before`, with less effort, perhaps in another order, counts as well: so more effort finds no worse
    plans.
    """

    ready: Prepared
    placer: Placer = field(repr=False)
    strips: bool
    effort: float
    tell: Tell = field(repr=False)
    before: Plans | None = field(default=None, repr=False)
    overlap: bool = True

    @cached_property
    def space(self) -> Space:
        """All stages."""
        self.tell("looking at all stages")
        return self._space(strips=self.strips, overlap=self.overlap)

    def _space(self, *, strips: bool, overlap: bool) -> Space:
        placer, effort = self.placer, self.effort
        how = {"strips": strips, "overlap": overlap}
        return space_of(self.ready, placer.prices, **how, effort=effort, again=placer.model.again)

    @cached_property
    def once(self) -> Space:
        """The stages that compute nothing twice, in strips, too."""
        if not self.overlap:
            return self.space
        if self.space.complete:
            return without_overlap(self.ready, self.space)
        return self._space(strips=True, overlap=False)

    @cached_property
    def plain(self) -> Space:
        """The stages that compute nothing twice, without strips."""
        if not self.strips:
            return self.space
        if self.space.complete:
            return without_strips(self.ready, self.space)
        return self._space(strips=False, overlap=False)

    @cached_property
    def plain_candidates(self) -> tuple[Candidate, ...]:
        """The plans that compute nothing twice, without strips."""
        spaces = [self.plain]
        if self.ready.blocks:
            spaces.append(without_blocks(self.plain))
        before = () if self.before is None else self.before.plain_candidates
        return (*before, *self._candidates(spaces, before))

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All plans. Those that compute nothing twice are the same with `overlap` and without."""
        if not self.overlap or not self.strips:
            return self.once_candidates
        before = () if self.before is None else self.before.candidates
        known = tuple(dict.fromkeys((*before, *self.once_candidates)))
        return (*known, *self._candidates([self.space], known, again=True))

    @cached_property
    def once_candidates(self) -> tuple[Candidate, ...]:
        """The plans that compute nothing twice, in strips, too."""
        if not self.strips:
            return self.plain_candidates
        before = () if self.before is None else self.before.once_candidates
        known = tuple(dict.fromkeys((*before, *self.plain_candidates)))
        return (*known, *self._candidates([self.once], known))

    def _candidates(
        self, spaces: list[Space], known: Sequence[Candidate], *, again: bool = False
    ) -> Iterator[Candidate]:
        """Those whose paths none of the others and of those that are `known` beats; with `again`, only
        those that compute something twice. What is known stays, so that more effort leaves out
        nothing."""
        paths = [of.path for of in known]
        for space in spaces:
            for path in ladder(space):
                if again and path.macs <= self.own("macs"):
                    continue
                if not any(other.beats(path) for other in paths):
                    paths.append(path)
                    yield Candidate(path, space, self.placer)

    @property
    def complete(self) -> bool:
        """Whether all stages were looked at before the effort was used up."""
        return self.space.complete

    @cached_property
    def state(self) -> int:
        """Bytes of state, beside the arena."""
        return state_bytes(variables_of(self.ready))

    def own(self, unit: Unit) -> int:
        """What the network costs layer by layer, each operator in its quickest form; 1 if it is nothing,
        so that it can be divided by."""
        return (graph_macs(self.ready.graph) if unit == "macs" else self._by_layers) or 1

    @cached_property
    def _by_layers(self) -> int:
        """The instructions, and cycles of waiting for slow flash. All effort looks at such stages."""
        stages = (edge for edges in self.plain.edges for edge in edges if not edge.blocks)
        alone = [edge.cost for edge in stages if edge.last - edge.first == edge.go == 1]
        return sum(alone) + self.placer.exchanged

    @cached_property
    def own_refilled_bytes(self) -> int | None:
        """Bytes of slow flash that are read into the part's cache layer by layer, predicted; None if the
        part's flash is not known."""
        model = self.placer.flash
        return None if model is None else sum(layer_by_layer(self.ready, model))

    def times(self, plan: Point | Candidate, unit: Unit) -> float:
        """The cost of a plan over the network's own, 1 if that is nothing; of a candidate that of its
        plans at least."""
        cost = plan.macs if unit == "macs" else plan.cost
        return cost / self.own(unit) if cost else 1.0


def plans_of(
    ready: Prepared,
    *,
    strips: bool,
    overlap: bool = True,
    effort: float = 1.0,
    placing: float | None = None,
    model: CostModel | None = None,
    tell: Tell = lambda _: None,
    before: Plans | None = None,
) -> Plans:
    """All plans of a network; with `strips`, also in strips; with both that and `overlap`, also those
    that compute something twice.

    They cost the instructions that `model` predicts, or that of the target's core. `effort` goes into
    finding stages, and into `placing` each plan, if nothing else is said. `before` are the plans of less
    effort. Raises UsageError if there is no model.
    """
    model = model or load_model(ready.target.priced_as)
    if before is not None and before.ready is ready:
        placer = before.placer
    else:
        placer = Placer(ready, model, effort if placing is None else placing, tell)
    return Plans(ready, placer, strips, effort, tell, before, overlap)


def default(plans: Plans) -> Point:
    """The plan of least RAM that computes nothing twice, without strips, as long as it is worth its
    instructions: no quicker one takes more RAM by less than 1 % for each 4 % of them.

    Blocks are worth it only if they save clearly more arena than their kernels need stack, and weights
    in a second layout only if that saves RAM enough.
    """
    known, looks = plans.plain_candidates, Looks()
    refused: set[tuple[Candidate, Point | None]] = set()
    copied: dict[Candidate | tuple[Choice, ...], int] = {}

    def beside(of: Candidate, point: Point | None) -> int:
        """What counts beside the arena."""
        found = plans.state + (WORTH_BLOCKS if of.path.blocks else 0)
        key = of if point is None else point.choices
        if key not in copied:
            choices = choices_of(of.path, plans.ready) if point is None else point.choices
            copied[key] = copied_bytes(plans.ready, choices)
        return found + copied[key] // FLASH_FOR_RAM

    def ways() -> Iterator[tuple[Costs, Candidate, Point | None]]:
        """All plans; of those that are not placed well the best that they can be, their cost in all
        likelihood if they are placed quickly. Then they are also what they are now."""
        for of in known:
            if of not in looks.well:
                cost = of.likely_cost if of in looks.quickly else of.cost
                more = of.waits + of.between
                yield Costs(of.peak + beside(of, None), cost - more, more), of, None
            points = of.points if of in looks.well else (of.quick,) if of in looks.quickly else ()
            for point in points:
                ram, more = point.arena_bytes + beside(of, point), point.waits + point.between
                yield Costs(ram, point.cost - more, more), of, point

    def likely(way: tuple[Costs, Candidate, Point | None]) -> Costs:
        """What it takes in all likelihood."""
        costs, of, point = way
        return costs if point is not None else replace(costs, ram=costs.ram + looks.above(of))

    def order(way: tuple[Costs, Candidate, Point | None]) -> tuple[int, int]:
        """Which way is tried first: the least RAM, in all likelihood."""
        costs = likely(way)
        return costs.ram, costs.work

    while True:
        every = list(ways())
        way = min((way for way in every if way[1:] not in refused), key=order)
        mine, of, point = likely(way), way[1], way[2]
        wrong = [way for way in every if not is_worth(mine, way[0], of.path.quickest)]
        if any(way[2] is not None for way in wrong):
            refused.add((of, point))
        elif point is None:
            looks.look(of)
        elif wrong:
            looks.look(min(wrong, key=lambda way: way[0].work)[1])
        else:
            # A plan with blocks takes stack as well: it is no better for less arena.
            blocks = of.path.blocks
            return _unbeaten((each for each in known if blocks or not each.path.blocks), point)


def fastest(plans: Plans) -> Point:
    """The plan of least cost."""
    return within_ram(plans, _ANY)


def smallest(plans: Plans) -> Point:
    """The plan of least RAM that computes nothing twice, strips that do not overlap included."""
    return within_cost(plans, 1.0, "macs")


def within_cost(plans: Plans, most: float, unit: Unit = "macs") -> Point:
    """P1: the least arena of the plans that cost at most `most` times what the network itself does.

    Raises InfeasibleError if `most` is below 1.
    """
    may = (of for of in plans.candidates if plans.times(of, unit) <= most)
    for point in _by_arena(may):
        if plans.times(point, unit) <= most:
            return point
    raise InfeasibleError(
        f"no plan computes less than the network itself: {most:g} times its {_units(plans, unit)} is "
        "too little",
        "allow an overhead of 1 or more",
    )


def within_ram(
    plans: Plans, most: int, max_overhead: float = float("inf"), unit: Unit = "macs"
) -> Point:
    """P2: the least cost of the plans whose arena and state are at most `most` bytes together.

    Raises InfeasibleError, which names the nearest plans on both sides, if there is none.
    """
    most -= plans.state
    best: Point | None = None
    beyond: Point | None = None
    for of in in_turn(plans.candidates, lambda of: (of.cost, of.peak)):
        if best is not None and of.cost > best.cost:
            break
        if of.peak > most or (best is not None and _beats(best, of)):
            continue
        for point in of.points:
            if point.arena_bytes > most:
                continue
            if plans.times(point, unit) > max_overhead:
                beyond = beyond or point
            elif best is None or _rank(point) < _rank(best):
                best = point
    if best is not None:
        return best
    nearest = within_cost(plans, max_overhead, unit)
    raise _too_little(plans, most, max_overhead, unit, nearest, beyond)


def front(plans: Plans, apart: float = 0.0) -> list[Point]:
    """Plans that no other beats in arena, instructions and MACs, the cheapest first; the default one is
    among them, even if one beats it that computes something twice.

    Placing them all takes long. With `apart`, plans are left out that are better than one of the others
    by no more than that part in anything.
    """
    tried: list[Point] = []
    for of in in_turn(plans.candidates, lambda of: (of.cost, of.peak)):
        if not any(_beats(point, of, 1 + apart) for point in tried):
            tried += of.points
    return _front_of(tried, default(plans))


def sketch(plans: Plans, usual: Point, apart: float = 0.0) -> list[Point]:
    """The `front` in little time: around the plan `usual`, which is among them, each of the others is
    placed quickly, and none in its place that would place better. So most arenas are a little larger
    than those of the front.
    """
    tried = [usual]
    for of in in_turn(plans.candidates, lambda of: (of.cost, of.peak)):
        if not any(_beats(point, of, 1 + apart) for point in tried):
            tried.append(of.quick)
    return _front_of(tried, usual)


def _front_of(tried: Iterable[Point], usual: Point) -> list[Point]:
    """Those that no other beats, and `usual`."""
    found: list[Point] = []
    for point in sorted(tried, key=_rank):
        if not any(_is_no_worse(other, point) for other in found):
            found.append(point)
    if _rank(usual) not in map(_rank, found):
        found.append(usual)
    return sorted(found, key=_rank)


_ANY = 1 << 60
"""More memory than there is."""

_NO_LIMIT = float("inf")
"""Of the work."""


def _rank(point: Point) -> tuple[int, int, int]:
    return point.cost, point.arena_bytes, point.macs


def _is_no_worse(one: Point, other: Point) -> bool:
    return (
        one.cost <= other.cost and one.arena_bytes <= other.arena_bytes and one.macs <= other.macs
    )


def _beats(point: Point, of: Candidate, nearly: float = 1.0) -> bool:
    """Whether no plan of a candidate can be better in anything, by more than this factor."""
    return (
        point.cost <= of.cost * nearly
        and point.arena_bytes <= of.peak * nearly
        and point.macs <= of.macs * nearly
    )


def _by_arena(candidates: Iterable[Candidate]) -> Iterator[Point]:
    """All plans, that of least arena first, and of these the cheapest."""
    heap: list[tuple[int, int, int, int, Point]] = []
    number = count()
    for of in in_turn(candidates, lambda of: (of.peak, of.cost)):
        while heap and heap[0][0] < of.peak:
            yield heappop(heap)[-1]
        for point in of.points:
            key = point.arena_bytes, point.cost, point.macs
            heappush(heap, (*key, next(number), point))
    while heap:
        yield heappop(heap)[-1]


def _unbeaten(among: Iterable[Candidate], point: Point) -> Point:
    """A plan that beats this one, as far as it is likely, or else it; `among` are exact."""
    for of in among:
        better = of.cost <= point.cost and of.peak <= point.arena_bytes and of.macs <= point.macs
        likely = better and not _beats(point, of) and of.likely_cost <= point.cost
        if likely and of.likely_arena <= point.arena_bytes:
            for other in of.points:
                if _is_no_worse(other, point):
                    point = other
    return point


def _units(plans: Plans, unit: Unit) -> str:
    if unit == "macs":
        return "MACs"
    slow = plans.placer.flash is not None
    return f"predicted instructions{' with waiting for flash' if slow else ''}"


def _at(plans: Plans, point: Point, unit: Unit) -> str:
    """At how many times the network's cost; nothing where that is once."""
    times = f"{plans.times(point, unit):.3f}"
    return f" at {times} times the {_units(plans, unit)}" if times != "1.000" else ""


def _too_little(
    plans: Plans, most: int, max_overhead: float, unit: Unit, nearest: Point, beyond: Point | None
) -> InfeasibleError:
    state = plans.state
    worst = max(nearest.placed.plan.stages, key=lambda s: s.peak_bytes)
    operators, verb = f"operators {worst.operators[0]} to {worst.operators[-1]}", "are"
    if len(worst.operators) == 1:
        operators, verb = f"operator {worst.operators[0]}", "is"
    limit = f"an arena of {most:,} bytes"
    if state:
        limit = f"{most + state:,} bytes of arena and state (the state takes {state:,})"
    cause = (
        f"no plan of this network fits {limit}"
        + (
            f" at {max_overhead:g} times its {_units(plans, unit)}"
            if max_overhead != _NO_LIMIT
            else ""
        )
        + f"; the smallest plan needs {nearest.arena_bytes + state:,} bytes"
        + _at(plans, nearest, unit)
        + f"; {operators} {verb} the bottleneck, with {worst.peak_bytes:,} bytes"
    )
    if beyond is not None:
        cause += (
            f"; a plan of {beyond.arena_bytes + state:,} bytes exists{_at(plans, beyond, unit)}"
        )
    remedy = "allow more RAM" + (" or a larger overhead" if max_overhead != _NO_LIMIT else "")
    if plans.ready.input_mode == "resident":
        remedy += ", or try whether a const or streamed input fits"
    return InfeasibleError(cause, remedy)
