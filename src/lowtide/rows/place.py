"""Where each row lies: first fit over rows, around a graph input that must be contiguous.

The caller writes a resident input as one piece, so its rows have fixed offsets from the arena's
start; they still die one by one, and other rows take their place. All other rows, and the scratch
memory of each step, lie wherever they fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from lowtide.place import Item, Placement, Problem
from lowtide.place.firstfit import Boxes, boxes_of, first_fit, height, placement_of
from lowtide.rows.stages import Step
from lowtide.rows.table import RowTable


def place_rows(
    table: RowTable,
    steps: Sequence[Step],
    lives: Mapping[int, tuple[int, int]],
    *,
    align: int = 4,
) -> Placement:
    """Offsets of all rows and scratch, validated; `align` is that of a row's start, in bytes.

    `lives` are those of `row_lives`.
    Item r is row r of the table; item (number of rows + k) is the scratch of step k. A kept tensor
    is one item under its first row, as the caller reads it as one piece; so is a given tensor whose
    rows are no multiple of `align`.
    """
    pieces = {
        cut.first: cut
        for cut in table.cuts
        if cut.first in table.kept or (cut.first in table.given and cut.size % align)
    }
    items: list[Item] = []
    fixed: dict[int, int] = {}
    top = 0
    for cut in table.cuts:
        rows = [row for row in range(cut.first, cut.first + cut.count) if row in lives]
        if cut.first in pieces:
            if not rows:
                continue
            span = (min(lives[r][0] for r in rows), max(lives[r][1] for r in rows))
            if cut.first in table.given:
                fixed[cut.first], top = (
                    top,
                    top + -(-cut.size * cut.count // align) * align,
                )
            items.append(Item(cut.first, cut.size * cut.count, *span))
            continue
        for row in rows:
            if cut.first in table.given:
                fixed[row], top = top, top + cut.size
            items.append(Item(row, cut.size, *lives[row]))
    items += [Item(row, table.size[row], *lives[row]) for row in table.lasting if row >= 0]
    for k, (node, _) in enumerate(steps):
        if table.scratch[node]:
            items.append(Item(len(table.size) + k, table.scratch[node], k + 1, k + 2))
    problem = Problem(tuple(items), align)
    boxes = boxes_of(problem)
    known = {
        box: fixed[items[index].id] // align
        for box, index in enumerate(boxes.index)
        if items[index].id in fixed
    }
    bound = problem.lower_bound() // align
    tries = sorted(
        ((height(boxes, offsets := first_fit(boxes, order, known)), order, offsets))
        for order in _orders(boxes, known)
    )
    best = tries[0][2]
    effort = _EFFORT // (len(boxes) + 1)
    for top, order, offsets in tries[:_STARTS]:
        found = _promote(boxes, known, order, offsets, top, bound, effort)
        if height(boxes, found) < height(boxes, best):
            best = found
        if height(boxes, best) <= bound:
            break
    return placement_of("rows", problem, boxes, best)


# First fits tried beyond the first ones, times boxes: a few seconds at most.
_EFFORT = 60_000
_STARTS = 3


def _promote(
    boxes: Boxes,
    known: Mapping[int, int],
    order: Sequence[int],
    offsets: list[int],
    top: int,
    bound: int,
    effort: int,
) -> list[int]:
    """Place the boxes that stick out earlier, again and again; the best offsets seen."""
    best, fixed = offsets, len(known)
    current = list(order)
    random = Random(0)
    for _ in range(effort):
        if top <= bound:
            break
        high = max(offset + size for offset, size in zip(offsets, boxes.sizes, strict=True))
        out = [b for b in current[fixed:] if offsets[b] + boxes.sizes[b] == high]
        if not out:  # a fixed box is the highest: nothing can be gained
            break
        box = random.choice(out)
        at = current.index(box)
        current.insert(random.randint(fixed, at), current.pop(at))
        offsets = first_fit(boxes, current, known)
        if height(boxes, offsets) < top:
            best, top = offsets, height(boxes, offsets)
    return best


def _orders(boxes: Boxes, known: Mapping[int, int]) -> Iterator[list[int]]:
    """Orders to try: by size, by area, by duration, by birth, by death."""
    sizes, starts, ends = boxes.sizes, boxes.starts, boxes.ends
    free = [box for box in range(len(boxes)) if box not in known]
    keys = (
        lambda box: (-sizes[box], -box),
        lambda box: (-sizes[box], starts[box]),
        lambda box: (-sizes[box] * (ends[box] - starts[box]), starts[box]),
        lambda box: (starts[box] - ends[box], -sizes[box]),
        lambda box: (starts[box], -ends[box]),
        lambda box: (-ends[box], starts[box]),
        lambda box: (starts[box], -sizes[box]),
    )
    for key in keys:
        yield [*known, *sorted(free, key=key)]
