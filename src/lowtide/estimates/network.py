"""What one network needs in one input mode: the plan of least peak as the planner would find it.

As `plans.planner.least`, which is what programs get by default: nothing is computed twice, and blocks
run where they save clearly more than the stack that they take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from lowtide.estimates.lines import Lines, RowsOf, rows_of
from lowtide.estimates.shapes import Shaped, shaped
from lowtide.estimates.weighing import Ending, Stretch, Weighed, least
from lowtide.ir import Graph
from lowtide.lower import lower_op
from lowtide.lower.convolution_work import Convolution, ConvolutionFours
from lowtide.lower.depthwise_work import Depthwise, DepthwiseColumns
from lowtide.lower.lanes_work import ConvolutionLanes, DepthwiseLanes
from lowtide.lower.nodes import AnyNode, Lowered, Node
from lowtide.passes import normalise_windows
from lowtide.place.rows import place_rows
from lowtide.rows.blocks import BlockOption, find_blocks, largest_of
from lowtide.rows.joined import Joined, joined
from lowtide.rows.prepare import InputMode
from lowtide.rows.stages import Segment, row_lives, steps_of
from lowtide.rows.table import row_table
from lowtide.rows.views import resolve_views, with_exchanges
from lowtide.target import Target

WORTH_BLOCKS: Final = 512
"""Bytes of arena that blocks must save: as `plans.planner` has it."""

_CORES = Depthwise | DepthwiseColumns | DepthwiseLanes
_PARTS = _CORES | Convolution | ConvolutionFours | ConvolutionLanes


@dataclass(frozen=True, slots=True)
class Need:
    """What a network needs in one input mode.

    `peak_bytes` is the most that is live in the plan of least peak; no plan that computes nothing twice
    can do with less than `bound_bytes`. `nodes` are what runs, in the order of the operators. The search
    was given up where `peak_bytes` is None: the bound is above the budget.
    """

    peak_bytes: int | None
    bound_bytes: int
    nodes: tuple[Node, ...] = ()
    stages: tuple[Stretch, ...] = ()


class Network:
    """A graph whose operators stand in `order`, as an estimate sees it; for all input modes."""

    def __init__(self, graph: Graph, order: Sequence[int], target: Target) -> None:
        self.graph = normalise_windows(graph)
        self.target = target
        self.shapes: Mapping[int, Shaped] = {
            op.id: shaped(self.graph, op, target) for op in self.graph.ops
        }
        self.lowered: dict[int, Lowered] = {n: s.lowered for n, s in self.shapes.items()}
        self.views = resolve_views(self.graph, self.lowered)
        self.joined: Joined = joined(self.graph, self.lowered, self.views)
        crops = self.joined.crops.items()
        self.roots = {**self.views, **{t: self.views.get(c.tensor, c.tensor) for t, c in crops}}
        self.order = [n for n in order if n not in self.joined.operators and self.lowered[n].nodes]

    @cached_property
    def fusible(self) -> frozenset[int]:
        """The operators that a block may stand for, by what their kernels are."""
        works = {n: [node.work for node in self.lowered[n].nodes] for n in self.order}
        cores = {n for n, work in works.items() if any(isinstance(w, _CORES) for w in work)}
        if not cores:
            return frozenset()
        return frozenset(n for n, ws in works.items() if any(isinstance(w, _PARTS) for w in ws))

    def _blocks(self, last: int) -> tuple[Graph, tuple[BlockOption, ...]]:
        """The wider graph, and the largest blocks that compute nothing twice, of the first `last`
        operators of the order."""
        within = self.lowered
        order = self.order[:last]
        if self.target.is_particular:
            shared = self.target.within_blocks
            within = within | {
                n: shaped(self.graph, self.graph.ops[n], shared).lowered
                for n in order
                if self.graph.ops[n].window is not None
            }
        crops = self.joined.crops
        parts = {*crops, *(crop.tensor for crop in crops.values()), *self.roots}
        wide, blocks = find_blocks(self.graph, within, order, {*parts, *self.views.values()})
        chosen = largest_of(blocks)
        for block in chosen:
            op = wide.ops[block.op]
            self.lowered[block.op] = lower_op(wide, op, (dict(self.lowered), within), self.target)
        return wide, chosen

    def need(self, mode: InputMode, budget: int | None = None) -> Need:
        """What the network needs with its input in that mode; with a `budget`, in bytes, no more is
        looked for once it is known to be too little."""
        rows = self._rows(self.graph, self.order, mode)
        lines = rows.lines()
        own = _own_needs(lines)
        floor = max([lines.given_bytes, lines.kept_bytes])
        sure = max([floor, *(n for op, n in own.items() if op not in self.fusible)])
        if budget is not None and sure > budget:
            return Need(None, sure)
        plain = Weighed(lines, range(len(lines.groups) + 1))
        most = max([floor, *plain.singles.tolist()])
        endings = plain.endings(most, sure)
        ways = _Ways(plain.count, endings, [(rows, range(plain.count + 1))], most)
        way = ways.least()
        peak = rows.peak([(stretch.first, stretch.last) for stretch in way])
        if len(lines.size) <= _FEW_ROWS:
            peak = max(peak, self._placed(rows, way, mode))
        of_groups: list[Sequence[AnyNode]] = [rows.nodes[g.first : g.last] for g in lines.groups]
        found = Need(peak, sure, _kernels(way, [of_groups]), way)
        if peak - sure < WORTH_BLOCKS or not self.fusible:
            return found
        return self._with_blocks(found, ways, of_groups, floor, mode)

    def _placed(self, rows: RowsOf, way: Sequence[Stretch], mode: InputMode) -> int:
        """The arena of the few rows of a small network: there one that does not fit a gap is a large
        part of all, and placing them takes a millisecond or two."""
        outside = self.graph.inputs if mode == "const" else ()
        table = row_table(
            self.graph, rows.nodes, self.roots, outside=outside, crops=self.joined.crops
        )
        groups = rows.groups
        stages = [Segment(groups[s.first].first, groups[s.last - 1].last) for s in way]
        steps = steps_of(table, stages)
        lives = row_lives(table, steps)
        return place_rows(
            table, steps, lives, stages, align=table.align, effort=_EFFORT
        ).arena_bytes

    def _with_blocks(
        self,
        plain: Need,
        ways: _Ways,
        of_groups: list[Sequence[AnyNode]],
        floor: int,
        mode: InputMode,
    ) -> Need:
        """The same with blocks, if they are worth it."""
        assert plain.peak_bytes is not None
        limit = plain.peak_bytes - WORTH_BLOCKS + 1
        # Only what is too large as it is matters, and what stands beside it.
        large = [stretch for stretch in plain.stages if stretch.peak >= limit]
        last = min(len(self.order), large[-1].last + _BESIDE)
        wide, blocks = self._blocks(last)
        last_of = {block.operators[-1]: block for block in blocks}
        members = {block.op: block.operators for block in blocks}
        inside = {n for block in blocks for n in block.operators}
        order = [
            last_of[n].op if n in last_of else n
            for n in self.order[:last]
            if n in last_of or n not in inside
        ]
        rows = self._rows(wide, order, mode, self.order[last:])
        lines = rows.lines()
        place = [0]
        for group in lines.groups:
            place.append(place[-1] + len(members.get(group.operator, (0,))))
        weighed = Weighed(lines, place, variant=1)
        ways = ways.and_of(rows, place, weighed.endings(limit, plain.bound_bytes), limit)
        by_place: list[Sequence[AnyNode]] = [()] * len(of_groups)
        for at, group in zip(place, lines.groups, strict=False):
            by_place[at] = rows.nodes[group.first : group.last]
        way = ways.least()
        peak = max([floor, *(stretch.peak for stretch in way)])
        if peak + WORTH_BLOCKS > plain.peak_bytes:
            return plain
        return replace(
            plain, peak_bytes=peak, nodes=_kernels(way, [of_groups, by_place]), stages=way
        )

    def _rows(
        self, graph: Graph, order: Sequence[int], mode: InputMode, later: Sequence[int] = ()
    ) -> RowsOf:
        """The rows of the operators `order`; those of `later` read what is left."""
        outside = frozenset(graph.inputs if mode == "const" else ())
        crops = self.joined.crops
        nodes: Sequence[AnyNode] = [node for op in order for node in self.lowered[op].nodes]
        if mode == "streamed":
            nodes = with_exchanges(
                graph,
                [node for node in nodes if isinstance(node, Node)],
                self.views,
                outside,
                crops,
                inputs=True,
                outputs=False,
            )
        kept = {t for op in later for node in self.lowered[op].nodes for t in _read(node)}
        return rows_of(graph, nodes, self.roots, outside, crops, kept)


def _read(node: Node) -> Iterator[int]:
    """The tensors that a node reads."""
    return (port.tensor for port in node.inputs)


_BESIDE = 3
"""How many operators after those that need much may be part of their blocks and stages."""

_FEW_ROWS, _EFFORT = 128, 20_000
"""A network of at most so many rows has them placed, and what goes into that: see `place.rows`."""

_TRIES = 12
"""How many orders of steps are worked out for stages that end with several operators."""


@dataclass(frozen=True, slots=True, eq=False)
class _Ways:
    """All ways through the network: `endings` of all variants, each with its rows and places."""

    count: int
    endings: Sequence[Ending]
    variants: Sequence[tuple[RowsOf, Sequence[int]]]
    limit: int

    def and_of(
        self, rows: RowsOf, place: Sequence[int], endings: Sequence[Ending], limit: int
    ) -> _Ways:
        """With those of another variant, where they need less than `limit`."""
        of = (*self.variants, (rows, place))
        return _Ways(self.count, (*self.endings, *endings), of, limit)

    def least(self) -> tuple[Stretch, ...]:
        """The way of least peak; its stages are exact, as far as so many tries go."""
        endings = {(e.variant, e.own or -1 - e.last): e for e in self.endings}
        for _ in range(_TRIES):
            way = least(endings.values(), self.count)
            vague = [stretch for stretch in way if not stretch.exact]
            if not vague:
                return way
            worst = max(vague, key=lambda stretch: stretch.peak)
            rows, place = self.variants[worst.variant]
            own = Weighed(rows.lines(worst.own), place, variant=worst.variant)
            endings[worst.variant, worst.own] = own.ending(self.limit)
        known = [replace(e, exact=None, floors=None) for e in endings.values()]
        return least(known, self.count)


def _own_needs(lines: Lines) -> dict[int, int]:
    """Operator -> the most bytes that one of its steps touches, scratch memory included."""
    most = np.zeros(len(lines.groups), np.int64)
    np.maximum.at(most, lines.group, lines.touched)
    return {group.operator: int(need) for group, need in zip(lines.groups, most, strict=True)}


def _kernels(
    way: Sequence[Stretch], nodes: Sequence[Sequence[Sequence[AnyNode]]]
) -> tuple[Node, ...]:
    """What runs on a way; `nodes` are those of each variant, by the network's groups."""
    return tuple(
        node
        for stretch in way
        for here in nodes[stretch.variant][stretch.first : stretch.last]
        for node in here
        if isinstance(node, Node)
    )
