"""Plans of rows against the definition: valid orders, exact peaks, and the best of all cuts.

Why: a peak that is a row short is an arena in which two rows lie on each other. Every figure of a
plan is recounted here from the steps alone, for random tables and for those of real nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from planned_nets import MODES, table_of
from row_cases import (
    Plan,
    Sketch,
    check_order,
    layer_by_layer,
    live_bytes,
    plan_rows,
    random_table,
)

from assembled import assemble
from lowtide.ir import DType, Graph, Op, Quant, Tensor
from lowtide.ir.liveness import peak_bytes
from lowtide.rows import stages
from lowtide.rows.stages import RowPlan, Segment, row_lives
from lowtide.rows.table import RowTable
from networks import graph_of, row_program

BATCH = 50
batches = pytest.mark.parametrize("first", range(0, 400, BATCH))
NETWORKS = [*range(24), "figure1", "ds-cnn-kws", "resnet8"]


def check_plan(table: RowTable, plan: RowPlan | Plan) -> None:
    """Stages cover the nodes, steps are valid, and all figures are what the steps say."""
    stages = (
        plan.stages
        if isinstance(plan, Plan)
        else [(stage.first, stage.last, stage.peak_bytes) for stage in plan.stages]
    )
    edges = [0, *(last for _, last, _ in stages)]
    assert [first for first, _, _ in stages] == edges[:-1]
    assert edges == sorted(set(edges))
    assert edges[-1] == table.nodes
    check_order(table, plan.steps)
    before, *counted = live_bytes(table, plan.steps)
    at = 0
    for first, last, peak in stages:
        length = sum(table.steps(node) for node in range(first, last))
        members = {node for node, _ in plan.steps[at : at + length]}
        assert members == set(range(first, last))
        assert peak == max(counted[at : at + length])
        at += length
    assert plan.peak_bytes == max(before, *counted)
    assert plan.lower_bound_bytes <= plan.peak_bytes
    # What no order can avoid: all that is given, all that is kept, and what one step needs; scratch
    # memory that is taken because it is free does not count.
    rows = [
        sum(table.size[row] for row in {*table.reads[n][s], *table.writes[n][s]})
        for n, s in plan.steps
    ]
    alone = [size + table.scratch[n] for size, (n, _) in zip(rows, plan.steps, strict=True)]
    given, kept = (sum(table.size[row] for row in rows) for rows in (table.given, table.kept))
    assert max(given, kept, *rows) <= plan.lower_bound_bytes <= max(given, kept, *alone)
    operators = plan.operators if isinstance(plan, RowPlan) else ()
    if len({*operators}) == len(operators):  # nothing runs in parts
        assert plan.lower_bound_bytes == max(given, kept, *alone)


def cuts(nodes: int) -> Iterator[tuple[int, ...]]:
    """All ways to cut `nodes` nodes into runs, as edges from 0 to `nodes`."""
    for chosen in range(1 << (nodes - 1)):
        yield (0, *(i for i in range(1, nodes) if chosen >> (i - 1) & 1), nodes)


def steps_of(table: RowTable, edges: Sequence[int]) -> list[tuple[int, int]]:
    return list(stages.steps_of(table, [Segment(first, last) for first, last in pairwise(edges)]))


@batches
def test_plans_of_random_tables(first: int) -> None:
    for seed in range(first, first + BATCH):
        table = random_table(seed, 10)
        plan = plan_rows(table)
        check_plan(table, plan)
        assert plan.peak_bytes <= max(live_bytes(table, layer_by_layer(table))), seed


@batches
def test_the_best_of_all_cuts(first: int) -> None:
    """The path over positions finds what trying every cut finds, each counted as a whole."""
    for seed in range(first, first + BATCH):
        table = random_table(seed)
        assert table.nodes <= 7
        every = {
            edges: max(live_bytes(table, steps_of(table, edges))) for edges in cuts(table.nodes)
        }
        assert plan_rows(table).peak_bytes == min(every.values()), seed


@batches
def test_any_cut_is_a_valid_order(first: int) -> None:
    for seed in range(first, first + BATCH, 5):
        table = random_table(seed, 5)
        for edges in cuts(table.nodes):
            check_order(table, steps_of(table, edges))


@batches
def test_lives_of_rows(first: int) -> None:
    """Slots are one more than the steps' numbers, and 0 is before the first step."""
    for seed in range(first, first + BATCH):
        table = random_table(seed)
        steps = plan_rows(table).steps
        lives = row_lives(table, steps)
        assert all(0 <= start < end <= len(steps) + 1 for start, end in lives.values())
        totals = [0] * (len(steps) + 1)
        for row, (start, end) in lives.items():
            for slot in range(start, end):
                totals[slot] += table.size[row]
        for slot, (node, _) in enumerate(steps, start=1):
            totals[slot] += table.scratch[node]
        assert totals == live_bytes(table, steps), seed


