"""Stages: runs of nodes whose steps are interleaved; the order of steps, and when each row is live.

A stage runs its steps on demand: a step of the last node asks for the rows it reads, whose makers
run just before, and so on back to rows that exist. Every step runs once, so nothing is computed
twice. A row is live from the step that makes it to the last that reads it; the stage's peak is the
largest sum of live rows and scratch, everything live before, through and after it included.

A stage in strips (`rows.columns`) is several segments, one for each strip that differs from its
neighbours; a segment that stands for several equal strips is run `times` times.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lowtide.rows.table import RowTable

Step = tuple[int, int]
"""(node, number of its step)."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Nodes [first, last) of the table, whose steps interleave, `times` times over."""

    first: int
    last: int
    times: int = 1


@dataclass(frozen=True, slots=True)
class Fused:
    """Operators that run as one block (`rows.blocks`), with `kept_rows` rows kept between its steps."""

    operators: tuple[int, ...]
    kept_rows: int


@dataclass(frozen=True, slots=True)
class Choice:
    """Operators that run together, in strips of `strip_width` columns if that is not None.

    Kernels that have several forms run in their normal one, or with `lean` in that of least scratch
    memory. But `limits` says of some operators how many bytes of it they may take: those run in the form
    of the most that is no more. Some of the operators may run as `blocks`, whose limit is that of the
    first of their operators.
    """

    operators: tuple[int, ...]
    strip_width: int | None = None
    lean: bool = False
    blocks: tuple[Fused, ...] = ()
    limits: tuple[tuple[int, int], ...] = ()

    def limit(self, members: Sequence[int]) -> int | None:
        """Bytes of scratch memory that the operator, or block, of these operators of the network may
        take; None if it is to run in its normal form."""
        limits = dict(self.limits)
        found = next((limits[member] for member in members if member in limits), None)
        return 0 if found is None and self.lean else found


@dataclass(frozen=True, slots=True)
class Stage:
    """A choice, and what became of it: the stage's nodes are [first, last); `peak_bytes` is the most
    that is live while they run."""

    choice: Choice
    first: int
    last: int
    peak_bytes: int

    @property
    def operators(self) -> tuple[int, ...]:
        """The operators that run together."""
        return self.choice.operators

    @property
    def strip_width(self) -> int | None:
        """In columns of their output; None for all of it."""
        return self.choice.strip_width

    @property
    def lean(self) -> bool:
        """Whether kernels run in their lean form."""
        return self.choice.lean

    @property
    def blocks(self) -> tuple[Fused, ...]:
        """The operators that run as blocks."""
        return self.choice.blocks


@dataclass(frozen=True, slots=True)
class RowPlan:
    """All steps of all nodes in the order they run, and the stages they come from.

    The steps of a segment that is run several times are listed once. `operators` are those of the nodes,
    a block one of its own (see `rows.prepare.Prepared.wide`), -1 for an exchange. `peak_bytes` is the
    largest sum of live rows and scratch, `macs` what the plan computes. No order of these steps can
    beat `lower_bound_bytes`: every step needs the rows it touches, all given rows are there before the
    first step and all kept rows after the last.
    """

    stages: tuple[Stage, ...]
    segments: tuple[Segment, ...]
    steps: tuple[Step, ...]
    operators: tuple[int, ...]
    peak_bytes: int
    lower_bound_bytes: int
    macs: int


def demand(table: RowTable, members: Sequence[int]) -> list[Step]:
    """The steps of the nodes `members`, each run as late as the rows it makes are asked for.

    Nodes whose rows no later member reads ask, the least advanced first. This ends: a step waits for
    nodes before its own alone (`RowTable.needs`).
    """
    inside = set(members)
    done = dict.fromkeys(members, 0)
    reader = {row: node for node in sorted(members) for rows in table.reads[node] for row in rows}
    sinks = [
        n for n in members if all(reader.get(r, n) <= n for rows in table.writes[n] for r in rows)
    ]
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
                    for maker, step in table.needs(at, done[at])
                    if maker in inside and done[maker] <= step
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


def steps_of(table: RowTable, segments: Sequence[Segment]) -> tuple[Step, ...]:
    """The steps of all segments, each listed once."""
    return tuple(s for seg in segments for s in demand(table, range(seg.first, seg.last)))


def spans(table: RowTable, steps: Sequence[Step]) -> dict[int, tuple[int, int]]:
    """Row -> first and last of `steps` that touches it."""
    found: dict[int, tuple[int, int]] = {}
    for at, (node, step) in enumerate(steps):
        for row in (*table.reads[node][step], *table.writes[node][step]):
            found[row] = (found[row][0] if row in found else at, at)
    return found


def row_lives(
    table: RowTable, steps: Sequence[Step], segments: Sequence[Segment] = ()
) -> dict[int, tuple[int, int]]:
    """Row -> half-open interval of slots; slot 0 is before the first step, slot k + 1 is step k.

    Given rows live from slot 0, kept rows to the end, rows that nothing touches not at all (given
    ones in slot 0). What a repeated segment reads, and did not make, is needed to the segment's end;
    what it makes and leaves is there from its start.
    """
    touched = spans(table, steps)
    lives = {row: (start + 1, end + 2) for row, (start, end) in touched.items()}
    for row in table.given:
        lives[row] = (0, lives[row][1] if row in lives else 1)
    for row in table.kept:
        if row in lives:
            lives[row] = (lives[row][0], len(steps) + 1)
    at = 0
    for segment in segments:
        nodes = range(segment.first, segment.last)
        begin, at = at, at + sum(table.steps(node) for node in nodes)
        if segment.times == 1:
            continue
        rows = {
            row
            for node in nodes
            for step in range(table.steps(node))
            for row in (*table.reads[node][step], *table.writes[node][step])
        }
        for row in rows:
            start, end = lives[row]
            if start < begin + 1:
                end = max(end, at + 1)
            if end > at + 1 or row in table.kept:
                start = min(start, begin + 1)
            lives[row] = (start, end)
    return lives


def live_bytes(
    table: RowTable, steps: Sequence[Step], lives: Mapping[int, tuple[int, int]]
) -> list[int]:
    """Bytes of live rows and scratch in each slot."""
    change = [0] * (len(steps) + 2)
    for row, (start, end) in lives.items():
        change[start] += table.size[row]
        change[end] -= table.size[row]
    found, live = [], 0
    for slot in range(len(steps) + 1):
        live += change[slot]
        found.append(live + (table.scratch[steps[slot - 1][0]] if slot else 0))
    return found


def lower_bound(table: RowTable) -> int:
    """No order of the steps needs less: see RowPlan."""
    least = [
        sum(table.size[row] for row in {*reads, *writes}) + table.scratch[node]
        for node in range(table.nodes)
        for reads, writes in zip(table.reads[node], table.writes[node], strict=True)
    ]
    given = sum(table.size[row] for row in table.given)
    return max([given, sum(table.size[row] for row in table.kept), *least])
