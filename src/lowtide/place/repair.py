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

from collections.abc import Mapping, Sequence
from random import Random

from lowtide.effort import Budget
from lowtide.place.firstfit import Boxes, height

_WEIGHTS = ((1.0, 1.0), (0.5, 0.5), (1.0, 0.5))
"""What a box weighs: its size and its duration, each to some power, tried one after the other. Small and
short boxes are ejected rather than large and long ones, which meet many others."""

_SCALE = 16
"""Weights are whole numbers, so that their sums are exact; this many are one of size and duration 1."""

_HEAVIER = 4
"""A box becomes heavier by its own weight over this whenever it ejects others."""

_STEPS = 30
"""The next height to reach is one of this many steps from what is reached to what is possible."""

_NEVER = 1 << 60
"""The weight of boxes that stay where they are."""


def repaired(
    boxes: Boxes, known: Mapping[int, int], offsets: Sequence[int], bound: int, effort: int
) -> list[int]:
    """Offsets of no greater height than `offsets`, the same for boxes in `known`.

    It stops at a height of `bound`, or when boxes that are placed have looked at about `effort` others.
    More effort mostly gives less height, but it may take another way, and end higher.
    """
    best = list(offsets)
    low = max([bound, *(offset + boxes.sizes[box] for box, offset in known.items())])
    most = height(boxes, best)
    for powers in _WEIGHTS:
        spent = Budget(effort // len(_WEIGHTS))
        search = _Search(boxes, known, best, powers)
        least = low
        while least < most and not spent.used_up:
            target = most - max(1, (most - least) // _STEPS)
            search.lower(target)
            if not search.settle(target, spent):  # what is fixed leaves no room
                least = target + 1
                search.restore(best)
            elif not search.out:
                best = list(search.at)
                most = height(boxes, best)
    return best


class _Search:
    """Boxes at their offsets, but for those that are out: theirs are -1."""

    def __init__(
        self,
        boxes: Boxes,
        known: Mapping[int, int],
        offsets: Sequence[int],
        powers: tuple[float, float],
    ) -> None:
        self.boxes = boxes
        self.at = list(offsets)
        self.out: list[int] = []
        self.random = Random(0).random
        size, time = powers
        self.base = [
            1
            + int(_SCALE * boxes.sizes[box] ** size * (boxes.ends[box] - boxes.starts[box]) ** time)
            for box in range(len(boxes))
        ]
        self.weight = list(self.base)
        for box in known:
            self.weight[box] = _NEVER

    def restore(self, offsets: Sequence[int]) -> None:
        """Put all boxes at these offsets."""
        self.at, self.out = list(offsets), []

    def lower(self, target: int) -> None:
        """Take out what sticks out of `target`."""
        for box, size in enumerate(self.boxes.sizes):
            if self.at[box] >= 0 and self.at[box] + size > target:
                self.at[box] = -1
                self.out.append(box)

    def settle(self, target: int, work: Budget) -> bool:
        """Place boxes that are out, below `target`, until none is or `work` is used up. False if there
        is no place for one of them whatever is ejected."""
        at, out, weight = self.at, self.out, self.weight
        sizes, meets, left = self.boxes.sizes, self.boxes.meets, work.left
        while out and left > 0:
            chosen = int(self.random() * len(out))
            box = out[chosen]
            least, offset = self._easiest(box, target - sizes[box])
            if least >= _NEVER:
                return False
            out[chosen] = out[-1]
            out.pop()
            if least:
                end = offset + sizes[box]
                for other in meets[box]:
                    if offset - sizes[other] < at[other] < end and at[other] >= 0:
                        at[other] = -1
                        out.append(other)
                weight[box] += 1 + self.base[box] // _HEAVIER
            at[box] = offset
            left -= 1 + len(meets[box])
        work.left = left
        return True

    def _easiest(self, box: int, last: int) -> tuple[int, int]:
        """The weight of the boxes in the way where that is least, and an offset there, at most `last`:
        the lowest if nothing is in the way, else any of those where ranges of equal weight begin."""
        at, sizes, weight = self.at, self.boxes.sizes, self.weight
        size, align = sizes[box], self.boxes.aligns[box]
        changes = {0: 0, last + 1: 0}  # offset -> by how much the weight in the way changes there
        known = changes.get
        for other in self.boxes.meets[box]:
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
