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

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from lowtide.effort import Budget, budget
from lowtide.ir import Graph
from lowtide.ir.block import BlockOp
from lowtide.ir.macs import op_macs
from lowtide.lower.nodes import NORMAL, Exchange, Lowered, Reads
from lowtide.plans.cost import CostModel, FormCost, OperatorCosts, share
from lowtide.plans.edges import Edge, Formed, unbeaten
from lowtide.plans.peaks import GroupedRows, Parts, Peaks, Touched
from lowtide.plans.refills import FlashModel, flash_model
from lowtide.plans.strips import in_strips
from lowtide.rows.blocks import selections
from lowtide.rows.columns import kept_rows, stage_windows
from lowtide.rows.groups import Group
from lowtide.rows.prepare import Prepared
from lowtide.rows.stages import live_in
from lowtide.rows.table import Ints, RowTable

WORK = 120_000_000
"""What the stages of a network may spend by default: a few times what common networks take."""

PARTS = 8
"""Into how many parts an operator's steps are cut, each of which may run in another form: what is live
beside it changes from step to step."""

GOES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""How many rows a stage may make in a go where flash is slow, as long as it makes half as many."""

_ANY = 1 << 60
"""More memory than there is, in bytes."""

_PER_OPERATOR = 300
"""What an operator in strips spends whatever its rows are."""


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
        """By last and by first group, the edges that are worth looking at."""
        if self._best is None:
            self._best = [unbeaten(edges) for edges in self.edges]
        return self._best

    def only(self, wanted: Callable[[Edge], bool]) -> Space:
        """The space of the wanted edges alone."""
        space = Space(self.count, self.budget, self.complete)
        space.edges = [[edge for edge in edges if wanted(edge)] for edges in self.edges]
        return space

    def is_new(self, operators: tuple[int, ...], go: int) -> bool:
        """Whether these operators are not a stage yet, with as many rows in a go; they are one from now
        on."""
        known = (go, *operators)
        if known in self._seen:
            return False
        self._seen.add(known)
        return True


@dataclass(slots=True)
class Stages:
    """The stages over `groups`, an edge each; `strips` allows strips, `overlap` those that compute
    something twice.

    `parts` are tensors whose memory is part of another's: operators on them are not cut into strips.
    With `prices`, edges cost that much; else their MACs. Operators that are not `lowered` are not cut
    into strips. `operators` are those of the nodes, -1 for an exchange. Each time that one of them goes
    on after another one, the step program takes so many instructions `again`. With what groups read of
    slow flash (`flash`), edges also cost the cycles of waiting for it, and there are those of several
    rows in a go.
    """

    graph: Graph
    table: RowTable
    groups: Sequence[Group]
    strips: bool
    parts: frozenset[int] = frozenset()
    prices: OperatorCosts | None = None
    lowered: Mapping[int, Lowered] = field(default_factory=dict)
    overlap: bool = True
    flash: FlashModel | None = None
    operators: Sequence[int] = ()
    again: int = 0
    _rows: GroupedRows = field(init=False)
    _parts: Parts = field(init=False)
    _formed_parts: NDArray[np.bool_] = field(init=False)
    _forms: dict[int, Sequence[FormCost]] = field(init=False)
    _scratch: Ints = field(init=False)
    _tensor: Ints = field(init=False)
    _columns: dict[int, tuple[Reads, ...] | None] = field(init=False)
    _sums: list[tuple[int, int, int]] = field(init=False)
    _heights: dict[int, int] = field(init=False)
    _operators: Ints = field(init=False)
    _of_groups: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        table = self.table
        self._rows = GroupedRows(table, self.groups)
        self._forms = {
            number: price.forms
            for number, group in enumerate(self.groups)
            if (price := (self.prices or {}).get(group.operator))
            and (len(price.forms) > 1 or price.forms[0].narrow or not price.forms[0].normal)
        }
        self._parts = Parts.of(table, self.groups, [*map(self._parts_of, range(table.nodes))])
        has_forms = np.array([*map(self._has_forms, range(table.nodes))], np.bool_)
        self._formed_parts = has_forms[self._parts.node]
        formed = np.zeros(len(self.groups) + 1, np.bool_)
        formed[list(self._forms)] = True
        self._scratch = np.where(formed[self._rows.group_of], 0, table.step_scratch)
        self._tensor = np.full(len(table.size), -1)  # scratch memory that lasts is no tensor's
        for cut in table.cuts:
            self._tensor[cut.first : cut.first + cut.count] = cut.tensor
        self._operators = np.array(self.operators, np.int64)[
            table.node_of if self.operators else []
        ]
        self._of_groups = tuple(group.operator for group in self.groups)
        self._heights = {cut.tensor: cut.count for cut in table.cuts}
        self._columns = {
            g.operator: self.lowered[g.operator].columns
            for g in self.groups
            if g.operator in self.lowered and not self._touches(g.operator, self.parts)
        }
        each = [(0, 0, 0), *(self._weights(group.operator) for group in self.groups)]
        self._sums = list(
            zip(*(accumulate(column) for column in zip(*each, strict=True)), strict=True)
        )

    def _has_forms(self, node: int) -> bool:
        """Whether it is the node of an operator that has several; exchanges of its group are not."""
        is_exchange = bool(self.operators) and self.operators[node] < 0
        return int(self._rows.group_of_node[node]) in self._forms and not is_exchange

    def _parts_of(self, node: int) -> int:
        """Into how many parts, each of which may be in another form, the steps of a node are cut."""
        group = int(self._rows.group_of_node[node])
        lowered = self.lowered.get(self.groups[group].operator)
        if lowered is None or not self._has_forms(node) or len(self._forms[group]) < 2:
            return 1
        (of,) = lowered.nodes
        return min(PARTS, of.steps) if of.can_part else 1

    def _weights(self, operator: int) -> tuple[int, int, int]:
        """MACs, cost in the quickest form at full width, and whether it is a block."""
        if operator < 0:
            return 0, 0, 0
        op = self.graph.ops[operator]
        macs, block = op_macs(self.graph, op), isinstance(op, BlockOp)
        if self.prices is None:
            return macs, macs, block
        price = self.prices.get(operator)
        return macs, 0 if price is None else price.whole, block

    def ending(self, last: int, space: Space) -> Iterator[Edge]:
        """The edges whose last group is last - 1, shortest first, that are new to the space."""
        groups, alone = self.groups, self._rows.alone
        first = last - 1
        while first > 0 and last - 1 not in alone and first - 1 not in alone:
            first -= 1
        if space.budget.used_up:
            space.complete = space.complete and first == last - 1
            first = last - 1
        yield from self._going(first, last, 1, space)
        if self.flash is not None and last - first > 1:
            steps = self.table.steps(groups[last - 1].last - 1)
            for go in itertools.takewhile(lambda go: go < 2 * steps, GOES):
                if space.budget.used_up:
                    space.complete = False
                    break
                yield from self._going(first, last, go, space)

    def _going(self, first: int, last: int, go: int, space: Space) -> Iterator[Edge]:
        """Those of them from group `first` on that make `go` rows in a go."""
        peaks = Peaks(self._rows, first, last, go=go)
        space.budget.spend(peaks.touches(first))
        parts = self._parts
        beside = peaks.by_part(last, np.arange(first, last), self._scratch, parts)
        quickest, smallest = beside.copy(), beside.copy()
        again = peaks.again(self._operators >= 0) if self.again else [0] * (last - first)
        starts = (parts.begin[first : last + 1] - parts.begin[first]).tolist()
        mine = self._formed_parts[parts.begin[first] : parts.begin[last]]
        for group, (start, stop) in enumerate(itertools.pairwise(starts), first):
            if forms := self._forms.get(group):
                here = np.flatnonzero(mine[start:stop]) + start
                quickest[:, here] += forms[-1].scratch
                smallest[:, here] += forms[0].scratch
        most, least = quickest.max(axis=1).tolist(), smallest.max(axis=1).tolist()
        for begin in range(last - (1 if go == 1 else 2), first - 1, -1):
            if begin < last - 1 and space.budget.used_up:
                space.complete = False
                break
            if space.is_new(self._of_groups[begin:last], go):
                space.budget.spend(peaks.touches(begin))
                at = begin - first
                beyond = self._waits(peaks, begin), again[at] * self.again
                formed = partial(self._formed, begin, beside[at, starts[at] :])
                whole = self._whole(begin, last, go, beyond, (most[at], least[at], formed))
                yield whole
                if go == 1:
                    yield from self._cut(whole, peaks, space.budget)

    def _waits(self, peaks: Peaks, first: int) -> int:
        """Cycles of waiting for flash in the stage of those of `peaks` from group `first` on."""
        if self.flash is None:
            return 0
        order = peaks.order[peaks.order >= self._rows.begin[first]]
        return self.flash.cache.waits(self.flash.refilled(self._operators[order]))

    def _formed(self, first: int, beside: Ints) -> list[Formed]:
        """The operators from group `first` on that have several forms, `beside[p]` bytes being live
        beside the scratch memory of the p-th part."""
        found, parts, begins = [], self._parts, self.table.begin
        low = int(parts.begin[first])
        for at in (np.flatnonzero(self._formed_parts[low : low + len(beside)]) + low).tolist():
            node, live = int(parts.node[at]), int(beside[at - low])
            group, begin, steps = (
                self._rows.group_of_node[node],
                begins[node],
                self.table.steps(node),
            )
            start, stop = int(parts.step[at]) - begin, int(parts.stop[at]) - begin
            forms = self._forms[int(group)]
            needs = [live + form.scratch for form in forms]
            limits = [NORMAL if form.normal else form.scratch for form in forms]
            costs = [share(form.whole, start, stop, steps) for form in forms]
            wholes = [form.whole for form in forms]
            found.append(Formed(self.groups[group].operator, needs, costs, limits, start, wholes))
        return found

    def _touches(self, operator: int, tensors: frozenset[int]) -> bool:
        op = self.graph.ops[operator]
        return not tensors.isdisjoint((*op.inputs, *op.outputs))

    def _whole(
        self,
        first: int,
        last: int,
        go: int,
        beyond: tuple[int, int],
        needs: tuple[int, int, Callable[[], list[Formed]]],
    ) -> Edge:
        """The stage of groups [first, last) at full width. `beyond` its kernels it waits so long, and so
        many instructions are between their steps. It `needs` so many bytes in the quickest and in the
        smallest forms, and its operators have those forms."""
        operators = tuple(op for op in self._of_groups[first:last] if op >= 0)
        both = zip(self._sums[last], self._sums[first], strict=True)
        macs, cost, blocks = (after - before for after, before in both)
        made_of = macs, operators, blocks, cost + sum(beyond)
        return Edge(first, last, None, *made_of, *needs, go, *beyond)

    def _cut(self, whole: Edge, peaks: Peaks, budget: Budget) -> Iterator[Edge]:
        """The same stage in strips. The stage waits for flash as long as that, and each strip takes as
        many instructions between the steps of kernels."""
        first, last = whole.first, whole.last
        exchanges = any(g.exchanges for g in self.groups[first:last])
        if self.strips and whole.operators and not exchanges:
            found = self._stripped(whole, peaks.touched(first), budget)
            yield from (edge for edge in found if self.overlap or edge.macs <= whole.macs)

    def _stripped(self, whole: Edge, stage: Touched, budget: Budget) -> list[Edge]:
        graph, rows, steps = self.graph, stage.rows, len(stage.step)
        first, last, operators = whole.first, whole.last, whole.operators
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
        if not self.overlap and _overlaps(of, made):
            return []
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
        forms = {g.operator: self._forms.get(n, ()) for n, g in self._numbered(first, last)}
        formed = [op for op, of_op in forms.items() if of_op]
        outputs = [graph.ops[op].outputs[0] for op in formed]
        row_bytes = np.array([self._row_bytes(t) for t in inner], np.int64)
        cuts = in_strips(graph, operators, of, output, [*inner, *outputs], self.prices)
        if not cuts:
            return []
        # The runs of strips of all widths side by side.
        held = np.concatenate([cut.held for cut in cuts], axis=1)
        runs = [cut.held.shape[1] for cut in cuts]
        begins = np.cumsum([0, *runs])
        lines = -(-held[: len(inner)] * row_bytes[:, None] // self.table.align) * self.table.align
        live = counts @ lines.astype(np.float64)
        budget.spend(live.size + _PER_OPERATOR * len(operators))
        live += (lasting + (whole_out + whole_in + through) + self._scratch[stage.step])[:, None]
        firsts = [at for at, cut in zip(begins[:-1], cuts, strict=True) if cut.first_alone]
        lasts = [at - 1 for at, cut in zip(begins[1:], cuts, strict=True) if cut.last_alone]
        live[:, firsts] += (growing - whole_out)[:, None]
        live[:, lasts] += (dying - whole_in)[:, None]
        group = self._rows.group_of[stage.step]
        fixed = np.ones(steps, np.bool_)
        found_forms: list[_InStrips] = []
        numbers = (n for n, g in self._numbered(first, last) if forms[g.operator])
        for number, of_op, made_columns in zip(numbers, formed, held[len(inner) :], strict=True):
            mine = group == number
            fixed &= ~mine
            beside = live[mine].max(axis=0).astype(np.int64)
            scratch = np.array([_scratch(form, made_columns) for form in forms[of_op]])
            normal = [form.normal for form in forms[of_op]]
            limits = np.maximum.reduceat(scratch, begins[:-1], axis=1)
            # A limit picks anew in each run, maybe what needs all of it.
            taken = np.where(np.array(normal)[:, None], scratch, np.repeat(limits, runs, axis=1))
            found_forms.append(
                _InStrips(
                    of_op,
                    np.maximum.reduceat(beside + taken, begins[:-1], axis=1),
                    np.array([cut.costs[of_op] for cut in cuts]).T,
                    limits,
                    normal,
                )
            )
        alone = np.zeros(len(cuts), np.int64)
        if fixed.any():
            alone = np.maximum.reduceat(live[fixed].max(axis=0), begins[:-1]).astype(np.int64)
        least = np.max([alone, *(of_op.needs.min(axis=0) for of_op in found_forms)], axis=0)
        most = np.max([alone, *(of_op.quickest for of_op in found_forms)], axis=0)
        for at, (cut, peak, low) in enumerate(
            zip(cuts, most.tolist(), least.tolist(), strict=True)
        ):
            cost = cut.macs
            if self.prices is not None:
                cost = sum(int(of_op.min()) for of_op in cut.costs.values())
            beyond = whole.waits, whole.between * cut.count
            made_of = cut.macs, operators, whole.blocks, cost + sum(beyond), peak, low
            forms_of = partial(_in_strip, found_forms, at)
            edges.append(Edge(first, last, cut.width, *made_of, forms_of, 1, *beyond))
        return edges

    def _numbered(self, first: int, last: int) -> Iterator[tuple[int, Group]]:
        """The groups of operators of [first, last), with their numbers."""
        each = enumerate(self.groups[first:last], first)
        return ((number, group) for number, group in each if group.operator >= 0)

    def _row_bytes(self, tensor: int) -> int:
        """Bytes of a column of a row of `tensor`."""
        of = self.graph.tensors[tensor]
        return of.bytes // of.shape[2] // self._heights[tensor]


def _overlaps(of: Sequence[tuple[Reads, ...]], made: Collection[int]) -> bool:
    """Whether strips surely compute something twice: columns that two windows of the stage read."""
    windows = (window for each in of for window in each if window.tensor in made)
    return any(window.axis.size > window.axis.stride for window in windows)


@dataclass(frozen=True, slots=True, eq=False)
class _InStrips:
    """An operator in strips of several widths, as arrays [forms, widths]: see `Formed`."""

    operator: int
    needs: Ints
    costs: Ints
    limits: Ints
    normal: Sequence[bool]

    @property
    def quickest(self) -> Ints:
        """By width, the least need of the cheapest forms."""
        cheapest = self.costs == self.costs.min(axis=0)
        return np.asarray(np.where(cheapest, self.needs, _ANY).min(axis=0))


def _in_strip(operators: Sequence[_InStrips], at: int) -> list[Formed]:
    """Operators in strips of the width number `at`."""
    found = []
    for of in operators:
        limits = zip(of.normal, of.limits[:, at].tolist(), strict=True)
        found.append(
            Formed(
                of.operator,
                of.needs[:, at].tolist(),
                of.costs[:, at].tolist(),
                [NORMAL if normal else limit for normal, limit in limits],
            )
        )
    return found


def _scratch(form: FormCost, columns: Ints) -> Ints:
    """Bytes of scratch memory of a form that makes so many columns."""
    if not form.narrow:
        return np.full(len(columns), form.scratch)
    return np.array(form.narrow, np.int64)[columns]


def prices_of(ready: Prepared, model: CostModel) -> OperatorCosts:
    """What a model predicts that each operator costs, blocks included."""
    return model.prices(n for found in ready.lowered.values() for n in found.nodes)


def space_of(
    ready: Prepared,
    prices: OperatorCosts,
    *,
    strips: bool,
    overlap: bool = True,
    effort: float = 1.0,
    again: int = 0,
) -> Space:
    """All stages, without blocks and with them; with `strips`, also in strips; with both that and
    `overlap`, also what computes something twice. They cost what a model predicts of their operators,
    and each time that one goes on after another, so many instructions `again`.

    `effort` is a factor of `WORK`.
    """
    space = Space(len(ready.groups), budget(WORK, effort))
    flash = flash_model(ready)
    for blocks in ((), *selections(ready.blocks)):
        if all(not block.again for block in blocks) or (strips and overlap):
            variant = ready.variant({block.op for block in blocks})
            stages = Stages(
                ready.wide,
                variant.table,
                variant.groups,
                strips,
                ready.parts,
                prices,
                ready.lowered,
                overlap,
                flash,
                [-1 if isinstance(node, Exchange) else node.op for node in variant.nodes],
                again,
            )
            space.add(stages, variant.ends)
    return space


def without_strips(ready: Prepared, space: Space) -> Space:
    """What `space_of` without strips would be, from all stages."""
    again = _again(ready)
    return space.only(lambda e: e.width is None and again.isdisjoint(e.operators))


def without_overlap(ready: Prepared, space: Space) -> Space:
    """What `space_of` without `overlap` would be, from all stages."""
    again = _again(ready)
    macs = [op_macs(ready.wide, op) for op in ready.wide.ops]

    def is_once(edge: Edge) -> bool:
        cut_once = edge.width is None or edge.macs <= sum(macs[op] for op in edge.operators)
        return cut_once and again.isdisjoint(edge.operators)

    return space.only(is_once)


def _again(ready: Prepared) -> set[int]:
    """The blocks that compute something twice."""
    return {block.op for block in ready.blocks if block.again}


def without_blocks(space: Space) -> Space:
    """The stages of the network's own operators."""
    return space.only(lambda e: not e.blocks)
