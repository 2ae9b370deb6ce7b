"""Drawings of bytes over time: layers, orders, addresses, the bound, placing, plans."""

from __future__ import annotations

from collections.abc import Sequence

from bench.drawings.svg import COLOURS, INK, PALE, Drawing, levels
from bench.shared.stored import load_figures
from lowtide.commands.analysis import Analysis
from lowtide.commands.compiling import Compiled, Planned
from lowtide.place import Item, Problem
from lowtide.place.greedy import greedy
from lowtide.report.plan_boxes import Box, colours_of, plan_boxes

_WIDE, _LEFT, _RIGHT = 760, 70, 740


def layers(analysis: Analysis, resident: Compiled, streamed: Compiled) -> str:
    """A bar for each operator: its input, its output, and what later ones need."""
    steps = analysis.file.steps
    most = max(step.bytes for step in steps)
    draw = Drawing(_WIDE, 330, "What is in RAM while each operator runs, layer by layer")
    top, bottom = 40, 280
    scale = (bottom - top) / most
    _kilobytes(draw, most, scale, bottom)
    pitch = (_RIGHT - _LEFT) / len(steps)
    for number, step in enumerate(steps):
        x = _LEFT + number * pitch
        y = float(bottom)
        for turn, tensor in enumerate(sorted(step.working_set)):
            high = analysis.graph.tensors[tensor].bytes * scale
            y -= high
            draw.box(x + 1, y, pitch - 2, high, COLOURS[0] if turn % 2 else COLOURS[4])
        draw.words(x + pitch / 2, bottom + 14, str(step.operator), at="middle", size=10)
    draw.axes(_LEFT, top, _RIGHT, bottom, "operator", "bytes in RAM: whole tensors")
    for compiled, name, up in ((resident, "by rows", 6), (streamed, "by rows, input streamed", 6)):
        y = bottom - compiled.arena_bytes * scale
        draw.line([(_LEFT, y), (_RIGHT, y)], COLOURS[5], "6 4")
        text = f"{name}: {compiled.arena_bytes:,} B"
        draw.words(_RIGHT, y - up, text, at="end", colour=COLOURS[5], bold=True)
    peak = next(n for n, step in enumerate(steps) if step.bytes == most)
    draw.words(_LEFT + (peak + 1) * pitch + 6, top + 10, f"peak {most:,} B", bold=True)
    return draw.text


def _kilobytes(draw: Drawing, most: float, scale: float, bottom: float) -> None:
    for level in levels(most):
        y = bottom - level * scale
        draw.line([(_LEFT - 4, y), (_LEFT, y)], PALE)
        draw.words(_LEFT - 8, y + 4, f"{level:,}", at="end", colour=PALE, size=11)


def orders(analysis: Analysis, compiled: Compiled) -> str:
    """Live bytes from the first step to the last, three times, each as wide."""
    rows = plan_boxes(compiled)
    runs = (
        ("file order, whole tensors", [s.bytes for s in analysis.file.steps], COLOURS[5]),
        ("best order, whole tensors", [s.bytes for s in analysis.best.steps], COLOURS[1]),
        ("best order, by rows", list(rows.live[1:]), COLOURS[0]),
    )
    most = max(analysis.peak_bytes, rows.peak_bytes)
    draw = Drawing(_WIDE, 330, "Live bytes over time, in two orders and by rows")
    top, bottom = 40, 290
    scale = (bottom - top) / (1.05 * most)
    _kilobytes(draw, most, scale, bottom)
    for number, (name, live, colour) in enumerate(runs):
        draw.line(_stairs(live, scale, bottom), colour)
        y = top + 18 * number
        draw.line([(_RIGHT - 280, y - 4), (_RIGHT - 256, y - 4)], colour)
        draw.words(_RIGHT - 250, y, f"{name}: {max(live):,} B", colour=colour, bold=True)
    draw.axes(_LEFT, top, _RIGHT, bottom, "from the first step to the last", "live bytes")
    return draw.text


def _stairs(live: Sequence[int], scale: float, bottom: float) -> list[tuple[float, float]]:
    """A line that is level during each slot, over the whole width."""
    along = (_RIGHT - _LEFT) / len(live)
    return [
        (_LEFT + end * along, bottom - size * scale)
        for slot, size in enumerate(live)
        for end in (slot, slot + 1)
    ]


def addresses(compiled: Compiled, slots: int) -> str:
    """The first steps of a plan: each row where it lies, for as long as it is needed."""
    shown = plan_boxes(compiled)
    draw = Drawing(_WIDE, 380, "Where each row lies, step by step")
    top, bottom = 40, 330
    boxes = [box for box in shown.boxes if box.start < slots]
    _boxes(draw, boxes, (0, slots), shown.arena_bytes, (_LEFT, top, _RIGHT, bottom))
    _kilobytes(draw, shown.arena_bytes, (bottom - top) / shown.arena_bytes, bottom)
    draw.axes(_LEFT, top, _RIGHT, bottom, f"steps 0 to {slots}", "address in the arena, bytes")
    return draw.text


