"""Repair of placements: still right, never higher, and as low as can be where that is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from place_cases import full_problem, problem, problems, random_problem

from lowtide.place import Item, Problem
from lowtide.place.firstfit import Boxes, boxes_of, first_fit, height, placement_of
from lowtide.place.repair import repairs

EFFORT = 20_000


def by_birth(boxes: Boxes, known: dict[int, int]) -> list[int]:
    """First fit in the order of the items, around those that are fixed."""
    free = [box for box in range(len(boxes)) if box not in known]
    return first_fit(boxes, (*known, *free), known)


def repaired(
    boxes: Boxes, known: dict[int, int], offsets: list[int], bound: int, effort: int
) -> list[int]:
    """The offsets that are reached by about so much work."""
    for work, found in repairs(boxes, known, offsets, bound):
        if effort <= 0:
            break
        effort -= work
        offsets = found or offsets
    return offsets


def bound_of(of: Problem) -> int:
    return of.lower_bound() // of.align


@given(problems(), st.integers(0, 400))
def test_it_is_a_placement_and_no_higher(of: Problem, effort: int) -> None:
    boxes = boxes_of(of)
    before = by_birth(boxes, {})
    given_ = list(before)
    after = repaired(boxes, {}, before, bound_of(of), effort)
    assert before == given_
    assert height(boxes, after) <= height(boxes, before)
    placement_of("repaired", of, boxes, after)  # raises if it is wrong
    if not effort:
        assert after == before


@given(problems())
def test_what_is_fixed_stays(of: Problem) -> None:
    """The first boxes one above the other, as rows of an input are."""
    boxes = boxes_of(of)
    known: dict[int, int] = {}
    for box in range(min(3, len(boxes))):
        known[box] = sum(boxes.sizes[:box])
    before = by_birth(boxes, known)
    after = repaired(boxes, known, before, bound_of(of), 2_000)
    assert all(after[box] == offset for box, offset in known.items())
    assert height(boxes, after) <= height(boxes, before)
    placement_of("repaired", of, boxes, after)


def test_coarser_alignments_are_kept() -> None:
    random = Random(0)
    for _ in range(50):
        items = []
        for number in range(12):
            start = random.randrange(8)
            end = start + random.randrange(1, 5)
            items.append(Item(number, random.randrange(1, 9), start, end, random.choice((1, 4))))
        of = Problem(tuple(items), 1)
        boxes = boxes_of(of)
        after = repaired(boxes, {}, by_birth(boxes, {}), bound_of(of), 2_000)
        assert all(at % align == 0 for at, align in zip(after, boxes.aligns, strict=True))
        placement_of("repaired", of, boxes, after)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_need_be_wasted(seed: int) -> None:
    """All slots are equally full in these; compared with a search over all offsets."""
    of = full_problem(9, seed)
    boxes = boxes_of(of)
    after = repaired(boxes, {}, by_birth(boxes, {}), bound_of(of), EFFORT)
    best = _least_height(boxes, bound_of(of))
    assert height(boxes, after) == best


@pytest.mark.parametrize("seed", range(4))
def test_it_finds_more_than_first_fit(seed: int) -> None:
    of = random_problem(80, seed)
    boxes = boxes_of(of)
    before = by_birth(boxes, {})
    after = repaired(boxes, {}, before, bound_of(of), 40 * EFFORT)
    gap = [height(boxes, offsets) - bound_of(of) for offsets in (before, after)]
    assert gap[1] <= gap[0] / 2
    assert after == repaired(boxes, {}, before, bound_of(of), 40 * EFFORT)  # no chance in it


def test_no_room_beside_what_is_fixed() -> None:
    """A box that fits between fixed ones at no height below theirs: it says so by staying as it is."""
    of = problem((16, 0, 4), (48, 0, 4), (32, 0, 4))
    boxes = boxes_of(of)
    known = {0: 1, 1: 3}  # free: unit 0 and unit 2, one unit each
    before = by_birth(boxes, known)
    assert repaired(boxes, known, before, bound_of(of), EFFORT) == before


def test_numpy_and_python_find_the_same_places() -> None:
    """Those that meet many others are asked for in another way, which needs two of them."""
    for seed in range(30):
        boxes = boxes_of(random_problem(60, seed))
        meets = (near if len(near) < 2 else np.array(near, np.int64) for near in boxes.meets)
        many = replace(boxes, meets=tuple(meets))
        before = by_birth(boxes, {})
        assert by_birth(many, {}) == before
        each = [
            repairs(of, {}, before, bound_of(random_problem(60, seed)), seed)
            for of in (boxes, many)
        ]
        ends = [[found for _, found in islice(some, 50) if found] for some in each]
        tops = [min((height(boxes, found) for found in some), default=0) for some in ends]
        assert abs(tops[0] - tops[1]) <= height(boxes, before) // 4
        for found in ends[1]:
            placement_of("repaired", random_problem(60, seed), boxes, found)


def _least_height(boxes: Boxes, bound: int) -> int:
    """By trying all offsets below a height, from `bound` on."""
    top = bound
    while not _fits(boxes, [], top):
        top += 1
    return top


def _fits(boxes: Boxes, offsets: list[int], top: int) -> bool:
    box = len(offsets)
    if box == len(boxes):
        return True
    size = boxes.sizes[box]
    for offset in range(top - size + 1):
        free = all(
            other >= box
            or offsets[other] >= offset + size
            or offset >= offsets[other] + boxes.sizes[other]
            for other in boxes.meets[box]
        )
        if free and _fits(boxes, [*offsets, offset], top):
            return True
    return False
