"""All stages of a network: which operators may run together, in strips of which width, at what price.

An edge is a stage: the operators between two positions in their order, in strips of some width. Its
weights are the peak of live bytes while it runs, everything else that is live included, and its cost:
MACs, or what `plans.cost` says. The edges are all intervals of the order, each at full width and, where
it can be cut, in strips of each width of `columns.widths`.

The peaks are exact. Steps of an interval are those of a longer one to its left without the latter's
own, so that one order of steps per right end serves all left ends; and columns change sizes, never the
order of rows, so that it serves all widths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from lowtide.effort import Budget, budget
from lowtide.ir import Graph
from lowtide.ir.block import BlockOp
from lowtide.ir.macs import op_macs
from lowtide.lower.nodes import Lowered, Reads
from lowtide.plans.cost import CostModel, OperatorCosts
from lowtide.plans.peaks import GroupedRows, Peaks, Touched
from lowtide.plans.strips import in_strips
from lowtide.rows.blocks import selections
from lowtide.rows.columns import kept_rows, stage_windows
from lowtide.rows.groups import Group
from lowtide.rows.prepare import Prepared
from lowtide.rows.stages import live_in
from lowtide.rows.table import Ints, RowTable

WORK = 120_000_000
"""What the stages of a network may spend by default: a few times what common networks take."""

_PER_OPERATOR = 300
"""What an operator in strips spends whatever its rows are."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Groups [first, last) as one stage, in strips of `width` columns if that is not None.

    `operators` are those that run: a block in place of what it stands for. `cost` is what plans are
    compared by.
    """

    first: int
    last: int
    width: int | None
    peak: int
    macs: int
    lean: bool = False
    cost: int = 0
    operators: tuple[int, ...] = ()
    blocks: int = 0

    @property
    def slow(self) -> int:
        """Of the cost, what lean forms and blocks may take more instructions for."""
        return self.cost if self.lean or self.blocks else 0


@dataclass(slots=True)
class Space:
    """All edges over the groups of a network, and of variants of it with blocks.

    Stages spend the `budget` by the rows that their steps touch, and by what is live in each step and
    strip. Once it is used up, only stages of one operator are added, and the space is not `complete`.
    """

    count: int
    budget: Budget = field(default_factory=lambda: Budget(WORK))
    complete: bool = True
    edges: list[list[Edge]] = field(init=False)
    _best: list[dict[int, list[Edge]]] | None = None
    _seen: set[tuple[int, ...]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.edges = [[] for _ in range(self.count)]

    def add(self, stages: Stages, ends: Sequence[int] | None = None) -> None:
        """Add the stages of the network, or of a variant, that are not there yet. `ends[g]` is the place
        in the network of the variant's group g: see `rows.prepare.Variant`."""
        at = range(self.count + 1) if ends is None else ends
        for last in range(1, len(stages.groups) + 1):
            found = self.edges[at[last] - 1]
            for edge in stages.ending(last, self):
                here = (edge.first, edge.last) == (at[edge.first], at[last])
                found.append(edge if here else replace(edge, first=at[edge.first], last=at[last]))
        self._best = None

    @property
    def best(self) -> list[dict[int, list[Edge]]]:
        """By last and by first group, the edges that no other beats in cost, slowness and peak."""
        if self._best is None:
            self._best = [_unbeaten(edges) for edges in self.edges]
        return self._best

    def only(self, wanted: Callable[[Edge], bool]) -> Space:
        """The space of the wanted edges alone."""
        space = Space(self.count, self.budget, self.complete)
        space.edges = [[edge for edge in edges if wanted(edge)] for edges in self.edges]
        return space

    def is_new(self, operators: tuple[int, ...]) -> bool:
        """Whether these operators are not a stage yet; they are one from now on."""
        if operators in self._seen:
            return False
        self._seen.add(operators)
        return True


