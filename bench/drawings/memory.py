"""Drawings of bytes over time: layers, orders, addresses, the bound, placing, plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.shared.stored import load_figures
from lowtide.commands.analysis import Analysis
from lowtide.commands.compiling import Compiled
from lowtide.commands.planned import Planned
from lowtide.place import Item, Problem
from lowtide.place.greedy import greedy
from lowtide.report.chart import Frame, boxes_in, levels, stairs
from lowtide.report.picture import (
    COLOURS,
    PALE,
    STRONG,
    Boxes,
    Element,
    Line,
    Picture,
    Words,
    svg_text,
)
from lowtide.report.plan_boxes import Box, colours_of, plan_boxes

_WIDE, _LEFT, _RIGHT = 760, 70, 740
_TOP, _BOTTOM = 40, 290
_DASH = (6.0, 4.0)


def _drawn(high: int, title: str, elements: Sequence[Element]) -> str:
    return svg_text(Picture(_WIDE, high, title, tuple(elements)))


def _axes(frame: Frame, across: str, up: str) -> Iterator[Element]:
    """A corner with round numbers of bytes and the names of both axes."""
    left, bottom = frame.left, frame.bottom
    for level in levels(frame.most):
        y = frame.y(level)
        yield Line(((left - 4, y), (left, y)), PALE)
        yield Words(left - 8, y + 4, f"{level:,}", "end", PALE, 11)
    yield Line(((left, frame.top), (left, bottom), (frame.right, bottom)), PALE)
    yield Words(frame.right, bottom + 32, across, "end", PALE)
    yield Words(left, frame.top - 8, up, colour=PALE)


def layers(analysis: Analysis, resident: Compiled, streamed: Compiled) -> str:
    """A bar for each operator: its input, its output, and what later ones need."""
    steps = analysis.file.steps
    most = max(step.bytes for step in steps)
    frame = Frame(_LEFT, _TOP, _RIGHT, 280, 0, len(steps), most)
    draw: list[Element] = []
    for number, step in enumerate(steps):
        at = 0
        for turn, tensor in enumerate(sorted(step.working_set)):
            size = analysis.graph.tensors[tensor].bytes
            at += size
            wide, high = frame.x(number + 1) - frame.x(number), frame.bottom - frame.y(size)
            place = (frame.x(number) + 1, frame.y(at), wide - 2, high)
            draw.append(Boxes((place,), COLOURS[0] if turn % 2 else COLOURS[4]))
        middle = frame.x(number + 0.5)
        draw.append(Words(middle, frame.bottom + 14, str(step.operator), "middle", size=10))
    draw += _axes(frame, "operator", "bytes in RAM: whole tensors")
    for compiled, name in ((resident, "by rows"), (streamed, "by rows, input streamed")):
        draw.append(Line(frame.across(compiled.arena_bytes), COLOURS[5], dash=_DASH))
        text = f"{name}: {compiled.arena_bytes:,} B"
        y = frame.y(compiled.arena_bytes) - 6
        draw.append(Words(_RIGHT, y, text, "end", COLOURS[5], bold=True))
    peak = next(n for n, step in enumerate(steps) if step.bytes == most)
    draw.append(Words(frame.x(peak + 1) + 6, _TOP + 10, f"peak {most:,} B", bold=True))
    return _drawn(330, "What is in RAM while each operator runs, layer by layer", draw)


def orders(analysis: Analysis, compiled: Compiled) -> str:
    """Live bytes from the first step to the last, three times, each as wide."""
    rows = plan_boxes(compiled)
    runs = (
        ("file order, whole tensors", [s.bytes for s in analysis.file.steps], COLOURS[5]),
        ("best order, whole tensors", [s.bytes for s in analysis.best.steps], COLOURS[1]),
        ("best order, by rows", list(rows.live[1:]), COLOURS[0]),
    )
    frame = Frame(_LEFT, _TOP, _RIGHT, _BOTTOM, 0, 1, 1.05 * max(max(live) for _, live, _ in runs))
    draw = [*_axes(frame, "from the first step to the last", "live bytes")]
    for number, (name, live, colour) in enumerate(runs):
        y = _TOP + 18 * number
        draw += [
            Line(stairs(frame, live), colour),
            Line(((_RIGHT - 280, y - 4), (_RIGHT - 256, y - 4)), colour),
            Words(_RIGHT - 250, y, f"{name}: {max(live):,} B", colour=colour, bold=True),
        ]
    return _drawn(330, "Live bytes over time, in two orders and by rows", draw)


def addresses(compiled: Compiled, slots: int) -> str:
    """The first steps of a plan: each row where it lies, for as long as it is needed."""
    shown = plan_boxes(compiled)
    frame = Frame(_LEFT, _TOP, _RIGHT, 330, 0, slots, shown.arena_bytes)
    boxes = [box for box in shown.boxes if box.start < slots]
    draw = [
        *boxes_in(frame, boxes, colours_of(boxes, STRONG)),
        *_axes(frame, f"steps 0 to {slots}", "address in the arena, bytes"),
    ]
    return _drawn(380, "Where each row lies, step by step", draw)


def bound(planned: Planned) -> str:
    """What is live in each step, the least that any order needs, and what is in between."""
    shown = plan_boxes(planned.compiled)
    most = planned.compiled.arena_bytes
    frame = Frame(_LEFT, _TOP, _RIGHT, _BOTTOM, 0, shown.slots, 1.15 * most)
    draw = [Line(stairs(frame, shown.live), COLOURS[0]), *_axes(frame, "step", "live bytes")]
    for size, name, colour, down in (
        (most, "arena", COLOURS[5], -6),
        (planned.lower_bound_bytes, "bound", COLOURS[2], 16),
    ):
        draw.append(Line(frame.across(size), colour, dash=_DASH))
        text = f"{name}: {size:,} B"
        draw.append(Words(_RIGHT, frame.y(size) + down, text, "end", colour, bold=True))
    return _drawn(330, "Live bytes in each step, the plan's peak and the lower bound", draw)


def placing(compiled: Compiled) -> str:
    """The same rows placed by size, as for whole tensors, and as they were: the steps at the peak."""
    placement = compiled.assembly.placement
    blocks = [b for b in placement.rectangles if b.size and b.start < b.end]
    items = tuple(Item(n, b.size, b.start, b.end) for n, b in enumerate(blocks))
    other = greedy(Problem(items, placement.align))
    shown = plan_boxes(compiled)
    half = 50
    first = max(0, shown.peak_slot - half)
    last = min(shown.slots, first + 2 * half)
    moved = {b.item: b.offset for b in other.rectangles}
    by_size = [Box(b.tensor, b.start, b.end, moved[n], b.size) for n, b in enumerate(shown.boxes)]
    ways = (
        ("by size, as whole tensors are placed", other.arena_bytes, by_size, 20, 365),
        ("row by row, repaired", placement.arena_bytes, list(shown.boxes), 395, _RIGHT),
    )
    most = max(other.arena_bytes, placement.arena_bytes)
    draw: list[Element] = []
    for name, arena, boxes, left, right in ways:
        frame = Frame(left, 56, right, 320, first, last, most)
        draw += boxes_in(frame, boxes, colours_of(boxes, STRONG))
        draw.append(Line(((left, frame.top), (left, 320), (right, 320)), PALE))
        draw.append(Line(frame.across(arena), COLOURS[5], dash=_DASH))
        draw.append(Words(left, 22, f"{name}: {arena:,} B", bold=True))
    draw.append(Words(20, 40, f"{shown.peak_bytes:,} B are live at the peak", colour=PALE))
    draw.append(Words(_RIGHT, 345, f"steps {first} to {last}", "end", PALE))
    return _drawn(360, "The same rows placed in two ways", draw)


def plans() -> str:
    """The plans of a network of least RAM for their work, as stored for the documents: bytes against
    work."""
    lines = load_figures("examples")["front"].records[0]["lines"]
    start = next(n for n, line in enumerate(lines) if line.startswith("arena, bytes")) + 1
    rows = [line.split() for line in lines[start : lines.index("", start)]]
    found = [(int(r[0].replace(",", "")), float(r[2])) for r in rows if r[0][:1].isdigit()]
    points: list[tuple[int, float]] = []
    for size, work in sorted(found, key=lambda point: point[::-1]):
        if not points or size < points[-1][0]:
            points.append((size, work))
    most, dear = max(p[0] for p in points), max(p[1] for p in points)
    frame = Frame(_LEFT, _TOP, _RIGHT, _BOTTOM, 0.95, dear, 1.05 * most)
    placed = [(frame.x(work), frame.y(size)) for size, work in points]
    draw: list[Element] = [Line(tuple(placed), PALE)]
    free = 0.0
    for (size, work), (x, y) in zip(points, placed, strict=True):
        draw.append(Boxes(((x - 4, y - 4, 8, 8),), COLOURS[0]))
        text = f"{size:,} B at {work:.2f}"
        if x >= free and x < _RIGHT - 120:
            draw.append(Words(x + 8, y - 8, text, size=11))
        elif x >= free:
            draw.append(Words(_RIGHT, y - 8, text, "end", size=11))
        free = x + 108 if x >= free else free
    draw += _axes(frame, "multiplications, times the network's own", "arena, bytes")
    draw.append(Words(_LEFT, _BOTTOM + 16, "1.0: nothing is computed twice", size=11))
    return _drawn(330, "The least RAM for so much work", draw)
