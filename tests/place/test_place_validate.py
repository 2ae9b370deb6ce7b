"""The validator catches every kind of fault, planted one at a time into good placements."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from place_cases import problem, problems

from lowtide.place import (
    ALLOCATORS,
    Block,
    Item,
    Move,
    Placement,
    PlacementError,
    Problem,
    compacting,
    greedy,
    validate,
)

TASK = problem((100, 0, 1), (30, 0, 3), (20, 0, 2), (50, 1, 3))
STILL = greedy(TASK)
MOVING = compacting(TASK)


def with_block(placement: Placement, index: int, block: Block) -> Placement:
    blocks = list(placement.blocks)
    blocks[index] = block
    return replace(placement, blocks=tuple(blocks))


def with_item(placement: Placement, item: int, **changes: int) -> Placement:
    """The only block of `item` changed."""
    index = [block.item for block in placement.blocks].index(item)
    block = placement.blocks[index]
    changed = Block(
        item,
        changes.get("offset", block.offset),
        changes.get("size", block.size),
        changes.get("start", block.start),
        changes.get("end", block.end),
    )
    return with_block(placement, index, changed)


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
        "the block of item 1 at [0, 30) in the slots [0, 3) overlaps with item 0 at [0, 100)"
    )


def test_misaligned_and_negative_offsets() -> None:
    assert "not at a multiple of 16" in fault(with_item(STILL, 0, offset=8))
    assert "not at a multiple of 16" in fault(with_item(STILL, 0, offset=-16))


def test_wrong_alignment_of_the_whole() -> None:
    assert "aligned to 4 bytes, not to 16" in fault(replace(STILL, align=4))


def test_missing_cover() -> None:
    assert "has no block" in fault(replace(STILL, blocks=STILL.blocks[1:]))
    assert "is covered in [1, 3)" in fault(with_item(STILL, 1, start=1))
    assert "is covered in [0, 2)" in fault(with_item(STILL, 1, end=2))
    assert "is covered in [0, 4)" in fault(with_item(STILL, 1, end=4))


def test_gaps_and_repeats_in_time() -> None:
    first = next(i for i, b in enumerate(MOVING.blocks) if b.item == 1 and b.start == 0)
    block = MOVING.blocks[first]
    assert "badly covered" in fault(with_block(MOVING, first, replace(block, end=2)))
    assert "badly covered" in fault(replace(STILL, blocks=(*STILL.blocks, STILL.blocks[1])))
    empty = replace(block, end=0)
    assert "lasts for no slot" in fault(replace(MOVING, blocks=(*MOVING.blocks, empty)))


def test_wrong_size_and_unknown_item() -> None:
    assert "should have 50 bytes" in fault(with_item(STILL, 3, size=40))
    stranger = Block(9, 0, 4, 0, 1)
    assert "belongs to no item" in fault(replace(STILL, blocks=(*STILL.blocks, stranger)))


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
        (Block(0, 0, 16, 0, 1), Block(0, 16, 16, 1, 2)),
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
        for i, block in enumerate(placement.blocks)
        for other in placement.blocks
        if block.item != other.item
        and min(block.size, other.size) > 0
        and max(block.start, other.start) < min(block.end, other.end)
    ]
    assume(pairs)
    index, other = data.draw(st.sampled_from(pairs))
    moved = replace(placement.blocks[index], offset=other.offset)
    with pytest.raises(PlacementError):
        validate(task, with_block(placement, index, moved))


@given(problems(), st.sampled_from(sorted(ALLOCATORS)), st.data())
def test_any_lost_block_is_caught(task: Problem, allocator: str, data: st.DataObject) -> None:
    placement = ALLOCATORS[allocator](task)
    assume(placement.blocks)
    lost = data.draw(st.sampled_from(placement.blocks))
    rest = tuple(block for block in placement.blocks if block is not lost)
    with pytest.raises(PlacementError):
        validate(task, replace(placement, blocks=rest))
