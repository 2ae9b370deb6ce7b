"""Which form each operator of a plan runs in: the quickest that there is room for.

Kernels have forms of more and of less scratch memory (`Node.forms`). Scratch memory matters only in the
steps of its operator: beside little that is live there may be much of it, and where most is live, a
smaller form of one operator may lower the arena of the whole plan.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate

import numpy as np

from lowtide.lower.nodes import Node
from lowtide.place.variables import state_bytes, variables_of
from lowtide.plans.cost import CostModel
from lowtide.plans.placer import Placer, Point
from lowtide.rows.prepare import Prepared
from lowtide.rows.stages import Choice
from lowtide.rows.table import Ints

_SHARES = (1, 0.75, 0.5, 0.25)
"""Of the operators that have room for a quicker form, how many are tried in it."""

LITTLE, MOST_FOR_LITTLE = 1, 3
"""Saving less than so many percent of the RAM may cost no more than that many of the instructions."""

_PARTS = (1, 0.95)
"""By default, forms are larger where there is room in such a part of the arena: what takes all of it may
be too hard to place."""

_RATE, _MOST = 4, 5
"""Smaller forms may cost so many percent of the instructions for a percent of the RAM, and no more
percent of them."""

TRIES = 2
"""How many plans in smaller forms are placed."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Bytes of arena and state, and the instructions of a run as predicted."""

    ram: int
    instructions: int

    def saves(self, percent: int, other: Costs) -> bool:
        """Whether it does without so much of another plan's RAM."""
        return 100 * self.ram <= (100 - percent) * other.ram

    def spends(self, percent: int, other: Costs) -> bool:
        """Whether it takes more than so much beyond another plan's instructions."""
        return 100 * self.instructions > (100 + percent) * other.instructions


def is_worth(less: Costs, than: Costs) -> bool:
    """Whether less RAM may be the default instead of what `than` takes: it never is if more than 3 % of
    the instructions were spent to save less than 1 % of RAM."""
    return not less.spends(MOST_FOR_LITTLE, than) or less.saves(LITTLE, than)


def is_cheap(less: Costs, than: Costs) -> bool:
    """Whether smaller forms are worth it, too: they are no plan of their own."""
    spent = (less.instructions - than.instructions) * than.ram
    saved = (than.ram - less.ram) * than.instructions
    return is_worth(less, than) and not less.spends(_MOST, than) and spent <= _RATE * saved


def costs(placer: Placer, point: Point) -> Costs:
    """Those of a plan; without a model of the core, no plan takes any instructions."""
    return Costs(
        point.arena_bytes + state_bytes(variables_of(placer.ready)), placer.instructions(point) or 0
    )


def fitted(placer: Placer, point: Point) -> Point:
    """The plan with operators at its peak in smaller forms, if the RAM that they save is worth their
    instructions, and others in larger ones where there is room. Without a model of the core, the plan
    as it is."""
    if placer.prices is None:
        return placer.best(point.choices)
    now = costs(placer, point)
    state = now.ram - point.arena_bytes
    levels = _levels(placer.ready, point, placer.prices)
    cheap = [
        most
        for most, spent in levels.items()
        if most < point.arena_bytes and is_cheap(Costs(most + state, spent), now)
    ]
    found = point
    for most in cheap[:TRIES]:
        room = _smaller(placer.ready, point, most)
        smaller = placer.quick(_with_room(placer.ready, point, room))
        if most == cheap[0] and not is_cheap(costs(placer, smaller), now):
            smaller = placer.best(smaller.choices)
        if smaller.arena_bytes < point.arena_bytes and is_cheap(costs(placer, smaller), now):
            found = smaller
            break
    best = placer.best(point.choices)
    if found is not point:
        smaller = placer.best(found.choices)
        if is_cheap(costs(placer, smaller), costs(placer, best)):
            best = smaller
    return placer.best(_roomier(placer, best).choices)


def _roomier(placer: Placer, point: Point) -> Point:
    """The plan with operators in larger forms: where there is any room, or where there is much of it."""
    for part in _PARTS:
        most = int(part * point.arena_bytes)
        quick = placer.quick(_with_room(placer.ready, point, _larger(placer.ready, point, most)))
        if quick.peak_bytes <= point.arena_bytes < quick.arena_bytes:
            quick = placer.best(quick.choices)
        if quick.arena_bytes <= point.arena_bytes and quick.cost <= point.cost:
            return quick
    return point


def _larger(ready: Prepared, point: Point, most: int) -> dict[int, int]:
    """Operator -> bytes of scratch memory in an arena of `most` bytes, of those that gain by it."""
    plan, scratch = point.placed.plan, point.placed.rows.table.scratch
    now = dict(zip(plan.operators, scratch, strict=True))
    return {op: room for op, room in _room(point, most).items() if _gain(ready, op, room) > now[op]}


def _smaller(ready: Prepared, point: Point, most: int) -> dict[int, int]:
    """Operator -> bytes of scratch memory in an arena of `most` bytes, no more than it normally has."""
    forms = ((op, room, _forms(ready, op)) for op, room in _room(point, most).items())
    return {op: min(room, found[0][0]) for op, room, found in forms if found}


