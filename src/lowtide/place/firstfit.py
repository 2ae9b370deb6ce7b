"""First fit: put items one by one, in a given order, at the lowest free address.

Why: it is the engine under two allocators. TFLM's planner is first fit by size, and an optimal
placement is always first fit in *some* order (sort any optimal placement by address and let every
item fall), so the planned allocator searches orders.

Sizes and offsets here are counted in alignment units, so that no step has to think of alignment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from lowtide.place.problem import Placement, Problem, Rectangle
from lowtide.place.validate import validate


@dataclass(frozen=True, slots=True)
class Boxes:
    """The items that occupy memory, as parallel columns, in the problem's order.

    `index[i]` is the place in `problem.items` of box i; `sizes` are in units of the alignment, and
    offsets are multiples of `aligns`;
    `meets[i]` lists the boxes live at the same time as box i.
    """

    index: tuple[int, ...]
    sizes: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    meets: tuple[tuple[int, ...], ...]
    aligns: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.index)


def boxes_of(problem: Problem) -> Boxes:
    """The boxes of `problem`; items of no bytes or no lifetime are left out."""
    items = problem.items
    index = tuple(i for i, item in enumerate(items) if item.size > 0 and item.start < item.end)
    starts = tuple(items[i].start for i in index)
    ends = tuple(items[i].end for i in index)
    return Boxes(
        index=index,
        sizes=tuple(-(-items[i].size // problem.align) for i in index),
        starts=starts,
        ends=ends,
        meets=_meetings(starts, ends),
        aligns=tuple(-(-items[i].align // problem.align) for i in index),
    )


def _meetings(starts: Sequence[int], ends: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """For every box the others live at the same time: a sweep over time."""
    meets: list[list[int]] = [[] for _ in starts]
    live: list[int] = []
    for new in sorted(range(len(starts)), key=starts.__getitem__):
        live = [other for other in live if ends[other] > starts[new]]
        for other in live:
            meets[other].append(new)
        meets[new].extend(live)
        live.append(new)
    return tuple(map(tuple, meets))


def first_fit(
    boxes: Boxes, order: Iterable[int], fixed: Mapping[int, int] = MappingProxyType({})
) -> list[int]:
    """Offsets (in units) when the boxes, all of them, are placed in `order`.

    `fixed` boxes lie where it says; they come first in `order`, so that the others fit around them.
    """
    # (offset, end) of every placed box: made once, sorted often.
    spans: list[tuple[int, int] | None] = [None] * len(boxes)
    offsets = [0] * len(boxes)
    for box in order:
        offset = fixed[box] if box in fixed else lowest(boxes, box, spans)
        offsets[box] = offset
        spans[box] = (offset, offset + boxes.sizes[box])
    return offsets


def lowest(boxes: Boxes, box: int, spans: Sequence[tuple[int, int] | None]) -> int:
    """The lowest offset at which `box` meets none of the boxes placed, whose `spans` are not None."""
    size, align, offset = boxes.sizes[box], boxes.aligns[box], 0
    for low, high in sorted([s for other in boxes.meets[box] if (s := spans[other]) is not None]):
        if low - offset >= size:
            break
        if high > offset:
            offset = high if align == 1 else -(-high // align) * align
    return offset


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
