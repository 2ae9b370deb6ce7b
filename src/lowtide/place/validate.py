"""The judge of every placement: it knows the problem and the answer, and no allocator.

Why: an overlap that slips through is silent corruption on a device. So every allocator ends here,
and nothing here is shared with them: bound, alignment and lifetimes are worked out anew.

The checks, in order: the problem is sane; every item is covered exactly over its lifetime; offsets
are aligned; the moves are those that the rectangles imply; played through time, no two of them share a
byte in a slot and no move writes over bytes that are still needed; the arena and the bound are what
they claim to be.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import groupby, pairwise

from lowtide.place.problem import Item, Move, Placement, Problem, Rectangle


class PlacementError(AssertionError):
    """A placement is wrong: a defect of lowtide, never of the user's model."""


def validate(problem: Problem, placement: Placement) -> None:
    """Check `placement` as an answer to `problem`.

    Raises PlacementError naming the items, addresses (bytes) and slots of the first fault found.
    Costs O(b log b) for b rectangles.
    """
    _check_problem(problem)
    if placement.align != problem.align:
        raise PlacementError(f"aligned to {placement.align} bytes, not to {problem.align}")
    stays = _check_cover(problem, placement)
    _check_moves(placement, stays)
    _check_bytes(problem, placement)
    _check_totals(problem, placement)


def _check_problem(problem: Problem) -> None:
    if problem.align < 1:
        raise PlacementError(f"the alignment {problem.align} is not positive")
    if len({item.id for item in problem.items}) != len(problem.items):
        raise PlacementError("two items have the same id")
    for item in problem.items:
        if item.size < 0:
            raise PlacementError(f"item {item.id} has the negative size {item.size}")


def _check_cover(problem: Problem, placement: Placement) -> dict[int, list[Rectangle]]:
    """The rectangles of each item by time, once they are known to cover exactly its lifetime."""
    stays: dict[int, list[Rectangle]] = {item.id: [] for item in problem.items}
    for rectangle in placement.rectangles:
        if rectangle.item not in stays:
            raise PlacementError(f"{_text(rectangle)} belongs to no item")
        if rectangle.offset < 0 or rectangle.offset % problem.align:
            raise PlacementError(
                f"{_text(rectangle)} is not at a multiple of {problem.align} bytes"
            )
        stays[rectangle.item].append(rectangle)
    for item in problem.items:
        for rectangle in stays[item.id]:
            if rectangle.offset % item.align:
                raise PlacementError(
                    f"{_text(rectangle)} is not at a multiple of {item.align} bytes"
                )
        stays[item.id].sort(key=lambda rectangle: rectangle.start)
        _check_item(item, stays[item.id])
    return stays


def _check_item(item: Item, stays: list[Rectangle]) -> None:
    lifetime = f"item {item.id}, live in the slots [{item.start}, {item.end}),"
    if not stays:
        raise PlacementError(f"{lifetime} has no rectangle")
    for rectangle in stays:
        if rectangle.size != item.size:
            raise PlacementError(f"{_text(rectangle)} should have {item.size} bytes")
        if rectangle.start >= rectangle.end and len(stays) > 1:
            raise PlacementError(f"{_text(rectangle)} lasts for no slot")
    if stays[0].start != item.start or stays[-1].end != item.end:
        raise PlacementError(f"{lifetime} is covered in [{stays[0].start}, {stays[-1].end})")
    for before, after in pairwise(stays):
        if before.end != after.start:
            raise PlacementError(f"{lifetime} is badly covered: {_text(before)}, {_text(after)}")


def _occupying(placement: Placement) -> list[Rectangle]:
    """The rectangles that have bytes in some slot."""
    return [
        rectangle
        for rectangle in placement.rectangles
        if rectangle.size > 0 and rectangle.start < rectangle.end
    ]


def _check_moves(placement: Placement, stays: dict[int, list[Rectangle]]) -> None:
    """The moves are in order of time, downwards, and exactly those that the rectangles imply."""
    implied = {
        (after.start, after.item): (before.offset, after.offset, after.size)
        for rectangles in stays.values()
        for before, after in pairwise(rectangles)
        if before.offset != after.offset
    }
    for earlier, later in pairwise(placement.moves):
        if later.slot < earlier.slot:
            raise PlacementError(f"{_move_text(later)} is listed after {_move_text(earlier)}")
    for move in placement.moves:
        if implied.pop((move.slot, move.item), None) != (move.source, move.target, move.size):
            raise PlacementError(f"{_move_text(move)} is not what the rectangles of the item imply")
        if move.target >= move.source:
            raise PlacementError(f"{_move_text(move)} is not downwards")
    for (slot, item), (source, target, size) in implied.items():
        raise PlacementError(f"{_move_text(Move(slot, item, source, target, size))} is missing")