@batches
def test_out_of_time_there_is_a_plan(first: int) -> None:
    for seed in range(first, first + BATCH):
        table = random_table(seed, 10)
        hurried = plan_rows(table, hurry=True)
        check_plan(table, hurried)
        assert hurried.complete == (table.nodes == 1)
        assert plan_rows(table).complete
        assert hurried.peak_bytes == max(live_bytes(table, layer_by_layer(table)))
        assert plan_rows(table).peak_bytes <= hurried.peak_bytes


@pytest.mark.parametrize("name", NETWORKS)
def test_plans_of_networks(name: int | str) -> None:
    graph = graph_of(name)
    for mode, preserve in MODES:
        program = row_program(name, mode, "resident", preserve)
        plan = program.plan
        assert plan is not None
        table = table_of(program, preserve)
        check_plan(table, plan)
        assert plan.peak_bytes <= max(live_bytes(table, layer_by_layer(table)))
        if (mode, preserve) == ("resident", False):
            scratch = max(entry.node.scratch for entry in program.kernels)
            assert plan.peak_bytes <= peak_bytes(graph, program.order) + scratch


def test_rows_are_asked_for_as_late_as_can_be() -> None:
    """A 3-row window over a 3-row window: two rows ahead, then one by one."""
    sketch = Sketch()
    a, b, c = sketch.tensor(6, 4), sketch.tensor(4, 4), sketch.tensor(2, 4)
    sketch.node([tuple(range(s, s + 3)) for s in range(4)], [(6 + s,) for s in range(4)])
    sketch.node([tuple(range(6 + s, 9 + s)) for s in range(2)], [(10 + s,) for s in range(2)])
    table = sketch.table([a], [c])
    assert b.first == 6
    assert steps_of(table, (0, 2)) == [(0, 0), (0, 1), (0, 2), (1, 0), (0, 3), (1, 1)]
    plan = plan_rows(table)
    # All of the input, and the first row made beside it; layer by layer it is the same here.
    assert plan.peak_bytes == 6 * 4 + 4
    assert plan.lower_bound_bytes == 6 * 4


def test_a_sum_waits_for_its_lagging_branch() -> None:
    """A residual keeps as many rows of its input as the branch is behind, and no more."""
    sketch = Sketch()
    source, wide, branch, total = (sketch.tensor(9, 4) for _ in range(4))
    sketch.node([()] * 9, [(row,) for row in range(9)])
    reads = [tuple(r for r in range(s - 1, s + 2) if 0 <= r < 9) for s in range(9)]
    for first in (wide.first, branch.first):
        sketch.node(
            [tuple(first - 9 + r for r in rows) for rows in reads], [(first + s,) for s in range(9)]
        )
    sketch.node([(s, branch.first + s) for s in range(9)], [(total.first + s,) for s in range(9)])
    sketch.node([(total.first + s,) for s in range(9)], [()] * 9)
    table = sketch.table([], [])
    plan = plan_rows(table)
    check_plan(table, plan)
    assert len(plan.stages) == 1
    assert source.size == 4
    # Rows s .. s + 2 of the source and s - 1 .. s + 1 of the first branch, and one being made.
    assert plan.peak_bytes == 4 * (3 + 3 + 1)


