"""`planned` against brute force, the bound and the other allocators; and the search inside."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from place_cases import (
    bound,
    first_fit_arena,
    full_problem,
    optimum,
    problem,
    problems,
    random_problem,
    row_problem,
    sequential_network,
)

from effort import calls
from lowtide.place import Item, Problem, greedy, planned
from lowtide.place.exact import Verdict, columns_of, search
from lowtide.place.firstfit import boxes_of, height


def tight_problem(items: int, slots: int, seed: int) -> Problem:
    """Few sizes and slots: the bound is often out of reach."""
    random = Random(seed)
    triples = []
    for _ in range(items):
        start = random.randrange(slots)
        triples.append((16 * random.randrange(1, 6), start, start + random.randrange(1, 4)))
    return problem(*triples)


@given(problems(max_items=6))
@settings(max_examples=60, deadline=None)
def test_it_is_optimal_for_few_items(task: Problem) -> None:
    assert planned(task).arena_bytes == optimum(task)


@pytest.mark.parametrize("seed", range(60))
def test_it_is_optimal_for_six_tight_items(seed: int) -> None:
    task = tight_problem(6, 5, seed)
    assert planned(task).arena_bytes == optimum(task)


@pytest.mark.parametrize("seed", range(40))
def test_it_is_optimal_where_every_slot_is_full(seed: int) -> None:
    task = full_problem(6, seed)
    assert planned(task).arena_bytes == optimum(task)


def test_it_is_optimal_where_the_bound_is_out_of_reach() -> None:
    # Every slot holds 64 bytes; brute force over all orders finds no less than 80.
    triples = [
        (1, 2, 3),
        (2, 1, 2),
        (1, 2, 5),
        (1, 0, 3),
        (1, 1, 4),
        (3, 4, 5),
        (3, 0, 1),
        (2, 3, 4),
    ]
    task = problem(*((16 * size, start, end) for size, start, end in triples))
    assert task.lower_bound() == 64
    assert optimum(task) == 80
    placement = planned(task)
    assert placement.arena_bytes == 80
    assert not placement.proved_optimal
    columns = columns_of(boxes_of(task))
    assert search(columns, 4, 1000, lambda _: 0.0).verdict is Verdict.IMPOSSIBLE


@given(problems(max_items=14))
@settings(deadline=None)
def test_it_lies_between_the_bound_and_every_first_fit(task: Problem) -> None:
    placement = planned(task)
    assert bound(task) == placement.lower_bound_bytes == task.lower_bound()
    assert bound(task) <= placement.arena_bytes <= greedy(task).arena_bytes
    orders = [
        sorted(task.items, key=lambda item: item.start),
        sorted(task.items, key=lambda item: -item.end),
        sorted(task.items, key=lambda item: (item.start - item.end, -item.size)),
    ]
    assert placement.arena_bytes <= min(first_fit_arena(task, order) for order in orders)
    assert not placement.moves


@pytest.mark.parametrize("seed", range(8))
def test_it_meets_the_bound_where_first_fit_does_not(seed: int) -> None:
    task = random_problem(60, seed)
    assert greedy(task).arena_bytes > task.lower_bound()
    assert planned(task).proved_optimal


def test_it_meets_the_bound_for_a_chain_of_tensors() -> None:
    assert planned(sequential_network([100, 400, 300, 50, 700, 20])).proved_optimal


def test_it_meets_the_bound_for_rows() -> None:
    task = row_problem(800, seed=1)
    assert greedy(task).arena_bytes > task.lower_bound()
    assert planned(task).proved_optimal


def test_it_is_deterministic_and_knows_no_ids() -> None:
    task = random_problem(60, seed=3)
    renamed = Problem(tuple(Item(i.id + 500, i.size, i.start, i.end) for i in task.items))
    assert planned(task) == planned(task)
    assert list(planned(renamed).offsets().values()) == list(planned(task).offsets().values())


@pytest.mark.parametrize("align", [1, 4, 16, 64])
def test_alignment_is_kept(align: int) -> None:
    placement = planned(problem((5, 0, 2), (70, 0, 3), (1, 1, 4), align=align))
    assert placement.align == align
    assert placement.arena_bytes == bound(problem((5, 0, 2), (70, 0, 3), (1, 1, 4), align=align))


def test_nothing_and_next_to_nothing() -> None:
    assert planned(problem()).arena_bytes == 0
    assert planned(problem((0, 0, 3), (7, 2, 2))).arena_bytes == 0
    assert planned(problem((1, -1, 0))).arena_bytes == 16


def test_it_is_fast_where_first_fit_is_optimal() -> None:
    """A few calls for each item, and no search: about 3,600, milliseconds."""
    task = sequential_network([Random(0).randrange(1, 5000) for _ in range(70)])
    assert calls(lambda: planned(task)) < 7_000


@pytest.mark.parametrize("seed", range(25))
def test_the_search_agrees_with_brute_force(seed: int) -> None:
    task = tight_problem(6, 4, seed)
    boxes = boxes_of(task)
    columns = columns_of(boxes)
    best = optimum(task) // task.align
    preference = [0.0] * len(boxes)
    for cap in range(max(0, best - 3), best + 2):
        outcome = search(columns, cap, 10**6, preference.__getitem__)
        assert outcome.verdict is (Verdict.FOUND if cap >= best else Verdict.IMPOSSIBLE)
        assert outcome.offsets is None or height(boxes, outcome.offsets) <= cap


def test_the_search_keeps_to_its_budget() -> None:
    columns = columns_of(boxes_of(random_problem(60, seed=3)))
    outcome = search(columns, max(columns.loads), 10, lambda box: -columns.sizes[box])
    assert outcome.verdict is Verdict.GAVE_UP
    assert outcome.offsets is None


def test_columns_are_the_maximal_live_sets() -> None:
    # Slots 0..4 hold {0}, {0, 1}, {1}, {1, 2}, {2}: two of them are maximal.
    columns = columns_of(boxes_of(problem((16, 0, 2), (32, 1, 4), (48, 3, 5))))
    assert columns.loads == (3, 5)
    assert (columns.lows, columns.highs) == ((0, 0, 1), (1, 2, 2))
