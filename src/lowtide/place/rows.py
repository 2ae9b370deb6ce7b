"""Where each row lies: first fit over rows, around a graph input that must be contiguous.

The caller writes a resident input as one piece, so its rows have fixed offsets from the arena's
start; they still die one by one, and other rows take their place. All other rows, and the scratch
memory of each step, lie wherever they fit.

First fit is only as good as the order in which rows are placed. Several orders are tried on all rows;
then rows that outlive a segment of the plan are placed first, which leaves the rest as many small
problems, one per segment, each with an order of its own. The best of all that is repaired
(`place.repair`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from random import Random

import numpy as np

from lowtide.place import Item, Placement, Problem
from lowtide.place.firstfit import Boxes, boxes_of, height, lowest, placement_of
from lowtide.place.repair import repaired
from lowtide.rows.stages import Segment, Step, live_bytes
from lowtide.rows.table import Cut, RowTable

FULL = 2_000_000
QUICK = 200_000
"""How many boxes are looked at, at most, when a placement is repaired: for the plan that counts, and for
one of many. A million takes about half a second."""
_PER_BOX = 2_000
"""The same per box, at most."""


def place_rows(
    table: RowTable,
    steps: Sequence[Step],
    lives: Mapping[int, tuple[int, int]],
    segments: Sequence[Segment] = (),
    *,
    align: int = 4,
    effort: int = FULL,
) -> Placement:
    """Offsets of all rows and scratch, validated; `align` is that of a row's start, in bytes.

    `lives` are those of `row_lives`, `effort` is as for `QUICK`.
    Item r is row r of the table; item (number of rows + k) is the scratch of step k. A kept tensor
    is one item under its first row, as the caller reads it as one piece; so is a given tensor whose
    rows are no multiple of `align`. So are tensors that need not save memory, since rows that lie one
    after the other need no table of places.
    """
    pieces = {
        cut.first: cut
        for cut in table.cuts
        if cut.first in table.kept or (cut.first in table.given and cut.size % align)
    }
    pieces |= _modest(table, steps, lives, pieces)
    items: list[Item] = []
    fixed: dict[int, int] = {}
    top = 0
    for cut in table.cuts:
        rows = [row for row in range(cut.first, cut.first + cut.count) if row in lives]
        if cut.first in pieces:
            if not rows:
                continue
            span = (min(lives[r][0] for r in rows), max(lives[r][1] for r in rows))
            if cut.first in table.given:
                fixed[cut.first], top = (
                    top,
                    top + -(-cut.size * cut.count // align) * align,
                )
            items.append(Item(cut.first, cut.size * cut.count, *span))
            continue
        for row in rows:
            if cut.first in table.given:
                fixed[row], top = top, top + cut.size
            items.append(Item(row, cut.size, *lives[row]))
    items += [Item(row, table.size[row], *lives[row], _WORD) for row in table.lasting if row >= 0]
    for k, (node, _) in enumerate(steps):
        if table.scratch[node]:
            items.append(Item(len(table.size) + k, table.scratch[node], k + 1, k + 2, _WORD))
    problem = Problem(tuple(items), align)
    boxes = boxes_of(problem)
    known = {
        box: fixed[items[index].id] // align
        for box, index in enumerate(boxes.index)
        if items[index].id in fixed
    }
    bound = problem.lower_bound() // align
    tensor_of = {
        row: number
        for number, cut in enumerate(table.cuts)
        for row in range(cut.first, cut.first + cut.count)
    }
    tensors = [tensor_of.get(items[index].id, -1 - box) for box, index in enumerate(boxes.index)]
    free = [box for box in range(len(boxes)) if box not in known]
    best: list[int] = []
    start: list[int] = []
    keys = _keys(boxes, tensors)
    spans = _fixed(boxes, known)
    most = 1 << 62
    for key in keys[: max(2, _orders(boxes))]:
        order = sorted(free, key=key)
        if _sticks_out(boxes, order, free, spans, most) < 0:
            best, start = [span[0] if span else 0 for span in spans], order
            most = height(boxes, best)
        if most <= bound:
            break
    borders = _borders(table, segments)
    if height(boxes, best) > bound and len(borders) > 1:
        offsets = _by_segment(boxes, known, tensors, borders, bound, height(boxes, best))
        if height(boxes, offsets) < height(boxes, best):
            best = offsets
    if height(boxes, best) > bound:
        best = _promote(boxes, known, start, best, bound)
    best = repaired(boxes, known, best, bound, min(effort, _PER_BOX * len(boxes)))
    return placement_of("rows", problem, boxes, best)


_WORD = 4
"""What scratch memory is aligned to, in bytes."""

_ROOM = 0.8
"""Of the peak: what may be live beside a tensor that is placed as one piece, with all of it."""


def _modest(
    table: RowTable,
    steps: Sequence[Step],
    lives: Mapping[int, tuple[int, int]],
    pieces: Mapping[int, Cut],
) -> dict[int, Cut]:
    """Tensors that can be live as a whole from their first row to their last, far below the peak.

    The smallest first: each leaves less room for the others.
    """
    live = np.array(live_bytes(table, steps, lives), np.int64)
    most = int(live.max() * _ROOM)
    found = {}
    for cut in sorted(table.cuts, key=lambda cut: cut.size * cut.count):
        rows = [row for row in range(cut.first, cut.first + cut.count) if row in lives]
        if len(rows) < 2 or cut.first in pieces or cut.first in table.given:
            continue
        start, end = min(lives[r][0] for r in rows), max(lives[r][1] for r in rows)
        span = live[start:end].copy()
        for row in rows:
            span[lives[row][0] - start : lives[row][1] - start] -= table.size[row]
        span += cut.size * cut.count
        if span.max() <= most:
            live[start:end] = span
            found[cut.first] = cut
    return found


# First fits tried, times boxes: about half a second each; where boxes are many, fewer, and by segments
# only a few orders of those boxes that outlive one.
_EFFORT = 24_000
_MANY = 1_000
_SEGMENT_EFFORT = 5_000
_SEGMENT_KEYS = 3

Key = Callable[[int], tuple[int, ...]]


def _keys(boxes: Boxes, tensors: Sequence[int]) -> list[Key]:
    """Orders to try: by size, area, duration, birth, death; the most useful first."""
    sizes, starts, ends = boxes.sizes, boxes.starts, boxes.ends
    total: dict[int, int] = {}
    for box, tensor in enumerate(tensors):
        total[tensor] = total.get(tensor, 0) + sizes[box]
    changes: dict[int, int] = {}
    for box in range(len(boxes)):
        changes[starts[box]] = changes.get(starts[box], 0) + sizes[box]
        changes[ends[box]] = changes.get(ends[box], 0) - sizes[box]
    slots = sorted(changes)
    live = list(accumulate(changes[slot] for slot in slots))
    at = {slot: number for number, slot in enumerate(slots)}
    crowd = [max(live[at[starts[box]] : at[ends[box]]]) for box in range(len(boxes))]
    return [
        lambda box: (-sizes[box] * (ends[box] - starts[box]), starts[box]),
        lambda box: (-sizes[box], -box),
        lambda box: (-total[tensors[box]], tensors[box], starts[box]),
        lambda box: (-crowd[box], -sizes[box], starts[box]),
        lambda box: (-sizes[box], starts[box]),
        lambda box: (starts[box] - ends[box], -sizes[box]),
        lambda box: (starts[box], -ends[box]),
        lambda box: (-ends[box], starts[box]),
        lambda box: (starts[box], -sizes[box]),
    ]


def _orders(boxes: Boxes) -> int:
    """How many orders of all boxes are tried: fewer still where they are many."""
    return _EFFORT * _MANY // max(_MANY, len(boxes)) // (len(boxes) + 1)


def _borders(table: RowTable, segments: Sequence[Segment]) -> list[int]:
    """The first slot of each segment, and the one after the last."""
    steps = (sum(map(table.steps, range(s.first, s.last))) for s in segments)
    return list(accumulate(steps, initial=1))


def _by_segment(
    boxes: Boxes,
    known: Mapping[int, int],
    tensors: Sequence[int],
    borders: Sequence[int],
    bound: int,
    most: int,
) -> list[int]:
    """Offsets when boxes that outlive a segment come first, and each segment has its own order.

    `most` is what is known to be possible: what is no better is not pursued.
    """
    inside: dict[int, list[int]] = {}
    outlive: list[int] = []
    for box in range(len(boxes)):
        first = bisect_right(borders, boxes.starts[box]) - 1
        last = bisect_left(borders, boxes.ends[box]) - 1
        if box in known or first != last:
            outlive.append(box)
        else:
            inside.setdefault(first, []).append(box)
    keys = _keys(boxes, tensors)
    best = [most] * len(boxes)
    hardest = sorted(inside.values(), key=lambda members: -_crowd(boxes, outlive, members))
    for key in keys[: _SEGMENT_KEYS if len(boxes) > _MANY else len(keys)]:
        spans: list[tuple[int, int] | None] = [None] * len(boxes)
        first_ones = [*known, *sorted((b for b in outlive if b not in known), key=key)]
        high = _fit(boxes, first_ones, spans, known)
        for members in hardest:
            high = max(high, _segment(boxes, members, spans, keys, max(high, bound)))
            if high >= most:
                break
        if high < most:
            most = high
            best = [span[0] if span else 0 for span in spans]
        if most <= bound:
            break
    return best


def _crowd(boxes: Boxes, outlive: Sequence[int], members: Sequence[int]) -> int:
    """The largest sum of sizes live at once while one of `members` is."""
    first = min(boxes.starts[box] for box in members)
    last = max(boxes.ends[box] for box in members)
    changes: dict[int, int] = {first: 0}
    for box in (*outlive, *members):
        start, end = max(boxes.starts[box], first), min(boxes.ends[box], last)
        if start < end:
            changes[start] = changes.get(start, 0) + boxes.sizes[box]
            changes[end] = changes.get(end, 0) - boxes.sizes[box]
    return max(accumulate(changes[slot] for slot in sorted(changes)))


def _segment(
    boxes: Boxes,
    members: Sequence[int],
    spans: list[tuple[int, int] | None],
    keys: list[Key],
    enough: int,
) -> int:
    """Place the boxes of a segment among those in `spans`; returns the highest end.

    It need not be below `enough`. A key that does it comes first in `keys` from then on.
    """
    best: tuple[int, list[int]] | None = None
    for key in keys[: max(2, _SEGMENT_EFFORT // (len(members) + 1))]:
        order = sorted(members, key=key)
        if _sticks_out(boxes, order, members, spans, 1 << 62 if best is None else best[0]) >= 0:
            continue
        high = max(span[1] for box in members if (span := spans[box]))
        best = high, order
        if high <= enough:
            keys.remove(key)
            keys.insert(0, key)
            return high
    assert best is not None
    current, random = list(best[1]), Random(0)
    for _ in range(_SEGMENT_EFFORT // (len(members) + 1)):
        out = _sticks_out(boxes, current, members, spans, best[0])
        if out < 0:
            best = max(span[1] for box in members if (span := spans[box])), list(current)
            if best[0] <= enough:
                return best[0]
        else:
            _move_forward(current, out, random)
    for box in members:
        spans[box] = None
    return _fit(boxes, best[1], spans, {})


def _sticks_out(
    boxes: Boxes,
    order: Sequence[int],
    members: Sequence[int],
    spans: list[tuple[int, int] | None],
    most: int,
) -> int:
    """Place the boxes of `order`, up to the first that ends at `most` or higher; returns it, or -1."""
    for box in members:
        spans[box] = None
    for box in order:
        offset = lowest(boxes, box, spans)
        end = offset + boxes.sizes[box]
        if end >= most:
            return box
        spans[box] = (offset, end)
    return -1


def _move_forward(order: list[int], box: int, random: Random) -> None:
    """Put `box` somewhere before its place in `order`."""
    at = order.index(box)
    order.insert(random.randint(0, at), order.pop(at))


def _fit(
    boxes: Boxes,
    order: Sequence[int],
    spans: list[tuple[int, int] | None],
    known: Mapping[int, int],
) -> int:
    """Place the boxes of `order` among those in `spans`; returns the highest end of theirs."""
    high = 0
    for box in order:
        offset = known[box] if box in known else lowest(boxes, box, spans)
        spans[box] = (offset, offset + boxes.sizes[box])
        high = max(high, offset + boxes.sizes[box])
    return high


def _fixed(boxes: Boxes, known: Mapping[int, int]) -> list[tuple[int, int] | None]:
    """The spans of the boxes that are fixed; None for the others."""
    spans: list[tuple[int, int] | None] = [None] * len(boxes)
    for box, offset in known.items():
        spans[box] = (offset, offset + boxes.sizes[box])
    return spans


def _promote(
    boxes: Boxes,
    known: Mapping[int, int],
    start: Sequence[int],
    best: list[int],
    bound: int,
) -> list[int]:
    """Place the boxes that stick out earlier, again and again, from the order `start` on.

    The best offsets seen; `best` are those to beat.
    """
    current, random, spans = list(start), Random(0), _fixed(boxes, known)
    most = height(boxes, best)
    fixed = max((span[1] for span in spans if span), default=0)
    for _ in range(_orders(boxes)):
        if most <= max(bound, fixed):  # nothing can be gained
            break
        out = _sticks_out(boxes, current, current, spans, most)
        if out < 0:
            best = [span[0] if span else 0 for span in spans]
            most = height(boxes, best)
        else:
            _move_forward(current, out, random)
    return best
