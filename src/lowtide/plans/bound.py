"""A lower bound on the RAM of any order of a network's steps in which each runs once.

When some step runs, everything it depends on has run, nothing that depends on it has, and about the
rest nothing is known. Of all sets of finished steps that this allows, one leaves the fewest bytes
live; that is a minimum cut, since a row costs its size if its maker is on the finished side and some
reader is not:

    maker --size--> [row] --inf--> each reader         (finished steps are on the source's side)
    step  --inf---> what it reads from

No order can need less than that for any step. A few steps of every node are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable

from lowtide.effort import Budget, budget
from lowtide.order.bounds import Network
from lowtide.plans.placed import PlacedPlan
from lowtide.rows.stages import live_bytes, row_lives
from lowtide.rows.table import RowTable

Step = tuple[int, int]
_NEVER = 1 << 60

WORK = 6_000_000
"""Arcs that may be looked at by default."""


def plan_bound(placed: PlacedPlan, *, effort: float = 1.0) -> int:
    """Bytes that no order of a plan's steps can do without: the simple bound, or a stronger one where
    there are no strips. `effort` is a factor of what the search for it may spend."""
    plan = placed.plan
    if any(stage.strip_width is not None for stage in plan.stages):
        return plan.lower_bound_bytes
    table = placed.rows.table
    live = live_bytes(table, plan.steps, row_lives(table, plan.steps))
    crowded = sorted(range(len(plan.steps)), key=lambda at: -live[at + 1])
    hints = [plan.steps[at] for at in crowded]
    return max(
        plan.lower_bound_bytes,
        lower_bound(table, hints, ceiling=placed.arena_bytes, work=budget(WORK, effort)),
    )


def lower_bound(
    table: RowTable, hints: Iterable[Step], *, ceiling: int, work: Budget | None = None
) -> int:
    """Bytes that no order of the steps can do without; `ceiling` is what some order needs.

    The steps in `hints` are looked at, one of every node first, until `work` is used up, which is spent
    by the arcs of their networks, or one proves the ceiling optimal.
    """
    work = work or Budget(WORK)
    bound = 0
    for at in _spread(hints):
        if bound >= ceiling or work.used_up:
            break
        bound = max(bound, _isolated(table, at, work))
    return bound


def _spread(hints: Iterable[Step]) -> list[Step]:
    """The first of every node, then the second, and so on."""
    of_node: dict[int, int] = {}
    ranked = []
    for number, step in enumerate(hints):
        of_node[step[0]] = of_node.get(step[0], -1) + 1
        ranked.append((of_node[step[0]], number, step))
    return [step for _, _, step in sorted(ranked)]


def _isolated(table: RowTable, at: Step, work: Budget) -> int:
    """The fewest bytes that can be live while the step `at` runs."""
    before = _before(table, at)
    after = _after(table, at)
    net = Network(2)
    source, sink = 0, 1
    vertex: dict[Step, int] = dict.fromkeys(before, source) | dict.fromkeys(after, sink)
    vertex[at] = sink

    def of(step: Step) -> int:
        if step not in vertex:
            vertex[step] = net.node()
        return vertex[step]

    readers: dict[int, list[Step]] = {}
    for node in range(table.nodes):
        for step, rows in enumerate(table.reads[node]):
            me = of((node, step))
            if step:
                net.add(me, of((node, step - 1)), _NEVER)
            for row in rows:
                readers.setdefault(row, []).append((node, step))
            for maker in table.needs(node, step):
                net.add(me, of(maker), _NEVER)
    own = {*table.reads[at[0]][at[1]], *table.writes[at[0]][at[1]]}
    sure = table.scratch[at[0]] + sum(table.size[row] for row in own)
    for row, size in enumerate(table.size):
        if row in own or not size:
            continue
        makers = table.makers[row]
        made = source if row in table.given else of(makers[-1]) if makers else sink
        if made == sink:
            continue
        if row in table.kept:
            net.add(made, sink, size)
            continue
        ends = {of(reader) for reader in readers.get(row, ())}
        if not ends or ends == {made}:
            continue
        if len(ends) == 1:
            net.add(made, ends.pop(), size)
            continue
        vertex_of_row = net.node()
        net.add(made, vertex_of_row, size)
        for end in ends:
            net.add(vertex_of_row, end, _NEVER)
    return sure + net.max_flow(source, sink, work)


def _before(table: RowTable, at: Step) -> set[Step]:
    """All steps that must have run when `at` does."""
    found: set[Step] = set()
    stack = [at]
    while stack:
        node, step = stack.pop()
        needs = [(node, step - 1)] if step else []
        needs += table.needs(node, step)
        for need in needs:
            if need not in found:
                found.add(need)
                stack.append(need)
    return found


def _after(table: RowTable, at: Step) -> set[Step]:
    """All steps that can only run after `at`."""
    readers: dict[Step, list[Step]] = {}
    for node in range(table.nodes):
        for step in range(table.steps(node)):
            for need in table.needs(node, step):
                readers.setdefault(need, []).append((node, step))
    found: set[Step] = set()
    stack = [at]
    while stack:
        node, step = stack.pop()
        nexts = [(node, step + 1)] if step + 1 < table.steps(node) else []
        nexts += readers.get((node, step), [])
        for later in nexts:
            if later != at and later not in found:
                found.add(later)
                stack.append(later)
    return found
