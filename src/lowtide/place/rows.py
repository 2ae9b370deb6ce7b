"""Where each row lies: first fit over rows, around a graph input that must be contiguous.

The caller writes a resident input as one piece, so its rows have fixed offsets from the arena's
start; they still die one by one, and other rows take their place. All other rows, and the scratch
memory of each step, lie wherever they fit.

First fit is only as good as the order in which boxes are placed. So several orders are tried, on all
boxes and on those of each segment of the plan apart, and the best few placements are repaired
(`place.repair`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import accumulate

import numpy as np

from lowtide.effort import Budget
from lowtide.place import Item, Placement, Problem
from lowtide.place.firstfit import Boxes, boxes_of, first_fit, height, lowest, placement_of
from lowtide.place.repair import repaired
from lowtide.rows.stages import Segment, Step, live_bytes, live_in
from lowtide.rows.table import Cut, Ints, RowTable

FULL = 1_200_000
QUICK = 200_000
"""How many boxes are looked at, at most, when rows are placed: for the plan that counts, and for one of
many. A million takes about half a second."""
_PER_BOX = 2_000
"""The same per box, at most."""

_STARTS = 0.4
"""The part of that which first fits may take; a few are tried in any case."""

_ANYHOW = 2
"""How many orders are tried in any case."""

_REPAIRED = 3
"""How many placements by first fit are repaired, of those on all boxes and of those by segment."""


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
    if _pairs(lives) > _MOST_PAIRS:
        pieces = {cut.first: cut for cut in table.cuts}
    else:
        start, end = np.zeros((2, len(table.size)), np.int64)
        start[list(lives)], end[list(lives)] = (
            np.array(list(lives.values()), np.int64).reshape(-1, 2).T
        )
        live = np.array(live_bytes(table, steps, lives), np.int64)
        found, _ = modest(table, start, end, live, pieces.keys() | table.given)
        pieces |= {cut.first: cut for cut in found}
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
    effort = min(effort, _PER_BOX * len(boxes))
    best = _offsets(boxes, known, tensors, _borders(table, segments), bound, effort)
    return placement_of("rows", problem, boxes, best)


_WORD = 4
"""What scratch memory is aligned to, in bytes."""

_MOST_PAIRS = 1 << 25
"""Of rows that are live together, each of which is looked at: 8,000 rows at once. Where there are more,
tensors are placed as one piece each."""


def _pairs(lives: Mapping[int, tuple[int, int]]) -> int:
    """How many pairs of rows are live together at some time."""
    starts, ends = (np.sort([life[side] for life in lives.values()]) for side in (0, 1))
    return int((np.arange(len(starts)) - np.searchsorted(ends, starts, side="right")).sum())


ROOM = 0.8
"""Of the peak: what may be live beside a tensor that is placed as one piece, with all of it."""


def modest(
    table: RowTable, start: Ints, end: Ints, live: Ints, apart: Collection[int]
) -> tuple[list[Cut], Ints]:
    """Tensors that can be live as a whole from their first row to their last, far below the peak, and
    what is live then; but for those of which a row is `apart`.

    Row r is live in slots `start[r]` to `end[r]` - 1, and `live[t]` bytes are in slot t. The smallest
    tensors first: each leaves less room for the others.
    """
    live = live.copy()
    most = int(live.max(initial=0) * ROOM)
    found = []
    for cut in sorted(table.cuts, key=lambda cut: cut.size * cut.count):
        rows = cut.first + np.flatnonzero(end[cut.first : cut.first + cut.count])
        if len(rows) < 2 or cut.first in apart:
            continue
        first, last = int(start[rows].min()), int(end[rows].max())
        own = live_in(start[rows] - first, end[rows] - first, table.sizes[rows], last - first)
        span = live[first:last] - own + cut.size * cut.count
        if span.max() <= most:
            live[first:last] = span
            found.append(cut)
    return found, live


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
        lambda box: (-sizes[box], starts[box]),
        lambda box: (-sizes[box], -box),
        lambda box: (-crowd[box], -sizes[box], starts[box]),
        lambda box: (-ends[box], starts[box]),
        lambda box: (starts[box], -ends[box]),
        lambda box: (-sizes[box] * (ends[box] - starts[box]), starts[box]),
        lambda box: (-total[tensors[box]], tensors[box], starts[box]),
        lambda box: (starts[box] - ends[box], -sizes[box]),
        lambda box: (starts[box], -sizes[box]),
    ]


def _borders(table: RowTable, segments: Sequence[Segment]) -> list[int]:
    """The first slot of each segment, and the one after the last."""
    steps = (sum(map(table.steps, range(s.first, s.last))) for s in segments)
    return list(accumulate(steps, initial=1))


def _offsets(
    boxes: Boxes,
    known: Mapping[int, int],
    tensors: Sequence[int],
    borders: Sequence[int],
    bound: int,
    effort: int,
) -> list[int]:
    """The lowest placement found by repair of the best first fits; `effort` is as for `QUICK`."""
    free = [box for box in range(len(boxes)) if box not in known]
    looks = Budget(int(effort * _STARTS))
    keys = _keys(boxes, tensors)
    chosen: list[list[int]] = []
    for by_segment in (False, True) if len(borders) > 2 else (False,):
        starts: list[list[int]] = []
        for key in keys:
            if len(starts) >= _ANYHOW and looks.used_up:
                break
            order = [*known, *sorted(free, key=key)]
            if by_segment:
                starts.append(_by_segment(boxes, known, order, borders, keys, bound, looks))
            else:
                starts.append(first_fit(boxes, order, known))
                looks.spend(sum(map(len, boxes.meets)))
            if height(boxes, starts[-1]) <= bound:
                return starts[-1]
        looks = Budget(int(effort * _STARTS))
        chosen += sorted(starts, key=lambda offsets: height(boxes, offsets))[:_REPAIRED]
    best = min(chosen, key=lambda offsets: height(boxes, offsets))
    for start in chosen:
        found = repaired(boxes, known, start, bound, effort // len(chosen))
        best = min(best, found, key=lambda offsets: height(boxes, offsets))
        if height(boxes, best) <= bound:
            break
    return best


def _by_segment(
    boxes: Boxes,
    known: Mapping[int, int],
    order: Sequence[int],
    borders: Sequence[int],
    keys: Sequence[Key],
    bound: int,
    looks: Budget,
) -> list[int]:
    """First fit in `order` of the boxes that outlive a segment; then of each segment's own, in the best
    of several orders. That leaves the rest as many small problems, one per segment."""
    inside: dict[int, list[int]] = {}
    spans: list[tuple[int, int] | None] = [None] * len(boxes)
    high = bound
    for box in order:
        first = bisect_right(borders, boxes.starts[box]) - 1
        if box in known or first != bisect_left(borders, boxes.ends[box]) - 1:
            high = max(high, _put(boxes, box, spans, known))
        else:
            inside.setdefault(first, []).append(box)
    for members in inside.values():
        best: tuple[int, list[tuple[int, int] | None]] | None = None
        for key in keys:
            for box in members:
                spans[box] = None
            top = max(_put(boxes, box, spans, known) for box in sorted(members, key=key))
            looks.spend(sum(len(boxes.meets[box]) for box in members))
            if best is None or top < best[0]:
                best = top, [spans[box] for box in members]
            if top <= high:
                break
        assert best is not None
        high = max(high, best[0])
        for box, span in zip(members, best[1], strict=True):
            spans[box] = span
    return [span[0] if span else 0 for span in spans]


def _put(
    boxes: Boxes, box: int, spans: list[tuple[int, int] | None], known: Mapping[int, int]
) -> int:
    """Place a box where it is known to lie, or as low as it can among those in `spans`; its end."""
    offset = known[box] if box in known else lowest(boxes, box, spans)
    spans[box] = (offset, offset + boxes.sizes[box])
    return offset + boxes.sizes[box]
