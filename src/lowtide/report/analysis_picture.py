"""The working set over time as a picture: the file's order, and below it the best one.

Why a picture: the figures of an analysis say how large the peak is, a picture what lies in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

from lowtide.commands.analysis import Analysis, Timeline
from lowtide.report import picture, picture_boxes
from lowtide.report.plan_boxes import SCRATCH, Box, PlanBoxes, colours_in
from lowtide.report.terminal import short_name
from lowtide.report.text import amount, best_title, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _PANEL, _ONE_PANEL = 14.0, 4.6, 5.4
"""Inches."""
_NAMED = 20
"""Tensors in the legend: those that cover most of the picture."""


def stacked(analysis: Analysis, line: Timeline) -> PlanBoxes:
    """What is live in each step, stacked upon the state; slot k is step k.

    The oldest is at the bottom, so that a tensor held for long is a band and not a staircase.
    """
    sizes = [tensor.bytes for tensor in analysis.graph.tensors]
    top = analysis.variables_bytes
    state = (Box(SCRATCH, 0, len(line.steps), 0, top),) if top else ()
    base = [top] * len(line.steps)
    born: dict[int, int] = {}
    for number, step in enumerate(line.steps):
        for tensor_id in step.working_set:
            born.setdefault(tensor_id, number)
    boxes = []
    for tensor_id in sorted(born, key=lambda t: (born[t], t)):
        steps = [n for n, step in enumerate(line.steps) if tensor_id in step.working_set]
        for (offset, _), run in groupby(enumerate(steps), lambda e: (base[e[1]], e[1] - e[0])):
            numbers = [step for _, step in run]
            boxes.append(Box(tensor_id, numbers[0], numbers[-1] + 1, offset, sizes[tensor_id]))
        for step_number in steps:
            base[step_number] += sizes[tensor_id]
    live = tuple(step.bytes for step in line.steps) or (0,)
    return PlanBoxes(tuple(boxes), state, (), live, line.peak_bytes, top)


def analysis_picture(analysis: Analysis, picture_format: str) -> bytes:
    """A png or svg: per step, the live tensors stacked, a colour for each, named, the peak marked."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    lines = [("file order", analysis.file)]
    if analysis.best.order != analysis.file.order:
        proof = ", proved optimal" if analysis.best_order.proved_optimal else ""
        lines.append((f"{best_title(analysis)}{proof}", analysis.best))
    shown = [stacked(analysis, line) for _, line in lines]
    everything = [(*one.boxes, *one.variables) for one in shown]
    palette = picture_boxes.palette()
    colours = {t: palette[c] for t, c in colours_in(everything, len(palette)).items()}
    high = _PANEL * len(lines) if len(lines) > 1 else _ONE_PANEL
    figure = Figure(figsize=(_WIDTH, high), layout=ConstrainedLayoutEngine(w_pad=0.1))
    figure.suptitle(
        f"Tensors in RAM, operator by operator: {picture.file_name(analysis.path)}",
        parse_math=False,
    )
    axes = figure.subplots(len(lines), 1, sharey=True, squeeze=False)[:, 0]
    most = analysis.peak_bytes + analysis.variables_bytes
    for axis, (title, line) in zip(axes, lines, strict=True):
        _frame(axis, analysis, title, line, 1.15 * max(1, most))
    area = dict.fromkeys(colours, 0)
    for box in shown[0].boxes:
        area[box.tensor] += box.size * (box.end - box.start)
    largest = sorted(sorted(area, key=lambda t: (-area[t], t))[:_NAMED], key=list(area).index)
    names = {t: _name(analysis, t) for t in colours}
    told = [(t, (names[t][0], _described(analysis, t))) for t in largest]
    title = "tensor: its maker, its name, its bytes"
    picture_boxes.legend(axes[0], shown[0], told, colours, title)
    figure.draw_without_rendering()  # labels are fitted to the final layout
    figure.set_layout_engine("none")
    for axis, one, boxes, (_, line) in zip(axes, shown, everything, lines, strict=True):
        picture_boxes.draw_boxes(axis, boxes, colours)
        _mark(axis, analysis, line)
        picture_boxes.label_tensors(axis, figure, one, _labelled(names, one))
    return picture.file_contents(figure, picture_format)


def _labelled(names: Mapping[int, tuple[str, str]], one: PlanBoxes) -> dict[int, Any]:
    """The largest first: it finds the best place."""
    size = {box.tensor: box.size for box in one.boxes}
    return {t: names[t] for t in sorted(size, key=lambda t: (-size[t], t))}


def _name(analysis: Analysis, tensor: int) -> tuple[str, str]:
    """A tensor's number, and where it comes from."""
    graph = analysis.graph
    maker = next((op for op in graph.ops if tensor in op.outputs), None)
    if tensor in graph.inputs:
        return f"t{tensor}", "input"
    return f"t{tensor}", "" if maker is None else plain(f"{maker.id} {maker.label}")


def _described(analysis: Analysis, tensor: int) -> str:
    """Where it comes from, and the end of its name."""
    name, origin = analysis.graph.tensors[tensor].name, _name(analysis, tensor)[1]
    room = 38 - len(origin)
    return f"{origin}, {short_name(name, room)}" if name and room >= 8 else origin


def _frame(axis: Axes, analysis: Analysis, title: str, line: Timeline, top: float) -> None:
    axis.set_title(
        f"{title}: a box is a tensor, as high as its bytes; in RAM together is what is stacked",
        fontsize=9,
        loc="left",
    )
    axis.set_xlim(-0.5, max(1, len(line.steps)) - 0.5)
    axis.set_ylim(0, top)
    axis.set_ylabel("bytes live" + (", on state" if analysis.variables_bytes else ""))
    axis.yaxis.set_major_formatter(picture.with_commas)
    axis.spines[["top", "right"]].set_visible(False)
    picture.name_steps(axis, [plain(f"{step.operator} {step.type}") for step in line.steps])


def _mark(axis: Axes, analysis: Analysis, line: Timeline) -> None:
    """The peak, where it is and what runs then."""
    state = analysis.variables_bytes
    peak, at = state + line.peak_bytes, max(0, line.peak_step)
    if state:
        axis.annotate(
            f"state, kept from run to run: {amount(state)}",
            xy=(0.5, state / 2),
            xycoords=("axes fraction", "data"),
            ha="center",
            va="center",
            fontsize=picture_boxes.FONT + 1,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
        )
    axis.axhline(peak, color="crimson", linestyle=(0, (4, 2)), linewidth=1.0, zorder=2.7)
    axis.vlines([at], 0, peak, color="white", linewidth=2.5, alpha=0.7, zorder=2.6)
    axis.vlines([at], 0, peak, color="crimson", linestyle=(0, (4, 2)), zorder=2.7)
    if line.peak_step < 0:
        where = "before the first step"
    else:
        step = line.steps[line.peak_step]
        where = plain(f"step {line.peak_step}: {step.operator} {step.type}")
    axis.annotate(
        f"peak {amount(line.peak_bytes)}"
        + (f" + state {amount(state)}" if state else "")
        + f", {where}",
        xy=(at, peak),
        xytext=(0, 4),
        textcoords="offset points",
        ha=picture.side_of(at, len(line.steps)),
        color="crimson",
        fontweight="bold",
        parse_math=False,
    )
