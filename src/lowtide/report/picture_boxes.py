"""Boxes of bytes over steps, with their names: what pictures of memory over time share.

Why: the memory of a network and that of a program are both boxes, tensor by tensor, and a reader who
knows one picture should know the other. matplotlib is imported only when drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowtide.report import picture
from lowtide.report.plan_boxes import SCRATCH, Box, PlanBoxes, most_held
from lowtide.report.text import amount

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FONT = 7
_EDGED = 3.0
"""Pixels: boxes at least so wide and high have a white edge."""
_CELL = 0.03
"""Inches: the grid in which places for labels are looked for."""
_LABEL = 4
"""Cells: how high a label is."""


def palette() -> Sequence[Any]:
    """The strong colours, then their light twins; the greys are left to scratch memory."""
    listed = picture.listed_colours()
    return [listed[k] for k in (*range(0, 20, 2), *range(1, 20, 2)) if k not in (14, 15)]


def legend(
    memory: Axes,
    shown: PlanBoxes,
    named: Sequence[tuple[int, tuple[str, str]]],
    colours: Mapping[int, Any],
    title: str,
) -> None:
    """The named tensors in the order of their birth, with the most bytes each holds at once."""
    from matplotlib.patches import Patch

    held = most_held((*shown.boxes, *shown.variables))
    handles = [
        Patch(facecolor=colours[t], label=f"{short}  {cut(origin, 40)}  {amount(held[t])}")
        for t, (short, origin) in named
    ]
    if len(colours) > len(named):
        more = len(colours) - len(named)
        handles.append(Patch(facecolor="none", label=f"and {more} smaller tensors"))
    if any(box.tensor == SCRATCH for box in shown.boxes):
        handles.append(
            Patch(
                facecolor="0.9",
                edgecolor="0.5",
                hatch="//////",
                linewidth=0,
                label="scratch memory of the kernel that runs",
            )
        )
    if not handles:
        return
    made = memory.legend(
        handles=handles,
        title=title,
        title_fontsize=FONT + 1,
        fontsize=FONT,
        loc="upper left",
        bbox_to_anchor=(1.005, 1.0),
        borderaxespad=0.0,
        frameon=False,
        handlelength=1.2,
        alignment="left",
    )
    for text in made.get_texts():
        text.set_parse_math(False)


def cut(text: str, length: int) -> str:
    """`text`, or as much of its beginning as fits."""
    return text if len(text) <= length else text[: length - 1] + "\N{HORIZONTAL ELLIPSIS}"


def draw_boxes(memory: Axes, boxes: Sequence[Box], colours: Mapping[int, Any]) -> None:
    """All tensors' boxes as one collection, all scratch memory as another."""
    from matplotlib.collections import PolyCollection

    tensors = [box for box in boxes if box.tensor != SCRATCH]
    scratch = [box for box in boxes if box.tensor == SCRATCH]
    extent, high = memory.get_window_extent(), memory.get_ylim()[1]
    wide, tall = extent.width / np.ptp(memory.get_xlim()), extent.height / high
    # White edges would leave nothing of a box that is hardly wider than they are.
    edges = [
        "white"
        if min((box.end - box.start) * wide, box.size * tall) > _EDGED
        else colours[box.tensor]
        for box in tensors
    ]
    faces = [colours[box.tensor] for box in tensors]
    grey: dict[str, Any] = {
        "facecolors": "0.9",
        "edgecolors": "0.5",
        "hatch": "//////",
        "linewidths": 0.0,
    }
    made = PolyCollection(_corners(tensors), facecolors=faces, edgecolors=edges, linewidths=0.3)
    memory.add_collection(made, autolim=False)
    memory.add_collection(PolyCollection(_corners(scratch), **grey), autolim=False)


def _corners(boxes: Sequence[Box]) -> list[Any]:
    """The corners [4][x, y] of each box; a slot's middle is its number."""
    if not boxes:
        return []
    sides = [(b.start - 0.5, b.end - 0.5, b.offset, b.offset + b.size) for b in boxes]
    left, right, low, high = np.array(sides, float).T
    ways = ((left, low), (left, high), (right, high), (right, low))
    return list(np.stack([np.stack(way, 1) for way in ways], 1))


def label_tensors(
    memory: Axes, figure: Figure, shown: PlanBoxes, names: Mapping[int, tuple[str, str]]
) -> None:
    """Each named tensor's name inside what it covers, at the widest place; none if none fits."""
    from matplotlib.patheffects import withStroke

    extent = memory.get_window_extent()
    high = memory.get_ylim()[1]
    columns = max(1, round(extent.width / figure.dpi / _CELL))
    lines = max(1, round(extent.height / figure.dpi / _CELL))
    grid = np.full((lines, columns), SCRATCH, np.int64)
    for box in (*shown.boxes, *shown.variables):
        left, right = (round(slot / shown.slots * columns) for slot in (box.start, box.end))
        bottom, top = (round(y / high * lines) for y in (box.offset, box.offset + box.size))
        grid[bottom:top, left:right] = box.tensor
    # No label crosses the line at the peak.
    grid[:, int((shown.peak_slot + 0.5) / shown.slots * columns)] = SCRATCH
    for tensor, (short, origin) in names.items():
        full, brief = f"{short} {origin}", short
        for text, upright, least in (
            (full, False, 0.9),
            (brief, False, 0.95),
            (full, True, 0.95),
            (brief, False, 0.7),
            (brief, True, 0.7),
        ):
            size = (_LABEL, 2 + 2 * len(text))
            size = size[::-1] if upright else size
            place = best_place(grid == tensor, size, least)
            if place is None:
                continue
            y, x = place
            grid[y : y + size[0], x : x + size[1]] = SCRATCH
            memory.text(
                (x + size[1] / 2) / columns * shown.slots - 0.5,
                (y + size[0] / 2) / lines * high,
                text,
                ha="center",
                va="center",
                rotation=90 if upright else 0,
                fontsize=FONT,
                parse_math=False,
                path_effects=[withStroke(linewidth=1.5, foreground="white")],
            )
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
