"""Before and after on one scale: TFLM's memory over time, below it the program's, as a picture to send.

Why instructions to the right: of steps, the last few may do next to nothing. Both have one scale each
way, and a tensor has one colour in both, so that what became smaller is seen without a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate
from math import ceil
from typing import Final

from lowtide.advice.reporting import Reported
from lowtide.commands.compiling import Compiled
from lowtide.machines.board import size_text
from lowtide.report import chart
from lowtide.report.chart import Frame
from lowtide.report.memory_views import View, colours_of_views, views_of
from lowtide.report.page_words import smallest
from lowtide.report.part import file_name
from lowtide.report.picture import (
    COLOURS,
    INK,
    RED,
    Boxes,
    Element,
    Line,
    Picture,
    Words,
    letters,
)
from lowtide.report.plan_boxes import Box, PlanBoxes, largest
from lowtide.report.predicted import as_run
from lowtide.report.text import amount

WIDE, HIGH = 1200, 630
"""Pixels: what pages that show a link take for its picture."""
_LEFT, _TOP, _RIGHT, _BOTTOM, _BETWEEN = 104, 158, 1172, 560, 62
_TIMES: Final = 2000
"""Moments to the right."""
_LEAST: Final = 16
"""Pixels: the lower chart is at least so high."""
_NAMED: Final = 16
_DIM: Final = "#555555"
_NOTE: Final = 15
_CULPRITS: Final = 132
"""Letters that have room above a chart."""
_LABEL: Final = 11
_LABELLED: Final = 110
"""Pixels: tensors are named in charts of more."""


def before_after(reported: Reported) -> Picture:
    """TFLM's memory and the program's, 1200 x 630 pixels."""
    views = views_of(reported)
    first = views[0]
    view = next(v for v in views if v.key == "rows")
    compiled = reported.compiled
    colours = colours_of_views(views, reported.analysis.graph, len(COLOURS))
    most_work = max(1, first.instructions, view.instructions)
    budget = budget_of(reported)
    room = _BOTTOM - _TOP - _BETWEEN
    line = 0 if budget is None else budget[1]
    top = max(first.ram_bytes, line if line <= 1.25 * first.ram_bytes else 0, 1)
    low = max(view.ram_bytes, line if line <= 1.6 * view.ram_bytes else 0, 1)
    pixel = max((top + low) / room, 1 / room)
    below = max(_LEAST, low / pixel)
    frames = (
        Frame(_LEFT, _TOP, _RIGHT, _BOTTOM - _BETWEEN - below, 0, _TIMES, top),
        Frame(_LEFT, _BOTTOM - below, _RIGHT, _BOTTOM, 0, _TIMES, low),
    )
    name = file_name(compiled.model)
    elements: list[Element] = [*_head(name, first, view)]
    for frame, each, who in zip(frames, (first, view), ("before", "after"), strict=True):
        elements += _panel(frame, who, each, timed(each, _TIMES, most_work), colours, budget)
    elements += _foot(frames[1], compiled, most_work)
    return Picture(WIDE, HIGH, f"{name}: RAM before and after", tuple(elements))


def budget_of(reported: Reported) -> tuple[str, int] | None:
    """A part and what it has for the arena and the state: the one asked about, or the smallest that runs
    the program as it is."""
    fit = reported.mcu or smallest(reported.fits, "as is")
    if fit is None:
        return None
    rest = reported.figures.ram_bytes - reported.compiled.ram_bytes
    return f"{size_text(fit.mcu.ram_bytes)}: {fit.mcu.name}", fit.mcu.ram_bytes - rest


def timed(view: View, times: int, most: int) -> PlanBoxes:
    """The boxes over moments in place of steps, `times` of which are `most` instructions; a moment holds
    what its fullest step does."""
    work = view.work if view.instructions else (1,) * len(view.work)
    of = most if view.instructions else len(work)
    ends = [0, *accumulate(work)]
    at = [min(times, round(end * times / of)) for end in ends]
    last = max(1, at[-1])
    live = [0] * last
    for slot, size in enumerate(view.shown.live):
        for moment in range(
            min(at[slot], last - 1), max(min(at[slot], last - 1) + 1, at[slot + 1])
        ):
            live[moment] = max(live[moment], size)

    def moved(box: Box) -> Box:
        return replace(box, start=at[box.start], end=at[box.end])

    shown = view.shown
    return replace(
        shown,
        boxes=tuple(map(moved, shown.boxes)),
        variables=tuple(map(moved, shown.variables)),
        runs=(),
        live=(*live, *(0,) * (times - last)),
    )


def _head(name: str, first: View, view: View) -> Iterator[Words]:
    before, after = first.ram_bytes, view.ram_bytes
    title = f"{amount(before)} of RAM \N{RIGHTWARDS ARROW} {amount(after)}"
    yield Words(32, 40, name, colour=_DIM, size=20, bold=True)
    yield Words(32, 88, title, size=44, bold=True)
    change = (1 - after / before) * 100 if before else 0
    how = f"{abs(change):.0f} % {'less' if change >= 0 else 'more'}"
    how += ", same outputs (check: lowtide verify)"
    yield Words(_RIGHT, 40, how, "end", _DIM, 20)


def _panel(
    frame: Frame,
    who: str,
    view: View,
    shown: PlanBoxes,
    colours: Mapping[int, int],
    budget: tuple[str, int] | None,
) -> Iterator[Element]:
    """A chart with its title, what fills its peak, and the part's line."""
    own = {t: colours[int(short[1:])] for t, (short, _) in view.names.items()}
    title = f"{who}: {view.title}"
    yield Words(frame.left, frame.top - 30, title, size=17, bold=True)
    yield Words(
        frame.left, frame.top - 10, chart.cut(view.culprits, _CULPRITS), colour=_DIM, size=_NOTE
    )
    for level in chart.levels(frame.most, max(1, ceil((frame.bottom - frame.top) / 60))):
        y = frame.y(level)
        yield Line(frame.across(level), "#e3e3e3", 1)
        yield Words(frame.left - 8, y + 5, _bytes(level), "end", _DIM, _NOTE)
    yield from chart.boxes_in(
        frame, shown.everything, own, {t: " ".join(n) for t, n in view.names.items()}
    )
    yield Line(frame.across(0), INK, 1.2)
    top = frame.y(view.ram_bytes)
    yield Line(((frame.left, top), (frame.right, top)), INK, 2)
    peak = frame.x(shown.peak_slot + 0.5)
    yield Line(((peak, frame.bottom), (peak, top)), "#ffffff", 3)
    yield Line(((peak, frame.bottom), (peak, top)), RED, 2, chart.DASH)
    if frame.bottom - frame.top > _LABELLED:
        named = largest(shown.everything, _NAMED)
        for words in chart.labels_in(frame, shown, {t: view.names[t] for t in named}):
            yield replace(words, size=_LABEL)
    if budget is not None and budget[1] <= frame.most * 1.001:
        y = frame.y(budget[1])
        yield Line(frame.across(budget[1]), INK, 1.4, (2, 3))
        text = f"room in {budget[0]}"
        wide = letters(text, _NOTE)
        yield Boxes(((frame.right - wide, y - 21, wide, 19),), "#ffffff")
        yield Words(frame.right - wide / 2, y - 6, text, "middle", INK, _NOTE)


def _bytes(count: int) -> str:
    return f"{count:,}"


def _foot(frame: Frame, compiled: Compiled, most: int) -> Iterator[Element]:
    for level in chart.levels(most, 8):
        x = frame.left + (frame.right - frame.left) * level / most
        yield Line(((x, frame.bottom), (x, frame.bottom + 5)), INK, 1)
        text = f"{level / 1e6:g} M" if level and most >= 2_000_000 else f"{level:,}"
        if x + letters(text, _NOTE) / 2 < WIDE - 8:
            yield Words(x, frame.bottom + 21, text, "middle", _DIM, _NOTE)
    note = f"instructions, predicted {as_run(compiled)}; a box is a tensor or a row, at its address"
    yield Words(_LEFT, HIGH - 22, note, colour=_DIM, size=_NOTE)
    yield Words(_RIGHT, HIGH - 22, f"lowtide {compiled.origin.version}", "end", _DIM, _NOTE)
