"""The bound around boxes that lie fixed, against the best of all placements."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from lowtide.place import Item, Problem
from lowtide.place.firstfit import Boxes, boxes_of, first_fit, height
from lowtide.place.holes import bound_around


def boxes_from(items: list[tuple[int, int, int]]) -> Boxes:
    """Of (size, start, end)."""
    return boxes_of(Problem(tuple(Item(at, *item) for at, item in enumerate(items)), 1))


def least(boxes: Boxes, known: dict[int, int]) -> int:
    """The height of the lowest placement: an optimal one is first fit in some order."""
    free = [box for box in range(len(boxes)) if box not in known]
    ways = (first_fit(boxes, (*known, *order), known) for order in permutations(free))
    return min(height(boxes, offsets) for offsets in ways)


def live(boxes: Boxes) -> int:
    """The most that is live in one slot."""
    each = list(zip(boxes.sizes, boxes.starts, boxes.ends, strict=True))
    return max(
        sum(size for size, start, end in each if start <= slot < end) for slot in boxes.starts
    )


def case(seed: int) -> tuple[Boxes, dict[int, int]]:
    """Rows of an input that die one by one, or in any order, and a few boxes."""
    random = Random(seed)
    rows = random.randrange(1, 5)
    size, lasts = random.randrange(1, 6), sorted(random.sample(range(1, 12), rows))
    if seed % 3 == 0:
        random.shuffle(lasts)
    items = [(size, 0, last) for last in lasts]
    for _ in range(random.randrange(1, 7)):
        start = random.randrange(12)
        items.append((random.randrange(1, 9), start, start + random.randrange(1, 7)))
    return boxes_from(items), {row: row * size for row in range(rows)}


@pytest.mark.parametrize("seed", range(60))
def test_no_placement_is_lower(seed: int) -> None:
    boxes, known = case(seed)
    assert live(boxes) <= bound_around(boxes, known) <= least(boxes, known)


def test_it_is_often_what_can_be_reached_where_what_is_live_is_not() -> None:
    sharp = higher = 0
    for seed in range(60):
        boxes, known = case(seed)
        bound, reached = bound_around(boxes, known), least(boxes, known)
        if reached > live(boxes):
            higher += 1
            sharp += bound == reached
    assert higher > 10
    assert 2 * sharp > higher


def test_a_box_lies_in_the_hole_or_above_it() -> None:
    # Rows 0 and 1 of four of 10 have died: of 8 + 8 + 8 two fit into the hole of 20, one does not.
    boxes = boxes_from([(10, 0, 1), (10, 0, 2), (10, 0, 9), (10, 0, 9), *[(8, 2, 4)] * 3])
    known = {0: 0, 1: 10, 2: 20, 3: 30}
    assert live(boxes) == 44
    assert bound_around(boxes, known) == least(boxes, known) == 48


def test_without_any_it_is_what_is_live() -> None:
    boxes = boxes_from([(3, 0, 2), (4, 1, 3), (5, 2, 4)])
    assert bound_around(boxes, {}) == live(boxes) == 9


def test_of_nothing_it_is_nothing() -> None:
    assert bound_around(boxes_from([]), {}) == 0
