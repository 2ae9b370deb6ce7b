"""Random tables of rows, and the definition of live bytes, written down as it stands.

Nothing here but `plan_rows` and `placed` uses `lowtide.rows.stages`: memory is a sum over the rows that
are needed at a moment, worked out anew for every step. Slow, and short enough to be believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random

import numpy as np

from lowtide.effort import Budget
from lowtide.ir import Graph, Op
from lowtide.place import Placement
from lowtide.place.rows import place_rows
from lowtide.plans.search import cheapest
from lowtide.plans.space import WORK, Space, Stages
from lowtide.rows import stages
from lowtide.rows.groups import Group
from lowtide.rows.table import Cut, RowTable, Touches

Step = tuple[int, int]
Rows = tuple[int, ...]


@dataclass(slots=True)
class Sketch:
    """A table under construction."""

    cuts: list[Cut] = field(default_factory=list)
    size: list[int] = field(default_factory=list)
    reads: list[tuple[Rows, ...]] = field(default_factory=list)
    writes: list[tuple[Rows, ...]] = field(default_factory=list)
    scratch: list[int] = field(default_factory=list)
    lasting: list[int] = field(default_factory=list)

    def tensor(self, count: int, size: int) -> Cut:
        """A tensor of `count` rows."""
        self.cuts.append(Cut(len(self.cuts), len(self.size), count, size))
        self.size += [size] * count
        return self.cuts[-1]

    def node(
        self, reads: Sequence[Rows], writes: Sequence[Rows], scratch: int = 0, lasting: int = 0
    ) -> None:
        """A node: per step, the rows it reads and writes. `lasting` scratch is a row of its own."""
        extra: Rows = (len(self.size),) if lasting else ()
        self.lasting.append(len(self.size) if lasting else -1)
        self.size += [lasting] * bool(lasting)
        self.reads.append(tuple(reads))
        self.writes.append(tuple(rows + extra for rows in writes))
        self.scratch.append(scratch)

    def table(self, given: Sequence[Cut], kept: Sequence[Cut]) -> RowTable:
        """The table, with every row of `given` and `kept` tensors marked so."""
        steps = [
            both
            for reads, writes in zip(self.reads, self.writes, strict=True)
            for both in zip(reads, writes, strict=True)
        ]
        touches = [
            (number, row, made)
            for number, both in enumerate(steps)
            for made, rows in enumerate(both)
            for row in dict.fromkeys(rows)
        ]
        step, row, made = np.array(touches, np.int64).reshape(-1, 3).T
        return RowTable(
            cuts=tuple(self.cuts),
            size=tuple(self.size),
            begin=tuple(accumulate(map(len, self.reads), initial=0)),
            touches=Touches(step, row, made > 0),
            given=frozenset(row for cut in given for row in rows_of(cut)),
            kept=frozenset(row for cut in kept for row in rows_of(cut)),
            scratch=tuple(self.scratch),
            lasting=tuple(self.lasting),
        )


def rows_of(cut: Cut) -> Rows:
    return tuple(range(cut.first, cut.first + cut.count))


def random_table(seed: int, most: int = 7) -> RowTable:
    """Windows with padding and strides, sums, reductions, splits, joins, whole tensors, dead ends."""
    rng = Random(seed)
    sketch = Sketch()
    even = rng.random() < 0.5  # sizes that are multiples of the alignment

    def size() -> int:
        return rng.randint(1, 12) * (4 if even else 1)

    inputs = [sketch.tensor(rng.randint(1, 7), size()) for _ in range(rng.choice((1, 1, 2)))]
    for _ in range(rng.randint(1, most)):
        if len(sketch.reads) + 2 > most and sketch.reads:
            break
        back = rng.choice((2, 3, 9))
        source = rng.choice(sketch.cuts[-back:])
        rows = rows_of(source)
        scratch = rng.choice((0, 0, size()))
        match rng.choice(("window", "window", "sum", "eat", "whole", "solid", "split", "join")):
            case "window":
                kernel, stride, pad = rng.randint(1, 3), rng.randint(1, 2), rng.randint(0, 1)
                starts = range(-pad, max(1 - pad, source.count + pad - kernel + 1), stride)
                out = rows_of(sketch.tensor(len(starts), size()))
                reads = [
                    tuple(r for i, r in enumerate(rows) if s <= i < s + kernel) for s in starts
                ]
                sketch.node(reads, [(row,) for row in out], scratch)
            case "sum":
                alike = [cut for cut in sketch.cuts if cut.count == source.count]
                other = rows_of(rng.choice(alike))
                out = rows_of(sketch.tensor(source.count, size()))
                reads = [tuple({a, b}) for a, b in zip(rows, other, strict=True)]
                sketch.node(reads, [(row,) for row in out], scratch)
            case "eat":
                total = sketch.tensor(1, size()).first
                made: list[Rows] = [*[()] * (len(rows) - 1), (total,)]
                sketch.node([(row,) for row in rows], made, lasting=size())
            case "whole":
                out = rows_of(sketch.tensor(rng.randint(1, 4), size()))
                sketch.node([rows] * len(out), [(row,) for row in out], scratch)
            case "solid":  # made row by row, and read in another cut: one row
                solid = sketch.tensor(1, size()).first
                sketch.node([(row,) for row in rows], [(solid,)] * len(rows), scratch)
            case "split":
                outs = [rows_of(sketch.tensor(source.count, size())) for _ in range(2)]
                sketch.node([(row,) for row in rows], list(zip(*outs, strict=True)), scratch)
            case _:
                other = rows_of(rng.choice(sketch.cuts))
                out = rows_of(sketch.tensor(len(rows) + len(other), source.size))
                for part, target in ((rows, out[: len(rows)]), (other, out[len(rows) :])):
                    sketch.node([(row,) for row in part], [(row,) for row in target], scratch)
    kept = [cut for cut in sketch.cuts if rng.random() < 0.15]
    return sketch.table(inputs, [*kept, sketch.cuts[-1]])


def layer_by_layer(table: RowTable) -> list[Step]:
    """All steps of each node, then those of the next."""
    return [(node, step) for node in range(table.nodes) for step in range(table.steps(node))]


def live(table: RowTable, steps: Sequence[Step]) -> dict[int, range]:
    """Row -> the numbers of the steps at which it is in memory; -1 is before the first step.

    From the first step that writes it, or -1 if it is given, to the last that reads or writes it, or
    to the end if it is kept.
    """
    first: dict[int, int] = dict.fromkeys(table.given, -1)
    last: dict[int, int] = dict.fromkeys(table.given, -1)
    for at, (node, step) in enumerate(steps):
        for row in (*table.writes[node][step], *table.reads[node][step]):
            first.setdefault(row, at)
            last[row] = at
    end = {row: len(steps) - 1 for row in table.kept if row in first}
    return {row: range(first[row], {**last, **end}[row] + 1) for row in first}


def live_bytes(table: RowTable, steps: Sequence[Step]) -> list[int]:
    """Bytes of live rows and scratch before the first step, then at each."""
    spans = live(table, steps)
    totals = [sum(table.size[row] for row in table.given)]
    for at, (node, _) in enumerate(steps):
        rows = [row for row, span in spans.items() if at in span]
        totals.append(sum(table.size[row] for row in rows) + table.scratch[node])
    return totals


def check_order(table: RowTable, steps: Sequence[Step]) -> None:
    """Every step of every node runs once, a node's in their order, each after all makers of its rows."""
    done: set[Step] = set()
    following = [0] * table.nodes
    for node, step in steps:
        assert step == following[node]
        following[node] += 1
        for row in table.reads[node][step]:
            makers = {
                (other, number)
                for other in range(table.nodes)
                for number in range(table.steps(other))
                if row in table.writes[other][number]
            }
            assert makers <= done, f"node {node} reads row {row} before it is whole"
        done.add((node, step))
    assert following == [table.steps(node) for node in range(table.nodes)]


