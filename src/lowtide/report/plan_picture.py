"""The memory of a compiled program over time as a picture: steps to the right, addresses upwards.

Why: the figures of a plan say how small the arena is, a picture why. It shows rows that make place
for others, what is kept for later, and the step that needs the most.

Which boxes it shows is worked out by `plan_boxes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lowtide.commands.compiling import Compiled
from lowtide.report import chart
from lowtide.report.chart import Frame
from lowtide.report.part import MODES
from lowtide.report.picture import COLOURS, GREY, INK, RED, Element, Line, Picture, Words, letters
from lowtide.report.plan_boxes import (
    PlanBoxes,
    colours_of,
    largest,
    plan_boxes,
    spans_of,
    step_name,
    tensor_name,
)
from lowtide.report.text import amount, plain

_WIDE, _HIGH, _LEFT, _TOP, _LIVE = 1400, 760, 96, 84, 80
"""Pixels: the picture, where its charts begin, and how high the lower one is."""
_DIM = "#555555"
_NAMED = 28
"""Tensors in the legend, and labelled: those that cover most of the picture."""


def plan_picture(compiled: Compiled) -> Picture:
    """Where every row or tensor lies, step by step, and below that the bytes that are live."""
    shown = plan_boxes(compiled)
    everything = shown.everything
    colours = colours_of(everything, len(COLOURS))
    names = {tensor: tensor_name(compiled, tensor) for tensor in colours}
    named = largest(everything, _NAMED)
    spans = spans_of(everything)
    by_birth = [(t, names[t]) for t in sorted(named, key=lambda t: spans[t][0])]
    lines = chart.legend_lines(shown, by_birth, colours)
    right = _WIDE - chart.legend_room(lines)
    labels = _labels(compiled, shown)
    bottom = _HIGH - (chart.operator_room(labels) if labels else 46)
    most = 1.08 * shown.ram_bytes
    memory = Frame(_LEFT, _TOP, right, bottom - _LIVE - 22, 0, shown.slots, most)
    live = Frame(_LEFT, bottom - _LIVE, right, bottom, 0, shown.slots, 1.2 * shown.peak_bytes)
    name = plain(Path(compiled.model.path).name)
    under = ((_LEFT, bottom), *chart.stairs(live, shown.live), (right, bottom))
    elements = [
        *_heads(compiled, name),
        *chart.boxes_in(memory, everything, colours, {t: " ".join(n) for t, n in names.items()}),
        Line(under, _DIM, 0.6, fill=GREY),
        *_borders(memory, live, shown),
        *_axes(memory, live, compiled, shown, labels),
        *_marks(memory, live, compiled, shown),
        *chart.labels_in(memory, shown, {t: names[t] for t in named}),
        *chart.legend(right + 14, _TOP, "tensor, its maker, most bytes at once", lines),
    ]
    return Picture(_WIDE, _HIGH, f"Memory of {name} over time", tuple(elements))


def _labels(compiled: Compiled, shown: PlanBoxes) -> list[str]:
    """What runs in each slot, if there is room to say so; else nothing."""
    assembly = compiled.assembly
    if assembly.plan is not None or shown.slots > chart.NAMED_STEPS:
        return []
    kinds = [plain(assembly.operators(op)) for op in assembly.order]
    return ["inputs given", *kinds, *[""] * (shown.slots - 1 - len(kinds))]


def _heads(compiled: Compiled, name: str) -> Iterator[Words]:
    options, rows = compiled.options, compiled.assembly.plan is not None
    how = "rows of operators interleaved" if rows else "operator by operator"
    title = (
        f"Memory of {name}: {how}, input {MODES[options.input_mode]}, output "
        f"{MODES[options.output_mode]}"
    )
    yield Words(_WIDE / 2, 24, title, "middle", size=17)
    what = "a row of a tensor" if rows else "a tensor"
    hints = [
        f"A box is {what}: as wide as the steps it is needed for, as high as its bytes, at its "
        "address. White is free."
    ]
    if rows:
        hints.append(
            "Grey lines separate stages, numbered at the top; within one, the steps of several "
            "operators interleave."
        )
    for number, hint in enumerate(hints):
        yield Words(_LEFT, 44 + 14 * number, hint, colour=_DIM, size=chart.SMALL + 1)


def _axes(
    memory: Frame, live: Frame, compiled: Compiled, shown: PlanBoxes, labels: list[str]
) -> Iterator[Element]:
    above = "; state, which stays, above it" if shown.state_bytes else ""
    yield from chart.up_axis(memory, f"address in the arena (bytes{above})")
    yield from chart.up_axis(live, "live bytes", 3)
    rows = compiled.assembly.plan is not None
    what = "each makes or takes in one row" if rows else "each runs one operator"
    if labels:
        yield from chart.operator_axis(live, labels)
    else:
        yield from chart.step_axis(live, f"step ({what}; 0 is before the first one)")


def _borders(memory: Frame, live: Frame, shown: PlanBoxes) -> Iterator[Element]:
    """Where stages begin, and their numbers above, where they fit."""
    for run in shown.runs:
        x = memory.x(run.start)
        for frame, top in ((memory, shown.arena_bytes), (live, shown.peak_bytes)):
            yield Line(((x, frame.bottom), (x, frame.y(top))), _DIM, 0.6)
        if memory.x(run.end) - x >= 2 + letters(str(run.stage), chart.SMALL):
            middle = (x + memory.x(run.end)) / 2
            yield Words(middle, _TOP - 2, str(run.stage), "middle", _DIM, chart.SMALL)


def _marks(memory: Frame, live: Frame, compiled: Compiled, shown: PlanBoxes) -> Iterator[Element]:
    """The arena's top and the peak, with their labels."""
    top, peak, slots = shown.arena_bytes, shown.peak_slot, shown.slots
    yield Line(memory.across(top), INK, 1.4)
    yield from chart.upright(memory, peak, top)
    yield from chart.upright(live, peak, live.most)
    y = memory.y(shown.ram_bytes) - 6
    text = f"peak {amount(shown.peak_bytes)} live, {step_name(compiled, peak)}"
    yield Words(
        memory.x(peak + 0.5), y, text, chart.side_of(peak, slots), RED, bold=True, halo=True
    )
    arena = f"arena {amount(top)}"
    if shown.state_bytes:
        arena += f" + state {amount(shown.state_bytes)}"
    if peak > slots / 2:
        yield Words(memory.left + 6, y, arena, bold=True, halo=True)
    else:
        yield Words(memory.right, y, arena, "end", bold=True, halo=True)