def test_what_is_joined_with_what_is_made_of_it() -> None:
    """Every row of a whole has a column of each of three nodes; two of them read what the first made.

    No step waits for another part of the row that it reads.
    """
    sketch = Sketch()
    source, whole = sketch.tensor(3, 4), sketch.tensor(3, 12)
    rows = range(whole.first, whole.first + 3)
    sketch.node([(row,) for row in range(3)], [(row,) for row in rows])
    sketch.node(
        [tuple(r for r in (row, row + 1) if r in rows) for row in rows], [(r,) for r in rows]
    )
    sketch.node([(row,) for row in rows], [(row,) for row in rows])
    sketch.node([(row,) for row in rows], [()] * 3)
    table = sketch.table([source], [])
    assert steps_of(table, (0, 4)) == [
        *((0, 0), (0, 1), (1, 0), (2, 0), (3, 0), (0, 2), (1, 1), (2, 1), (3, 1)),
        *((1, 2), (2, 2), (3, 2)),
    ]
    # A stage is what is left of a longer one that begins before it.
    assert steps_of(table, (1, 4)) == [s for s in steps_of(table, (0, 4)) if s[0] >= 1]
    assert steps_of(table, (0, 2)) == [(0, 0), (0, 1), (1, 0), (0, 2), (1, 1), (1, 2)]


def test_rows_of_the_input_that_nobody_reads_count_before_the_first_step() -> None:
    """The caller writes the whole input, also what a window with a large stride leaves out."""
    sketch = Sketch()
    source, out = sketch.tensor(8, 4), sketch.tensor(2, 4)
    sketch.node([(0,), (4,)], [(8,), (9,)])
    table = sketch.table([source], [out])
    plan = plan_rows(table)
    assert plan.peak_bytes == max(live_bytes(table, plan.steps)) == 8 * 4


def test_nothing_to_run_is_an_empty_plan() -> None:
    sketch = Sketch()
    source = sketch.tensor(3, 4)
    plan = plan_rows(sketch.table([source], [source]))
    assert plan.steps == ()
    assert plan.peak_bytes == 12


def test_a_variable_is_read_before_it_is_assigned() -> None:
    """New rows are joined with a state that they replace: the state's rows are not lost to them.

    Fewest rows would be live if each new row were stored at once, over a row not read yet.
    """
    quant = Quant((0.5,), (0,), 0)

    tensors = tuple(
        Tensor(i, f"t{i}", (1, rows, 64), DType.INT8, quant, is_variable=i == 1)
        for i, rows in enumerate((4, 4, 4, 4, 8, 8))
    )
    ops = (
        Op(0, "ADD", (0, 0), (2,), {"fused_activation_function": 0}),
        Op(1, "READ_VARIABLE", (1,), (3,)),
        Op(2, "CONCATENATION", (2, 3), (4,), {"axis": 1, "fused_activation_function": 0}),
        Op(3, "ADD", (4, 4), (5,), {"fused_activation_function": 0}),
        Op(4, "ASSIGN_VARIABLE", (1, 2), ()),
    )
    program = assemble(
        Graph("state", tensors, ops, (0,), (5,)), range(5), schedule="rows", input_mode="const"
    )
    assert program.plan is not None
    ran = [program.kernels[node].node.op for node, _ in program.plan.steps]
    read, assigned = ([at for at, op in enumerate(ran) if op == wanted] for wanted in (1, 4))
    assert len(read) == len(assigned) == 4
    assert all(before < after for before, after in zip(read, assigned, strict=True))


def test_rows_that_no_step_touches_do_not_live() -> None:
    """Of some of the first steps, as when a plan is looked at in parts."""
    for seed in range(40):
        table = random_table(seed)
        steps = steps_of(table, [0, table.nodes])
        for count in (1, len(steps) // 2, len(steps)):
            lives = row_lives(table, steps[:count])
            assert all(start < end <= count + 2 for start, end in lives.values())
