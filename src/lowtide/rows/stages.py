"""Stages: runs of nodes whose steps are interleaved; the order of steps, and when each row is live.

A stage runs its steps on demand: a step of the last node asks for the rows it reads, whose makers
run just before, and so on back to rows that exist. Every step runs once, so nothing is computed
twice. A row is live from the step that makes it to the last that reads it; the stage's peak is the
largest sum of live rows and scratch, everything live before, through and after it included.

A stage may make several rows in a go: its last node asks for what so many of its steps read, each maker
runs all that it is asked for, and so on. More rows are live, but whoever runs many steps on end reads
its weights from slow flash once.

A stage in strips (`rows.columns`) is several segments, one for each strip that differs from its
neighbours; a segment that stands for several equal strips is run `times` times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from lowtide.rows.table import Ints, RowTable, summed

Step = tuple[int, int]
"""(node, number of its step)."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Nodes [first, last) of the table, whose steps interleave, `times` times over; the last ones take
    `go` steps in a go."""

    first: int
    last: int
    times: int = 1
    go: int = 1


@dataclass(frozen=True, slots=True)
class Fused:
    """Operators that run as one block (`rows.blocks`), with `kept_rows` rows kept between its steps."""

    operators: tuple[int, ...]
    kept_rows: int


@dataclass(frozen=True, slots=True)
class Limit:
    """From step `step` of it on, an operator runs in the form of the most scratch memory that is at most
    `bytes`, or of the least, or, if that is NORMAL, in its normal form."""

    operator: int
    bytes: int
    step: int = 0

    @property
    def place(self) -> tuple[int, int]:
        """Where it comes among others."""
        return self.operator, self.step


@dataclass(frozen=True, slots=True)
class Choice:
    """Operators that run together, in strips of `strip_width` columns if that is not None; otherwise
    they make `go` rows in a go.

    Kernels that have several forms run in their normal one, but for those of operators of which `limits`
    says how many bytes of scratch memory they may take: the first from step 0 on, others from a later
    one, which full width alone has. Some of the operators may run as `blocks`, whose limits are those of
    the first of their operators.
    """

    operators: tuple[int, ...]
    strip_width: int | None = None
    blocks: tuple[Fused, ...] = ()
    limits: tuple[Limit, ...] = ()
    go: int = 1

    def limits_of(self, members: Sequence[int]) -> tuple[Limit, ...]:
        """Those of the operator, or block, of these operators of the network, by their first steps:
        those of the first of them that has any."""
        limited = {limit.operator for limit in self.limits}
        operator = next((member for member in members if member in limited), -1)
        mine = (limit for limit in self.limits if limit.operator == operator)
        return tuple(sorted(mine, key=lambda limit: limit.place))


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
    def blocks(self) -> tuple[Fused, ...]:
        """The operators that run as blocks."""
        return self.choice.blocks


@dataclass(frozen=True, slots=True)
class RowPlan:
    """All steps of all nodes in the order they run, and the stages they come from.

    The steps of a segment that is run several times are listed once. `operators` are those of the nodes,
    a block one of its own (see `rows.prepare.Prepared.wide`), -1 for an exchange. `peak_bytes` is the
    largest sum of live rows and scratch, `macs` what the plan computes. No order of these steps can
    beat `lower_bound_bytes`, each operator in the form of least scratch memory that it is to have in one
    of its steps: every step needs the rows it touches, all given rows are there before the first step
    and all kept rows after the last.
    """

    stages: tuple[Stage, ...]
    segments: tuple[Segment, ...]
    steps: tuple[Step, ...]
    operators: tuple[int, ...]
    peak_bytes: int
    lower_bound_bytes: int
    macs: int


def demand(table: RowTable, first: int, last: int, go: int = 1) -> list[int]:
    """The nodes [first, last) in the order of their steps, each of which runs as late as the rows it
    makes are asked for.

    Nodes whose rows no later one of them reads ask for `go` steps, the least advanced first. This ends:
    a step waits for nodes before its own alone (`RowTable.waits`).
    """
    begin, waits = table.begin, table.waits
    if last - first == 1:
        return [first] * table.steps(first)
    done = [begin[-1]] * first + [0] * (last - first)
    steps = [after - before for before, after in pairwise(begin[: last + 1])]
    order: list[int] = []

    def run(node: int, count: int) -> None:
        """Run the first `count` steps of `node`, and whatever must run before them."""
        stack = [(node, count)]
        while stack:
            at, goal = stack[-1]
            step, base = done[at], begin[at]
            if go > 1 and (asked := unmet(at, goal)):
                stack.append(asked)
                continue
            while step < goal:
                for need in waits[base + step]:
                    if done[need[0]] < need[1]:
                        stack.append(need)
                        break
                else:
                    order.append(at)
                    step += 1
                    done[at] = step
                    continue
                break
            else:
                stack.pop()

    def unmet(node: int, count: int) -> tuple[int, int] | None:
        """What the steps of `node` up to `count` wait for first: a maker, and all they want of it."""
        of = [
            need
            for step in range(done[node], count)
            for need in waits[begin[node] + step]
            if done[need[0]] < need[1]
        ]
        return max((need for need in of if need[0] == of[0][0]), default=None)

    sinks = [node for node in range(first, last) if table.first_reader[node] >= last]
    if len(sinks) == 1 and go == 1:
        run(sinks[0], steps[sinks[0]])
    else:
        turns = ((step / steps[node], node) for node in sinks for step in range(0, steps[node], go))
        for _, node in sorted(turns):
            run(node, min(done[node] + go, steps[node]))
    for node in range(first, last):  # steps that make rows nobody reads
        run(node, steps[node])
    return order


def steps_of(table: RowTable, segments: Sequence[Segment]) -> tuple[Step, ...]:
    """The steps of all segments, each listed once."""
    done = [0] * table.nodes
    steps: list[Step] = []
    for node in (node for s in segments for node in demand(table, s.first, s.last, s.go)):
        steps.append((node, done[node]))
        done[node] += 1
    return tuple(steps)


def row_lives(
    table: RowTable, steps: Sequence[Step], segments: Sequence[Segment] = ()
) -> dict[int, tuple[int, int]]:
    """Row -> half-open interval of slots; slot 0 is before the first step, slot k + 1 is step k.

    Given rows live from slot 0, kept rows to the end, rows that nothing touches not at all (given
    ones in slot 0). What a repeated segment reads, and did not make, is needed to the segment's end;
    what it makes and leaves is there from its start.
    """
    touches = table.touches
    slot = np.zeros(table.begin[-1], np.int64)
    slot[[table.begin[node] + step for node, step in steps]] = range(1, len(steps) + 1)
    start, end = row_spans(table, slot)
    kept = np.zeros(len(start), np.bool_)
    kept[list(table.kept)] = True
    at = 1
    for segment in segments:
        here = slice(table.begin[segment.first], table.begin[segment.last])
        first, at = at, at + here.stop - here.start
        if segment.times > 1:
            low, high = np.searchsorted(touches.step, (here.start, here.stop))
            rows = np.unique(touches.row[low:high])
            before = start[rows] < first
            end[rows[before]] = np.maximum(end[rows[before]], at)
            stays = (end[rows] > at) | kept[rows]
            start[rows[stays]] = np.minimum(start[rows[stays]], first)
    live = np.flatnonzero(end > 0)
    spans = zip(start[live].tolist(), end[live].tolist(), strict=True)
    return dict(zip(live.tolist(), spans, strict=True))


def row_spans(table: RowTable, slot: Ints) -> tuple[Ints, Ints]:
    """First slot and end of each row as `row_lives` has them, if no segment is repeated; step k of all
    runs in `slot[k]`, or not at all if that is 0. The end of rows that are never live is 0."""
    touches, ran = table.touches, slot > 0
    never = int(ran.sum()) + 1
    start, end = np.full(len(table.size), never), np.zeros(len(table.size), np.int64)
    row, when = touches.row[ran[touches.step]], slot[touches.step[ran[touches.step]]]
    np.minimum.at(start, row, when)
    np.maximum.at(end, row, when + 1)
    given, kept = list(table.given), list(table.kept)
    start[given], end[given] = 0, np.maximum(end[given], 1)
    end[kept] = np.where(end[kept] > 0, never, 0)
    return start, end


def live_in(start: Ints, end: Ints, size: Ints, slots: int) -> Ints:
    """Bytes of rows that are live in each of so many slots: row i in `start[i]` to `end[i]` - 1."""
    change = summed(start, size, slots + 1) - summed(end, size, slots + 1)
    return np.cumsum(change[:slots]).astype(np.int64)


def live_bytes(
    table: RowTable, steps: Sequence[Step], lives: Mapping[int, tuple[int, int]]
) -> list[int]:
    """Bytes of live rows and scratch in each slot."""
    change = [0] * (len(steps) + 2)
    for row, (start, end) in lives.items():
        change[start] += table.size[row]
        change[end] -= table.size[row]
    scratch = (0, *(table.scratch[node] for node, _ in steps))
    return [live + own for live, own in zip(accumulate(change), scratch, strict=False)]


def touched_bytes(table: RowTable) -> Ints:
    """Of each step, the bytes of the rows that it touches."""
    touches, rows = table.touches, max(1, len(table.size))
    once = np.unique(touches.step * rows + touches.row)
    found = np.zeros(table.begin[-1], np.int64)
    np.add.at(found, once // rows, table.sizes[once % rows])
    return found


def ends_bytes(table: RowTable) -> int:
    """Bytes that are there before the first step, or after the last."""
    return max(int(table.sizes[list(rows)].sum()) for rows in (table.given, table.kept))


def lower_bound(table: RowTable) -> int:
    """No order of the steps needs less: see RowPlan."""
    most = touched_bytes(table) + table.step_scratch
    return max(ends_bytes(table), int(most.max(initial=0)))
