"""First fit, box by box, against trying every offset from 0; and nothing that the validator says.

Why beside the allocators' tests: these see heights, of which a wrong offset may change nothing.
"""

from __future__ import annotations

from random import Random

from lowtide.place import Item, Problem
from lowtide.place.firstfit import boxes_of, first_fit


def drawn(seed: int) -> tuple[Problem, dict[int, int], list[int]]:
    """Small items, some aligned more than others; where some must lie, in units; an order.

    Those that must lie somewhere do so one after the other, as a network's inputs do.
    """
    random = Random(seed)
    align = random.choice((1, 2, 4))
    items = []
    for number in range(random.randrange(2, 12)):
        start = random.randrange(5)
        life = start, start + random.randrange(1, 5)
        items.append(Item(number, random.randrange(1, 14), *life, random.choice((1, 1, 4, 8))))
    fixed, top = dict[int, int](), 0
    for box in range(random.choice((0, 0, 1, 2))):
        fixed[box], top = top, top - (-items[box].size // align)
    rest = [box for box in range(len(items)) if box not in fixed]
    random.shuffle(rest)
    return Problem(tuple(items), align), fixed, [*fixed, *rest]


def tried(problem: Problem, fixed: dict[int, int], order: list[int]) -> list[int]:
    """Offsets in units: the first of all at which no byte of another is, in a slot that both live in."""
    units, taken = [0] * len(order), set[tuple[int, int]]()
    for box in order:
        item, at = problem.items[box], fixed.get(box, 0)

        def cells(offset: int, item: Item = item) -> set[tuple[int, int]]:
            bytes_ = range(offset * problem.align, (offset * problem.align) + item.size)
            return {(slot, byte) for slot in range(item.start, item.end) for byte in bytes_}

        while box not in fixed and (at * problem.align % item.align or cells(at) & taken):
            at += 1
        units[box] = at
        taken |= cells(at)
    return units


def test_first_fit_is_the_first_offset_that_is_free() -> None:
    for seed in range(300):
        problem, fixed, order = drawn(seed)
        assert first_fit(boxes_of(problem), order, fixed) == tried(problem, fixed, order), seed
