"""`compacting`: its arena is the bound, and its moves, carried out on real bytes, lose nothing."""

from __future__ import annotations

from hypothesis import given
from place_cases import bound, problem, problems, row_problem, sequential_network

from lowtide.place import Move, Placement, Problem, Rectangle, compacting


def play(task: Problem, placement: Placement) -> None:
    """Run the placement on a bytearray; every item must find its own bytes when it dies."""
    arena = bytearray(placement.arena_bytes)
    wanted = {i.id: bytes((i.id * 37 + k) % 251 for k in range(i.size)) for i in task.items}
    at: dict[int, int] = {}
    slots = {slot for item in task.items for slot in (item.start, item.end)}
    for slot in sorted(slots | {move.slot for move in placement.moves}):
        for item in task.items:
            if item.end == slot and item.start < item.end:
                offset = at.pop(item.id)
                assert arena[offset : offset + item.size] == wanted[item.id]
        for move in placement.moves:
            if move.slot == slot:
                assert at[move.item] == move.source
                content = arena[move.source : move.source + move.size]
                arena[move.target : move.target + move.size] = content
                at[move.item] = move.target
        for rectangle in placement.rectangles:
            if rectangle.start <= slot < rectangle.end:
                assert at.setdefault(rectangle.item, rectangle.offset) == rectangle.offset
        for item in task.items:
            if item.start == slot < item.end:
                arena[at[item.id] : at[item.id] + item.size] = wanted[item.id]
    assert not at


@given(problems())
def test_the_arena_is_the_bound(task: Problem) -> None:
    placement = compacting(task)
    assert placement.arena_bytes == placement.lower_bound_bytes == bound(task)
    assert placement.proved_optimal


@given(problems())
def test_the_moves_lose_no_byte(task: Problem) -> None:
    play(task, compacting(task))


def test_the_moves_of_rows_lose_no_byte() -> None:
    task = row_problem(120, seed=4)
    play(task, compacting(task))


def test_the_survivors_slide_down_in_address_order() -> None:
    placement = compacting(problem((100, 0, 1), (30, 0, 3), (20, 0, 2), (50, 1, 3)))
    assert placement.moves == (
        Move(1, 1, 112, 0, 30),
        Move(1, 2, 144, 32, 20),
        Move(2, 3, 64, 32, 50),
    )
    assert placement.moved_bytes == 100
    assert placement.arena_bytes == 176
    assert placement.rectangles == (
        Rectangle(0, 0, 100, 0, 1),
        Rectangle(1, 112, 30, 0, 1),
        Rectangle(2, 144, 20, 0, 1),
        Rectangle(1, 0, 30, 1, 3),
        Rectangle(2, 32, 20, 1, 2),
        Rectangle(3, 64, 50, 1, 2),
        Rectangle(3, 32, 50, 2, 3),
    )
    assert placement.offset(3) == 64


def test_a_move_may_overlap_itself() -> None:
    (move,) = compacting(problem((16, 0, 1), (64, 0, 2))).moves
    assert move == Move(1, 1, 16, 0, 64)


def test_a_chain_moves_every_second_tensor() -> None:
    placement = compacting(sequential_network([16, 32, 48, 64]))
    assert [move.item for move in placement.moves] == [1, 2, 3]


def test_nothing_and_next_to_nothing() -> None:
    assert compacting(problem()).arena_bytes == 0
    placement = compacting(problem((0, 0, 4), (16, 0, 1), (16, 0, 4), (5, 2, 2)))
    assert placement.offsets() == {0: 0, 1: 0, 2: 16, 3: 0}
    assert placement.moves == (Move(1, 2, 16, 0, 16),)
