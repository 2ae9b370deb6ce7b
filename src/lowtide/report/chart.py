"""Charts of memory over time: boxes of bytes over steps, with axes, names and a legend.

Why one: the memory of a network and that of a program are both boxes, tensor by tensor, and a reader who
knows one picture should know the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import radians, sin
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lowtide.report.picture import (
    COLOURS,
    GREY,
    INK,
    RED,
    Boxes,
    Element,
    Line,
    Side,
    Words,
    letters,
)
from lowtide.report.plan_boxes import SCRATCH, Box, PlanBoxes, most_held
from lowtide.report.text import amount

SMALL: Final = 10
"""The size of letters in boxes, legends and names of operators, in pixels."""
USUAL: Final = 12
NAMED_STEPS: Final = 100
"""So many steps at most have their operators' names below them."""
DASH: Final = (6.0, 3.0)
_TURN: Final = 60
"""Degrees: how steep operators' names are."""
_SWATCH: Final = 14
_ROW: Final = 16
"""Pixels from one line of a legend to the next."""
_MAKER: Final = 40
"""Letters of a tensor's maker in a legend."""
_EDGED: Final = 3.0
"""Pixels: boxes at least so wide and high have a white edge, of which others would vanish."""
_CELL: Final = 3
"""Pixels: the grid in which places for labels are looked for."""
_LABEL: Final = 4
"""Cells: how high a label is."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a chart lies, in pixels: it shows `first` to `last` to the right, 0 to `most` upwards."""

    left: float
    top: float
    right: float
    bottom: float
    first: float
    last: float
    most: float

    def x(self, at: float) -> float:
        """The pixel at which `at` stands."""
        return self.left + (at - self.first) * (self.right - self.left) / (
            self.last - self.first or 1
        )

    def y(self, value: float) -> float:
        """The pixel at which `value` stands."""
        return self.bottom - value * (self.bottom - self.top) / (self.most or 1)

    def across(self, value: float) -> tuple[tuple[float, float], ...]:
        """The points of a line over the whole width."""
        return (self.left, self.y(value)), (self.right, self.y(value))


def levels(most: float, wanted: int = 5) -> list[int]:
    """At most about `wanted` round numbers from 0 to `most`."""
    steps = (step * 10**power for power in range(12) for step in (1, 2, 5))
    unit = next(step for step in steps if most / step <= wanted)
    return list(range(0, int(most) + 1, unit))


def up_axis(frame: Frame, name: str, wanted: int = 9) -> Iterator[Element]:
    """The lines at the left and below, round numbers at the left, and `name` beside them."""
    left, bottom = frame.left, frame.bottom
    yield Line(((left, frame.top), (left, bottom), (frame.right, bottom)), INK, 1)
    room = 0.0
    for level in levels(frame.most, wanted):
        y = frame.y(level)
        yield Line(((left - 4, y), (left, y)), INK, 1)
        yield Words(left - 8, y + 4, f"{level:,}", "end", size=USUAL)
        room = letters(f"{level:,}", USUAL)
    middle = (frame.top + bottom) / 2
    yield Words(left - 18 - room, middle, name, "middle", size=USUAL, turn=90)


def cross_axis(frame: Frame, ticks: Iterable[tuple[float, str]], name: str) -> Iterator[Element]:
    """Ticks with their labels below the chart, and `name` below them."""
    for at, label in ticks:
        x = frame.x(at)
        yield Line(((x, frame.bottom), (x, frame.bottom + 4)), INK, 1)
        yield Words(x, frame.bottom + 18, label, "middle", size=USUAL)
    yield Words((frame.left + frame.right) / 2, frame.bottom + 38, name, "middle", size=USUAL)


def step_axis(frame: Frame, name: str) -> Iterator[Element]:
    """Numbers of steps, each below the middle of its slot."""
    ticks = ((level + 0.5, f"{level:,}") for level in levels(frame.last - 1, 12))
    return cross_axis(frame, ticks, name)


