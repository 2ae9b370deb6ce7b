"""First fit: put items one by one, in a given order, at the lowest free address.

Why: it is the engine under two allocators. TFLM's planner is first fit by size, and an optimal
placement is always first fit in *some* order (sort any optimal placement by address and let every
item fall), so the planned allocator searches orders.

Sizes and offsets here are counted in alignment units, so that no step has to think of alignment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.place.problem import Placement, Problem, Rectangle
from lowtide.place.validate import validate

Numbers = NDArray[np.signedinteger[Any]]
"""Numbers of boxes."""

Pairs = tuple[Numbers, Numbers]

Meets = tuple[int, ...] | Numbers
"""Boxes that are live together with one: an array of them where there are more than `MANY`, since then
numpy is faster than Python."""

MANY = 40

CHEAP = 16
"""Of more than `_DEAR` boxes, so many count as one that is looked at: numpy looks at them at once."""

_DEAR = 100

_SIZE_BITS = 31
"""Of a number that holds a box's size and, above it, its offset: arenas are at most 2 GB."""

_NOWHERE = 1 << 62
"""Such a number of a box that lies nowhere: above all others, beyond any gap."""

_BLOCK = 1 << 21
"""How many pairs of boxes are compared at once."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """The items that occupy memory, as parallel columns, in the problem's order.

    `index[i]` is the place in `problem.items` of box i; `sizes` are in units of the alignment, and
    offsets are multiples of `aligns`;
    `meets[i]` lists the boxes live at the same time as box i, in the order of their birth.
    """

    index: tuple[int, ...]
    sizes: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    meets: tuple[Meets, ...]
    aligns: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.index)


def boxes_of(problem: Problem) -> Boxes:
    """The boxes of `problem`; items of no bytes or no lifetime are left out."""
    items = problem.items
    index = tuple(i for i, item in enumerate(items) if item.size > 0 and item.start < item.end)
    starts = tuple(items[i].start for i in index)
    ends = tuple(items[i].end for i in index)
    born = sorted(range(len(index)), key=starts.__getitem__)
    one, other = pairs_of([starts[box] for box in born], [ends[box] for box in born])
    near = meets_of(one, np.array(born, np.int32)[other], len(index))
    place = sorted(range(len(index)), key=born.__getitem__)
    return Boxes(
        index=index,
        sizes=tuple(-(-items[i].size // problem.align) for i in index),
        starts=starts,
        ends=ends,
        meets=tuple(near[at] for at in place),
        aligns=tuple(-(-items[i].align // problem.align) for i in index),
    )


def pairs_of(starts: Sequence[int], ends: Sequence[int]) -> Pairs:
    """Every box with every other live at the same time, as two columns, in the order of the boxes."""
    start, end = np.array(starts, np.int64), np.array(ends, np.int64)
    several = max(1, _BLOCK // max(1, len(start)))
    ones, others = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    for low in range(0, len(start), several):
        high = min(low + several, len(start))
        together = start < end[low:high, None]
        together &= end > start[low:high, None]
        together[np.arange(high - low), np.arange(low, high)] = False
        one, other = np.nonzero(together)
        ones.append((one + low).astype(np.int32))
        others.append(other.astype(np.int32))
    return np.concatenate(ones), np.concatenate(others)


def meets_of(one: Numbers, other: Numbers, count: int) -> tuple[Meets, ...]:
    """The boxes that each of so many meets, from pairs in the order of the first."""
    ends = np.searchsorted(one, np.arange(count + 1)).tolist()
    other = other.astype(np.intp)  # numpy looks up numbers of this type three times as fast
    return tuple(
        other[low:high] if high - low > MANY else tuple(other[low:high].tolist())
        for low, high in pairwise(ends)
    )


def look(near: Meets) -> int:
    """What it takes to place a box that meets these, in boxes that Python looks at."""
    return 1 + (len(near) if len(near) <= _DEAR else _DEAR + len(near) // CHEAP)


class Shelf:
    """Boxes that are placed one after the other: where each lies, -1 if it does not yet."""

    def __init__(self, boxes: Boxes, fixed: Mapping[int, int] = MappingProxyType({})) -> None:
        """`fixed` boxes lie where it says; they must be placed first, so that the others fit around
        them."""
        self.boxes = boxes
        self.fixed = fixed
        self.at = [-1] * len(boxes)
        # Offsets above sizes, so that one sort orders both.
        self._keys = np.full(len(boxes), _NOWHERE, np.int64)

    def put(self, box: int) -> int:
        """Place a box at the lowest offset at which it meets none of those placed; its end."""
        found = self.fixed.get(box)
        self.move(box, self._lowest(box) if found is None else found)
        return self.at[box] + self.boxes.sizes[box]

    def move(self, box: int, offset: int) -> None:
        """Have a box at an offset; nowhere, if that is -1."""
        self.at[box] = offset
        self._keys[box] = _NOWHERE if offset < 0 else offset << _SIZE_BITS | self.boxes.sizes[box]

    def _lowest(self, box: int) -> int:
        near = self.boxes.meets[box]
        if not isinstance(near, tuple):
            return self._lowest_of_many(box, near)
        at, sizes = self.at, self.boxes.sizes
        size, align, offset = sizes[box], self.boxes.aligns[box], 0
        for low, high in sorted([(low, low + sizes[o]) for o in near if (low := at[o]) >= 0]):
            if low - offset >= size:
                break
            if high > offset:
                offset = high if align == 1 else -(-high // align) * align
        return offset

    def _lowest_of_many(self, box: int, near: Numbers) -> int:
        keys = self._keys.take(near)
        keys.sort()
        size, align = self.boxes.sizes[box], self.boxes.aligns[box]
        low = keys >> _SIZE_BITS
        if low[0] >= size:
            return 0
        keys &= (1 << _SIZE_BITS) - 1
        keys += low
        ends = np.maximum.accumulate(keys)
        if align != 1:
            ends = -(-ends // align) * align
        fits = low[1:] - ends[:-1] >= size
        first = int(fits.argmax())
        return int(ends[first if fits[first] else -1])


def first_fit(
    boxes: Boxes, order: Iterable[int], fixed: Mapping[int, int] = MappingProxyType({})
) -> list[int]:
    """Offsets (in units) when the boxes, all of them, are placed in `order`.

    `fixed` boxes lie where it says; they come first in `order`, so that the others fit around them.
    """
    shelf = Shelf(boxes, fixed)
    for box in order:
        shelf.put(box)
    return shelf.at


def height(boxes: Boxes, offsets: Sequence[int]) -> int:
    """The highest end of a box, in units; 0 when there is none."""
    return max(map(int.__add__, offsets, boxes.sizes), default=0)


def placement_of(
    allocator: str, problem: Problem, boxes: Boxes, offsets: Sequence[int]
) -> Placement:
    """The validated placement in which box i lies at `offsets[i]` units, for its whole lifetime.

    Raises PlacementError when the offsets are wrong.
    """
    at = [0] * len(problem.items)
    for index, offset in zip(boxes.index, offsets, strict=True):
        at[index] = offset * problem.align
    placement = Placement(
        allocator=allocator,
        align=problem.align,
        arena_bytes=height(boxes, offsets) * problem.align,
        lower_bound_bytes=problem.lower_bound(),
        rectangles=tuple(
            Rectangle(item.id, offset, item.size, item.start, item.end)
            for item, offset in zip(problem.items, at, strict=True)
        ),
    )
    validate(problem, placement)
    return placement