def _check_bytes(problem: Problem, placement: Placement) -> None:
    """Play the placement through time: no item ever writes over bytes of another that are needed.

    At every slot the dead leave, then the moves are carried out one after another, then the newborn
    come. The moves are known to be those that the rectangles imply, so that the shelf always shows the
    rectangles of the slot.
    """
    items = {item.id: item for item in problem.items if item.size > 0 and item.start < item.end}
    deaths = _by_slot((item.end, item.id) for item in items.values())
    births = _by_slot((item.start, item.id) for item in items.values())
    moves = {slot: list(some) for slot, some in groupby(placement.moves, lambda move: move.slot)}
    first = {(rectangle.item, rectangle.start): rectangle for rectangle in placement.rectangles}
    last = {(rectangle.item, rectangle.end): rectangle for rectangle in placement.rectangles}
    shelf = _Shelf()
    for slot in sorted(deaths.keys() | births.keys() | moves.keys()):
        for item in deaths.get(slot, ()):
            shelf.take(last[item, slot].offset, item)
        for move in moves.get(slot, ()):
            if move.item in items:
                shelf.take(move.source, move.item)
                other = shelf.put(move.target, move.item, move.size)
                if other is not None:
                    raise PlacementError(f"{_move_text(move)} overwrites {shelf.text(other)}")
        for item in births.get(slot, ()):
            rectangle = first[item, slot]
            other = shelf.put(rectangle.offset, item, rectangle.size)
            if other is not None:
                raise PlacementError(f"{_text(rectangle)} overlaps with {shelf.text(other)}")


def _by_slot(pairs: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """Slot -> the items of the (slot, item) pairs."""
    items: dict[int, list[int]] = {}
    for slot, item in pairs:
        items.setdefault(slot, []).append(item)
    return items


class _Shelf:
    """Disjoint address ranges, one per live item, sorted by address.

    As they are disjoint before a range is put, only the two that would become its neighbours can
    share a byte with it.
    """

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int, int]] = []  # (offset, item, size)

    def put(self, offset: int, item: int, size: int) -> tuple[int, int, int] | None:
        """Put a range of at least one byte. The range in the way, if any; then nothing is put."""
        place = bisect_left(self._ranges, (offset, item))
        for other in self._ranges[max(0, place - 1) : place + 1]:
            if max(offset, other[0]) < min(offset + size, other[0] + other[2]):
                return other
        self._ranges.insert(place, (offset, item, size))
        return None

    def take(self, offset: int, item: int) -> None:
        """Remove the range of `item`, which lies at `offset`."""
        del self._ranges[bisect_left(self._ranges, (offset, item))]

    @staticmethod
    def text(entry: tuple[int, int, int]) -> str:
        offset, item, size = entry
        return f"item {item} at [{offset}, {offset + size})"


def _check_totals(problem: Problem, placement: Placement) -> None:
    align = problem.align
    top = max((rectangle.offset + rectangle.size for rectangle in _occupying(placement)), default=0)
    arena = (top + align - 1) // align * align
    if placement.arena_bytes != arena:
        raise PlacementError(f"an arena of {placement.arena_bytes} bytes is claimed, not {arena}")
    bound = _bound(problem)
    if placement.lower_bound_bytes != bound:
        raise PlacementError(
            f"a bound of {placement.lower_bound_bytes} bytes is claimed, not {bound}"
        )
    if arena < bound:
        raise PlacementError(f"an arena of {arena} bytes is below the bound of {bound}")


def _bound(problem: Problem) -> int:
    """The largest sum of aligned sizes live in one slot."""
    align = problem.align
    # Deaths sort before births in the same slot, since lifetimes are half-open.
    events = sorted(
        event
        for item in problem.items
        if item.start < item.end
        for padded in [(item.size + align - 1) // align * align]
        for event in [(item.start, 1, padded), (item.end, 0, -padded)]
    )
    live = bound = 0
    for _, _, change in events:
        live += change
        bound = max(bound, live)
    return bound


def _text(rectangle: Rectangle) -> str:
    start, end = rectangle.offset, rectangle.offset + rectangle.size
    return (
        f"the rectangle of item {rectangle.item} at [{start}, {end}) "
        f"in the slots [{rectangle.start}, {rectangle.end})"
    )


def _move_text(move: Move) -> str:
    return (
        f"the move of item {move.item} ({move.size} bytes) from {move.source} to {move.target} "
        f"before slot {move.slot}"
    )
