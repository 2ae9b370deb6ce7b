"""The search for places of rows: attempts in a fixed order, of which more effort makes more.

Why: what a search returns must not get worse when it may do more. So nothing in it depends on how much
it may do: the attempts are always the same, each as long as it always is; whoever asks stops somewhere
on the way, and has the best so far.

First fit is only as good as the order in which boxes are placed. So several orders are tried, of all
boxes and of those of each segment apart, of single rows and of rings of them (`place.rhythm`). What they
give is repaired (`place.repair`), time and again and each time for longer, as long as it gets lower:
always the one that is lowest, but for those that have not got lower of late.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

from lowtide.effort import Budget
from lowtide.place.firstfit import Boxes, Shelf, first_fit, height, look
from lowtide.place.repair import repairs
from lowtide.place.rhythm import Level

_SLICE, _PART = 5_000, 4
"""How much work goes into the first repair of a placement: so much, or what it takes to place one in
`_PART` of its boxes."""

_LONGEST = 4
"""A placement is repaired twice as long each time, so many times."""

_BEGUN = 2
"""So many times what first fit takes goes into repair."""

_IDLE = 2
"""A placement that so many repairs have not made lower waits for all others."""

_HOPE = 0.9
"""What is left of a gap, about, once it is repaired."""

_NEAR = ((50_000, 0.001), (150_000, 0.003))
"""After so much work, what is at most so far above the bound is good enough."""

Found = tuple[int, list[int]]
"""How much work was done since the one before, and where the boxes lie by what was found now."""


class Anytime:
    """The best placement found so far; it can be asked for a better one as long as there may be one."""

    def __init__(
        self, rows: Level, levels: Sequence[Callable[[], Level]], borders: Sequence[int], bound: int
    ) -> None:
        """Rows as they are, and merged to fewer boxes; `borders` are the first slots of segments, and
        the one after the last. No placement is lower than `bound`."""
        self._bound = bound
        self._attempts = _attempts(rows, levels, borders, bound)
        self._spent, self._rows = 0, rows
        self._spent, self.best = next(self._attempts)
        self.top = height(rows.boxes, self.best)

    def until(self, effort: int) -> list[int]:
        """The best offsets once so much work was done in all."""
        left = Budget(effort - self._spent)
        while not left.used_up and not self._is_good():
            work, offsets = next(self._attempts, (None, self.best))
            if work is None:
                break
            self._spent += work
            left.spend(work)
            if (top := height(self._rows.boxes, offsets)) < self.top:
                self.best, self.top = offsets, top
        return self.best

    def _is_good(self) -> bool:
        over = self.top - self._bound
        return over <= 0 or any(
            self._spent >= work and over <= near * self._bound for work, near in _NEAR
        )


class _Climb:
    """Repairs of one placement of a level, each from where the one before has come to."""

    def __init__(self, level: Level, offsets: list[int], bound: int) -> None:
        self.level = level
        self.best = offsets
        self.top = height(level.boxes, offsets)
        self._bound = bound
        self._turn = self.idle = 0
        self.looks = sum(map(look, level.boxes.meets))

    def go(self) -> Iterator[Found]:
        """Repair for longer than the last time."""
        level, before = self.level, self.top
        left = max(_SLICE, self.looks // _PART) << min(self._turn - self.idle // 2, _LONGEST)
        for work, offsets in repairs(level.boxes, level.known, self.best, self._bound, self._turn):
            left -= work
            self.best = offsets
            yield work, level.of_each(offsets)
            if left <= 0:
                break
        self.top = height(level.boxes, self.best)
        self.idle = 0 if self.top < before else self.idle + 1
        self._turn += 1

    @property
    def rank(self) -> float:
        """Who is to go on: the least."""
        return (self.top - self._bound) * (1 + self.idle**2 if self._turn else _HOPE)


def _attempts(
    rows: Level, levels: Sequence[Callable[[], Level]], borders: Sequence[int], bound: int
) -> Iterator[Found]:
    """Attempts, the first of rows as they are: it gives a placement in any case."""
    climbs: list[_Climb] = []
    begun: set[tuple[int, int]] = set()
    begins = _begins(rows, levels, borders, bound)
    low, ahead = 1 << 60, 0
    while True:
        stuck = all(climb.idle >= _IDLE for climb in climbs)
        if (stuck or ahead >= 0) and (begin := next(begins, None)) is not None:
            level, work, offsets = begin
            climb = _Climb(level, offsets, bound)
            if (len(level.boxes), climb.top) not in begun:
                begun.add((len(level.boxes), climb.top))
                climbs.append(climb)
            ahead -= _BEGUN * work
            yield work, level.of_each(offsets)
            continue
        climb = min(climbs, key=lambda climb: climb.rank)
        for work, offsets in climb.go():
            ahead += work
            yield work, offsets
        if climb.top < low:
            low = climb.top
            if climb.level is not rows:
                each = climb.level.of_each(climb.best)
                climbs.append(_Climb(rows, [*each, *rows.known.values()], bound))


def _begins(
    rows: Level, levels: Sequence[Callable[[], Level]], borders: Sequence[int], bound: int
) -> Iterator[tuple[Level, int, list[int]]]:
    """First fits of rows and of rings in turn, one order after the other."""
    made: list[tuple[Level, list[list[int]]]] = [(rows, _orders(rows))]
    own = made[0][1]
    for turn in range(len(own)):
        for level, orders in made:
            order = orders[turn]
            yield level, _pass(level.boxes, order), first_fit(level.boxes, order, level.known)
        if len(borders) > 2:
            yield rows, *_by_segment(rows, own[turn], borders, own, bound)
        if turn == 1:
            made += [(level, _orders(level)) for level in [make() for make in levels]]


def _pass(boxes: Boxes, some: Iterable[int]) -> int:
    """What it takes to place some boxes once, by first fit."""
    return sum([look(boxes.meets[box]) for box in some]) // _QUICKER


_QUICKER = 3
"""First fit looks at so many boxes in the time that repair takes for one."""


def _orders(level: Level) -> list[list[int]]:
    """Orders to try, what is known first."""
    free = [box for box in range(len(level.boxes)) if box not in level.known]
    return [[*level.known, *sorted(free, key=key)] for key in _keys(level.boxes, level.kinds)]


Key = Callable[[int], tuple[float, ...]]


def _keys(boxes: Boxes, kinds: Sequence[int]) -> list[Key]:
    """By size, death, birth, area, all of a kind, duration; the most useful first."""
    sizes, starts, ends = boxes.sizes, boxes.starts, boxes.ends
    total: dict[int, int] = {}
    for size, kind in zip(sizes, kinds, strict=True):
        total[kind] = total.get(kind, 0) + size
    changes: dict[int, int] = {}
    for box in range(len(boxes)):
        changes[starts[box]] = changes.get(starts[box], 0) + sizes[box]
        changes[ends[box]] = changes.get(ends[box], 0) - sizes[box]
    slots = sorted(changes)
    live = list(accumulate(changes[slot] for slot in slots))
    at = {slot: number for number, slot in enumerate(slots)}
    crowd = [max(live[at[starts[box]] : at[ends[box]]], default=0) for box in range(len(boxes))]
    return [
        lambda box: (-sizes[box], starts[box]),
        lambda box: (-sizes[box], -box),
        lambda box: (-crowd[box], -sizes[box], starts[box]),
        lambda box: (-ends[box], starts[box]),
        lambda box: (starts[box], -ends[box]),
        lambda box: (-sizes[box] * (ends[box] - starts[box]), starts[box]),
        lambda box: (-total[kinds[box]], kinds[box], starts[box]),
        lambda box: (starts[box] - ends[box], -sizes[box]),
        lambda box: (starts[box], -sizes[box]),
    ]


def _by_segment(
    level: Level,
    order: Sequence[int],
    borders: Sequence[int],
    orders: Sequence[Sequence[int]],
    bound: int,
) -> Found:
    """First fit in `order` of the boxes that outlive a segment; then of each segment's own, in the best
    of several orders. That leaves the rest as many small problems, one per segment."""
    boxes, known = level.boxes, level.known
    inside: dict[int, list[int]] = {}
    shelf = Shelf(boxes, known)
    high, work = bound, 0
    for box in order:
        first = bisect_right(borders, boxes.starts[box]) - 1
        if box in known or first != bisect_left(borders, boxes.ends[box]) - 1:
            high = max(high, shelf.put(box))
            work += _pass(boxes, (box,))
        else:
            inside.setdefault(first, []).append(box)
    rank = [[0] * len(boxes) for _ in orders]
    for number, some in enumerate(orders):
        for place, box in enumerate(some):
            rank[number][box] = place
    for members in inside.values():
        best: tuple[int, list[int]] | None = None
        for ranks in rank:
            for box in members:
                shelf.move(box, -1)
            top = max([shelf.put(box) for box in sorted(members, key=ranks.__getitem__)])
            work += _pass(boxes, members)
            if best is None or top < best[0]:
                best = top, [shelf.at[box] for box in members]
            if top <= high:
                break
        assert best is not None
        high = max(high, best[0])
        for box, offset in zip(members, best[1], strict=True):
            shelf.move(box, offset)
    return work, shelf.at
