"""An exact search: is there a placement of at most `cap` units, and which?

Why: first fit in a lucky order is usually optimal, but not always, and it can never tell that
nothing better exists. This search can, when it finishes; it is given a budget of nodes, so that its
result never depends on the speed of the machine.

It fills the arena from below, like water. Columns are the moments that matter (the maximal sets of
boxes live at once); the skyline is the height up to which each column is decided.

      height            A plateau is a run of equal columns between higher ones. In a placement
       |  ____          where every box has fallen as far as it can, either the leftmost box to lie
       | |    |   __    on the plateau is one that fits in it, or none lies on it. Each choice is a
       | |    |__|      branch; columns left of the chosen box, or all, are then raised ("wasted")
       +-------------   to the lowest height at which anything can still rest on them.

Cuts: waste in a column is bounded by `cap` less the column's load; waste that leaves room for an
unplaced box is never needed, as the box could fall into it; a state that failed once is not
searched again; where no unplaced box spans two neighbouring columns, they part into independent
areas. The ideas stem from strip packing and from Moffitt, "MiniMalloc: a lightweight memory
allocator for hardware-accelerated machine learning" (ASPLOS 2023).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from lowtide.place.firstfit import Boxes

_WALL = 1 << 60  # the height of the ends of an area: above every skyline


@dataclass(frozen=True, slots=True)
class Columns:
    """The boxes of a problem over its maximal live sets: box i spans the columns [lows, highs)."""

    sizes: tuple[int, ...]
    lows: tuple[int, ...]
    highs: tuple[int, ...]
    starting: tuple[tuple[int, ...], ...]  # per column, the boxes whose first column it is
    loads: tuple[int, ...]  # per column, the sum of the sizes of its boxes


def columns_of(boxes: Boxes) -> Columns:
    """Compress time: a new column only where a box ends after others have started."""
    lows, highs = [0] * len(boxes), [0] * len(boxes)
    born = sorted((start, box) for box, start in enumerate(boxes.starts))
    dead = sorted((end, box) for box, end in enumerate(boxes.ends))
    count = started = counted = 0
    for end, box in dead:
        while started < len(born) and born[started][0] < end:
            lows[born[started][1]] = count
            started += 1
        if started > counted:
            count, counted = count + 1, started
        highs[box] = count
    starting: list[list[int]] = [[] for _ in range(count)]
    loads = [0] * count
    for box, size in enumerate(boxes.sizes):
        starting[lows[box]].append(box)
        for column in range(lows[box], highs[box]):
            loads[column] += size
    return Columns(
        boxes.sizes, tuple(lows), tuple(highs), tuple(map(tuple, starting)), tuple(loads)
    )


class Verdict(Enum):
    """How a search ended."""

    FOUND = "found"
    IMPOSSIBLE = "impossible"
    GAVE_UP = "gave up"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`offsets` (in units, per box) if FOUND, else None; `nodes` is the effort spent."""

    verdict: Verdict
    nodes: int
    offsets: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Area:
    """Columns [low, low + len(heights)), which no unplaced box leaves, and those boxes as bits.

    Boxes outside of the area do not matter to it, so that its ends are as good as walls.
    """

    low: int
    heights: list[int]
    slack: list[int]  # per column, what may still be wasted
    crossing: list[int]  # per column, the number of unplaced boxes that go on in the next one
    unplaced: int

    def key(self) -> tuple[int, int, tuple[int, ...]]:
        return self.low, self.unplaced, tuple(self.heights)


@dataclass(frozen=True, slots=True)
class _Choice:
    """On the plateau at column `low`: `box` (None: nothing), with [low, stop) raised by `waste`."""

    low: int
    stop: int
    waste: int
    box: int | None = None


@dataclass(frozen=True, slots=True)
class _Pending:
    """A linked list of areas yet to solve, each with the frame whose choice made it."""

    area: _Area
    parent: int
    rest: _Pending | None


@dataclass(slots=True)
class _Frame:
    """An area being searched. When its choices run out, so does the choice of frame `parent`."""

    area: _Area
    choices: Iterator[_Choice]
    parent: int
    pending: _Pending | None


Preference = Callable[[int], float]
"""Boxes with a lower value are tried first."""


def search(columns: Columns, cap: int, budget: int, prefer: Preference) -> Outcome:
    """Look for offsets that keep every box below `cap`, visiting at most `budget` nodes."""
    slack = [cap - load for load in columns.loads]
    if min(slack, default=0) < 0:
        return Outcome(Verdict.IMPOSSIBLE, 0)
    if not columns.sizes:
        return Outcome(Verdict.FOUND, 0, ())
    offsets = [0] * len(columns.sizes)
    failed: set[tuple[int, int, tuple[int, ...]]] = set()
    pending: _Pending | None = None
    for area in _split(columns, _whole(columns, slack)):
        pending = _Pending(area, -1, pending)
    stack: list[_Frame] = []
    nodes = 0
    while pending is not None:
        choices = iter(_choices(columns, pending.area, prefer))
        stack.append(_Frame(pending.area, choices, pending.parent, pending.rest))
        areas: list[_Area] | None = None
        while areas is None:
            frame = stack[-1]
            choice = next(frame.choices, None)
            if choice is None:
                failed.add(frame.area.key())
                # Frames above the parent belong to areas that the parent's choice made.
                del stack[frame.parent + 1 :]
                if not stack:
                    return Outcome(Verdict.IMPOSSIBLE, nodes)
                continue
            nodes += 1
            if nodes > budget:
                return Outcome(Verdict.GAVE_UP, nodes)
            if choice.box is not None:
                offsets[choice.box] = frame.area.heights[choice.low - frame.area.low]
            areas = _apply(columns, frame.area, choice)
            if failed and any(area.key() in failed for area in areas):
                areas = None
        pending = frame.pending
        for area in areas:
            pending = _Pending(area, len(stack) - 1, pending)
    return Outcome(Verdict.FOUND, nodes, tuple(offsets))


