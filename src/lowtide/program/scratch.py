"""Scratch memory where it needs the shortest tables of places.

Why: the scratch memory of a step is live in that step alone, so that it may lie in whatever is free
then, and mostly there are many such places. A node whose steps all have it at one place needs no table,
and one that has it where rows lie, or other scratch memory, shares their table. The arena stays as is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from lowtide.place.layout import RowLayout
from lowtide.place.row_boxes import WORD
from lowtide.rows.stages import Step

Gaps = Sequence[range]
"""The places that scratch memory of some size can have in each gap between rows."""


def with_shared_places(layout: RowLayout, steps: Sequence[Step]) -> RowLayout:
    """The same rows, with scratch memory at one place for all steps of a node, where there is one, or
    else so that several nodes have one table of places."""
    slots: dict[int, list[int]] = {}
    for slot, (node, _) in enumerate(steps, 1):
        if node in layout.step_scratch:
            slots.setdefault(node, []).append(slot)
    apart = [node for node in slots if len(set(layout.step_scratch[node])) > 1]
    if not apart:
        return layout
    free = _Free(layout)
    sizes = layout.table.scratch
    gaps = {node: [free.gaps(slot, sizes[node]) for slot in slots[node]] for node in apart}
    chosen: dict[int, Sequence[int]] = {}
    for node, each in gaps.items():
        place = _common(each)
        if place is not None:
            chosen[node] = (place,) * len(each)
    left = sorted(gaps.keys() - chosen.keys(), key=lambda node: (-len(gaps[node]), node))
    chosen |= _from_tables({node: gaps[node] for node in left}, list(_tables(layout)))
    places = {
        slot: place
        for node, of in chosen.items()
        for slot, place in zip(slots[node], of, strict=True)
    }
    return layout.having(layout.table, steps, places)


class _Free:
    """What is free of an arena beside its rows."""

    def __init__(self, layout: RowLayout) -> None:
        placement, rows = layout.placement, len(layout.table.size)
        beside = [r for r in placement.rectangles if r.item < rows and r.size]
        self._offset = np.array([r.offset for r in beside], np.int64)
        self._top = self._offset + np.array([r.size for r in beside], np.int64)
        self._start = np.array([r.start for r in beside], np.int64)
        self._end = np.array([r.end for r in beside], np.int64)
        self._arena, self._align = placement.arena_bytes, max(placement.align, WORD)

    def gaps(self, slot: int, size: int) -> Gaps:
        """Where so many bytes may lie in a slot."""
        here = np.flatnonzero((self._start <= slot) & (slot < self._end))
        here = here[np.argsort(self._offset[here], kind="stable")]
        tops = np.maximum.accumulate(self._top[here])
        begins = -(-np.concatenate([[0], tops]) // self._align) * self._align
        lasts = np.concatenate([self._offset[here], [self._arena]]) - size
        fit = begins <= lasts
        ends = zip(begins[fit].tolist(), lasts[fit].tolist(), strict=True)
        return [range(first, last + 1, self._align) for first, last in ends]


def _common(each: Sequence[Gaps]) -> int | None:
    """The lowest place that is free in every step: it is where a gap begins in one of them."""
    for place in sorted({gap.start for gaps in each for gap in gaps}):
        if all(any(place in gap for gap in gaps) for gaps in each):
            return place
    return None


def _tables(layout: RowLayout) -> Iterator[Sequence[int]]:
    """The places of tensors whose rows lie at no regular intervals."""
    for cut in layout.cuts.values():
        if cut.first not in layout.pieces and cut.count > 1:
            places = [layout.offsets.get(cut.first + row, 0) for row in range(cut.count)]
            if len({b - a for a, b in pairwise(places)}) > 1:
                yield places


def _from_tables(
    gaps: Mapping[int, Sequence[Gaps]], tables: Sequence[Sequence[int]]
) -> dict[int, list[int]]:
    """Where each node's steps have it: in a part of one of the tables, or of one that is made for a node
    before, if all its steps may have their places there; else in a new one.

    What a step may have is a number with a bit for each place. What several may have is decided last.
    """
    known = {place for table in tables for place in table}
    known |= {gap.start for each in gaps.values() for step in each for gap in step}
    at = sorted(known)
    bits = {place: 1 << bit for bit, place in enumerate(at)}
    open_ = [[bits[place] for place in table] for table in tables]
    taken: dict[int, tuple[int, int]] = {}
    for node, each in gaps.items():
        own = [_may(step, at) for step in each]
        found = next(((n, f) for n, of in enumerate(open_) for f in _parts(of, own)), None)
        if found is None:
            found = len(open_), 0
            open_.append(own)
        number, first = taken[node] = found
        for step, may in enumerate(own, first):
            open_[number][step] &= may
    liked = [sum(may >> bit & 1 for of in open_ for may in of) for bit in range(len(at))]
    ranked = sorted(range(len(at)), key=lambda bit: (-liked[bit], bit))
    return {
        node: [
            next(at[bit] for bit in ranked if may >> bit & 1)
            for may in open_[number][first : first + len(gaps[node])]
        ]
        for node, (number, first) in taken.items()
    }


def _may(gaps: Gaps, at: Sequence[int]) -> int:
    """Which of the places, in order, lie in the gaps."""
    found = 0
    for gap in gaps:
        for bit in range(bisect_left(at, gap.start), bisect_left(at, gap.stop)):
            if at[bit] in gap:
                found |= 1 << bit
    return found


def _parts(table: Sequence[int], own: Sequence[int]) -> Iterator[int]:
    """Where parts of a table begin of which each step may have a place."""
    for first in range(len(table) - len(own) + 1):
        if all(table[first + step] & may for step, may in enumerate(own)):
            yield first
