"""The placement problem and its answer, as plain values.

Why: every allocator has the same signature, `Problem -> Placement`, and the validator
(`lowtide.place.validate`) checks each answer against the problem alone, knowing no allocator.

    address
      ^   +---------+
      |   |  item 1 |  +--------+
      |   +---------+  | item 2 |      an item is a rectangle: `size` bytes high, live in the
      |   +------------+--------+      half-open interval of slots [start, end)
      |   |       item 0        |
      +---+---------------------+--> slot

Slots are moments: slot 0 is when the caller fills the inputs, slot k + 1 is the k-th step.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Item:
    """Something that needs `size` bytes in every slot of [start, end). `id` is a tensor's index.

    It lies at a multiple of `align` bytes, if that is more than the problem's alignment.
    An item of no bytes, or with an empty lifetime, occupies nothing: it gets a rectangle at offset 0.
    """

    id: int
    size: int
    start: int
    end: int
    align: int = 1


@dataclass(frozen=True, slots=True)
class Problem:
    """Items to place at multiples of `align` bytes."""

    items: tuple[Item, ...]
    align: int = 16

    def aligned(self, size: int) -> int:
        """`size` bytes rounded up to a multiple of `align`."""
        return -(-size // self.align) * self.align

    def lower_bound(self) -> int:
        """The largest sum, in bytes, of aligned sizes live in one slot: no arena can be smaller."""
        changes: dict[int, int] = {}
        for item in self.items:
            if item.start < item.end:
                size = self.aligned(item.size)
                changes[item.start] = changes.get(item.start, 0) + size
                changes[item.end] = changes.get(item.end, 0) - size
        live = bound = 0
        for slot in sorted(changes):
            live += changes[slot]
            bound = max(bound, live)
        return bound


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Item `item` (its id) lies at [offset, offset + size) during the slots [start, end)."""

    item: int
    offset: int
    size: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Move:
    """Before slot `slot`, `size` bytes of item `item` are moved from `source` down to `target`."""

    slot: int
    item: int
    source: int
    target: int
    size: int


@dataclass(frozen=True, slots=True)
class Placement:
    """A validated answer.

    `arena_bytes` is the highest end of a rectangle that is live in some slot, rounded up to `align`.
    `lower_bound_bytes` is the largest sum of aligned sizes live in one slot: no placement can be
    smaller. `rectangles` has one per item and stay; an allocator that never moves has one per item, and
    no `moves`.
    """

    allocator: str
    align: int
    arena_bytes: int
    lower_bound_bytes: int
    rectangles: tuple[Rectangle, ...] = field(repr=False)
    moves: tuple[Move, ...] = field(default=(), repr=False)

    @property
    def proved_optimal(self) -> bool:
        """True when the arena meets the lower bound, which proves that none is smaller."""
        return self.arena_bytes == self.lower_bound_bytes

    @property
    def moved_bytes(self) -> int:
        """Bytes moved in one invocation."""
        return sum(move.size for move in self.moves)

    def offset(self, item: int) -> int:
        """Where `item` lies when it is first live. Raises KeyError for an unknown item."""
        return self.offsets()[item]

    def offsets(self) -> dict[int, int]:
        """Where every item lies when it is first live: item id -> byte offset."""
        first: dict[int, Rectangle] = {}
        for rectangle in self.rectangles:
            known = first.get(rectangle.item)
            if known is None or rectangle.start < known.start:
                first[rectangle.item] = rectangle
        return {item: rectangle.offset for item, rectangle in first.items()}
