"""Where each row lies: first fit over rows, around a graph input that must be contiguous.

The caller writes a resident input as one piece, so its rows have fixed offsets from the arena's start,
or from its end; they still die one by one, and other rows take their place. At the end the first of them
are next to what was free before, and at the start they often leave more room for what is left until
last: both are tried. All other rows, and the scratch memory of each step, lie wherever they fit.

How they are searched for is in `place.anytime`: more effort never gives a larger arena.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate

import numpy as np

from lowtide.place import Item, Placement, Problem
from lowtide.place.anytime import Anytime
from lowtide.place.firstfit import Boxes, boxes_of, height, pairs_of, placement_of
from lowtide.place.holes import bound_around
from lowtide.place.rhythm import Level, level_of, rings, round_of, walls_of
from lowtide.rows.stages import Segment, Step, live_bytes, live_in
from lowtide.rows.table import Cut, Ints, RowTable

FULL = 2_000_000
QUICK = 200_000
"""How many boxes are looked at, about, when rows are placed: for the plan that counts, and for one of
many. A million takes about half a second."""
_PER_BOX = 6_000
"""The same per box, at most."""

_ROUNDS = (3, 4, 2, 6, 1, 8)
"""How many rounds of a stage may pass until another row lies where one was: see `place.rhythm`."""


class Placing:
    """Where rows and scratch lie, better with each effort; all placements are validated.

    `lives` are those of `row_lives`; `align` is that of a row's start, in bytes.
    Item r is row r of the table; item (number of rows + k) is the scratch of step k. A kept tensor
    is one item under its first row, as the caller reads it as one piece; so is a given tensor whose
    rows are no multiple of `align`. So are tensors that need not save memory, since rows that lie one
    after the other need no table of places.
    """

    def __init__(
        self,
        table: RowTable,
        steps: Sequence[Step],
        lives: Mapping[int, tuple[int, int]],
        segments: Sequence[Segment] = (),
        *,
        align: int = 4,
    ) -> None:
        items, fixed = _items(table, steps, lives, align)
        self._problem = Problem(tuple(items), align)
        self._boxes = boxes = boxes_of(self._problem)
        ids = [items[index].id for index in boxes.index]
        known = {box: fixed[item] // align for box, item in enumerate(ids) if item in fixed}
        kinds = _kinds(table, steps, ids)
        own = [
            kind if 0 <= kind < len(table.cuts) else -1 - box
            for box, kind in enumerate(kinds.tolist())
        ]
        borders = _borders(table, segments)
        ends = [at + boxes.sizes[box] for box, at in known.items()]
        self._least = max([self._problem.lower_bound() // align, *ends])

        def search(boxes: Boxes, known: Mapping[int, int]) -> Anytime:
            rows = Level(boxes, known, np.arange(len(boxes)), own)
            levels = partial(_levels, table, steps, segments, rows, kinds)
            return Anytime(rows, levels, borders, max(self._least, bound_around(boxes, known)))

        searches = [_Way(search(boxes, known), 1, None)]
        if known:
            each = zip(boxes.sizes, boxes.aligns, strict=True)
            turned = replace(boxes, sizes=tuple(-(-size // of) * of for size, of in each))
            found = search(turned, _upside_down(turned, known))
            searches.append(_Way(found, _LESS, turned))
        self._ways = sorted(searches, key=lambda way: way.search.bound)

    @property
    def pairs(self) -> int:
        """How many pairs of boxes are live together."""
        return sum(map(len, self._boxes.meets))

    def within(self, effort: int = FULL) -> Placement:
        """The best placement found by so much effort in each search, as for `QUICK`: what was done
        before is not done again, and more effort never gives a larger arena."""
        effort = min(effort, _PER_BOX * len(self._boxes))
        first, *others = self._ways
        offsets = first.until(effort)
        for way in others:
            if height(self._boxes, offsets) > way.search.bound:
                offsets = min(offsets, way.until(effort), key=partial(height, self._boxes))
        return placement_of("rows", self._problem, self._boxes, offsets)


@dataclass(frozen=True, slots=True)
class _Way:
    """A search that may do this part of what is to be done; its boxes are `turned` upside down."""

    search: Anytime
    part: int
    turned: Boxes | None

    def until(self, effort: int) -> list[int]:
        """The best offsets that are found with so much effort, counted from below."""
        found = self.search.until(effort // self.part)
        if self.turned is None:
            return found
        return [*_upside_down(self.turned, dict(enumerate(found))).values()]


_LESS = 4
"""The search upside down has the effort of the other one over this: it mostly ends soon, or never."""


def _upside_down(boxes: Boxes, offsets: Mapping[int, int]) -> dict[int, int]:
    """The offsets of boxes, whose sizes are multiples of their alignments, counted from above."""
    align = max((boxes.aligns[box] for box in offsets), default=1)
    top = max((at + boxes.sizes[box] for box, at in offsets.items()), default=0)
    top = -(-top // align) * align
    return {box: top - at - boxes.sizes[box] for box, at in offsets.items()}


_FEWER = 0.7
"""Rows are merged to rings where that leaves so much of their number, or less."""


def _levels(
    table: RowTable, steps: Sequence[Step], segments: Sequence[Segment], rows: Level, kinds: Ints
) -> list[Level]:
    """Rows that are not fixed, merged to rings in all ways that leave few boxes."""
    boxes, known = rows.boxes, rows.known
    some = [box for box in range(len(boxes)) if box not in known]
    free, kinds = _only(boxes, some), kinds[some]
    each = _each(table, steps, segments, kinds, np.array(free.starts, np.int64))
    groups = [rings(free, kinds, each, rounds) for rounds in _ROUNDS if each]
    groups = [group for group in groups if group.max(initial=0) < _FEWER * len(free)]
    if not groups:
        return []
    pairs = pairs_of(free.starts, free.ends)
    walls = walls_of(free, [(at, at + boxes.sizes[b], boxes.ends[b]) for b, at in known.items()])
    return [level_of(free, pairs, walls, group, kinds) for group in groups]


def place_rows(
    table: RowTable,
    steps: Sequence[Step],
    lives: Mapping[int, tuple[int, int]],
    segments: Sequence[Segment] = (),
    *,
    align: int = 4,
    effort: int = FULL,
) -> Placement:
    """Offsets of all rows and scratch as `Placing` finds them; `effort` is as for `QUICK`."""
    return Placing(table, steps, lives, segments, align=align).within(effort)


def _only(boxes: Boxes, some: Sequence[int]) -> Boxes:
    """Some of the boxes; whom they meet is left out."""
    columns = (boxes.index, boxes.sizes, boxes.starts, boxes.ends)
    index, sizes, starts, ends = (tuple([of[box] for box in some]) for of in columns)
    return Boxes(index, sizes, starts, ends, (), tuple([boxes.aligns[box] for box in some]))


def _kinds(table: RowTable, steps: Sequence[Step], ids: Sequence[int]) -> Ints:
    """A number for each item: those of one tensor's rows, or of one node's scratch, have the same."""
    tensor = np.arange(len(table.size)) + len(table.cuts)
    for number, cut in enumerate(table.cuts):
        tensor[cut.first : cut.first + cut.count] = number
    scratch = [-1 - node for node, _ in steps]
    kinds: Ints = np.concatenate((tensor, np.array(scratch, np.int64)))[np.array(ids, np.intp)]
    return kinds


def _each(
    table: RowTable, steps: Sequence[Step], segments: Sequence[Segment], kinds: Ints, starts: Ints
) -> dict[int, int]:
    """Kind -> how many of its boxes are born in one round of the segment that they are born in."""
    nodes = np.array([node for node, _ in steps], np.int64)
    found: dict[int, int] = {}
    first = 0
    for segment in segments:
        last = first + sum(map(table.steps, range(segment.first, segment.last)))
        length = round_of(nodes[first:last])
        if length:
            middle = 1 + (first + last) // 2
            born = (starts >= middle) & (starts < middle + length)
            for kind, count in zip(*np.unique(kinds[born], return_counts=True), strict=True):
                found[int(kind)] = max(found.get(int(kind), 0), int(count))
        first = last
    return found


def _items(
    table: RowTable, steps: Sequence[Step], lives: Mapping[int, tuple[int, int]], align: int
) -> tuple[list[Item], dict[int, int]]:
    """What is to be placed, and where those lie of which that is given, in bytes: see `Placing`."""
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
    items += [Item(row, table.size[row], *lives[row], WORD) for row in table.lasting if row >= 0]
    for k, (node, _) in enumerate(steps):
        if table.scratch[node]:
            items.append(Item(len(table.size) + k, table.scratch[node], k + 1, k + 2, WORD))
    return items, fixed


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


def _borders(table: RowTable, segments: Sequence[Segment]) -> list[int]:
    """The first slot of each segment, and the one after the last."""
    steps = (sum(map(table.steps, range(s.first, s.last))) for s in segments)
    return list(accumulate(steps, initial=1))
