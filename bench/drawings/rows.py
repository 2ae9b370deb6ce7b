"""Drawings of rows and columns: when rows are live, what a row needs, what strips compute twice."""

from __future__ import annotations

from collections.abc import Mapping

from lowtide.ir import Graph
from lowtide.ir.macs import op_macs
from lowtide.lower.nodes import Node
from lowtide.report.picture import COLOURS, PALE, Boxes, Element, Line, Picture, Words, svg_text
from lowtide.rows.columns import stage_windows, stripes
from lowtide.rows.prepare import Prepared
from lowtide.rows.scheduled import Scheduled, scheduled
from lowtide.rows.stages import Choice

_WIDE = 760
Row = tuple[int, int]
"""(tensor, number of the row in it)."""


def together(ready: Prepared, count: int) -> Scheduled:
    """A schedule whose first stage is the first `count` operators, all others alone."""
    order = [group.operator for group in ready.groups if group.operator >= 0]
    first, rest = order[:count], order[count:]
    return scheduled(ready, (Choice(tuple(first)), *(Choice((op,)) for op in rest)))


def _tensors(rows: Scheduled, count: int) -> list[int]:
    """The input of the network, and the outputs of its first operators."""
    graph = rows.graph
    return [graph.inputs[0], *(op.outputs[0] for op in graph.ops[:count])]


def _name(graph: Graph, tensor: int) -> str:
    maker = next((op for op in graph.ops if tensor in op.outputs), None)
    return "input" if maker is None else f"{maker.id} {_SHORT.get(maker.type, maker.type)}"


_SHORT: Mapping[str, str] = {"CONV_2D": "conv", "DEPTHWISE_CONV_2D": "depthwise"}


def lifetimes(rows: Scheduled, count: int, steps: int) -> str:
    """Each row a bar from the step that makes it to the last that reads it, tensor below tensor."""
    tensors = _tensors(rows, count)
    shown: dict[int, list[tuple[int, int, int]]] = {tensor: [] for tensor in tensors}
    for cut in rows.table.cuts:
        for number in range(cut.count if cut.tensor in shown else 0):
            life = rows.lives.get(cut.first + number)
            if life is not None and life[0] < steps:
                shown[cut.tensor].append((number, *life))
    thick, gap = 4, 26
    total = sum(max(1, len(found)) * thick + gap for found in shown.values())
    draw: list[Element] = []
    left, right, y = 130, 740, 30.0
    along = (right - left) / steps
    for turn, (tensor, found) in enumerate(shown.items()):
        draw.append(Words(left - 10, y + 12, _name(rows.graph, tensor), at="end", bold=True))
        most = _most_live(found)
        text = f"{most} of {_count(rows, tensor)} rows"
        draw.append(Words(left - 10, y + 28, text, at="end", colour=PALE, size=11))
        for line, (_, start, end) in enumerate(found):
            x = left + start * along
            wide = (min(end, steps) - start) * along
            draw.append(Boxes(((x, y + line * thick, wide, thick - 1),), COLOURS[turn % 7]))
        y += max(1, len(found)) * thick + gap
    draw.append(Line(((left, y), (right, y)), PALE))
    draw.append(Words(right, y + 18, f"steps 0 to {steps}", at="end", colour=PALE))
    text = "one line a row, from the step that makes it to the last that reads it"
    draw.append(Words(left, y + 18, text))
    return svg_text(Picture(_WIDE, total + 70, "When each row is in RAM", tuple(draw)))


def _most_live(found: list[tuple[int, int, int]]) -> int:
    return max((sum(a <= start < b for _, a, b in found) for _, start, _ in found), default=0)


def _count(rows: Scheduled, tensor: int) -> int:
    return next(cut.count for cut in rows.table.cuts if cut.tensor == tensor)