@dataclass(slots=True)
class Stages:
    """The stages over `groups`, an edge each; `strips` allows strips.

    `parts` are tensors whose memory is part of another's: operators on them are not cut into strips.
    With `prices`, edges cost that much; else their MACs. Operators that are not `lowered` are not cut
    into strips.
    """

    graph: Graph
    table: RowTable
    groups: Sequence[Group]
    strips: bool
    parts: frozenset[int] = frozenset()
    prices: OperatorCosts | None = None
    lowered: Mapping[int, Lowered] = field(default_factory=dict)
    _rows: GroupedRows = field(init=False)
    _lean: Ints = field(init=False)
    _tensor: Ints = field(init=False)
    _columns: dict[int, tuple[Reads, ...] | None] = field(init=False)
    _sums: list[tuple[int, int, int, int]] = field(init=False)
    _heights: dict[int, int] = field(init=False)
    _more: dict[int, Ints] = field(default_factory=dict)

    def __post_init__(self) -> None:
        table = self.table
        self._rows = GroupedRows(table, self.groups)
        self._lean = np.array(table.lean_scratch, np.int64)[table.node_of]
        self._tensor = np.full(len(table.size), -1)  # scratch memory that lasts is no tensor's
        for cut in table.cuts:
            self._tensor[cut.first : cut.first + cut.count] = cut.tensor
        self._heights = {cut.tensor: cut.count for cut in table.cuts}
        self._columns = {
            g.operator: self.lowered[g.operator].columns
            for g in self.groups
            if g.operator in self.lowered and not self._touches(g.operator, self.parts)
        }
        each = [(0, 0, 0, 0), *(self._weights(group.operator) for group in self.groups)]
        self._sums = list(
            zip(*(accumulate(column) for column in zip(*each, strict=True)), strict=True)
        )

    def _weights(self, operator: int) -> tuple[int, int, int, int]:
        """MACs, cost and cost in the lean form at full width, and whether it is a block."""
        if operator < 0:
            return 0, 0, 0, 0
        op = self.graph.ops[operator]
        macs, block = op_macs(self.graph, op), isinstance(op, BlockOp)
        if self.prices is None:
            return macs, macs, macs, block
        price = self.prices.get(operator)
        return (
            (macs, 0, 0, block) if price is None else (macs, price.whole, price.whole_lean, block)
        )

    def ending(self, last: int, space: Space) -> Iterator[Edge]:
        """The edges whose last group is last - 1, shortest first, that are new to the space."""
        groups, alone, rows = self.groups, self._rows.alone, self._rows
        first = last - 1
        while first > 0 and last - 1 not in alone and first - 1 not in alone:
            first -= 1
        if space.budget.used_up:
            space.complete = space.complete and first == last - 1
            first = last - 1
        peaks = Peaks(rows, first, last)
        space.budget.spend(peaks.touches(first))
        firsts = np.arange(first, last)
        forms = (self.table.step_scratch, self._lean) if self.strips else (self.table.step_scratch,)
        found = [peaks.of([(last, firsts)], scratch)[0].tolist() for scratch in forms]
        for begin in range(last - 1, first - 1, -1):
            if begin < last - 1 and space.budget.used_up:
                space.complete = False
                break
            operators = tuple(g.operator for g in groups[begin:last])
            if space.is_new(operators):
                space.budget.spend(peaks.touches(begin))
                yield from self._between(
                    begin, last, peaks, [of[begin - first] for of in found], space.budget
                )

    def _touches(self, operator: int, tensors: frozenset[int]) -> bool:
        op = self.graph.ops[operator]
        return not tensors.isdisjoint((*op.inputs, *op.outputs))

    def _between(
        self, first: int, last: int, peaks: Peaks, needs: Sequence[int], budget: Budget
    ) -> list[Edge]:
        """The stage of groups [first, last), at full width and in strips; `needs` are its peaks in the
        normal forms, and, for strips, in the lean ones."""
        operators = tuple(g.operator for g in self.groups[first:last] if g.operator >= 0)
        both = zip(self._sums[last], self._sums[first], strict=True)
        macs, cost, lean_cost, blocks = (after - before for after, before in both)
        of = operators, blocks
        edges = [Edge(first, last, None, needs[0], macs, False, cost, *of)]
        if needs[-1] < needs[0]:
            edges.append(Edge(first, last, None, needs[-1], macs, True, lean_cost, *of))
        exchanges = any(g.exchanges for g in self.groups[first:last])
        if self.strips and operators and not exchanges:
            edges += self._stripped(first, last, operators, peaks.touched(first), budget)
        return edges

    def _stripped(
        self,
        first: int,
        last: int,
        operators: tuple[int, ...],
        stage: Touched,
        budget: Budget,
    ) -> list[Edge]:
        graph, rows, steps = self.graph, stage.rows, len(stage.step)
        made = {t for op in operators for t in graph.ops[op].outputs}
        after = self._rows.reader[rows] >= last
        before = self._rows.maker[rows] < first
        size = self._rows.size[rows]
        through = int(self._rows.through[first] - size[before].sum())
        tensors = self._tensor[rows]
        seen = made.intersection(tensors[after].tolist())
        found = stage_windows(graph, operators, frozenset(seen), self._columns.get)
        if found is None:
            return []
        of, output = found
        # Rows of the tensors that exist for a strip only, live per step: one column per tensor.
        kept = {tensor for op in operators for tensor in kept_rows(graph.ops[op])}
        inner = sorted({*made, *kept} - {output})
        if not inner:
            return []
        index = np.full(len(graph.tensors) + 1, -1)  # the last one is that of no tensor
        index[inner] = range(len(inner))
        which = index[tensors]
        inside = which >= 0
        # Sums of whole numbers below 2 ** 53 are exact, and products of matrices of floats quick.
        counts = np.zeros((steps + 1, len(inner)))
        np.add.at(counts, (stage.start[inside], which[inside]), 1)
        np.add.at(counts, (stage.end[inside] + 1, which[inside]), -1)
        counts = np.cumsum(counts, axis=0)[:-1]
        # What is there as a whole: inputs until the last strip eats them, the output once made.
        extra = tensors < 0
        lasting = live_in(stage.start[extra], stage.end[extra] + 1, size[extra], steps)
        is_out = tensors == output
        is_in = before & ~is_out
        whole_out, whole_in = int(size[is_out].sum()), int(size[is_in].sum())
        growing = live_in(stage.start[is_out], np.full(is_out.sum(), steps), size[is_out], steps)
        dies = np.where(after, steps, stage.end + 1)[is_in]
        dying = live_in(np.zeros(is_in.sum(), np.int64), dies, size[is_in], steps)
        edges = []
        blocks = sum(isinstance(graph.ops[op], BlockOp) for op in operators)
        varying = [op for op in operators if any(n.narrow_scratch for n in self.lowered[op].nodes)]
        at_varying, more = self._narrow_scratch(stage, varying)
        outputs = [graph.ops[op].outputs[0] for op in varying]
        row_bytes = np.array([self._row_bytes(t) for t in inner], np.int64)
        cuts = in_strips(graph, operators, of, output, [*inner, *outputs], self.prices)
        if not cuts:
            return []
        # The runs of strips of all widths side by side.
        held = np.concatenate([cut.held for cut in cuts], axis=1)
        begins = np.cumsum([0, *(cut.held.shape[1] for cut in cuts)])
        lines = -(-held[: len(inner)] * row_bytes[:, None] // self.table.align) * self.table.align
        live = counts @ lines.astype(np.float64)
        budget.spend(live.size + _PER_OPERATOR * len(operators))
        live += (lasting + (whole_out + whole_in))[:, None]
        firsts = [at for at, cut in zip(begins[:-1], cuts, strict=True) if cut.first_alone]
        lasts = [at - 1 for at, cut in zip(begins[1:], cuts, strict=True) if cut.last_alone]
        live[:, firsts] += (growing - whole_out)[:, None]
        live[:, lasts] += (dying - whole_in)[:, None]
        leans = _highest(live, self._lean[stage.step], begins)
        if varying:
            live[at_varying] += more(held[len(inner) :])
        peaks = _highest(live, self.table.step_scratch[stage.step], begins)
        of_edge = operators, blocks
        for cut, peak, lean in zip(cuts, peaks, leans, strict=True):
            high, low, macs = through + peak, through + lean, cut.macs
            edges.append(Edge(first, last, cut.width, high, macs, False, cut.cost, *of_edge))
            if low < high:
                edges.append(Edge(first, last, cut.width, low, macs, True, cut.lean_cost, *of_edge))
        return edges

    def _narrow_scratch(
        self, stage: Touched, varying: Sequence[int]
    ) -> tuple[Ints, Callable[[Ints], Ints]]:
        """The steps of `varying`, and how much more scratch memory each needs in each run of strips than
        at full width, from how many columns each makes: see `Node.narrow_scratch`."""
        for op in varying:
            if op not in self._more:
                (node,) = self.lowered[op].nodes
                self._more[op] = np.array(node.narrow_scratch, np.int64) - node.scratch
        number = {op: at for at, op in enumerate(varying)}
        of_node = {g.first: number[g.operator] for g in self.groups if g.operator in number}
        nodes = self.table.node_of[stage.step].tolist()
        of_step = np.array([of_node.get(node, -1) for node in nodes], np.int64)
        steps = np.flatnonzero(of_step >= 0)
        known = np.concatenate([np.zeros(1, np.int64), *(self._more[op] for op in varying)])
        sizes = [len(self._more[op]) for op in varying]
        begins = np.cumsum([1, *sizes])[:-1, None]
        which = of_step[steps]
        return steps, lambda made: np.asarray(known[begins + made][which])

    def _row_bytes(self, tensor: int) -> int:
        """Bytes of a column of a row of `tensor`."""
        of = self.graph.tensors[tensor]
        return of.bytes // of.shape[2] // self._heights[tensor]


def _unbeaten(edges: Sequence[Edge]) -> dict[int, list[Edge]]:
    best: dict[int, list[Edge]] = {}
    for edge in sorted(edges, key=lambda e: (e.cost, e.slow, e.peak)):
        others = best.setdefault(edge.first, [])
        if not any(other.slow <= edge.slow and other.peak <= edge.peak for other in others):
            others.append(edge)
    return best


def _highest(live: NDArray[np.float64], scratch: Ints, begins: Ints) -> list[int]:
    """The most that is live in any step and run of each width, scratch memory included; the runs of
    width w are the columns `begins[w]` to `begins[w + 1] - 1`."""
    highest = (live + scratch[:, None]).max(axis=0)
    return [int(most) for most in np.maximum.reduceat(highest, begins[:-1])]


def space_of(
    ready: Prepared,
    *,
    strips: bool,
    effort: float = 1.0,
    model: CostModel | None = None,
) -> Space:
    """All stages, without blocks and with them; with `strips`, also what computes something twice.

    `effort` is a factor of `WORK`; with a `model`, stages cost the instructions that it predicts.
    """
    space = Space(len(ready.groups), budget(WORK, effort))
    prices = None
    if model is not None:
        prices = model.prices(n for found in ready.lowered.values() for n in found.nodes)
    for blocks in ((), *selections(ready.blocks)):
        if all(not block.again for block in blocks) or strips:
            variant = ready.variant({block.op for block in blocks})
            stages = Stages(
                ready.wide,
                variant.table,
                variant.groups,
                strips,
                ready.parts,
                prices,
                ready.lowered,
            )
            space.add(stages, variant.ends)
    return space


def without_strips(ready: Prepared, space: Space) -> Space:
    """What `space_of` without strips would be, from all stages."""
    again = {block.op for block in ready.blocks if block.again}
    return space.only(lambda e: e.width is None and not e.lean and again.isdisjoint(e.operators))
