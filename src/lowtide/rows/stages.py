"""Stages: runs of nodes whose steps are interleaved, and the best way to cut a network into them.

A stage runs its steps on demand: a step of the last node asks for the rows it reads, whose makers
run just before, and so on back to rows that exist. Every step runs once, so nothing is computed
twice. A row is live from the step that makes it to the last that reads it; the stage's peak is the
largest sum of live rows and scratch, everything live before, through and after it included.

Cutting a sequence of nodes into stages of least peak is a shortest (minimax) path over positions in
the sequence: the state graph of `schedule.search`, along one order.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from lowtide.rows.table import RowTable

Step = tuple[int, int]
"""(node, number of its step)."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Nodes [first, last) of the table, run together; `peak_bytes` while they do."""

    first: int
    last: int
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class RowPlan:
    """All steps of all nodes in the order they run, and the stages they come from.

    `peak_bytes` is the largest sum of live rows and scratch. No order of these steps can beat
    `lower_bound_bytes`: every step needs the rows it touches, all given rows are there before the
    first step and all kept rows after the last.
    """

    stages: tuple[Stage, ...]
    steps: tuple[Step, ...]
    peak_bytes: int
    lower_bound_bytes: int


def plan_rows(table: RowTable, *, seconds: float = 20.0) -> RowPlan:
    """The cut into stages of least peak, for the nodes' order; past `seconds`, the best seen."""
    search = _Search(table, monotonic() + seconds)
    stages = search.stages()
    steps = [step for stage in stages for step in demand(table, range(stage.first, stage.last))]
    given = sum(table.size[row] for row in table.given)
    least = [
        sum(table.size[row] for row in {*reads, *writes}) + table.scratch[node]
        for node in range(table.nodes)
        for reads, writes in zip(table.reads[node], table.writes[node], strict=True)
    ]
    bound = max([given, sum(table.size[row] for row in table.kept), *least])
    return RowPlan(
        stages=tuple(stages),
        steps=tuple(steps),
        peak_bytes=max([given, *(stage.peak_bytes for stage in stages)]),
        lower_bound_bytes=bound,
    )


def demand(table: RowTable, members: Sequence[int]) -> list[Step]:
    """The steps of the nodes `members`, each run as late as the rows it makes are asked for.

    Nodes whose rows no member reads ask, the least advanced first.
    """
    inside = set(members)
    done = dict.fromkeys(members, 0)
    read = {row for node in members for rows in table.reads[node] for row in rows}
    sinks = [n for n in members if not any(r in read for rows in table.writes[n] for r in rows)]
    steps: list[Step] = []

    def run(node: int) -> None:
        """Run the next step of `node`, and whatever must run before it."""
        stack = [(node, done[node])]
        while stack:
            at, upto = stack[-1]
            if done[at] > upto:
                stack.pop()
                continue
            missing = next(
                (
                    (maker, step)
                    for row in table.reads[at][done[at]]
                    for maker, step in table.makers[row]
                    if maker in inside and done[maker] <= step and maker != at
                ),
                None,
            )
            if missing is not None:
                stack.append(missing)
            else:
                steps.append((at, done[at]))
                done[at] += 1

    queue = [(0.0, node) for node in sinks]
    while queue:
        _, node = heapq.heappop(queue)
        run(node)
        if done[node] < table.steps(node):
            heapq.heappush(queue, (done[node] / table.steps(node), node))
    for node in members:  # steps that make rows nobody reads
        while done[node] < table.steps(node):
            run(node)
    return steps


class _Search:
    """Dynamic programming over positions in the sequence of nodes."""

    def __init__(self, table: RowTable, deadline: float) -> None:
        self.table = table
        self.deadline = deadline
        # The last node that reads each row; one past the end for what is kept.
        self.last_reader = [-1] * len(table.size)
        self.first_maker = [-1] * len(table.size)
        for node in range(table.nodes):
            for rows in table.reads[node]:
                for row in rows:
                    self.last_reader[row] = node
            for rows in table.writes[node]:
                for row in rows:
                    if self.first_maker[row] < 0:
                        self.first_maker[row] = node
        for row in table.kept:
            self.last_reader[row] = table.nodes

    def stages(self) -> list[Stage]:
        n = self.table.nodes
        best = [0] + [1 << 62] * n
        came: list[Stage | None] = [None] * (n + 1)
        for last in range(1, n + 1):
            for first in range(last - 1, -1, -1):
                if best[first] >= best[last]:
                    continue
                if first < last - 1 and (
                    monotonic() > self.deadline or self.table.alone & set(range(first, last))
                ):
                    break
                peak = self.peak(first, last)
                if max(best[first], peak) < best[last]:
                    best[last] = max(best[first], peak)
                    came[last] = Stage(first, last, peak)
        stages: list[Stage] = []
        at = n
        while at:
            stage = came[at]
            assert stage is not None
            stages.append(stage)
            at = stage.first
        return stages[::-1]

    def peak(self, first: int, last: int) -> int:
        """Peak bytes while the nodes [first, last) run as one stage."""
        table = self.table
        steps = demand(table, range(first, last))
        start, end = _spans(table, steps)
        through = 0
        change = [0] * (len(steps) + 1)
        for row, size in enumerate(table.size):
            if row in start:
                begin = start[row] if self.first_maker[row] >= first else 0
                stop = len(steps) if self.last_reader[row] >= last else end[row] + 1
                change[begin] += size
                change[stop] -= size
            elif self.first_maker[row] < first and self.last_reader[row] >= first:
                through += size
        live, peak = through, 0
        for (node, _), delta in zip(steps, change, strict=False):
            live += delta
            peak = max(peak, live + table.scratch[node])
        return peak


def _spans(table: RowTable, steps: Sequence[Step]) -> tuple[dict[int, int], dict[int, int]]:
    """Row -> first and last of `steps` that touches it."""
    start: dict[int, int] = {}
    end: dict[int, int] = {}
    for at, (node, step) in enumerate(steps):
        for row in (*table.reads[node][step], *table.writes[node][step]):
            start.setdefault(row, at)
            end[row] = at
    return start, end


def row_lives(table: RowTable, steps: Sequence[Step]) -> dict[int, tuple[int, int]]:
    """Row -> half-open interval of slots; slot 0 is before the first step, slot k + 1 is step k.

    Given rows live from slot 0, kept rows to the end, rows that nothing touches not at all (given
    ones in slot 0).
    """
    start, end = _spans(table, steps)
    lives = {row: (start[row] + 1, end[row] + 2) for row in start}
    for row in table.given:
        lives[row] = (0, lives[row][1] if row in lives else 1)
    for row in table.kept:
        if row in lives:
            lives[row] = (lives[row][0], len(steps) + 1)
    return lives
