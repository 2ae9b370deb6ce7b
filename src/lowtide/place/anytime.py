"""The search for places of rows: attempts in a fixed order, of which more effort makes more.

Why: what a search returns must not get worse when it may do more. So nothing in it depends on how much
it may do: the attempts are always the same, each as long as it always is; whoever asks stops somewhere
on the way, and has the best so far.

First fit is only as good as the order in which boxes are placed. So several orders are tried, of all
boxes and of those of each segment apart, and the best few placements are repaired for a little while
(`place.repair`). For as long as there is time afterwards, more orders are tried, rings of rows
(`place.rhythm`) are placed too, and what was found is repaired time and again and each time for longer,
as long as it gets lower: always the one that is lowest, but for those that have not got lower of late.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from math import inf

from lowtide.effort import Budget
from lowtide.place.firstfit import Boxes, Shelf, first_fit, height, look
from lowtide.place.repair import WAYS, repairs
from lowtide.place.rhythm import Level

_FEW = 200_000
"""How many boxes are looked at, about, while a few placements are repaired; then the best of them is."""

_PER_BOX = 2_000
"""The same per box, at most."""

_FITS = 0.4
"""The part of that which first fits may take; a few orders are tried in any case."""

_ANYHOW = 2
"""How many orders are tried in any case."""

_REPAIRED = 3
"""How many placements by first fit are repaired, of those of all boxes and of those by segment."""

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

_QUICKER = 3
"""First fit looks at so many boxes in the time that repair takes for one."""

Found = tuple[int, list[int]]
"""How much work was done since the one before, and where the boxes lie by what was found now."""

Attempt = tuple[int, list[int] | None]
"""The same; None where nothing better was found since the one before."""


class Anytime:
    """The best placement found so far; it can be asked for a better one as long as there may be one."""

    def __init__(
        self,
        rows: Level,
        levels: Callable[[], Sequence[Level]],
        borders: Sequence[int],
        bound: int,
    ) -> None:
        """Rows as they are, and merged to fewer boxes; `borders` are the first slots of segments, and
        the one after the last. No placement is lower than `bound`."""
        self.bound = bound
        self._attempts = _attempts(rows, levels, borders, bound)
        self._rows = rows
        self._spent, first = next(self._attempts)
        assert first is not None
        self.best = first
        self.top = height(rows.boxes, first)

    def until(self, effort: int) -> list[int]:
        """The best offsets once so much work was done in all."""
        left = Budget(effort - self._spent)
        while not left.used_up and self.top > self.bound:
            attempt = next(self._attempts, None)
            if attempt is None:
                self.bound = self.top
                break
            work, offsets = attempt
            self._spent += work
            left.spend(work)
            if offsets is not None and (top := height(self._rows.boxes, offsets)) < self.top:
                self.best, self.top = offsets, top
        return self.best


class _Fits:
    """First fits of a level in several orders, each made when it is first asked for."""

    def __init__(self, level: Level, borders: Sequence[int], bound: int) -> None:
        self.level = level
        self.kinds = (False, True) if len(borders) > 2 else (False,)
        self._borders, self._bound = borders, bound
        self._keys = _keys(level.boxes)
        self._made: dict[tuple[int, bool], Found] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def get(self, turn: int, by_segment: bool = False) -> tuple[int, Found]:
        """What is to be done for it now; how many boxes it looks at, and where they lie."""
        work = 0
        if (turn, by_segment) not in self._made:
            level = self.level
            free = [box for box in range(len(level.boxes)) if box not in level.known]
            order = [*level.known, *sorted(free, key=self._keys[turn])]
            if by_segment:
                found = _by_segment(level, order, self._borders, self._keys, self._bound)
            else:
                looks = sum(map(len, level.boxes.meets))
                found = looks, first_fit(level.boxes, order, level.known)
            self._made[turn, by_segment] = found
            work = 1 + int(found[0] * _price(level)) // _QUICKER
        return work, self._made[turn, by_segment]


def _price(level: Level) -> float:
    """What it takes to look at a box, on average: less where numpy does it for many at once."""
    meets = level.boxes.meets
    return sum(map(look, meets)) / max(1, sum([1 + len(near) for near in meets]))


class _Climb:
    """Repairs of one placement of a level, each from where the one before has come to."""

    def __init__(self, level: Level, offsets: list[int], bound: int) -> None:
        self.level = level
        self.best = offsets
        self.top = height(level.boxes, offsets)
        self._bound = bound
        self._turn = self.idle = 0
        self.ended = False
        self._price = _price(level)
        self._first = max(_SLICE, sum(map(look, level.boxes.meets)) // _PART)

    def go(self) -> Iterator[Attempt]:
        """Repair for longer than the last time."""
        level, before = self.level, self.top
        left = self._first << min(self._turn - self.idle // 2, _LONGEST)
        for looks, offsets in repairs(level.boxes, level.known, self.best, self._bound, self._turn):
            work = 1 + int(looks * self._price)
            left -= work
            if offsets is not None:
                self.best = offsets
            yield work, offsets
            if left <= 0:
                break
        else:
            self.ended = True  # nothing is lower: what is known leaves no room
        self.top = height(level.boxes, self.best)
        self.idle = 0 if self.top < before else self.idle + 1
        self._turn += 1

    @property
    def rank(self) -> float:
        """Who is to go on: the least, and last of all who cannot."""
        if self.ended:
            return inf
        return (self.top - self._bound) * (1 + self.idle**2 if self._turn else _HOPE)


def _attempts(
    rows: Level, levels: Callable[[], Sequence[Level]], borders: Sequence[int], bound: int
) -> Iterator[Attempt]:
    """Attempts until one shows that nothing is lower; the first, of rows as they are, gives a placement
    in any case."""
    fits = _Fits(rows, borders, bound)
    best: list[int] = []
    top = inf
    for work, offsets in _few(fits, bound, min(_FEW, _PER_BOX * len(rows.boxes))):
        yield work, offsets
        if offsets is not None and (reached := height(rows.boxes, offsets)) < top:
            best, top = offsets, reached
    yield from _others(fits, levels, best, bound)


def _few(fits: _Fits, bound: int, effort: int) -> Iterator[Attempt]:
    """First fits of rows, and repairs of the best few, with so much effort in all."""
    boxes, known, price = fits.level.boxes, fits.level.known, _price(fits.level)
    chosen: list[list[int]] = []
    for by_segment in fits.kinds:
        made: list[list[int]] = []
        left = int(effort * _FITS)
        for turn in range(len(fits)):
            if len(made) >= _ANYHOW and left <= 0:
                break
            work, (looks, offsets) = fits.get(turn, by_segment)
            yield work, offsets
            left -= looks
            made.append(offsets)
        chosen += sorted(made, key=lambda offsets: height(boxes, offsets))[:_REPAIRED]
    for offsets in chosen:
        for turn in range(WAYS):
            each = effort // len(chosen) // WAYS
            for looks, better in repairs(boxes, known, offsets, bound, turn, each):
                yield 1 + int(looks * price), better
                offsets = offsets if better is None else better


def _others(
    fits: _Fits, levels: Callable[[], Sequence[Level]], first: list[int], bound: int
) -> Iterator[Attempt]:
    """Repairs of what has come furthest: the placement that there is `first`, more first fits, rings."""
    rows = fits.level
    climbs = [_Climb(rows, first, bound)]
    begun: set[tuple[int, int]] = set()
    begins = _begins(fits, levels, bound)
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
            yield work, _of_rows(rows, level, offsets)
            continue
        climb = min(climbs, key=lambda climb: climb.rank)
        if climb.rank == inf:
            return
        for work, better in climb.go():
            ahead += work
            yield work, None if better is None else _of_rows(rows, climb.level, better)
        if climb.ended and climb.level is rows:
            return
        if climb.top < low:
            low = climb.top
            if climb.level is not rows:
                climbs.append(_Climb(rows, _of_rows(rows, climb.level, climb.best), bound))


def _of_rows(rows: Level, level: Level, offsets: list[int]) -> list[int]:
    """The offsets of rows, from those of a level: that stands for all of them but known ones."""
    if level is rows:
        return offsets
    return [rows.known.get(box, at) for box, at in enumerate(level.of_each(offsets))]


def _begins(
    fits: _Fits, levels: Callable[[], Sequence[Level]], bound: int
) -> Iterator[tuple[Level, int, list[int]]]:
    """First fits of rings and of rows in turn, one order after the other."""
    rings = [_Fits(level, (), bound) for level in levels()]
    for turn in range(len(fits)):
        for some in (*rings, fits):
            for by_segment in some.kinds:
                work, (_, offsets) = some.get(turn, by_segment)
                yield some.level, work, offsets


Key = Callable[[int], tuple[float, ...]]


def _keys(boxes: Boxes) -> list[Key]:
    """By size; by how crowded it is meanwhile; long-lived ones first, in the order of birth or death, or
    from the last on; by area. Each adds the most to those before it, mostly: where little may be done,
    only the first two are tried.

    Maps that are made whole before they are read are rows that live long. In the order of their birth
    or death they lie side by side, so that what becomes free as they are read is side by side, too.
    """
    sizes, starts, ends = boxes.sizes, boxes.starts, boxes.ends
    changes: dict[int, int] = {}
    for box in range(len(boxes)):
        changes[starts[box]] = changes.get(starts[box], 0) + sizes[box]
        changes[ends[box]] = changes.get(ends[box], 0) - sizes[box]
    slots = sorted(changes)
    live = list(accumulate(changes[slot] for slot in slots))
    at = {slot: number for number, slot in enumerate(slots)}
    crowd = [max(live[at[starts[box]] : at[ends[box]]], default=0) for box in range(len(boxes))]

    def first(longer: int, order: Callable[[int], tuple[int, int]]) -> Key:
        def key(box: int) -> tuple[float, ...]:
            if ends[box] - starts[box] > longer:
                return 0, *order(box), -sizes[box]
            return 1, -sizes[box], starts[box]

        return key

    def born(box: int) -> tuple[int, int]:
        return starts[box], ends[box]

    def dead(box: int) -> tuple[int, int]:
        return ends[box], starts[box]

    def last_born(box: int) -> tuple[int, int]:
        return -starts[box], ends[box]

    def last_dead(box: int) -> tuple[int, int]:
        return -ends[box], starts[box]

    return [
        lambda box: (-sizes[box], starts[box]),
        lambda box: (-crowd[box], -sizes[box], starts[box]),
        first(16, last_born),
        first(8, dead),
        first(64, last_dead),
        first(8, last_dead),
        lambda box: (-sizes[box] * (ends[box] - starts[box]), starts[box]),
        first(64, dead),
        first(8, last_born),
        first(8, born),
    ]


def _by_segment(
    level: Level, order: Sequence[int], borders: Sequence[int], keys: Sequence[Key], bound: int
) -> Found:
    """First fit in `order` of the boxes that outlive a segment; then of each segment's own, in the best
    of several orders. That leaves the rest as many small problems, one per segment."""
    boxes, known = level.boxes, level.known
    inside: dict[int, list[int]] = {}
    shelf = Shelf(boxes, known)
    high, looks = bound, 0
    for box in order:
        first = bisect_right(borders, boxes.starts[box]) - 1
        if box in known or first != bisect_left(borders, boxes.ends[box]) - 1:
            high = max(high, shelf.put(box))
        else:
            inside.setdefault(first, []).append(box)
    for members in inside.values():
        best: tuple[int, list[int]] | None = None
        for key in keys:
            for box in members:
                shelf.move(box, -1)
            top = max([shelf.put(box) for box in sorted(members, key=key)])
            looks += sum([len(boxes.meets[box]) for box in members])
            if best is None or top < best[0]:
                best = top, [shelf.at[box] for box in members]
            if top <= high:
                break
        assert best is not None
        high = max(high, best[0])
        for box, offset in zip(members, best[1], strict=True):
            shelf.move(box, offset)
    return looks, shelf.at