def _whole(columns: Columns, slack: list[int]) -> _Area:
    """All columns, nothing placed."""
    crossing = [0] * len(slack)
    for low, high in zip(columns.lows, columns.highs, strict=True):
        for column in range(low, high - 1):
            crossing[column] += 1
    return _Area(0, [0] * len(slack), slack, crossing, (1 << len(columns.sizes)) - 1)


def _tightest_plateau(area: _Area) -> tuple[int, int]:
    """The plateau, as columns of the area, with the least slack in one of its columns.

    Every plateau would do. This one fails first if anything does.
    """
    heights, slack = area.heights, area.slack
    best = (_WALL, _WALL)
    place = (0, 0)
    first, falls = 0, True  # the run of equal columns from `first` is lower than its left neighbour
    before = heights[0]
    for column, height in enumerate([*heights, _WALL]):
        if height == before:
            continue
        if falls and height > before:
            rank = (min(slack[first:column]), before)
            if rank < best:
                best, place = rank, (first, column)
        first, falls, before = column, height < before, height
    return place


def _choices(columns: Columns, area: _Area, prefer: Preference) -> list[_Choice]:
    """The ways to go on at the tightest plateau, the most promising first."""
    heights, slack = area.heights, area.slack
    first, last = _tightest_plateau(area)
    base = heights[first]
    left = heights[first - 1] if first else _WALL
    right = heights[last] if last < len(heights) else _WALL

    sizes, highs, low, stop = columns.sizes, columns.highs, area.low + first, area.low + last
    found: list[tuple[int, float, _Choice]] = []
    tried: set[tuple[int, int, int]] = set()  # equal boxes make equal branches
    fits: dict[int, int] = {}  # column -> the smallest box on the plateau that ends there
    smallest = spare = _WALL  # over the columns [low, column): smallest box, least slack
    for column in range(low, stop):
        smallest = min(smallest, fits.get(column, _WALL))
        if column > low:
            spare = min(spare, slack[column - 1 - area.low])
        if not spare:
            break  # no column up to here can be wasted, so some box must start further left
        for box in columns.starting[column]:
            if highs[box] > stop or not area.unplaced >> box & 1:
                continue
            size = sizes[box]
            fits[highs[box]] = min(size, fits.get(highs[box], _WALL))
            waste = 0 if column == low else min(left - base, size)
            if waste > spare or waste >= smallest or (size, column, highs[box]) in tried:
                continue
            tried.add((size, column, highs[box]))
            found.append((waste, prefer(box), _Choice(low, column, waste, box)))
    else:
        smallest = min(smallest, fits.get(stop, _WALL))
        spare = min(spare, slack[last - 1])
        waste = min(left, right) - base
        if waste <= spare and waste < smallest:
            found.append((_WALL, 0, _Choice(low, stop, waste)))
    found.sort(key=lambda choice: choice[:2])
    return [choice for _, _, choice in found]


def _apply(columns: Columns, area: _Area, choice: _Choice) -> list[_Area]:
    """The areas left to solve after `choice`."""
    heights, slack, crossing = area.heights.copy(), area.slack, area.crossing
    first, middle = choice.low - area.low, choice.stop - area.low
    if choice.waste:
        slack = slack.copy()
        for column in range(first, middle):
            heights[column] += choice.waste
            slack[column] -= choice.waste
    if choice.box is None:
        return [_Area(area.low, heights, slack, crossing, area.unplaced)]
    size, last = columns.sizes[choice.box], columns.highs[choice.box] - area.low
    crossing = crossing.copy()
    for column in range(middle, last):
        heights[column] += size
        crossing[column] -= column < last - 1
    child = _Area(area.low, heights, slack, crossing, area.unplaced & ~(1 << choice.box))
    if 0 in crossing[middle : last - 1] or not child.unplaced:
        return _split(columns, child)
    return [child]


def _split(columns: Columns, area: _Area) -> list[_Area]:
    """The independent areas of `area` that have unplaced boxes, the tightest last."""
    areas: list[_Area] = []
    first = 0
    for last in [i + 1 for i, count in enumerate(area.crossing) if not count]:
        inside = 0
        for starting in columns.starting[area.low + first : area.low + last]:
            for box in starting:
                inside |= 1 << box
        if inside & area.unplaced:
            areas.append(
                _Area(
                    area.low + first,
                    area.heights[first:last],
                    area.slack[first:last],
                    area.crossing[first:last],
                    inside & area.unplaced,
                )
            )
        first = last
    areas.sort(key=lambda part: -min(part.slack))
    return areas
