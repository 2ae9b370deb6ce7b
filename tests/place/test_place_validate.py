"""The validator catches every kind of fault, planted one at a time into good placements."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from place_cases import problem, problems

from lowtide.place import (
    ALLOCATORS,
    Item,
    Move,
    Placement,
    PlacementError,
    Problem,
    Rectangle,
    compacting,
    greedy,
    validate,
)

TASK = problem((100, 0, 1), (30, 0, 3), (20, 0, 2), (50, 1, 3))
STILL = greedy(TASK)
MOVING = compacting(TASK)


def with_rectangle(placement: Placement, index: int, rectangle: Rectangle) -> Placement:
    rectangles = list(placement.rectangles)
    rectangles[index] = rectangle
    return replace(placement, rectangles=tuple(rectangles))


def with_item(placement: Placement, item: int, **changes: int) -> Placement:
    """The only rectangle of `item` changed."""
    index = [rectangle.item for rectangle in placement.rectangles].index(item)
    rectangle = placement.rectangles[index]
    changed = Rectangle(
        item,
        changes.get("offset", rectangle.offset),
        changes.get("size", rectangle.size),
        changes.get("start", rectangle.start),
        changes.get("end", rectangle.end),
    )
    return with_rectangle(placement, index, changed)


def fault(placement: Placement, task: Problem = TASK) -> str:
    with pytest.raises(PlacementError) as caught:
        validate(task, placement)
    return str(caught.value)


def test_the_samples_are_good() -> None:
    validate(TASK, STILL)
    validate(TASK, MOVING)
    assert len(MOVING.moves) == 3


def test_it_is_no_error_of_the_user() -> None:
    assert issubclass(PlacementError, AssertionError)


def test_overlap_names_items_addresses_and_slots() -> None:
    bad = with_item(STILL, 1, offset=STILL.offset(0))
    assert fault(bad) == (
        "the rectangle of item 1 at [0, 30) in the slots [0, 3) overlaps with item 0 at [0, 100)"
    )


def test_misaligned_and_negative_offsets() -> None:
    assert "not at a multiple of 16" in fault(with_item(STILL, 0, offset=8))
    assert "not at a multiple of 16" in fault(with_item(STILL, 0, offset=-16))


def test_wrong_alignment_of_the_whole() -> None:
    assert "aligned to 4 bytes, not to 16" in fault(replace(STILL, align=4))


def test_missing_cover() -> None:
    assert "has no rectangle" in fault(replace(STILL, rectangles=STILL.rectangles[1:]))
    assert "is covered in [1, 3)" in fault(with_item(STILL, 1, start=1))
    assert "is covered in [0, 2)" in fault(with_item(STILL, 1, end=2))
    assert "is covered in [0, 4)" in fault(with_item(STILL, 1, end=4))


def test_gaps_and_repeats_in_time() -> None:
    first = next(i for i, b in enumerate(MOVING.rectangles) if b.item == 1 and b.start == 0)
    rectangle = MOVING.rectangles[first]
    assert "badly covered" in fault(with_rectangle(MOVING, first, replace(rectangle, end=2)))
    assert "badly covered" in fault(
        replace(STILL, rectangles=(*STILL.rectangles, STILL.rectangles[1]))
    )
    empty = replace(rectangle, end=0)
    assert "lasts for no slot" in fault(replace(MOVING, rectangles=(*MOVING.rectangles, empty)))


def test_wrong_size_and_unknown_item() -> None:
    assert "should have 50 bytes" in fault(with_item(STILL, 3, size=40))
    stranger = Rectangle(9, 0, 4, 0, 1)
    assert "belongs to no item" in fault(replace(STILL, rectangles=(*STILL.rectangles, stranger)))


def test_wrong_arena_and_bound() -> None:
    for wrong in (-16, -1, 1, 16):
        assert "an arena of" in fault(replace(STILL, arena_bytes=STILL.arena_bytes + wrong))
        lower = STILL.lower_bound_bytes + wrong
        assert "a bound of" in fault(replace(STILL, lower_bound_bytes=lower))


def test_moves_that_are_missing_wrong_or_superfluous() -> None:
    moves = MOVING.moves
    assert "is missing" in fault(replace(MOVING, moves=moves[1:]))
    assert "is missing" in fault(replace(MOVING, moves=()))
    for wrong in (
        replace(moves[0], source=96),
        replace(moves[0], target=16),
        replace(moves[0], size=29),
        replace(moves[0], slot=0),
        replace(moves[0], item=0),
    ):
        assert "imply" in fault(replace(MOVING, moves=(wrong, *moves[1:])))
    assert "imply" in fault(replace(MOVING, moves=(*moves, moves[-1])))
    assert "imply" in fault(replace(STILL, moves=(Move(1, 1, 64, 0, 30),)))


def test_moves_out_of_time() -> None:
    assert "is listed after" in fault(replace(MOVING, moves=MOVING.moves[::-1]))


def test_moves_upwards() -> None:
    task = problem((16, 0, 2))
    up = Placement(
        "test",
        16,
        32,
        16,
        (Rectangle(0, 0, 16, 0, 1), Rectangle(0, 16, 16, 1, 2)),
        (Move(1, 0, 0, 16, 16),),
    )
    assert "is not downwards" in fault(up, task)


def test_moves_in_an_unsafe_order() -> None:
    # Item 2 moves into the bytes that item 1 has not left yet.
    task = problem((32, 0, 1), (32, 0, 2), (32, 0, 2))
    good = compacting(task)
    assert [move.item for move in good.moves] == [1, 2]
    assert fault(replace(good, moves=good.moves[::-1]), task) == (
        "the move of item 2 (32 bytes) from 64 to 32 before slot 1 overwrites item 1 at [32, 64)"
    )


def test_a_move_onto_a_newborn_is_an_overlap_and_onto_the_dead_is_none() -> None:
    task = problem((16, 0, 1), (16, 0, 2), (16, 1, 2))
    good = compacting(task)
    validate(task, good)
    bad = with_item(good, 2, offset=0)
    assert "overlaps with item 1" in fault(bad, task)


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_malformed_problems(allocator: str) -> None:
    allocate = ALLOCATORS[allocator]
    with pytest.raises(PlacementError, match="same id"):
        allocate(Problem((Item(1, 4, 0, 1), Item(1, 4, 0, 1))))
    with pytest.raises(PlacementError, match="negative size"):
        allocate(Problem((Item(1, -4, 0, 1),)))


def test_an_alignment_of_nothing() -> None:
    with pytest.raises(PlacementError, match="not positive"):
        validate(replace(TASK, align=0), STILL)


@given(problems(), st.sampled_from(sorted(ALLOCATORS)), st.data())
def test_any_block_shifted_into_another_is_caught(
    task: Problem, allocator: str, data: st.DataObject
) -> None:
    placement = ALLOCATORS[allocator](task)
    pairs = [
        (i, other)
        for i, rectangle in enumerate(placement.rectangles)
        for other in placement.rectangles
        if rectangle.item != other.item
        and min(rectangle.size, other.size) > 0
        and max(rectangle.start, other.start) < min(rectangle.end, other.end)
    ]
    assume(pairs)
    index, other = data.draw(st.sampled_from(pairs))
    moved = replace(placement.rectangles[index], offset=other.offset)
    with pytest.raises(PlacementError):
        validate(task, with_rectangle(placement, index, moved))


@given(problems(), st.sampled_from(sorted(ALLOCATORS)), st.data())
def test_any_lost_block_is_caught(task: Problem, allocator: str, data: st.DataObject) -> None:
    placement = ALLOCATORS[allocator](task)
    assume(placement.rectangles)
    lost = data.draw(st.sampled_from(placement.rectangles))
    rest = tuple(rectangle for rectangle in placement.rectangles if rectangle is not lost)
    with pytest.raises(PlacementError):
        validate(task, replace(placement, rectangles=rest))
