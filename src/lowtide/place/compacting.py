"""The allocator that moves: after every step the live buffers slide to the start of the arena.

Why: it is the "dynamic allocator" of Liberis and Lane, "Neural networks on microcontrollers: saving
memory at inference via operator reordering" (2019), section 4. As nothing is fragmented after a
step, its arena equals the lower bound, at the price of copying. All moves are known beforehand, so
they can be emitted as a fixed list of memmoves, and counted.

    slot t - 1        before slot t     slot t
    |  new   |                          |  next  |
    |  dead  |   ->   |        |   ->   |  new   |   "new" slid down, "next" is put after it
    |  kept  |        |  kept  |        |  kept  |
"""

from __future__ import annotations

from dataclasses import dataclass

from lowtide.place.problem import Item, Move, Placement, Problem, Rectangle
from lowtide.place.validate import validate


@dataclass(slots=True)
class _Stay:
    """An item in the arena, at one offset since the slot `since`."""

    item: Item
    offset: int
    since: int


def compacting(problem: Problem) -> Placement:
    """Place the items with moves: the arena is `problem.lower_bound()` bytes.

    `moves` stand in execution order: by slot, then by ascending address, so that a memmove per
    entry never overwrites bytes that are still to be moved. Raises PlacementError if the problem
    is malformed.
    """
    rectangles: list[Rectangle] = []
    moves: list[Move] = []
    live: list[_Stay] = []  # ascending address, without gaps after every slot
    arena = 0
    births = _births(problem)
    for slot in sorted(births.keys() | {i.end for started in births.values() for i in started}):
        rectangles += [_rectangle(stay, stay.item.end) for stay in live if stay.item.end <= slot]
        live = [stay for stay in live if stay.item.end > slot]
        top = 0
        for stay in live:
            if stay.offset != top:
                rectangles.append(_rectangle(stay, slot))
                moves.append(Move(slot, stay.item.id, stay.offset, top, stay.item.size))
                stay.offset, stay.since = top, slot
            top += problem.aligned(stay.item.size)
        for item in births.get(slot, ()):
            live.append(_Stay(item, top, slot))
            top += problem.aligned(item.size)
        arena = max(arena, top)
    rectangles += [
        Rectangle(item.id, 0, item.size, item.start, item.end)
        for item in problem.items
        if not _occupies(item)
    ]
    placement = Placement(
        allocator="compacting",
        align=problem.align,
        arena_bytes=arena,
        lower_bound_bytes=problem.lower_bound(),
        rectangles=tuple(
            sorted(rectangles, key=lambda rectangle: (rectangle.start, rectangle.offset))
        ),
        moves=tuple(moves),
    )
    validate(problem, placement)
    return placement


def _occupies(item: Item) -> bool:
    return item.size > 0 and item.start < item.end


def _births(problem: Problem) -> dict[int, list[Item]]:
    """Slot -> the items that are first live in it, in the problem's order."""
    births: dict[int, list[Item]] = {}
    for item in problem.items:
        if _occupies(item):
            births.setdefault(item.start, []).append(item)
    return births


def _rectangle(stay: _Stay, end: int) -> Rectangle:
    return Rectangle(stay.item.id, stay.offset, stay.item.size, stay.since, end)
