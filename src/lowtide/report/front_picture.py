"""The front as a picture: arena, and state if any, against cost, with the RAM of common parts as lines.

Why: which plan is worth its cost is seen at a glance, as is the part that it lets the network fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, floor, inf, log10

from lowtide.commands.planned import Planned
from lowtide.report.chart import Frame, cross_axis, up_axis
from lowtide.report.part_lines import PartLine, part_lines, spaced
from lowtide.report.picture import COLOURS, PALE, RED, Boxes, Element, Line, Picture, Words, letters
from lowtide.report.predicted import predicted_note, work_of

_WIDE, _HIGH = 800, 500
_ROOM = 1.15
"""The height of the axes over the largest arena."""
_GAP = 0.04
"""Lines of parts are at least so much of the height apart."""
_TICKS = 6
_MARK = 9
"""Pixels: how wide the mark of a plan is."""
_SMALL = 11


def front_picture(planned: Planned) -> Picture:
    """A mark for each plan of the front, that of the program marked."""
    compiled = planned.compiled
    plans = [(p.cost / 1e6, p.ram_bytes) for p in planned.points or ()]
    this = [(planned.cost / 1e6, compiled.ram_bytes)]
    costs = [cost for cost, _ in (*plans, *this)]
    low, high = min(size for _, size in plans), max(size for _, size in (*plans, *this))
    most = high * _ROOM
    edge = (max(costs) - min(costs)) * 0.05 or 0.05
    frame = Frame(96, 44, _WIDE - 20, _HIGH - 60, min(costs) - edge, max(costs) + edge, most)
    label, error = f"million {work_of(compiled)}, predicted {predicted_note(compiled)}".split("; ")
    state = compiled.state_bytes
    title = f"{compiled.name}: least RAM for the work (input {compiled.options.input_mode})"
    elements: list[Element] = [Words(_WIDE / 2, 24, title, "middle", size=15)]
    elements += up_axis(
        frame, f"arena, and {state:,} B of state, bytes" if state else "arena, bytes"
    )
    elements += cross_axis(frame, _round_costs(frame), label)
    middle = (frame.left + frame.right) / 2
    elements.append(Words(middle, _HIGH - 6, error, "middle", PALE, size=_SMALL))
    marks = [(frame.x(cost), frame.y(size)) for cost, size in (*plans, *this)]
    for line in spaced(part_lines(), low / 2, most * (1 - _GAP), most * _GAP):
        elements.append(Line(frame.across(line.ram_bytes), PALE, 1, (1.5, 3)))
        elements.append(_label(frame, line, marks))
    elements += _marked(frame, plans, this)
    for turn, (colour, name) in enumerate(((COLOURS[0], "plans"), (RED, "this plan"))):
        x, y = frame.right - 90, frame.top + 6 + 20 * turn
        elements += [_mark(x, y, colour), Words(x + 14, y + 4, name)]
    return Picture(_WIDE, _HIGH, title, tuple(elements))


def _label(frame: Frame, line: PartLine, marks: Sequence[tuple[float, float]]) -> Words:
    """The name of a line, above it: at its left end, or at its right end where marks would hide it."""
    wide, y = letters(line.label, _SMALL), frame.y(line.ram_bytes) - 4
    left = frame.left + 6
    hidden = any(x < left + wide + _MARK and y - _SMALL - _MARK < at < y + _MARK for x, at in marks)
    if hidden:
        return Words(frame.right - 6, y, line.label, "end", size=_SMALL, halo=True)
    return Words(left, y, line.label, size=_SMALL, halo=True)


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