def cone(rows: Scheduled, count: int, row: int) -> str:
    """What one row of the last operator needs of each tensor before it: new, and there already."""
    tensors = _tensors(rows, count)
    needed, before = _needed(rows, (tensors[-1], row)), set[Row]()
    for earlier in range(row):
        before |= _needed(rows, (tensors[-1], earlier))
    lowest = {t: min(n for u, n in needed if u == t) for t in tensors}
    high = max(sum(u == t for u, _ in needed) for t in tensors)
    size, top = 15, 70
    draw: list[Element] = []
    pitch = (_WIDE - 40) / len(tensors)
    for column, tensor in enumerate(tensors):
        mine = sorted(n for u, n in needed if u == tensor)
        x = 30 + column * pitch
        wide = pitch - 26
        y = top + (high - len(mine)) * size / 2
        draw.append(Words(x, 28, _name(rows.graph, tensor), bold=True))
        fresh = sum((tensor, n) not in before for n in mine)
        draw.append(Words(x, 46, f"{len(mine)} needed, {fresh} new", size=11, colour=PALE))
        for number in mine:
            is_new = (tensor, number) not in before
            colour = COLOURS[5] if is_new else COLOURS[4]
            draw.append(Boxes(((x, y + (number - lowest[tensor]) * size, wide, size - 2),), colour))
            words = f"row {number}"
            draw.append(Words(x + 4, y + (number - lowest[tensor]) * size + 10, words, size=10))
    y = top + high * size + 26
    again = sum(u != tensors[0] for u, _ in needed)
    fresh = sum(u != tensors[0] and (u, n) not in before for u, n in needed)
    draw.append(Boxes(((30, y - 11, 14, 12),), COLOURS[4]))
    draw.append(Words(50, y, "made for the row before, and kept: nothing is computed again"))
    draw.append(Boxes(((30, y + 11, 14, 12),), COLOURS[5]))
    draw.append(Words(50, y + 22, f"made now: {fresh} rows; with nothing kept it would be {again}"))
    return svg_text(
        Picture(_WIDE, top + high * size + 70, "What one row needs, new and carried", tuple(draw))
    )


def _needed(rows: Scheduled, row: Row) -> set[Row]:
    """A row and all that it is made of, within the nodes of the schedule."""
    table = rows.table
    place = {cut.first + n: (cut.tensor, n) for cut in table.cuts for n in range(cut.count)}
    number = {found: row for row, found in place.items()}
    left, seen = [row], {row}
    while left:
        for node, step in table.makers[number[left.pop()]]:
            if not isinstance(rows.nodes[node], Node):
                continue
            for read in table.reads[node][step]:
                if place[read] not in seen:
                    seen.add(place[read])
                    left.append(place[read])
    return seen


def halo(ready: Prepared, count: int, width: int) -> str:
    """The columns of every tensor that each strip makes; what two strips make is made twice."""
    graph, ops = ready.graph, ready.order[:count]
    outside = frozenset({graph.ops[ops[-1]].outputs[0]})
    found = stage_windows(graph, ops, outside, lambda op: ready.lowered[op].columns)
    assert found is not None
    cut = stripes(graph, ops, *found, width)
    assert cut is not None
    tensors = [*cut.inputs, *(graph.ops[op].outputs[0] for op in ops)]
    strip, gap = 9, 26
    high = len(tensors) * (len(cut.strips) * strip + gap)
    draw: list[Element] = []
    left, right, y = 130, 740, 24.0
    for tensor in tensors:
        whole = graph.tensors[tensor].shape[2]
        along = (right - left) / whole
        held = [s.held[tensor] for s in cut.strips]
        made = sum(len(columns) for columns in held)
        draw.append(Words(left - 10, y + 12, _name(graph, tensor), at="end", bold=True))
        text = f"{made} of {whole} columns"
        draw.append(Words(left - 10, y + 28, text, at="end", colour=PALE, size=11))
        for turn, columns in enumerate(held):
            x = left + columns.start * along
            draw.append(
                Boxes(((x, y + turn * strip, len(columns) * along, strip - 2),), COLOURS[0])
            )
            for other in (held[turn - 1] if turn else range(0),):
                twice = range(columns.start, min(columns.stop, other.stop))
                if len(twice) and tensor not in cut.inputs:
                    x, wide = left + twice.start * along, len(twice) * along
                    draw.append(Boxes(((x, y + turn * strip, wide, strip - 2),), COLOURS[5]))
        y += len(cut.strips) * strip + gap
    own = sum(op_macs(graph, graph.ops[op]) for op in ops)
    draw.append(Boxes(((left, y, 14, 12),), COLOURS[5]))
    more = cut.macs / own
    text = f"the halo, made a second time: {more:.2f} times the multiplications of this stage"
    draw.append(Words(left + 20, y + 11, text))
    text = "The input is read twice where strips meet, and made by nobody."
    draw.append(Words(left, y + 34, text, colour=PALE))
    return svg_text(Picture(_WIDE, high + 80, "Columns that each strip makes", tuple(draw)))
