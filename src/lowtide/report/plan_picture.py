"""The memory of a compiled program over time as a picture: steps to the right, addresses upwards.

Why: the figures of a plan say how small the arena is, a picture why. It shows rows that make place
for others, what is kept for later, and the step that needs the most.

What is drawn is worked out by `plan_boxes`; matplotlib is imported only when drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowtide.commands.compiling import Compiled
from lowtide.files import check_writable, write_atomically
from lowtide.report import picture
from lowtide.report.plan_boxes import (
    SCRATCH,
    Box,
    PlanBoxes,
    colours_of,
    most_held,
    plan_boxes,
    spans_of,
    step_name,
    tensor_name,
)
from lowtide.report.text import amount, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (14.0, 7.6)
"""Inches."""
_NAMED = 28
"""Tensors in the legend, and labelled: those that cover most of the picture."""
_FONT = 7
_EDGED = 3.0
"""Pixels: boxes at least so wide and high have a white edge."""
_CELL = 0.03
"""Inches: the grid in which places for labels are looked for."""
_LABEL = 4
"""Cells: how high a label is."""


def write_plan_picture(compiled: Compiled, path: Path) -> None:
    """Draw the memory of `compiled` over time to `path`: PNG or SVG, as its ending says.

    Raises UsageError for another ending, or if the file cannot be written.
    """
    picture_format = picture.format_of(path.name)
    check_writable(path)
    write_atomically(path, plan_picture(compiled, picture_format))


def plan_picture(compiled: Compiled, picture_format: str) -> bytes:
    """The picture as a file's contents; `picture_format` is "png" or "svg"."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    shown = plan_boxes(compiled)
    with mpl.rc_context({"hatch.linewidth": 0.5}):  # thin lines for scratch memory
        figure = Figure(figsize=_SIZE, layout=ConstrainedLayoutEngine(w_pad=0.1))
        _draw(figure, compiled, shown)
        return picture.file_contents(figure, picture_format)


def _draw(figure: Figure, compiled: Compiled, shown: PlanBoxes) -> None:
    listed = picture.listed_colours()
    # The strong colours, then their light twins; the greys are left to scratch memory.
    palette = [listed[k] for k in (*range(0, 20, 2), *range(1, 20, 2)) if k not in (14, 15)]
    everything = (*shown.boxes, *shown.variables)
    colours = {t: palette[c] for t, c in colours_of(everything, len(palette)).items()}
    names = {tensor: tensor_name(compiled, tensor) for tensor in colours}
    area: dict[int, int] = dict.fromkeys(colours, 0)
    for box in everything:
        if box.tensor != SCRATCH:
            area[box.tensor] += box.size * (box.end - box.start)
    largest = sorted(area, key=lambda t: (-area[t], t))[:_NAMED]
    spans = spans_of(everything)
    by_birth = [(t, names[t]) for t in sorted(largest, key=lambda t: spans[t][0])]
    memory, live = figure.subplots(2, 1, sharex=True, height_ratios=[6, 1])
    _frame(figure, memory, live, compiled, shown)
    _legend(memory, shown, by_birth, colours)
    # Labels are fitted to the final layout, which boxes do not change.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    _draw_boxes(memory, everything, colours)
    _draw_live(live, shown)
    _draw_marks(memory, live, compiled, shown)
    _label_tensors(memory, figure, shown, {t: names[t] for t in largest})


def _frame(figure: Figure, memory: Axes, live: Axes, compiled: Compiled, shown: PlanBoxes) -> None:
    """Titles, axes and ticks."""
    from matplotlib.ticker import MaxNLocator

    options, assembly = compiled.options, compiled.assembly
    rows = assembly.plan is not None
    how = "rows of operators interleaved" if rows else "operator by operator"
    name = picture.file_name(compiled.model.path)
    figure.suptitle(
        f"Memory of {name}: {how}, input {options.input_mode}, output {options.output_mode}",
        parse_math=False,
    )
    hints = [
        f"A box is {'a row of ' if rows else ''}a tensor: as wide as the steps it is needed for, "
        "as high as its bytes, at its address. White is free."
    ]
    if rows:
        hints.append(
            "Grey lines separate stages, numbered at the top; within one, the steps of several "
            "operators interleave."
        )
    memory.set_title("\n".join(hints), fontsize=8, color="0.3", loc="left", pad=16 if rows else 6)
    above = "; state, which stays, above it" if shown.state_bytes else ""
    memory.set_ylabel(f"address in the arena (bytes{above})")
    memory.set_ylim(0, 1.08 * max(1, shown.arena_bytes + shown.state_bytes))
    live.set_ylabel("live bytes")
    live.set_ylim(0, 1.2 * max(1, shown.peak_bytes))
    live.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    for axis in (memory, live):
        axis.set_xlim(-0.5, shown.slots - 0.5)
        axis.yaxis.set_major_formatter(picture.with_commas)
        axis.spines[["top", "right"]].set_visible(False)
    if not rows and shown.slots <= picture.NAMED_STEPS:
        kinds = [plain(assembly.operators(op)) for op in assembly.order]
        labels = ["inputs given", *kinds, *[""] * (shown.slots - 1 - len(kinds))]
        picture.name_steps(live, labels)
    else:
        live.xaxis.set_major_locator(MaxNLocator(12, integer=True))
        live.xaxis.set_major_formatter(picture.with_commas)
        what = "each makes or takes in one row" if rows else "each runs one operator"
        live.set_xlabel(f"step ({what}; 0 is before the first one)")


