"""The best order is the best of all orders: 2,000 random graphs against an exhaustive minimum.

Every part of the search is held to the same standard: bounds do not exceed the optimum, heuristics do
not go below it, and each reports the peak that its order really has.
"""

from __future__ import annotations

from random import Random

import pytest
from order_cases import definition, graph_of, random_graph

from lowtide.effort import Budget
from lowtide.ir.liveness import peak_bytes, working_sets
from lowtide.order.best import best_order
from lowtide.order.bitgraph import BitGraph, bits, from_graph, restrict
from lowtide.order.bounds import best_isolated, isolated, relatives, structural, topological
from lowtide.order.improve import improve
from lowtide.order.search import Backward, Forward, beam, exact

GRAPHS = 2_000
BATCH = 100
PARTS = 400  # graphs for the tests of the search's parts
batches = pytest.mark.parametrize("first", range(0, GRAPHS, BATCH))
parts = pytest.mark.parametrize("first", range(0, PARTS, BATCH))


def random_order(bg: BitGraph, rng: Random) -> list[int]:
    """A valid order, each next operator drawn from those that can run."""
    done, order = 0, list[int]()
    while done != bg.all:
        order.append(rng.choice(list(bg.ready(done))))
        done |= 1 << order[-1]
    return order


def as_set(state: int) -> frozenset[int]:
    return frozenset(bits(state))


@batches
def test_best_order_is_the_best_of_all(first: int) -> None:
    for seed in range(first, first + BATCH):
        case = definition(seed)
        found = best_order(case.graph)
        assert found.peak_bytes == case.optimum(), seed
        assert found.proved_optimal, seed
        assert found.lower_bound_bytes == found.peak_bytes
        assert found.gap == 0
        assert case.peak(found.order) == found.peak_bytes, seed
        assert peak_bytes(case.graph, found.order) == found.peak_bytes
        sets = working_sets(case.graph, found.order)
        assert max(sum(map(case.size, live)) for live in sets) == found.peak_bytes


@parts
def test_an_optimal_order_in_the_file_is_kept(first: int) -> None:
    for seed in range(first, first + BATCH):
        case = definition(seed)
        given = tuple(range(len(case.graph.ops)))
        if case.peak(given) == case.optimum():
            assert best_order(case.graph).order == given


@parts
def test_peaks_of_any_order(first: int) -> None:
    """Liveness and the searches' own sums agree with the definition, also on bad orders."""
    rng = Random(first)
    for seed in range(first, first + BATCH):
        case = definition(seed)
        bg = from_graph(case.graph)
        order = random_order(bg, rng)
        peak = case.peak(order)
        assert peak_bytes(case.graph, order) == peak
        assert max(case.given, bg.peak(order)) == peak
        sets = working_sets(case.graph, order)
        assert sum(map(case.size, sets[0])) == case.given
        for slot, op in enumerate(order, start=1):
            done = frozenset(order[: slot - 1])
            assert sum(map(case.size, sets[slot])) == case.during(done, op), seed


@parts
def test_operators_run_exactly_when_their_predecessors_have(first: int) -> None:
    for seed in range(first, first + BATCH):
        case = definition(seed)
        bg = from_graph(case.graph)
        for done in case.states():
            mask = sum(1 << op for op in done)
            ready = {op for op in case.all if case.can_run(done, op)}
            assert set(bg.ready(mask)) == set(Forward(bg).ready(mask)) == ready
            last = {op for op in done if not any(op in case.before[o] for o in done)}
            assert set(Backward(bg).ready(mask)) == last
        above, below = relatives(bg)
        assert sorted(topological(bg)) == sorted(case.all)
        for op in case.all:
            assert as_set(above[op]) >= case.before[op]
            assert all(below[p] >> op & 1 for p in case.before[op])