def quickened(placer: Placer, point: Point, most: int) -> Point:
    """The plan with as many operators in quicker forms as an arena of `most` bytes allows, as far as
    tried."""
    ready, room = placer.ready, _room(point, most)
    gain = {op: _gain(ready, op, room[op]) for op in room}
    ranked = sorted((op for op in room if gain[op] > 0), key=lambda op: gain[op] - room[op])
    for share in _SHARES:
        kept = ranked[: round(len(ranked) * share)]
        choices = _with_room(ready, point, {op: room[op] for op in kept})
        if not kept or choices == point.choices:
            break
        quick = placer.quick(choices)
        if quick.peak_bytes <= most < quick.arena_bytes:
            quick = placer.best(choices)
        if quick.arena_bytes <= most and quick.cost <= point.cost:
            return quick
    return point


def _room(point: Point, most: int) -> dict[int, int]:
    """Operator -> bytes of scratch memory that it may have in an arena of `most` bytes."""
    plan = point.placed.plan
    scratch = point.placed.rows.table.scratch
    room: dict[int, int] = {}
    for (node, _), live in zip(plan.steps, _live(point), strict=True):
        op = plan.operators[node]
        room[op] = min(room.get(op, most), most - live + scratch[node])
    return room


def _live(point: Point) -> list[int]:
    """Bytes of rows and scratch memory in each step."""
    steps = point.placed.plan.steps
    change = [0] * (len(steps) + 3)
    for rectangle in point.placed.placement.rectangles:
        change[rectangle.start] += rectangle.size
        change[rectangle.end] -= rectangle.size
    return list(accumulate(change))[1 : len(steps) + 1]


def _levels(ready: Prepared, point: Point, model: CostModel) -> dict[int, int]:
    """Bytes of arena, from what there must be to what is live at the peak -> predicted instructions in
    the forms that have room then, none larger than the normal one."""
    plan, live = point.placed.plan, np.array(_live(point), np.int64)
    peak = max(int(live.max(initial=0)), plan.peak_bytes)
    node = [node for node, _ in plan.steps]
    scratch = np.array(point.placed.rows.table.scratch, np.int64)[node]
    formed = {op: [n for _, n in of] for op in {*plan.operators} if (of := _forms(ready, op))}
    beside, fixed = beside_scratch(live, scratch, np.array(plan.operators, np.int64)[node], formed)
    price = cache(model.node)
    others = sum(
        times * price(node) for node, times in point.placed.rows.executed if node.op not in formed
    )
    found = levels(beside, formed, fixed, peak, price)
    return {most: others + spent for most, spent in found.items()}


def beside_scratch(
    live: Ints, scratch: Ints, operators: Ints, formed: Collection[int]
) -> tuple[dict[int, int], int]:
    """The most that is live beside the scratch memory of each operator that is `formed`, and in the
    steps of all others; by step, `live` and `scratch` are in bytes, and an exchange's operator is -1."""
    others = ~np.isin(operators, list(formed))
    most = np.zeros(max(formed, default=0) + 1, np.int64)
    np.maximum.at(most, operators[~others], (live - scratch)[~others])
    return {op: int(most[op]) for op in formed}, int(live[others].max(initial=0))


def levels(
    beside: Mapping[int, int],
    formed: Mapping[int, Sequence[Node]],
    fixed: int,
    peak: int,
    price: Callable[[Node], int],
) -> dict[int, int]:
    """Bytes of arena, from what there must be up to `peak` -> what operators that have several forms
    cost in those that have room then, none larger than the normal one.

    `formed` are these forms, the normal one first; `beside` is the most that is live beside an
    operator's scratch memory, and `fixed` what all others need.
    """
    least = max([fixed, *(beside[op] + min(n.scratch for n in of) for op, of in formed.items())])
    tight = {op: of for op, of in formed.items() if beside[op] + of[0].scratch > least}
    rest = sum(price(of[0].within(of[0].scratch)) for op, of in formed.items() if op not in tight)
    tried = {least, peak, *(beside[op] + n.scratch for op, of in tight.items() for n in of)}
    return {
        most: rest
        + sum(
            price(of[0].within(min(of[0].scratch, most - beside[op]))) for op, of in tight.items()
        )
        for most in sorted(tried)
        if least <= most <= peak
    }


def _forms(ready: Prepared, operator: int) -> list[tuple[int, Node]]:
    """The forms of an operator that has several: their scratch memory and their nodes."""
    nodes = ready.lowered[operator].nodes if operator >= 0 else ()
    if len(nodes) != 1 or not nodes[0].forms:
        return []
    return [(node.scratch, node) for node in (nodes[0], *nodes[0].forms)]


def _gain(ready: Prepared, operator: int, room: int) -> int:
    """Bytes of scratch memory that an operator's form would have in `room` bytes."""
    sizes = [size for size, _ in _forms(ready, operator) if size <= room]
    return max(sizes, default=0)


def _with_room(ready: Prepared, point: Point, room: Mapping[int, int]) -> tuple[Choice, ...]:
    """The stages, with each operator that `room` knows in the form of most scratch memory that it
    allows."""
    return tuple(_limited(ready, choice, room) for choice in point.choices)


def _limited(ready: Prepared, choice: Choice, room: Mapping[int, int]) -> Choice:
    limits = dict(choice.limits)
    for op in ready.chosen(choice):
        forms = _forms(ready, op)
        if op not in room or not forms:
            continue
        first, node = ready.members(op)[0], forms[0][1]
        limits = {known: most for known, most in limits.items() if known not in ready.members(op)}
        normal = node.leaner if choice.lean else node
        if choice.strip_width is not None:
            limits[first] = max(0, room[op])
        elif (form := node.within(room[op])) is not normal:
            limits[first] = form.scratch
    return replace(choice, limits=tuple(sorted(limits.items())))