def _boxes(
    draw: Drawing,
    boxes: Sequence[Box],
    span: tuple[int, int],
    most: int,
    frame: tuple[float, float, float, float],
) -> None:
    """Boxes of the slots [first, last), the arena's bytes from the bottom up."""
    left, top, right, bottom = frame
    first, last = span
    colours = colours_of(boxes, len(COLOURS) - 1)
    for box in boxes:
        start, end = max(box.start, first), min(box.end, last)
        if start >= end:
            continue
        x0, x1 = (left + (right - left) * (s - first) / (last - first) for s in (start, end))
        high = box.size * (bottom - top) / most
        y = bottom - (box.offset + box.size) * (bottom - top) / most
        colour = PALE if box.tensor < 0 else COLOURS[colours[box.tensor]]
        draw.box(x0, y, x1 - x0, high, colour, edge="#ffffff")


def bound(planned: Planned) -> str:
    """What is live in each step, the least that any order needs, and what is in between."""
    shown = plan_boxes(planned.compiled)
    most = planned.compiled.arena_bytes
    draw = Drawing(_WIDE, 330, "Live bytes in each step, the plan's peak and the lower bound")
    top, bottom = 40, 290
    scale = (bottom - top) / (1.15 * most)
    _kilobytes(draw, most, scale, bottom)
    draw.line(_stairs(shown.live, scale, bottom), COLOURS[0])
    lines = (
        (most, f"arena: {most:,} B", COLOURS[5], -6),
        (planned.lower_bound_bytes, f"bound: {planned.lower_bound_bytes:,} B", COLOURS[2], 16),
    )
    for size, text, colour, up in lines:
        y = bottom - size * scale
        draw.line([(_LEFT, y), (_RIGHT, y)], colour, "6 4")
        draw.words(_RIGHT, y + up, text, at="end", colour=colour, bold=True)
    draw.axes(_LEFT, top, _RIGHT, bottom, "step", "live bytes")
    return draw.text


def placing(compiled: Compiled) -> str:
    """The same rows placed by size, as for whole tensors, and as they were: the steps at the peak."""
    placement = compiled.assembly.placement
    blocks = [b for b in placement.rectangles if b.size and b.start < b.end]
    items = tuple(Item(n, b.size, b.start, b.end) for n, b in enumerate(blocks))
    other = greedy(Problem(items, placement.align))
    shown = plan_boxes(compiled)
    half = 50
    first = max(0, shown.peak_slot - half)
    span = (first, min(shown.slots, first + 2 * half))
    draw = Drawing(_WIDE, 360, "The same rows placed in two ways")
    top, bottom = 56, 320
    most = max(other.arena_bytes, placement.arena_bytes)
    moved = {b.item: b.offset for b in other.rectangles}
    by_size = [Box(b.tensor, b.start, b.end, moved[n], b.size) for n, b in enumerate(shown.boxes)]
    ways = (
        ("by size, as whole tensors are placed", other.arena_bytes, by_size, 20, 365),
        ("row by row, repaired", placement.arena_bytes, list(shown.boxes), 395, 740),
    )
    for name, arena, boxes, left, right in ways:
        _boxes(draw, boxes, span, most, (left, top, right, bottom))
        draw.line([(left, top), (left, bottom), (right, bottom)], PALE)
        y = bottom - arena * (bottom - top) / most
        draw.line([(left, y), (right, y)], COLOURS[5], "6 4")
        draw.words(left, 22, f"{name}: {arena:,} B", bold=True)
    draw.words(20, 40, f"{shown.peak_bytes:,} B are live at the peak", colour=PALE)
    draw.words(740, 345, f"steps {span[0]} to {span[1]}", at="end", colour=PALE)
    return draw.text


def plans() -> str:
    """All plans of a network worth having, as stored for the documents: bytes against work."""
    lines = load_figures("examples")["front"].records[0]["lines"]
    start = next(n for n, line in enumerate(lines) if line.startswith("arena, bytes")) + 1
    rows = [line.split() for line in lines[start : lines.index("", start)]]
    points = [(int(r[0].replace(",", "")), float(r[2])) for r in rows if r[0][:1].isdigit()]
    draw = Drawing(_WIDE, 330, "All plans worth having: RAM against work")
    top, bottom = 40, 290
    most, dear = max(p[0] for p in points), max(p[1] for p in points)
    along, up = (_RIGHT - _LEFT) / (dear - 0.95), (bottom - top) / (1.05 * most)
    _kilobytes(draw, most, up, bottom)
    placed = [(_LEFT + (work - 0.95) * along, bottom - size * up) for size, work in points]
    draw.line(placed, PALE)
    free = 0.0
    for (size, work), (x, y) in zip(points, placed, strict=True):
        draw.box(x - 4, y - 4, 8, 8, COLOURS[0])
        if x < free:
            continue
        at, where = (x + 8, "start") if x < _RIGHT - 120 else (_RIGHT, "end")
        draw.words(at, y - 8, f"{size:,} B at {work:.2f}", at=where, size=11)
        free = x + 108
    draw.axes(
        _LEFT, top, _RIGHT, bottom, "multiplications, times the network's own", "arena, bytes"
    )
    draw.words(_LEFT, bottom + 16, "1.0: nothing is computed twice", colour=INK, size=11)
    return draw.text