@dataclass(frozen=True, slots=True)
class Plan:
    """The stages of a table without a network, each (first node, last + 1, peak); as in RowPlan."""

    stages: tuple[tuple[int, int, int], ...]
    steps: tuple[Step, ...]
    peak_bytes: int
    lower_bound_bytes: int
    complete: bool


def plan_rows(table: RowTable, *, hurry: bool = False) -> Plan:
    """The stages of least peak, every node an operator of its own; with `hurry`, at no effort."""
    groups = [Group(node, node, node + 1) for node in range(table.nodes)]
    operators = tuple(Op(node, "NONE", (), ()) for node in range(table.nodes))
    space = Space(len(groups), Budget(0 if hurry else WORK))
    space.add(Stages(Graph("", (), operators, (), ()), table, groups, strips=False))
    path = cheapest(space)
    assert path is not None
    segments = [stages.Segment(edge.first, edge.last) for edge in path.edges]
    steps = stages.steps_of(table, segments)
    live = stages.live_bytes(table, steps, stages.row_lives(table, steps, segments))
    return Plan(
        tuple((edge.first, edge.last, edge.peak) for edge in path.edges),
        steps,
        max(live),
        stages.lower_bound(table),
        space.complete,
    )


def placed(table: RowTable, steps: Sequence[Step]) -> Placement:
    """Rows and scratch memory placed for these steps."""
    return place_rows(table, steps, stages.row_lives(table, steps))
