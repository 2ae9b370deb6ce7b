"""The memory of a compiled program over time as a picture: steps to the right, addresses upwards.

Why: the figures of a plan say how small the arena is, a picture why. It shows rows that make place
for others, what is kept for later, and the step that needs the most.

What is drawn is worked out by `plan_boxes`; matplotlib is imported only when drawn.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lowtide.commands.compiling import Compiled
from lowtide.files import OURS, Replacing, check_writable, write_atomically
from lowtide.report import picture, picture_boxes
from lowtide.report.part import MODES
from lowtide.report.plan_boxes import (
    SCRATCH,
    PlanBoxes,
    colours_of,
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


def write_plan_picture(compiled: Compiled, path: Path, replacing: Replacing = OURS) -> None:
    """Draw the memory of `compiled` over time to `path`: PNG or SVG, as its ending says.

    Raises UsageError for another ending, or if the file cannot be written or has to stay.
    """
    picture_format = picture.format_of(path.name)
    check_writable(path)
    write_atomically(path, plan_picture(compiled, picture_format), replacing)


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
    palette = picture_boxes.palette()
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
    title = "tensor, its maker, most bytes at once"
    picture_boxes.legend(memory, shown, by_birth, colours, title)
    # Labels are fitted to the final layout, which boxes do not change.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    picture_boxes.draw_boxes(memory, everything, colours)
    _draw_live(live, shown)
    _draw_marks(memory, live, compiled, shown)
    picture_boxes.label_tensors(memory, figure, shown, {t: names[t] for t in largest})


def _frame(figure: Figure, memory: Axes, live: Axes, compiled: Compiled, shown: PlanBoxes) -> None:
    """Titles, axes and ticks."""
    from matplotlib.ticker import MaxNLocator

    options, assembly = compiled.options, compiled.assembly
    rows = assembly.plan is not None
    how = "rows of operators interleaved" if rows else "operator by operator"
    name = picture.file_name(compiled.model.path)
    figure.suptitle(
        f"Memory of {name}: {how}, input {MODES[options.input_mode]}, output "
        f"{MODES[options.output_mode]}",
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
                fontsize=picture_boxes.FONT,
                color="0.35",
            )
