"""Where each row lies: first fit over rows, around a graph input that must be contiguous.

The caller writes a resident input as one piece, so its rows have fixed offsets from the arena's start,
or from its end; they still die one by one, and other rows take their place. At the end the first of them
are next to what was free before, and at the start they often leave more room for what is left until
last: both are tried. A resident output is one piece, too, where its rows are born one by one: it is
placed as a whole, or its rows lie at fixed offsets from the arena's start, below the input, whose first
rows make room for them. All other rows, and the scratch memory of each step, lie wherever they fit.

How they are searched for is in `place.anytime`: more effort never gives a larger arena.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate

import numpy as np

from lowtide.place import Placement
from lowtide.place.anytime import Anytime
from lowtide.place.firstfit import Boxes, height, pairs_of, placement_of
from lowtide.place.holes import bound_around
from lowtide.place.rhythm import Level, level_of, rings, round_of, walls_of
from lowtide.place.row_boxes import RowBoxes, growing, row_boxes
from lowtide.rows.stages import Segment, Step
from lowtide.rows.table import Ints, RowTable

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
    Item r is row r of the table; item (number of rows + k) is the scratch of step k. A given tensor
    whose rows are no multiple of `align` is one item under its first row, as the caller writes it as one
    piece. So are tensors that need not save memory, since rows that lie one after the other need no
    table of places. A kept tensor, which the caller reads as one piece, is one item as well, or its rows
    lie at fixed offsets, whichever places better.
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
        borders = _borders(table, segments)

        def search(of: RowBoxes, boxes: Boxes, known: Mapping[int, int]) -> Anytime:
            kinds = _kinds(table, steps, of.ids)
            rows = Level(boxes, known, np.arange(len(boxes)))
            levels = partial(_levels, table, steps, segments, rows, kinds)
            least = max([of.least, *(at + boxes.sizes[box] for box, at in known.items())])
            return Anytime(rows, levels, borders, max(least, bound_around(boxes, known)))

        found = row_boxes(table, steps, lives, align, grown=frozenset())
        ways = [_Way(search(found, found.boxes, found.given), 1, found)]
        if found.given:
            known = _upside_down(found.turned, found.given)
            ways.append(_Way(search(found, found.turned, known), _LESS, found, turned=True))
        if grown := growing(table, lives, align):
            each = row_boxes(table, steps, lives, align, grown=grown)
            ways.append(_Way(search(each, each.boxes, each.above_grown), 1, each))
        self._ways = sorted(ways, key=lambda way: way.search.bound)
        self._found: tuple[RowBoxes, list[int], Placement] | None = None

    @property
    def pairs(self) -> int:
        """How many pairs of boxes are live together."""
        rows = {id(way.rows): way.rows for way in self._ways}
        return sum(len(near) for of in rows.values() for near in of.boxes.meets)

    def within(self, effort: int = FULL) -> Placement:
        """The best placement found by so much effort in each search, as for `QUICK`: what was done
        before is not done again, and more effort never gives a larger arena. The placement is the same
        object as long as none better is found."""
        best, *others = self._ways
        offsets = best.until(effort)
        for way in others:
            top = height(best.rows.boxes, offsets)
            if top > way.search.bound:
                found = way.until(effort)
                if height(way.rows.boxes, found) < top:
                    best, offsets = way, found
        if self._found is None or self._found[0] is not best.rows or self._found[1] != offsets:
            of = best.rows
            self._found = of, offsets, placement_of("rows", of.problem, of.boxes, offsets)
        return self._found[2]


@dataclass(frozen=True, slots=True)
class _Way:
    """A search that may do this part of what is to be done; its boxes are those of `rows`, or these
    `turned` upside down."""

    search: Anytime
    part: int
    rows: RowBoxes
    turned: bool = False

    def until(self, effort: int) -> list[int]:
        """The best offsets that are found with so much effort, counted from below."""
        effort = min(effort, _PER_BOX * len(self.rows.boxes))
        found = self.search.until(effort // self.part)
        if not self.turned:
            return found
        return [*_upside_down(self.rows.turned, dict(enumerate(found))).values()]


_LESS = 4
"""The search upside down has the effort of the other one over this: it mostly ends soon, or never."""


def _upside_down(boxes: Boxes, offsets: Mapping[int, int]) -> dict[int, int]:
    """The offsets of boxes, whose sizes are multiples of their alignments, counted from above."""
    align = max((boxes.aligns[box] for box in offsets), default=1)
    top = max((at + boxes.sizes[box] for box, at in offsets.items()), default=0)
    top = -(-top // align) * align
    return {box: top - at - boxes.sizes[box] for box, at in offsets.items()}


_ALONE = -(1 << 40)
"""The kind of boxes of which none is merged with another: that of no tensor and no node."""

_FEWER = 0.7
"""Rows are merged to rings where that leaves so much of their number, or less."""


def _levels(
    table: RowTable, steps: Sequence[Step], segments: Sequence[Segment], rows: Level, kinds: Ints
) -> list[Level]:
    """Rows that are not fixed, merged to rings in all ways that leave few boxes.

    Fixed ones that are live from the start are ranges where no ring can lie; those that are born later
    stay boxes.
    """
    boxes, known = rows.boxes, rows.known
    some = [box for box in range(len(boxes)) if box not in known or boxes.starts[box] > 0]
    others, kinds = _only(boxes, some), kinds[some]
    born = {box: known[one] for box, one in enumerate(some) if one in known}
    each = _each(table, steps, segments, kinds, np.array(others.starts, np.int64))
    kinds[list(born)] = _ALONE
    groups = [rings(others, kinds, each, rounds) for rounds in _ROUNDS if each]
    groups = [group for group in groups if group.max(initial=0) < _FEWER * len(others)]
    if not groups:
        return []
    pairs = pairs_of(others.starts, others.ends)
    given = [
        (at, at + boxes.sizes[b], boxes.ends[b]) for b, at in known.items() if not boxes.starts[b]
    ]
    walls = walls_of(others, given)
    found = []
    for group in groups:
        of_all = np.full(len(boxes), -1)
        of_all[some] = group
        found.append(replace(level_of(others, pairs, walls, group, born), group=of_all))
    return found


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


def _borders(table: RowTable, segments: Sequence[Segment]) -> list[int]:
    """The first slot of each segment, and the one after the last."""
    steps = (sum(map(table.steps, range(s.first, s.last))) for s in segments)
    return list(accumulate(steps, initial=1))