def operator_axis(frame: Frame, labels: Sequence[str]) -> Iterator[Element]:
    """Below each step the operator that it runs; of very many, below every second or third."""
    every = -(-len(labels) // NAMED_STEPS)
    for step in range(0, len(labels), every or 1):
        x = frame.x(step + 0.5)
        yield Line(((x, frame.bottom), (x, frame.bottom + 4)), INK, 1)
        yield Words(x + 4, frame.bottom + 13, labels[step], "end", size=_named(labels), turn=_TURN)
    which = "" if every <= 1 else f"; one in {every} is named"
    below = frame.bottom + operator_room(labels) - 8
    text = f"operator, in the order it runs{which}"
    yield Words((frame.left + frame.right) / 2, below, text, "middle", size=USUAL)


def operator_room(labels: Iterable[str]) -> float:
    """How many pixels names of operators take below a chart."""
    named = [*labels]
    longest = max((letters(label, _named(named)) for label in named), default=0)
    return longest * sin(radians(_TURN)) + 44


def _named(labels: Sequence[str]) -> float:
    return SMALL if len(labels) <= NAMED_STEPS // 2 else SMALL * 0.8


def boxes_in(
    frame: Frame,
    boxes: Iterable[Box],
    colours: Mapping[int, int],
    names: Mapping[int, str] | None = None,
) -> Iterator[Boxes]:
    """All boxes of each tensor; `names` are shown below a pointer. Those of no colour are scratch."""
    places: dict[tuple[int, str], list[tuple[float, float, float, float]]] = {}
    for box in boxes:
        start, end = max(box.start, frame.first), min(box.end, frame.last)
        if start >= end:
            continue
        wide, high = frame.x(end) - frame.x(start), frame.y(0) - frame.y(box.size)
        edge = "#ffffff" if min(wide, high) > _EDGED else ""
        place = (frame.x(start), frame.y(box.offset + box.size), wide, high)
        places.setdefault((box.tensor, edge), []).append(place)
    for (tensor, edge), found in places.items():
        colour = COLOURS[colours[tensor]] if tensor in colours else GREY
        title = "" if names is None else names.get(tensor, "scratch memory")
        yield Boxes(tuple(found), colour, edge, title)


def stairs(frame: Frame, live: Sequence[int]) -> tuple[tuple[float, float], ...]:
    """The points of a line that is level during each slot, over the whole width."""
    slots = len(live)
    along = (frame.right - frame.left) / slots
    return tuple(
        (frame.left + end * along, frame.y(size))
        for slot, size in enumerate(live)
        for end in (slot, slot + 1)
        # Nothing turns between equal neighbours.
        if end in {0, slots} or live[end - 1] != live[end]
    )


def upright(frame: Frame, slot: int, top: float) -> Iterator[Line]:
    """A dashed line through the middle of a slot, from below to `top`, that is seen on any colour."""
    points = ((frame.x(slot + 0.5), frame.bottom), (frame.x(slot + 0.5), frame.y(top)))
    yield Line(points, "#ffffff", 3)
    yield Line(points, RED, 1.8, DASH)


def side_of(step: int, steps: int) -> Side:
    """How a label at `step` of `steps` is aligned, so that it does not leave the chart."""
    if step < steps / 3:
        return "start"
    return "end" if step > steps * 2 / 3 else "middle"


def legend_lines(
    shown: PlanBoxes,
    named: Sequence[tuple[int, tuple[str, str]]],
    colours: Mapping[int, int],
) -> list[tuple[str, str]]:
    """Colour and text: the named tensors, each with the most bytes it holds at once; "": no colour."""
    held = most_held(shown.everything)
    lines = [
        (COLOURS[colours[t]], f"{short}  {cut(origin, _MAKER)}  {amount(held[t])}")
        for t, (short, origin) in named
    ]
    if len(colours) > len(named):
        lines.append(("", f"and {len(colours) - len(named)} smaller tensors"))
    if any(box.tensor == SCRATCH for box in shown.boxes):
        lines.append((GREY, "scratch memory of the kernel that runs"))
    return lines


def legend(
    left: float, top: float, title: str, lines: Sequence[tuple[str, str]]
) -> Iterator[Element]:
    """The lines of a legend, below its title."""
    if not lines:
        return
    yield Words(left, top + 10, title, size=SMALL + 1)
    for number, (colour, text) in enumerate(lines, start=1):
        y = top + 10 + number * _ROW
        if colour:
            yield Boxes(((left, y - 8, _SWATCH, 9),), colour)
        yield Words(left + _SWATCH + 6, y, text, size=SMALL)


def legend_room(lines: Iterable[tuple[str, str]]) -> float:
    """How many pixels a legend takes beside a chart."""
    return max((letters(text, SMALL) for _, text in lines), default=0) + _SWATCH + 24


def cut(text: str, length: int) -> str:
    """`text`, or as much of its beginning as fits."""
    return text if len(text) <= length else text[: length - 1] + "\N{HORIZONTAL ELLIPSIS}"


def labels_in(
    frame: Frame, shown: PlanBoxes, names: Mapping[int, tuple[str, str]]
) -> Iterator[Words]:
    """Each named tensor's name inside what it covers, at the widest place; none if none fits."""
    columns = max(1, round((frame.right - frame.left) / _CELL))
    lines = max(1, round((frame.bottom - frame.top) / _CELL))
    grid = np.full((lines, columns), SCRATCH, np.int64)
    for box in shown.everything:
        left, right = (round(slot / shown.slots * columns) for slot in (box.start, box.end))
        bottom, top = (
            round(y / (frame.most or 1) * lines) for y in (box.offset, box.offset + box.size)
        )
        grid[bottom:top, left:right] = box.tensor
    # No label crosses the line at the peak.
    grid[:, int((shown.peak_slot + 0.5) / shown.slots * columns)] = SCRATCH
    for tensor, (short, origin) in names.items():
        full = f"{short} {origin}"
        for text, turned, least in (
            (full, False, 0.9),
            (short, False, 0.95),
            (full, True, 0.95),
            (short, False, 0.7),
            (short, True, 0.7),
        ):
            size = (_LABEL, 2 + 2 * len(text))
            size = size[::-1] if turned else size
            place = best_place(grid == tensor, size, least)
            if place is None:
                continue
            y, x = place
            grid[y : y + size[0], x : x + size[1]] = SCRATCH
            across = frame.left + (x + size[1] / 2) * (frame.right - frame.left) / columns
            up = frame.bottom - (y + size[0] / 2) * (frame.bottom - frame.top) / lines
            # Letters stand on their base line; a third of their height is below their middle.
            low = SMALL * 0.35
            across, up = (across + low, up) if turned else (across, up + low)
            turn = 90 if turned else 0
            yield Words(across, up, text, "middle", size=SMALL, turn=turn, halo=True)
            break


def best_place(
    mine: NDArray[np.bool_], size: tuple[int, int], least: float
) -> tuple[int, int] | None:
    """Lower left cell of the rectangle of `size` (lines, columns) that lies in `mine` the most.

    Of equal ones, those with the most of `mine` around them, and of these the one in their middle.
    None if all have less than the part `least` of their cells in `mine`.
    """
    inside = _sums(mine, size)
    if inside.size == 0 or inside.max() < least * size[0] * size[1]:
        return None
    around = (3 * size[0], 3 * size[1])
    near = _sums(np.pad(mine, [(size[0], size[0]), (size[1], size[1])]), around)
    score = inside * (around[0] * around[1] + 1) + near
    best = np.argwhere(score == score.max())
    y, x = best[np.abs(best - best.mean(0)).sum(1).argmin()]
    return int(y), int(x)


def _sums(cells: NDArray[np.bool_], size: tuple[int, int]) -> NDArray[np.int64]:
    """How many cells are set in every rectangle of `size`, by its lower left cell."""
    if cells.shape[0] < size[0] or cells.shape[1] < size[1]:
        return np.zeros((0, 0), np.int64)
    total: NDArray[np.int64] = np.pad(cells.cumsum(0).cumsum(1), [(1, 0), (1, 0)])
    h, w = size
    sums: NDArray[np.int64] = total[h:, w:] - total[:-h, w:] - total[h:, :-w] + total[:-h, :-w]
    return sums
