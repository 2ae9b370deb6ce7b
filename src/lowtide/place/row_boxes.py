"""Rows and scratch memory as boxes to be placed, and those of them that lie fixed.

Tensors that need not save memory are one box, and so are those that the caller sees as one piece and
whose rows cannot lie at fixed offsets. Of all others each row is one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lowtide.place import Item, Problem
from lowtide.place.firstfit import Boxes, boxes_of
from lowtide.rows.stages import Step, live_bytes, live_in
from lowtide.rows.table import Cut, Ints, RowTable


@dataclass(frozen=True, eq=False)
class RowBoxes:
    """What is to be placed, and its boxes: `ids[b]` is the item of box b. Those of inputs, which are
    `given`, lie one after the other at these offsets, or higher by the same for all; those of outputs
    that are `grown` row by row, at these from 0 on. Offsets are in units of the alignment."""

    problem: Problem
    boxes: Boxes
    ids: tuple[int, ...]
    given: Mapping[int, int]
    grown: Mapping[int, int]

    @cached_property
    def least(self) -> int:
        """What is live in a slot at most: no placement is lower."""
        return self.problem.lower_bound() // self.problem.align

    @cached_property
    def turned(self) -> Boxes:
        """The boxes, upside down: their sizes are multiples of their alignments."""
        each = zip(self.boxes.sizes, self.boxes.aligns, strict=True)
        return replace(self.boxes, sizes=tuple(-(-size // of) * of for size, of in each))

    @cached_property
    def above_grown(self) -> Mapping[int, int]:
        """Where given boxes lie above grown ones, as low as they can: rows of the one take the place of
        rows of the other, which die first where they begin."""
        starts, ends, sizes = (
            np.array(of, np.int64) for of in (self.boxes.starts, self.boxes.ends, self.boxes.sizes)
        )
        low, high = (np.array(list(of), np.intp) for of in (self.grown, self.given))
        top = np.array(list(self.grown.values()), np.int64) + sizes[low]
        begin = np.array(list(self.given.values()), np.int64)
        together = (starts[low][:, None] < ends[high]) & (starts[high] < ends[low][:, None])
        up = int(np.where(together, top[:, None] - begin, 0).max(initial=0))
        return {**self.grown, **{box: at + up for box, at in self.given.items()}}


def row_boxes(
    table: RowTable,
    steps: Sequence[Step],
    lives: Mapping[int, tuple[int, int]],
    align: int,
    *,
    grown: frozenset[int],
) -> RowBoxes:
    """The boxes of all that has a life; of kept tensors, those are one box each that are not `grown`."""
    items, given, lying = _items(table, steps, lives, align, grown)
    problem = Problem(tuple(items), align)
    boxes = boxes_of(problem)
    ids = [items[index].id for index in boxes.index]
    known = [
        {box: fixed[item] // align for box, item in enumerate(ids) if item in fixed}
        for fixed in (given, lying)
    ]
    return RowBoxes(problem, boxes, tuple(ids), *known)


def growing(table: RowTable, lives: Mapping[int, tuple[int, int]], align: int) -> frozenset[int]:
    """The first rows of outputs that can grow row by row: each row has its place in the tensor from the
    start, and takes it when it is made."""
    if _pairs(lives) > _MOST_PAIRS:
        return frozenset()
    return frozenset(
        cut.first
        for cut in table.cuts
        if cut.first in table.kept
        and cut.first not in table.given
        and cut.count > 1
        and cut.size % align == 0
        and all(row in lives for row in range(cut.first, cut.first + cut.count))
    )


def _items(
    table: RowTable,
    steps: Sequence[Step],
    lives: Mapping[int, tuple[int, int]],
    align: int,
    grown: frozenset[int],
) -> tuple[list[Item], dict[int, int], dict[int, int]]:
    """What is to be placed, and where those lie of which that is given, and those that are `grown`, in
    bytes: see `RowBoxes`."""
    pieces = {
        cut.first: cut
        for cut in table.cuts
        if (cut.first in table.kept and cut.first not in grown)
        or (cut.first in table.given and cut.size % align)
    }
    if _pairs(lives) > _MOST_PAIRS:
        pieces = {cut.first: cut for cut in table.cuts}
    else:
        start, end = np.zeros((2, len(table.size)), np.int64)
        start[list(lives)], end[list(lives)] = (
            np.array(list(lives.values()), np.int64).reshape(-1, 2).T
        )
        live = np.array(live_bytes(table, steps, lives), np.int64)
        found, _ = modest(table, start, end, live, pieces.keys() | table.given | grown)
        pieces |= {cut.first: cut for cut in found}
    items: list[Item] = []
    fixed: dict[int, int] = {}
    lying: dict[int, int] = {}
    top = end_of_grown = 0
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
            elif cut.first in grown:
                lying[row], end_of_grown = end_of_grown, end_of_grown + cut.size
            items.append(Item(row, cut.size, *lives[row]))
    items += [Item(row, table.size[row], *lives[row], WORD) for row in table.lasting if row >= 0]
    for k, (node, _) in enumerate(steps):
        if table.scratch[node]:
            items.append(Item(len(table.size) + k, table.scratch[node], k + 1, k + 2, WORD))
    return items, fixed, lying


WORD = 4
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