@parts
def test_both_directions_see_the_same_bytes(first: int) -> None:
    """Along a path, running and undoing pass the same states, live bytes and peaks."""
    rng = Random(first)
    for seed in range(first, first + BATCH):
        case = definition(seed)
        bg = from_graph(case.graph)
        forward, backward = Forward(bg), Backward(bg)
        state, live = forward.start, forward.base
        path = [(state, live, 0)]
        order = random_order(bg, rng)
        for op in order:
            opened = {s for s in bits(bg.all) if case.can_run(as_set(state | 1 << op), s)} - {
                s for s in bits(bg.all) if case.can_run(as_set(state), s)
            }
            peak = case.during(as_set(state), op)
            state, high, live = forward.step(state, live, op)
            assert high == peak
            assert live == sum(map(case.size, case.between(as_set(state))))
            assert set(forward.opened(state, op)) == opened
            path.append((state, live, peak))
        assert (state, live) == (backward.start, backward.base)
        for op, (before, less, _), (_, _, peak) in zip(
            reversed(order), reversed(path[:-1]), reversed(path), strict=False
        ):
            opened = set(backward.ready(state & ~(1 << op))) - set(backward.ready(state))
            state, high, live = backward.step(state, live, op)
            assert (state, high, live) == (before, peak, less)
            assert set(backward.opened(state, op)) == opened


@parts
def test_bounds(first: int) -> None:
    """structural <= isolated <= optimum, and isolated is the least memory an operator can run in."""
    for seed in range(first, first + BATCH):
        case = definition(seed, 8)
        bg = from_graph(case.graph)
        above, below = relatives(bg)
        states = case.states()
        optimum = states[case.all]
        cheap = structural(bg, above, below)
        strong = [isolated(bg, above, below, op) for op in range(bg.n)]
        for op in range(bg.n):
            least = min(case.during(done, op) for done in states if case.can_run(done, op))
            assert cheap[op] <= strong[op] == least <= optimum, (seed, op)
        assert best_isolated(bg, above, below, cheap, 0, 1 << 60, Budget(1 << 60)) == max(strong)
        again = best_isolated(bg, above, below, cheap, optimum, 1 << 60, Budget(1 << 60))
        assert max(strong) <= again == optimum


@parts
def test_searches_on_the_whole_graph(first: int) -> None:
    """Without the division into parts, the searches hold to the same optimum."""
    for seed in range(first, first + BATCH):
        case = definition(seed)
        bg = from_graph(case.graph)
        optimum = max(bg.base, case.states()[case.all])
        found = exact(bg, bg.base, states=1 << 20, budget=Budget(1 << 60))
        assert found.order is not None
        assert found.peak == found.lower_bound == optimum == bg.peak(found.order), seed
        above = exact(bg, bg.base, states=1 << 20, ceiling=optimum, budget=Budget(1 << 60))
        assert above.lower_bound == optimum
        for width in (1, 4, 64):
            for backward in (False, True):
                some = beam(bg, width=width, backward=backward, budget=Budget(1 << 60))
                assert some.order is not None
                assert sorted(some.order) == list(range(bg.n))
                assert some.peak == bg.peak(some.order) >= optimum, seed
                none = beam(
                    bg, width=width, backward=backward, below=optimum, budget=Budget(1 << 60)
                )
                assert none.order is None


@parts
def test_improve_never_makes_an_order_worse(first: int) -> None:
    rng = Random(first)
    for seed in range(first, first + BATCH // 2):
        bg = from_graph(random_graph(Random(seed), 30))
        start = random_order(bg, rng)
        order, peak = improve(bg, start, floor=0, budget=Budget(1 << 60))
        assert sorted(order) == list(range(bg.n))
        assert peak == bg.peak(order) <= bg.peak(start)
        assert improve(bg, start, floor=bg.peak(start), budget=Budget(1 << 60))[0] == tuple(start)


@parts
def test_a_window_of_an_order_is_a_problem_of_its_own(first: int) -> None:
    """The steps of a window need as many bytes in the subproblem as in the whole."""
    rng = Random(first)
    for seed in range(first, first + BATCH):
        case = definition(seed)
        bg = from_graph(case.graph)
        order = random_order(bg, rng)
        start, end = sorted(rng.choices(range(bg.n + 1), k=2))
        done = frozenset(order[:start])
        inside = sorted(order[start:end])
        part = restrict(bg, sum(1 << op for op in done), inside)
        local = [inside.index(op) for op in order[start:end]]
        whole = sum(map(case.size, case.between(done)))
        for k, op in enumerate(order[start:end], start=start):
            whole = max(whole, case.during(frozenset(order[:k]), op))
        assert part.peak(local) == whole


def test_orders_that_cannot_run_are_refused() -> None:
    bg = from_graph(graph_of([1, 1, 1], [((0,), (1,)), ((1,), (2,))], outputs=(2,)))
    assert bg.peak((0, 1)) == 2
    for bad in ((1, 0), (0, 0)):
        with pytest.raises(ValueError, match="cannot run here"):
            bg.peak(bad)
