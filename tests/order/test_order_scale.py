"""The search comes back with an honest answer on networks of every size and shape.

Why: its worst case is exponential. Small or regular networks must be proved optimal; the large and
irregular ones must still give a valid order and a bound that holds.
"""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from order_cases import graph_of

from lowtide.ir import Graph
from lowtide.ir.liveness import peak_bytes
from lowtide.order import OrderResult, best_order
from networks import NETWORKS, loaded

Step = tuple[tuple[int, ...], tuple[int, ...]]
"""Inputs and outputs of an operator."""

SIZES = (1, 2, 3, 5, 8, 13, 21, 34)


def checked(graph: Graph, effort: float = 1.0) -> OrderResult:
    """The result for `graph`, after asserting all that must hold whether it is proved or not."""
    found = best_order(graph, effort=effort)
    assert sorted(found.order) == list(range(len(graph.ops)))
    made = set(graph.inputs)
    for op in (graph.ops[i] for i in found.order):
        assert made.issuperset(op.inputs)
        made.update(op.outputs)
    assert peak_bytes(graph, found.order) == found.peak_bytes
    assert found.peak_bytes <= peak_bytes(graph, range(len(graph.ops)))
    assert 0 < found.lower_bound_bytes <= found.peak_bytes
    assert found.proved_optimal == (found.lower_bound_bytes == found.peak_bytes)
    assert found.gap == pytest.approx(found.peak_bytes / found.lower_bound_bytes - 1)
    return found


def chain(sizes: list[int]) -> Graph:
    steps = [((k,), (k + 1,)) for k in range(len(sizes) - 1)]
    return graph_of(sizes, steps, outputs=(len(sizes) - 1,))


def branches(lengths: list[list[int]], join: int = 4) -> Graph:
    """Parallel branches between one input and one join; each list holds a branch's sizes.

    In the file, all first operators come first, then all second ones: the worst order there is.
    """
    sizes, ends = [8], [0] * len(lengths)
    steps: list[Step] = []
    for depth in range(max(map(len, lengths))):
        for k, branch in enumerate(lengths):
            if depth < len(branch):
                steps.append(((ends[k],), (len(sizes),)))
                ends[k] = len(sizes)
                sizes.append(branch[depth])
    steps.append((tuple(ends), (len(sizes),)))
    return graph_of([*sizes, join], steps, outputs=(len(sizes),))


def wired(count: int, seed: int, back: int) -> Graph:
    """Each operator reads one or two of the `back` latest tensors; what nobody reads is kept."""
    rng = Random(seed)
    sizes = [rng.choice(SIZES) for _ in range(count + 1)]
    steps: list[Step] = []
    for k in range(count):
        recent = range(max(0, k + 1 - back), k + 1)
        steps.append((tuple(rng.choice(recent) for _ in range(rng.choice((1, 2)))), (k + 1,)))
    read = {t for ins, _ in steps for t in ins}
    return graph_of(sizes, steps, outputs=tuple(t for t in range(count + 1) if t not in read))


def layered(layers: int, width: int, reads: int, seed: int) -> Graph:
    """Each operator reads `reads` random tensors of the layer before: as irregular as can be."""
    rng = Random(seed)
    sizes, steps, last = [rng.randint(1, 1_000)], list[Step](), [0]
    for _ in range(layers):
        layer = range(len(sizes), len(sizes) + width)
        steps += [(tuple(rng.choice(last) for _ in range(reads)), (k,)) for k in layer]
        sizes += [rng.randint(1, 1_000) for _ in layer]
        last = list(layer)
    return graph_of(sizes, steps, outputs=last)


def test_a_chain_of_a_thousand() -> None:
    rng = Random(0)
    sizes = [rng.choice(SIZES) for _ in range(1_001)]
    found = checked(chain(sizes))
    assert found.order == tuple(range(1_000))
    assert found.peak_bytes == max(a + b for a, b in pairwise(sizes))
    assert found.proved_optimal


