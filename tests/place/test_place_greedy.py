"""`greedy` is TFLM's GreedyMemoryPlanner: golden cases worked out by hand, and an oracle."""

from __future__ import annotations

import pytest
from hypothesis import given
from place_cases import first_fit_arena, offsets, problem, problems, random_problem

from effort import calls
from lowtide.place import Item, Problem, greedy


def by_size_then_later(task: Problem) -> list[Item]:
    indexed = list(enumerate(task.items))
    return [i for _, i in sorted(indexed, key=lambda pair: (-task.aligned(pair[1].size), -pair[0]))]


def test_the_larger_goes_first() -> None:
    assert offsets(greedy(problem((16, 0, 2), (32, 1, 3), (48, 2, 4)))) == [0, 48, 0]


def test_of_equal_sizes_the_later_tensor_goes_first() -> None:
    assert offsets(greedy(problem((32, 0, 2), (32, 0, 2), (32, 0, 2)))) == [64, 32, 0]


def test_sizes_are_equal_once_they_are_aligned() -> None:
    # 30 and 17 both take 32 bytes, so that tensor 1, the later one, is put at 0.
    assert offsets(greedy(problem((30, 0, 1), (17, 0, 1)))) == [32, 0]
    assert offsets(greedy(problem((30, 0, 1), (17, 0, 1), align=4))) == [0, 32]


def test_ties_go_by_position_not_by_id() -> None:
    task = Problem((Item(7, 16, 0, 1), Item(3, 16, 0, 1)))
    assert greedy(task).offsets() == {3: 0, 7: 16}


def test_the_lowest_gap_that_holds_the_item_is_taken() -> None:
    # slots 0 1 2 3    Item 1 lies on item 0 and leaves 80 bytes free below it from slot 2 on:
    #  128    1 1 1    item 2 (48) and item 3 (32) fill them,
    #   48      3 3    so that item 4 (16) has to go to the top.
    #    0  0 0 2 2
    task = problem((80, 0, 2), (64, 1, 4), (48, 2, 4), (32, 2, 4), (16, 2, 4))
    assert offsets(greedy(task)) == [0, 80, 0, 48, 144]
    assert greedy(task).arena_bytes == 160


def test_lifetimes_are_half_open() -> None:
    assert offsets(greedy(problem((16, 0, 1), (16, 1, 2)))) == [0, 0]


def test_a_tensor_that_nothing_makes_is_live_from_slot_minus_one() -> None:
    assert offsets(greedy(problem((16, -1, 3), (32, 0, 1)))) == [32, 0]


def test_nothing_and_next_to_nothing() -> None:
    assert greedy(problem()).arena_bytes == 0
    assert greedy(problem((1, 0, 1))).arena_bytes == 16
    # Neither an item of no bytes nor one of no lifetime needs any arena.
    empty = greedy(problem((0, 0, 5), (100, 3, 3)))
    assert (empty.arena_bytes, empty.lower_bound_bytes, offsets(empty)) == (0, 0, [0, 0])


def test_it_can_miss_the_bound() -> None:
    # Items 3 and 2 go to 0, item 1 onto item 3, and item 0 finds no place beside 1 and 2.
    placement = greedy(problem((16, 1, 4), (16, 0, 2), (16, 2, 3), (16, 0, 1)))
    assert offsets(placement) == [32, 16, 0, 0]
    assert (placement.arena_bytes, placement.lower_bound_bytes) == (48, 32)
    assert not placement.proved_optimal


@given(problems())
def test_it_is_first_fit_by_size(task: Problem) -> None:
    assert greedy(task).arena_bytes == first_fit_arena(task, by_size_then_later(task))


@pytest.mark.parametrize(("items", "most"), [(200, 30_000), (2000, 1_300_000)])
def test_it_is_fast(items: int, most: int) -> None:
    """About half as many calls, which take milliseconds and half a second."""
    task = random_problem(items, seed=1)
    assert calls(lambda: greedy(task)) < most