def _legend(
    memory: Axes,
    shown: PlanBoxes,
    named: Sequence[tuple[int, tuple[str, str]]],
    colours: Mapping[int, Any],
) -> None:
    """The named tensors in the order of their birth, with the most bytes each holds at once."""
    from matplotlib.patches import Patch

    held = most_held((*shown.boxes, *shown.variables))
    handles = [
        Patch(facecolor=colours[t], label=f"{short}  {_cut(origin, 26)}  {amount(held[t])}")
        for t, (short, origin) in named
    ]
    if len(colours) > len(named):
        more = len(colours) - len(named)
        handles.append(Patch(facecolor="none", label=f"and {more} smaller tensors"))
    if any(box.tensor == SCRATCH for box in shown.boxes):
        handles.append(
            Patch(facecolor="0.9", edgecolor="0.5", hatch="//////", linewidth=0, label="scratch")
        )
    if not handles:
        return
    legend = memory.legend(
        handles=handles,
        title="tensor, its maker, most bytes at once",
        title_fontsize=_FONT + 1,
        fontsize=_FONT,
        loc="upper left",
        bbox_to_anchor=(1.005, 1.0),
        borderaxespad=0.0,
        frameon=False,
        handlelength=1.2,
        alignment="left",
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _draw_boxes(memory: Axes, boxes: Sequence[Box], colours: Mapping[int, Any]) -> None:
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


def _draw_live(live: Axes, shown: PlanBoxes) -> None:
    """Live bytes per slot."""
    edges = np.arange(shown.slots + 1) - 0.5
    live.stairs(np.array(shown.live), edges, fill=True, color="0.75")
    live.stairs(np.array(shown.live), edges, color="0.35", linewidth=0.6, baseline=None)


def _draw_marks(memory: Axes, live: Axes, compiled: Compiled, shown: PlanBoxes) -> None:
    """The arena's top, the peak and the borders of stages, with their labels."""
    top, peak, slots = shown.arena_bytes, shown.peak_slot, shown.slots
    memory.axhline(top, color="black", linewidth=1.0)
    borders = [run.start - 0.5 for run in shown.runs]
    memory.vlines(borders, 0, top, color="0.45", linewidth=0.4, zorder=2.5)
    live.vlines(borders, 0, shown.peak_bytes, color="0.45", linewidth=0.4)
    for axis, end in ((memory, top), (live, live.get_ylim()[1])):
        axis.vlines([peak], 0, end, color="white", linewidth=2.5, alpha=0.7, zorder=2.6)
        axis.vlines([peak], 0, end, color="crimson", linestyle=(0, (4, 2)), zorder=2.7)
    memory.annotate(
        f"peak {amount(shown.peak_bytes)} live, {step_name(compiled, peak)}",
        xy=(peak, top),
        xytext=(0, 4),
        textcoords="offset points",
        ha=picture.side_of(peak, slots),
        color="crimson",
        fontsize=9,
        fontweight="bold",
        parse_math=False,
    )
    memory.annotate(
        f"arena {amount(top)}"
        + (f" + state {amount(shown.state_bytes)}" if shown.state_bytes else ""),
        xy=(0.0 if peak > slots / 2 else 1.0, top),
        xycoords=("axes fraction", "data"),
        xytext=(4 if peak > slots / 2 else 0, 4),
        textcoords="offset points",
        ha="left" if peak > slots / 2 else "right",
        fontsize=9,
        fontweight="bold",
    )
    if shown.runs:
        _number_stages(memory, shown)


def _number_stages(memory: Axes, shown: PlanBoxes) -> None:
    """The stages' numbers above the picture, where they fit."""
    width = memory.get_window_extent().width / memory.figure.dpi / shown.slots  # inches per slot
    for run in shown.runs:
        if (run.end - run.start) * width >= 0.02 + 0.07 * len(str(run.stage)):
            memory.annotate(
                str(run.stage),
                xy=((run.start + run.end - 1) / 2, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=_FONT,
                color="0.35",
            )


def _label_tensors(
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
            place = _best_place(grid == tensor, size, least)
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
                fontsize=_FONT,
                parse_math=False,
                path_effects=[withStroke(linewidth=1.5, foreground="white")],
            )
            break


def _best_place(
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
