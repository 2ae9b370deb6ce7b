"""Repair of a placement: lower its height step by step, by ejecting what is in the way.

Why: first fit decides about every box once, and in rows of pipelined operators one bad decision is
passed on from row to row. Here a height is set below what is there; boxes that stick out go to the
offset below it where those in the way weigh least; these are ejected, and placed in the same manner.
What ejects others becomes heavier, so that the same boxes do not take turns for ever. (Ejection chains:
Glover, *Ejection chains, reference structures and alternating path methods for traveling salesman
problems*, 1996. Growing weights: Morris, *The breakout method for escaping from local minima*, 1993.)

Offsets are in units of the alignment, as in `place.firstfit`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

import numpy as np

from lowtide.place.firstfit import CHEAP, Boxes, Numbers, height

_WEIGHTS = ((1.0, 1.0), (0.5, 0.5), (1.0, 0.5))
"""What a box weighs: its size and its duration, each to some power, tried one after the other. Small and
short boxes are ejected rather than large and long ones, which meet many others."""

WAYS = len(_WEIGHTS)

_SCALE = 16
"""Weights are whole numbers, so that their sums are exact; this many are one of size and duration 1."""

_HEAVIER = 4
"""A box becomes heavier by its own weight over this whenever it ejects others."""

_STEPS = (30, 30, 30, 6)
"""The next height to reach is one of this many steps from what is reached to what is possible; small
steps mostly get further, large ones sometimes."""

_TURN = 2_000
"""How many boxes are looked at before it is said how far things are."""

_NEVER = 1 << 50
"""The weight of boxes that stay where they are."""

_FAR = 1 << 60
"""Where boxes lie that are out: above all places."""


def repairs(
    boxes: Boxes,
    known: Mapping[int, int],
    offsets: Sequence[int],
    bound: int,
    turn: int = 0,
    effort: int = 1 << 60,
) -> Iterator[tuple[int, list[int] | None]]:
    """Offsets of less height than `offsets`, the same for boxes in `known`, better and better, or None
    if none were found since the last; before each, how much work it took since then: boxes looked at.

    It ends at a height of `bound`, or where what is known leaves no room, or when boxes that are placed
    have looked at about `effort` others. `turn` says which of several ways to go: in what a box weighs
    (the first `WAYS` differ in that only), in how large a step is, and by chance.
    """
    best = list(offsets)
    least = max([bound, *(offset + boxes.sizes[box] for box, offset in known.items())])
    most = height(boxes, best)
    search = _Search(boxes, known, best, _WEIGHTS[turn % WAYS], turn // WAYS)
    while least < most and effort > 0:
        target = most - max(1, (most - least) // _STEPS[turn % len(_STEPS)])
        work, left = search.lower(target), effort
        found: list[int] | None = None
        while search.out and left > 0:
            looks, possible = search.settle(target, min(_TURN, left))
            work += looks
            left -= looks
            if not possible:  # what is fixed leaves no room: that was soon found
                least, left = target + 1, effort
                search.restore(best)
            elif search.out:
                yield work, None
                work = 0
            else:
                found = best = list(search.at)
                most = height(boxes, best)
        effort = left
        yield work, found


class _Search:
    """Boxes at their offsets, but for those that are out: theirs are -1, and `_FAR` for numpy."""

    def __init__(
        self,
        boxes: Boxes,
        known: Mapping[int, int],
        offsets: Sequence[int],
        powers: tuple[float, float],
        seed: int,
    ) -> None:
        self.boxes = boxes
        self.at = list(offsets)
        self.out: list[int] = []
        self.random = Random(seed).random
        size, time = powers
        self.base = [
            1
            + int(_SCALE * boxes.sizes[box] ** size * (boxes.ends[box] - boxes.starts[box]) ** time)
            for box in range(len(boxes))
        ]
        self.weight = list(self.base)
        for box in known:
            self.weight[box] = _NEVER
        self._sizes = np.array(boxes.sizes, np.int64)
        self._lows = np.array(self.at, np.int64)
        self._ends = self._lows + self._sizes
        self._weights = np.array(self.weight, np.int64)

    def restore(self, offsets: Sequence[int]) -> None:
        """Put all boxes at these offsets."""
        self.at, self.out = list(offsets), []
        self._lows[:] = offsets
        self._ends[:] = self._lows + self._sizes

    def lower(self, target: int) -> int:
        """Take out what sticks out of `target`; how much work that was."""
        high = (self._lows < _FAR) & (self._ends > target)
        for box in np.flatnonzero(high).tolist():
            self._eject(box)
        return 1 + len(self.at) // CHEAP

    def _move(self, box: int, offset: int) -> None:
        self.at[box] = self._lows[box] = offset
        self._ends[box] = offset + self.boxes.sizes[box]

    def _eject(self, box: int) -> None:
        self.at[box] = -1
        self._lows[box] = self._ends[box] = _FAR
        self.out.append(box)

    def settle(self, target: int, most: int) -> tuple[int, bool]:
        """Place boxes that are out, below `target`, until none is or `most` others were looked at: how
        many were. False if there is no place for one of them whatever is ejected."""
        out, weight, sizes = self.out, self.weight, self.boxes.sizes
        looks = 0
        while out and looks < most:
            chosen = int(self.random() * len(out))
            box = out[chosen]
            least, offset = self._easiest(box, target - sizes[box])
            if least >= _NEVER:
                return looks, False
            out[chosen] = out[-1]
            out.pop()
            if least:
                for other in self._in_the_way(box, offset):
                    self._eject(other)
                weight[box] += 1 + self.base[box] // _HEAVIER
                self._weights[box] = weight[box]
            self._move(box, offset)
            looks += 1 + len(self.boxes.meets[box])
        return looks, True

    def _in_the_way(self, box: int, offset: int) -> list[int]:
        """The boxes that lie where `box` is to lie."""
        near, size = self.boxes.meets[box], self.boxes.sizes[box]
        if isinstance(near, tuple):
            at, sizes, end = self.at, self.boxes.sizes, offset + size
            return [o for o in near if offset - sizes[o] < at[o] < end and at[o] >= 0]
        there = self._lows.take(near) < offset + size
        there &= self._ends.take(near) > offset
        found: list[int] = near[there].tolist()
        return found

    def _easiest(self, box: int, last: int) -> tuple[int, int]:
        """The weight of the boxes in the way where that is least, and an offset there, at most `last`:
        the lowest if nothing is in the way, else any of those where ranges of equal weight begin."""
        near = self.boxes.meets[box]
        if not isinstance(near, tuple):
            return self._easiest_of_many(box, near, last)
        at, sizes, weight = self.at, self.boxes.sizes, self.weight
        size, align = sizes[box], self.boxes.aligns[box]
        changes = {0: 0, last + 1: 0}  # offset -> by how much the weight in the way changes there
        known = changes.get
        for other in near:
            offset = at[other]
            if offset >= 0:  # in the way from offset - size + 1 to its end
                heavy, end = weight[other], offset + sizes[other]
                begin = offset - size + 1 if offset >= size else 0
                changes[begin] = known(begin, 0) + heavy
                changes[end] = known(end, 0) - heavy
        least, places = _NEVER, [0]
        now, begin = changes.pop(0), 0
        for change in sorted(changes):
            if now <= least:
                offset = begin if align == 1 else -(-begin // align) * align
                if offset < change and offset <= last:
                    if now < least:
                        least, places = now, []
                        if not now:
                            return 0, offset
                    places.append(offset)
            begin = change
            if begin > last:
                break
            now += changes[change]
        return least, places[int(self.random() * len(places))]

    def _easiest_of_many(self, box: int, near: Numbers, last: int) -> tuple[int, int]:
        """`_easiest`, by numpy."""
        size, align = self.boxes.sizes[box], self.boxes.aligns[box]
        begins = self._lows.take(near)
        begins -= size - 1
        np.maximum(begins, 0, out=begins)
        heavy = self._weights.take(near)
        place = np.concatenate((_NOTHING, begins, self._ends.take(near)))
        order = place.argsort()
        place = place.take(order)
        now = np.add.accumulate(np.concatenate((_NOTHING, heavy, -heavy)).take(order))
        offset = place if align == 1 else -(-place // align) * align
        # Of equal places the last counts, with all changes.
        now[:-1][offset[:-1] >= place[1:]] = _NEVER
        now = now[: offset.searchsorted(last, "right")]
        if not len(now):
            return _NEVER, 0
        first = int(now.argmin())
        least = int(now[first])
        if not least or least >= _NEVER:
            return least, int(offset[first])
        places = (now == least).nonzero()[0]
        return least, int(offset[places[int(self.random() * len(places))]])


_NOTHING = np.zeros(1, np.int64)
