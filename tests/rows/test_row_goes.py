"""Several rows in a go: valid orders, exact peaks, and what they read again of slow flash.

Why: more rows in a go change the order of steps alone. So what holds for any order is checked here for
these, and what they are for: that weights are read from flash less often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from random import Random

import numpy as np
import pytest
from row_cases import check_order, random_table
from strip_nets import BLOCKS, all_edges, around, ready, sampled, space_of
from test_row_agreeing import all_points, check

from assembled import assemble_rows
from lowtide.commands.checking import verify
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.machines.mcus import find_mcu
from lowtide.plans.planner import Plans, default, plans_of
from lowtide.plans.refills import FlashModel, flash_model
from lowtide.plans.space import WORK, Space
from lowtide.rows.prepare import prepare
from lowtide.rows.stages import Segment, demand, steps_of
from lowtide.target import FlashCache
from networks import loaded

SMALL = FlashCache("RP2040", 2048, 2, 8, 54)
"""So that random networks, whose weights are few, do not fit into it."""
SEEDS = sampled([*range(12), *(BLOCKS + n for n in range(12) if n not in (4, 8))])


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_orders_of_random_tables(first: int) -> None:
    for seed in range(first, first + 50):
        table = random_table(seed)
        for go in (2, 3, 7, 1000):
            check_order(table, steps_of(table, [Segment(0, table.nodes, go=go)]))
            order = demand(table, 0, table.nodes, go)
            sinks = [n for n in range(table.nodes) if table.first_reader[n] >= table.nodes]
            if len(sinks) == 1 and table.nodes > 1:
                runs = [len([*run]) for node, run in groupby(order) if node == sinks[0]]
                assert sum(runs) == table.steps(sinks[0])
                assert all(run % go == 0 for run in runs[:-1])


def test_all_rows_in_a_go_are_layer_by_layer() -> None:
    nodes = compiled(1000).assembly.plan
    assert nodes is not None
    longest = max(nodes.stages, key=lambda stage: len(stage.operators))
    assert len(longest.operators) > 5
    order = [node for node, _ in nodes.steps if longest.first <= node < longest.last]
    assert [node for node, _ in groupby(order)] == sorted(set(order))


@pytest.mark.parametrize("seed", SEEDS)
def test_peaks_are_those_of_the_steps(seed: int) -> None:
    of = ready(seed, small=True, flash=SMALL)
    edges = [edge for edge in all_edges(space_of(of, strips=False)) if edge.go > 1]
    Random(seed).shuffle(edges)
    assert edges or seed == 2  # whose stages all have one operator
    for edge in edges[:8]:
        program = assemble_rows(of, around(of, edge))
        assert program.plan is not None
        assert program.plan.stages[edge.first].peak_bytes == edge.peak, edge


@pytest.mark.parametrize("flash", [None, SMALL], ids=["", "slow flash"])
@pytest.mark.parametrize("seed", [0, 3, BLOCKS])
def test_a_space_is_complete_if_nothing_is_left_out(seed: int, flash: FlashCache | None) -> None:
    """With any part of the effort that all stages take; `complete` says whether they are all there."""
    of = ready(seed, small=True, flash=flash)
    whole = space_of(of)
    assert whole.complete
    spent = WORK - whole.budget.left
    for part in range(65):
        space = space_of(of, effort=(spent * part / 64 + 0.5) / WORK)
        assert space.complete == (_names(space) == _names(whole)), part


def _names(space: Space) -> set[tuple[object, ...]]:
    return {(e.first, e.last, e.width, e.go, e.operators) for e in all_edges(space)}


def flash_plans(seed: int) -> Plans:
    core = ("cortex-m33", "cortex-m0")[seed % 2]
    return plans_of(ready(seed, small=True, core=core, flash=SMALL), strips=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_plans_that_weigh_flash_agree(seed: int) -> None:
    of = flash_plans(seed)
    check(of, all_points(of))
    for point in all_points(of):
        assert point.refilled_bytes is not None
        waits, stages = point.waits, len(point.choices)
        least = SMALL.waits(point.refilled_bytes)
        assert least <= waits <= least + stages * SMALL.wait_cycles  # each stage's last line
    for candidate in of.candidates:
        path, point = candidate.path, candidate.points[0]
        if not path.strips:
            assert point.waits == sum(edge.waits for edge in path.edges) == candidate.waits


def test_flash_as_fast_as_the_core_changes_no_plan() -> None:
    for seed in (0, 5, BLOCKS + 3):
        plain = plans_of(ready(seed, small=True, core="cortex-m33"), strips=False)
        fast = FlashCache("RP2350", 1 << 20, 2, 8, 0)
        weighed = ready(seed, small=True, core="cortex-m33", flash=fast)
        same = default(plans_of(weighed, strips=False))
        assert same.arena_bytes == default(plain).arena_bytes
        assert same.instructions == default(plain).instructions


def recounted(order: Sequence[int], sizes: Sequence[int], passes: int, part: FlashCache) -> float:
    """The same, step by step."""
    all_of = sum(sizes[operator] for operator in set(order))
    seen: set[int] = set()
    found, last = 0.0, None
    for operator in order:
        size = sizes[operator]
        if operator not in seen:
            found += size
        elif operator != last:
            found += size * part.missed(all_of)
        again = passes - (operator != last)
        found += again * round(size * part.missed(size))
        seen.add(operator)
        last = operator
    return found


def test_refills_are_those_of_turns() -> None:
    rng = Random(3)
    for _ in range(200):
        count, passes = rng.randint(1, 5), rng.randint(1, 3)
        sizes = [rng.randint(1, 3000) for _ in range(count)]
        part = FlashCache("RP2040", rng.choice((1000, 4000, 9000)), rng.choice((1, 2, 4)), 8, 54)
        order = [rng.randrange(count) for _ in range(rng.randint(1, 30))]
        again = [round(size * part.missed(size)) for size in sizes]
        model = FlashModel(part, np.array(sizes), np.full(count, passes), np.array(again))
        expected = recounted(order, sizes, passes, part)
        assert model.refilled(np.array(order)) == pytest.approx(expected, abs=1)
        at = rng.randrange(len(order))
        with_input = np.array([*order[:at], -1, *order[at:]])
        assert model.refilled(with_input) == model.refilled(np.array(order))


def misses(lines: int, sets: int, ways: int) -> float:
    """Of lines that follow each other, read again and again, those that a cache misses, simulated."""
    held: list[list[int]] = [[] for _ in range(sets)]
    missed = 0
    for turn in range(3):
        for line in range(lines):
            of_set = held[line % sets]
            missed += turn == 2 and line not in of_set
            if line in of_set:
                of_set.remove(line)
            of_set.append(line)
            del of_set[:-ways]
    return missed / lines


def test_what_is_missed_of_what_is_read_again_and_again() -> None:
    for ways in (1, 2, 4):
        part = FlashCache("RP2040", 32 * 8, ways, 8, 54)
        for lines in range(1, 100):
            assert part.missed(8 * lines) == pytest.approx(misses(lines, 32 // ways, ways))
    assert (part.lines(9), part.waits(9)) == (2, 108)


def test_what_operators_read() -> None:
    of = compiled(1).assembly
    ready_net = prepare(of.graph, of.order, target=of.target)
    assert of.target.flash is not None
    small = replace(of.target, flash=replace(of.target.flash, bytes=2048))
    for target, large in ((of.target, False), (small, True)):
        model = flash_model(replace(ready_net, target=target))
        assert model is not None
        weights = [op.id for op in of.graph.ops if op.type == "CONV_2D"][1:]  # 64 x 64
        for op in weights:
            assert 64 * 64 < model.sizes[op] < 2 * 64 * 64
            assert model.passes[op] == 3  # of five pixels, two by two
            assert model.again[op] == (model.sizes[op] if large else 0)
    assert flash_model(replace(ready_net, target=replace(of.target, flash=None))) is None


@cache
def compiled(go: int) -> Compiled:
    """The keyword network by rows, its longest stage so many in a go, for an RP2350."""
    options = Options(target=find_mcu("RP2350").target, smallest=True)
    found = compile_model(loaded("ds-cnn-kws"), options).assembly.plan
    assert found is not None
    stages = tuple(replace(stage.choice, go=go) for stage in found.stages)
    return compile_model(loaded("ds-cnn-kws"), replace(options, smallest=False, stages=stages))


def test_a_plan_at_the_networks_own_cost_is_found() -> None:
    """Of a network with state, which has several stages, each of which waits for whole lines."""
    options = Options(target=find_mcu("RP2040").target, max_overhead=1, cost="instructions")
    assert compile_model(loaded("audio-front-end"), options).arena_bytes


def test_strips_go_over_their_weights_once_for_their_columns() -> None:
    part = FlashCache("RP2040", 1024, 2, 8, 54)
    sizes = np.array([3000, 10])
    model = FlashModel(part, sizes, np.array([6, 1]), np.array([3000, 0]))
    whole, strips = np.array([0, 0, 1]), np.array([0, 0, 1, 0, 0, 1])
    each = model.refilled(strips, np.array([3, 3, 1, 3, 3, 1]))
    assert model.refilled(whole) == 12 * 3000 + 10
    assert each - model.refilled(whole) < part.bytes  # what the second strip reads of the other


def test_a_cortex_m0_makes_pixels_one_by_one() -> None:
    for part, passes in (("RP2040", 5), ("RP2350", 3)):
        target = find_mcu(part).target
        of = compile_model(loaded("ds-cnn-kws"), Options(target=target)).assembly
        model = flash_model(prepare(of.graph, of.order, target=target))
        assert model is not None
        assert {model.passes[op.id] for op in of.graph.ops if op.type == "CONV_2D"} >= {passes}


@pytest.mark.parametrize("go", [1, 2, 4, 1000])
def test_programs_are_bit_exact(go: int) -> None:
    assert verify(compiled(go), samples=2).bit_exact


def test_more_rows_in_a_go_take_more_memory() -> None:
    arenas = [compiled(go).arena_bytes for go in (1, 2, 4, 1000)]
    assert arenas == sorted(arenas)
    assert arenas[0] < arenas[1]
