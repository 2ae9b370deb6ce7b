"""The working set over time as a picture: the file's order, and below it the best one.

Why a picture: the figures of an analysis say how large the peak is, a picture what lies in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from lowtide.commands.analysis import Analysis, Timeline
from lowtide.report import chart
from lowtide.report.chart import Frame
from lowtide.report.picture import COLOURS, RED, Element, Line, Picture, Words
from lowtide.report.plan_boxes import SCRATCH, Box, PlanBoxes, colours_in, largest, origin_of
from lowtide.report.terminal import short_name
from lowtide.report.text import amount, best_title, plain

_WIDE, _LEFT, _TOP, _CHART = 1400, 96, 64, 300
"""Pixels: the picture, where its charts begin, and how high each is."""
_NAMED = 20
"""Tensors in the legend: those that cover most of the picture."""
_HINT = "a box is a tensor, as high as its bytes; stacked boxes are in RAM together"


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


def analysis_picture(analysis: Analysis) -> Picture:
    """Per step, the live tensors stacked, a colour for each, named, the peak marked."""
    lines = [("file order", analysis.file)]
    if analysis.best.order != analysis.file.order:
        proof = ", proved optimal" if analysis.best_order.proved_optimal else ""
        lines.append((f"{best_title(analysis)}{proof}", analysis.best))
    shown = [stacked(analysis, line) for _, line in lines]
    everything = [one.everything for one in shown]
    colours = colours_in(everything, len(COLOURS))
    names = {t: (f"t{t}", origin_of(analysis.graph, t)) for t in colours}
    named = sorted(largest(shown[0].boxes, _NAMED), key=[*colours].index)
    told = chart.legend_lines(
        shown[0], [(t, (names[t][0], _described(analysis, t))) for t in named], colours
    )
    right = _WIDE - chart.legend_room(told)
    labels = [[plain(f"{step.operator} {step.type}") for step in line.steps] for _, line in lines]
    high = _CHART + chart.operator_room(labels[0])
    most = 1.15 * (analysis.peak_bytes + analysis.variables_bytes)
    name = plain(Path(analysis.path).name)
    title = f"Tensors in RAM, operator by operator: {name}"
    elements: list[Element] = [
        Words(_WIDE / 2, 24, title, "middle", size=17),
        *chart.legend(right + 14, _TOP, "tensor: its maker, its name, its bytes", told),
    ]
    for number, (order, line) in enumerate(lines):
        top = _TOP + number * (high + 30)
        frame = Frame(_LEFT, top, right, top + _CHART, 0, max(1, len(line.steps)), most)
        elements += [
            Words(_LEFT, top - 8, f"{order}: {_HINT}", size=chart.SMALL + 1),
            *chart.boxes_in(
                frame, everything[number], colours, {t: " ".join(names[t]) for t in names}
            ),
            *chart.up_axis(
                frame, "bytes live" + (", on state" if analysis.variables_bytes else "")
            ),
            *chart.operator_axis(frame, labels[number]),
            *_mark(frame, analysis, line),
            *chart.labels_in(frame, shown[number], _labelled(names, shown[number])),
        ]
    return Picture(_WIDE, top + high, title, tuple(elements))


def _labelled(names: Mapping[int, tuple[str, str]], one: PlanBoxes) -> dict[int, Any]:
    """The largest first: it finds the best place."""
    size = {box.tensor: box.size for box in one.boxes}
    return {t: names[t] for t in sorted(size, key=lambda t: (-size[t], t))}


def _described(analysis: Analysis, tensor: int) -> str:
    """Where it comes from, and the end of its name."""
    name, origin = analysis.graph.tensors[tensor].name, origin_of(analysis.graph, tensor)
    room = 38 - len(origin)
    return f"{origin}, {short_name(name, room)}" if name and room >= 8 else origin


def _mark(frame: Frame, analysis: Analysis, line: Timeline) -> Iterator[Element]:
    """The peak, where it is and what runs then; the state."""
    state = analysis.variables_bytes
    peak, at = state + line.peak_bytes, max(0, line.peak_step)
    yield Line(frame.across(peak), RED, 1.2, chart.DASH)
    yield from chart.upright(frame, at, peak)
    if line.peak_step < 0:
        where = "before the first step"
    else:
        step = line.steps[line.peak_step]
        where = plain(f"step {line.peak_step}: {step.operator} {step.type}")
    text = f"peak {amount(line.peak_bytes)}"
    text += (f" + state {amount(state)}" if state else "") + f", {where}"
    side = chart.side_of(at, len(line.steps))
    yield Words(frame.x(at + 0.5), frame.y(peak) - 6, text, side, RED, bold=True, halo=True)
    if state:
        kept = f"state, kept from run to run: {amount(state)}"
        middle = (frame.left + frame.right) / 2
        yield Words(middle, frame.y(state / 2) + 4, kept, "middle", size=chart.SMALL + 1, halo=True)