PATTERNS = {
    "all the same": [[9, 9, 9]] * 9,
    "wide middle": [[2, 20, 1]] * 9,
    "narrow middle": [[20, 1, 20]] * 9,
    "growing": [[1, 4, 16]] * 9,
    "shrinking": [[16, 4, 1]] * 9,
    "one of each": [[a, b, 3] for a in (1, 5, 25) for b in (2, 10, 50)],
    "half and half": [[1, 30, 2]] * 4 + [[30, 1, 20]] * 5,
    "mixed": [[SIZES[(3 * k + 5 * d) % 8] for d in range(3)] for k in range(9)],
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_nine_parallel_branches_of_three(pattern: str) -> None:
    found = checked(branches(PATTERNS[pattern]))
    assert found.proved_optimal


def test_nine_equal_branches_have_the_peak_that_arithmetic_gives() -> None:
    """Finish j branches one by one, with the input at hand; then start all others, and go on.

    The j-th needs the input, j - 1 ends, and its own 2 + 20 bytes: 29 + j. The first of the others
    needs j ends, 8 - j starts of 2 bytes, and its own 2 + 20: 38 - j. So j = 4 or 5 is best.
    """
    found = checked(branches(PATTERNS["wide middle"]))
    assert found.peak_bytes == min(max(29 + j, 38 - j) for j in range(1, 9)) == 34


def test_branches_of_different_lengths() -> None:
    found = checked(branches([[SIZES[(k + d) % 8] for d in range(k)] for k in range(1, 9)]))
    assert found.proved_optimal


def test_a_large_irregular_network_gets_an_order_and_a_bound() -> None:
    found = checked(layered(30, 10, reads=3, seed=1), effort=0.3)
    assert found.gap < 0.5
    stated = f"lower bound {found.lower_bound_bytes:,} B, gap at most {found.gap:.1%}"
    assert ("proved optimal" if found.proved_optimal else stated) in str(found)


@pytest.mark.parametrize("effort", [0.0, 0.0025, 0.01])
def test_no_effort_at_all_still_gives_a_valid_order(effort: float) -> None:
    checked(wired(120, seed=2, back=30), effort=effort)


def test_more_effort_proves_no_less() -> None:
    graph = layered(30, 10, reads=3, seed=1)
    bounds = [checked(graph, effort=effort).lower_bound_bytes for effort in (0, 0.01, 0.1)]
    assert bounds == sorted(bounds)


@pytest.mark.parametrize("seed", range(8))
def test_networks_wired_like_searched_ones_are_proved_optimal(seed: int) -> None:
    assert checked(wired(60, seed=seed, back=5)).proved_optimal


def test_residual_blocks_nested_very_deep() -> None:
    """Each block's input is read again at its end, the outermost one's after all others."""
    depth = 400
    steps: list[Step] = [((k,), (k + 1,)) for k in range(depth)]
    steps += [((depth + k, depth - 1 - k), (depth + k + 1,)) for k in range(depth)]
    found = checked(graph_of([1] * (2 * depth + 1), steps, outputs=(2 * depth,)))
    assert found.peak_bytes == depth + 2
    assert found.proved_optimal


def test_a_ladder_of_two_chains_that_meet_at_every_step() -> None:
    steps: list[Step] = []
    for k in range(0, 600, 2):
        steps += [((k, k + 1), (k + 2,)), ((k, k + 1), (k + 3,))]
    found = checked(graph_of([3] * 602, steps, inputs=(0, 1), outputs=(600, 601)))
    assert found.peak_bytes == 12
    assert found.proved_optimal


def test_a_thousand_operators_that_read_one_tensor() -> None:
    steps = [((0,), (k,)) for k in range(1, 1_001)]
    found = checked(graph_of([7] + [1] * 1_000, steps, outputs=(1_000,)))
    assert found.peak_bytes == 8
    assert found.proved_optimal


def test_one_operator() -> None:
    found = checked(graph_of([3, 4], [((0,), (1,))], outputs=(1,)))
    assert (found.order, found.peak_bytes, found.proved_optimal) == ((0,), 7, True)


def test_tensors_of_no_size_at_all() -> None:
    found = best_order(graph_of([0, 0, 0], [((0,), (1,)), ((1,), (2,))], outputs=(2,)))
    assert (found.peak_bytes, found.lower_bound_bytes, found.gap) == (0, 0, 0.0)
    assert found.proved_optimal


@pytest.mark.parametrize(("layers", "width", "reads"), [(10, 30, 2), (6, 50, 2), (20, 15, 1)])
def test_large_networks_of_regular_depth_are_proved_optimal(
    layers: int, width: int, reads: int
) -> None:
    assert checked(layered(layers, width, reads, seed=1), effort=3).proved_optimal


@pytest.mark.parametrize(("count", "back"), [(60, 5), (40, 12)])
def test_the_same_network_gets_the_same_order(count: int, back: int) -> None:
    graph = wired(count, seed=5, back=back)
    first, second = checked(graph), checked(graph)
    assert first.order == second.order
    assert first.lower_bound_bytes == second.lower_bound_bytes


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_is_proved_optimal(name: str) -> None:
    found = best_order(loaded(name))
    assert found.proved_optimal
    assert peak_bytes(loaded(name).graph, found.order) == found.peak_bytes


def test_results_as_text() -> None:
    assert str(OrderResult(4960, 4960, ())) == "peak 4,960 B (proved optimal)"
    text = str(OrderResult(1100, 1000, ()))
    assert text == "peak 1,100 B (lower bound 1,000 B, gap at most 10.0%)"
