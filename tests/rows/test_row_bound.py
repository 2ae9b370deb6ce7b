"""The lower bound for any order of a table's steps, against all orders and against its definition."""

from __future__ import annotations

import pytest
from row_cases import Step, layer_by_layer, random_table

from lowtide.effort import Budget
from lowtide.plans.bound import WORK, lower_bound
from lowtide.rows.table import RowTable

_NO_CEILING = 1 << 40
Done = tuple[int, ...]
"""How many steps of each node have run."""


def moments(table: RowTable) -> dict[tuple[Done, Step], int]:
    """Bytes that are live when a step runs after these others, for all that can come before it."""
    nodes = range(table.nodes)
    steps = layer_by_layer(table)
    touched = {
        step: {*table.reads[step[0]][step[1]], *table.writes[step[0]][step[1]]} for step in steps
    }
    makers = {
        row: {step for step in steps if row in table.writes[step[0]][step[1]]}
        for row in range(len(table.size))
    }
    found: dict[tuple[Done, Step], int] = {}
    seen: set[Done] = set()
    todo: list[Done] = [(0,) * table.nodes]
    while todo:
        done = todo.pop()
        if done in seen:
            continue
        seen.add(done)
        gone = {(node, step) for node in nodes for step in range(done[node])}
        for node in nodes:
            step = (node, done[node])
            if step not in touched or any(
                not makers[row] - {step} <= gone for row in table.reads[step[0]][step[1]]
            ):
                continue
            past = {row for each in gone for row in touched[each]} | table.given
            future = {row for each in steps if each not in gone for row in touched[each]}
            live = touched[step] | (past & (future | table.kept))
            found[done, step] = table.scratch[node] + sum(table.size[row] for row in live)
            todo.append((*done[:node], done[node] + 1, *done[node + 1 :]))
    return found


def least_peak(table: RowTable, moments: dict[tuple[Done, Step], int]) -> int:
    """The least peak of any order, of all of them."""
    best: dict[Done, int] = {(0,) * table.nodes: 0}
    last = tuple(table.steps(node) for node in range(table.nodes))
    for (done, (node, _)), live in sorted(moments.items(), key=lambda each: sum(each[0][0])):
        after = (*done[:node], done[node] + 1, *done[node + 1 :])
        best[after] = min(best.get(after, _NO_CEILING), max(best[done], live))
    return best[last]


@pytest.mark.parametrize("seed", range(300))
def test_no_order_needs_less(seed: int) -> None:
    """For each step, the bound is the least that can be live when it runs: its definition."""
    table = random_table(seed, most=4)
    steps = layer_by_layer(table)
    if len(steps) > 24:
        return
    all_moments = moments(table)
    by_step = dict.fromkeys(steps, _NO_CEILING)
    for (_, step), live in all_moments.items():
        by_step[step] = min(by_step[step], live)
    found = {
        step: lower_bound(table, [step], ceiling=_NO_CEILING, work=Budget(WORK)) for step in steps
    }
    written = [row for node, step in steps for row in table.writes[node][step]]
    at_once = len(written) == len(
        set(written)
    )  # else the bound counts a row from its last maker on
    for step in steps:
        assert found[step] <= by_step[step]
        if at_once:
            assert found[step] == by_step[step], step
    best = least_peak(table, all_moments)
    bound = lower_bound(table, steps, ceiling=_NO_CEILING, work=Budget(WORK))
    assert bound == max(found.values()) <= best
    assert lower_bound(table, steps, ceiling=0) == 0
