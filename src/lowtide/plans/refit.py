"""Scratch memory in what is free once rows lie somewhere.

Why: kernels have forms of more scratch memory, the larger the quicker. Rows are placed beside the least
that each operator is to have in any of its steps. Where there is more room in some of its steps, it
takes more there: the arena stays as it is, and rows need not be placed any closer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lowtide.lower.nodes import AnyNode, Node
from lowtide.place import Placement
from lowtide.place.layout import RowLayout
from lowtide.place.row_boxes import WORD
from lowtide.plans.changes import Run, Worth, parts_of, worthwhile
from lowtide.rows.scheduled import Scheduled
from lowtide.rows.table import Ints


def refitted(rows: Scheduled, layout: RowLayout, worth: Worth) -> tuple[Scheduled, RowLayout]:
    """The plan with each part of an operator in the form that is wanted of it, or in that of the most
    scratch memory for which there is room in all steps of the part; but for changes of form that are not
    worth their flash."""
    if not rows.in_parts and not any(isinstance(node, Node) and node.spare for node in rows.normal):
        return rows, layout
    slots: list[list[int]] = [[] for _ in rows.nodes]
    for at, (node, _) in enumerate(rows.plan.steps, 1):
        slots[node].append(at)
    free = _Free(layout.placement, len(rows.table.size))
    parts: list[tuple[AnyNode, ...]] = []
    places: dict[int, int] = {}
    for own, normal, wanted, mine in zip(rows.nodes, rows.normal, rows.wanted, slots, strict=True):
        if not isinstance(normal, Node) or (len(wanted) == 1 and not normal.spare):
            parts.append((own,))
            continue
        fitting = list(_fitting(normal, wanted, np.array(mine), free, worth))
        made = tuple(parts_of(worthwhile(fitting, worth)))
        parts.append(made)
        ends = np.cumsum([0, *(part.steps for part in made)]).tolist()
        for part, first, stop in zip(made, ends[:-1], ends[1:], strict=True):
            places |= free.places(np.array(mine[first:stop]), part.scratch)
    made_of = rows.having(parts)
    return made_of, layout.having(made_of.table, made_of.plan.steps, places)


def _fitting(
    normal: Node, wanted: Sequence[AnyNode], slots: Ints, free: _Free, worth: Worth
) -> Iterator[Run]:
    """Of each part the form that there is room for, and how many steps it has."""
    first = 0
    for part in wanted:
        assert isinstance(part, Node)
        room = free.room(slots[first : first + part.steps])
        usual = part.whole if part.scratch <= room else normal.within(room)
        spare = (form for form in normal.spare if form.scratch <= room)
        yield min((usual, *spare), key=worth.price), part.steps
        first += part.steps


class _Free:
    """What is free in a placement beside rows; item `rows` + k is the scratch memory of step k."""

    def __init__(self, placement: Placement, rows: int) -> None:
        beside = [r for r in placement.rectangles if r.item < rows]
        self._offset = np.array([r.offset for r in beside], np.int64)
        self._top = self._offset + np.array([r.size for r in beside], np.int64)
        self._start = np.array([r.start for r in beside], np.int64)
        self._end = np.array([r.end for r in beside], np.int64)
        self._arena, self._align = placement.arena_bytes, max(placement.align, WORD)

    def _gap(self, slots: Ints) -> tuple[int, int]:
        """The most bytes on end that nothing takes in any of the slots, and where they begin."""
        first, last = (np.searchsorted(slots, of) for of in (self._start, self._end))
        here = np.flatnonzero(first < last)
        here = here[np.argsort(self._offset[here])]
        tops = np.maximum.accumulate(self._top[here])
        begins = -(-np.concatenate([[0], tops]) // self._align) * self._align
        sizes = np.concatenate([self._offset[here], [self._arena]]) - begins
        most = int(sizes.argmax())
        return int(sizes[most]), int(begins[most])

    def room(self, slots: Ints) -> int:
        """Bytes of scratch memory that a step can have in each of the slots, wherever it lies."""
        return min(self._gap(slots[at : at + 1])[0] for at in range(len(slots)))

    def places(self, slots: Ints, size: int) -> dict[int, int]:
        """Where so many bytes lie in each slot: at one place, if there is one."""
        room, place = self._gap(slots)
        if size <= room:
            return dict.fromkeys(slots.tolist(), place)
        return {int(slot): self._gap(np.array([slot]))[1] for slot in slots}
