"""The front as a picture: arena, and state if any, against cost, with the RAM of common parts as lines.

Why: which plan is worth its cost is seen at a glance, as is the part that it lets the network fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, floor, inf, log10

from lowtide.commands.compiling import Compiled
from lowtide.plans.placer import Point
from lowtide.report.chart import Frame, cross_axis, up_axis
from lowtide.report.part_lines import part_lines, spaced
from lowtide.report.picture import COLOURS, PALE, RED, Boxes, Element, Line, Picture, Words
from lowtide.report.predicted import predicted_note

_WIDE, _HIGH = 800, 500
_ROOM = 1.15
"""The height of the axes over the largest arena."""
_GAP = 0.04
"""Lines of parts are at least so much of the height apart."""
_TICKS = 6
_MARK = 9
"""Pixels: how wide the mark of a plan is."""


def front_picture(compiled: Compiled, points: Sequence[Point]) -> Picture:
    """A mark for each of `points`, the plan of `compiled` marked."""
    plans = [(p.instructions / 1e6, p.ram_bytes) for p in points]
    this = [(compiled.instructions_predicted / 1e6, compiled.ram_bytes)]
    costs = [cost for cost, _ in (*plans, *this)]
    low, high = min(size for _, size in plans), max(size for _, size in (*plans, *this))
    most = high * _ROOM
    edge = (max(costs) - min(costs)) * 0.05 or 0.05
    frame = Frame(96, 44, _WIDE - 20, _HIGH - 60, min(costs) - edge, max(costs) + edge, most)
    label = f"million instructions, predicted {predicted_note(compiled)}"
    state = compiled.state_bytes
    title = f"{compiled.name}: least RAM for the work (input {compiled.options.input_mode})"
    elements: list[Element] = [Words(_WIDE / 2, 24, title, "middle", size=15)]
    elements += up_axis(
        frame, f"arena, and {state:,} B of state, bytes" if state else "arena, bytes"
    )
    elements += cross_axis(frame, _round_costs(frame), label)
    for line in spaced(part_lines(), low / 2, most * (1 - _GAP), most * _GAP):
        elements.append(Line(frame.across(line.ram_bytes), PALE, 1, (1.5, 3)))
        x, y = frame.left + 6, frame.y(line.ram_bytes) - 4
        elements.append(Words(x, y, line.label, size=11, halo=True))
    elements += _marked(frame, plans, this)
    for turn, (colour, name) in enumerate(((COLOURS[0], "plans"), (RED, "this plan"))):
        x, y = frame.right - 90, frame.top + 6 + 20 * turn
        elements += [_mark(x, y, colour), Words(x + 14, y + 4, name)]
    return Picture(_WIDE, _HIGH, title, tuple(elements))


def _marked(
    frame: Frame, plans: Sequence[tuple[float, int]], this: Sequence[tuple[float, int]]
) -> Iterator[Element]:
    """A step line, which says what each limit of the cost gets, and the marks of all plans."""
    placed = [(frame.x(cost), frame.y(size)) for cost, size in plans]
    steps = [(frame.x(cost), frame.y(size)) for cost, size in _falling(plans)]
    corners = [(x, before) for (_, before), (x, _) in pairwise(steps)]
    turns = [point for pair in zip(steps, [*corners, steps[-1]], strict=True) for point in pair]
    yield Line(tuple(turns), COLOURS[0], 1.2)
    yield from (_mark(frame.x(cost), frame.y(size), RED, 1.8) for cost, size in this)
    yield from (_mark(x, y, COLOURS[0]) for x, y in placed)


def _falling(plans: Sequence[tuple[float, int]]) -> Iterator[tuple[float, int]]:
    """Those that take less RAM than all that cost no more: others are there for their few MACs."""
    least = inf
    for cost, size in sorted(plans):
        if size < least:
            least = size
            yield cost, size


def _mark(x: float, y: float, colour: str, times: float = 1) -> Boxes:
    side = _MARK * times
    return Boxes(((x - side / 2, y - side / 2, side, side),), colour, "#ffffff")


def _round_costs(frame: Frame) -> Iterator[tuple[float, str]]:
    """Round numbers, at even distances."""
    raw = (frame.last - frame.first) / _TICKS
    power = 10.0 ** floor(log10(raw))
    unit = next(step * power for step in (1, 2, 5, 10) if step * power >= raw)
    for tick in range(ceil(frame.first / unit), floor(frame.last / unit) + 1):
        yield tick * unit, f"{tick * unit:.6g}"
