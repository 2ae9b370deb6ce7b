"""What one network needs in one input mode: the plan of least peak as the planner would find it.

As `plans.planner.default`, which is what programs get by default: nothing is computed twice, and blocks
run where they save clearly more than the stack that they take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from lowtide.estimates.gaps import gap_bytes
from lowtide.estimates.running import Formed, formed, prices, timeline_of
from lowtide.estimates.search import Stretch, Weighed, least, weighed
from lowtide.ir import Graph
from lowtide.ir.macs import op_macs
from lowtide.lower.families.conv_4x2 import Conv4x2
from lowtide.lower.families.conv_packed import ConvPacked
from lowtide.lower.families.conv_vector import ConvVector
from lowtide.lower.families.depthwise_3x3 import Depthwise3x3
from lowtide.lower.families.depthwise_columns import DepthwiseColumns
from lowtide.lower.families.depthwise_mult1 import DepthwiseMult1
from lowtide.lower.families.depthwise_planes import DepthwisePlanes
from lowtide.lower.families.depthwise_vector import DepthwiseVector
from lowtide.lower.lowerings import Lowerings
from lowtide.lower.nodes import AnyNode, Node
from lowtide.modes import InputMode
from lowtide.place.variables import state_bytes, variables_of
from lowtide.plans.cost import load_model
from lowtide.plans.peaks import GroupedRows
from lowtide.plans.planner import WORTH_BLOCKS, default, plans_of
from lowtide.plans.worth import Costs, is_worth
from lowtide.rows.between import exchanged
from lowtide.rows.blocks import largest_of
from lowtide.rows.prepare import Prepared, Variant, prepare, with_blocks
from lowtide.rows.stages import Segment, ends_bytes, touched_bytes
from lowtide.rows.table import own_scratch
from lowtide.target import Target

_CORES = DepthwiseMult1 | Depthwise3x3 | DepthwiseColumns | DepthwisePlanes | DepthwiseVector
_PARTS = _CORES | ConvPacked | Conv4x2 | ConvVector


@dataclass(frozen=True, slots=True)
class Need:
    """What a network needs in one input mode.

    `peak_bytes` is the most that is live in the plan of least peak; no plan that computes nothing twice
    can do with less than `bound_bytes`. `nodes` are what runs, in the order of the operators, which
    takes `instructions`. The search was given up where `peak_bytes` is
    None: the bound is above the budget.
    """

    peak_bytes: int | None
    bound_bytes: int
    instructions: int | None = None
    nodes: tuple[Node, ...] = ()
    stages: tuple[Stretch, ...] = ()


class Network:
    """A graph whose operators stand in `order`, as an estimate sees it; for all input modes."""

    def __init__(
        self,
        graph: Graph,
        order: Sequence[int],
        target: Target,
        lowerings: Lowerings | None = None,
    ) -> None:
        self.target = target
        self._model = load_model(target.priced_as)
        self._price = prices(self._model)
        self.ready = prepare(graph, order, target=target, blocks=False, lowerings=lowerings)
        self.order = [group.operator for group in self.ready.groups if group.operator >= 0]

    @cached_property
    def state_bytes(self) -> int:
        """Bytes that outlive a run."""
        return state_bytes(variables_of(self.ready))

    @cached_property
    def _macs(self) -> tuple[int, ...]:
        """MACs before each place in the order."""
        graph = self.ready.graph
        return tuple(accumulate((op_macs(graph, graph.ops[n]) for n in self.order), initial=0))

    @cached_property
    def fusible(self) -> frozenset[int]:
        """The operators that a block may stand for, by what their kernels are."""
        works = [(n, node.work) for n in self.order for node in self.ready.lowered[n].nodes]
        cores = any(isinstance(work, _CORES) for _, work in works)
        return frozenset(n for n, work in works if cores and isinstance(work, _PARTS))

    @cached_property
    def _blocked(self) -> Prepared:
        """With the largest blocks that compute nothing twice."""
        return with_blocks(self.ready, largest_of)

    def need(self, mode: InputMode, budget: int | None = None) -> Need:
        """What the network needs with its input in that mode; with a `budget`, in bytes, no more is
        looked for once it is known to be too little."""
        variant = self._in_mode(self.ready, mode).variant()
        rows = GroupedRows(variant.table, variant.groups)
        sure = self._sure(rows, variant.nodes)
        if budget is not None and sure > budget:
            return Need(None, sure)
        if len(rows.touched) <= _FEW_ROWS:
            return self._planned(mode, sure)
        plain = weighed(rows, range(len(rows.groups) + 1), sure)
        way, endings = least([plain], self._macs, sure)
        found = self._formed(variant, rows, way)
        if found.costs.ram - self.state_bytes - sure >= WORTH_BLOCKS and self.fusible:
            plain = replace(plain, endings=endings)
            blocked = self._with_blocks(found.costs, plain, way, sure, mode)
            if blocked is not None:
                found, way = blocked
        exchanges = exchanged(variant.nodes, self.ready.graph)
        return Need(
            found.costs.ram - self.state_bytes,
            sure,
            found.costs.instructions + self._model.between(exchanges),
            found.nodes,
            way,
        )

    @staticmethod
    def _in_mode(ready: Prepared, mode: InputMode) -> Prepared:
        same = mode == ready.input_mode
        return ready if same else replace(ready, input_mode=mode, _variants={})

    def _planned(self, mode: InputMode, sure: int) -> Need:
        """What the plan needs: in a small network scratch memory and gaps between rows are a large part
        of all."""
        ready = self._in_mode(with_blocks(self.ready), mode)
        point = default(plans_of(ready, strips=False, placing=_QUICKLY))
        rows = point.placed.rows
        begins = accumulate((len(stage.operators) for stage in point.choices), initial=0)
        peaks = (stage.peak_bytes for stage in rows.plan.stages)
        both = zip(pairwise(begins), peaks, strict=True)
        return Need(
            point.arena_bytes,
            sure,
            point.instructions,
            tuple(node for node in rows.nodes if isinstance(node, Node)),
            tuple(Stretch(first, last, peak) for (first, last), peak in both),
        )

    def _sure(self, rows: GroupedRows, nodes: Sequence[AnyNode]) -> int:
        """Bytes that no plan can do without that computes nothing twice: what operators touch that are
        in no block, with scratch memory where kernels have one form."""
        firm = np.array([_firm_scratch(node) for node in nodes], np.int64)
        own = rows.most(touched_bytes(rows.table) + firm[rows.table.node_of])
        both = zip(rows.groups, own, strict=True)
        most = (most for group, most in both if group.operator not in self.fusible)
        return max([ends_bytes(rows.table), *most])

    def _formed(self, variant: Variant, rows: GroupedRows, way: Sequence[Stretch]) -> Formed:
        """What the network needs in these stages, of groups of `rows`."""
        stages = [Segment(rows.groups[s.first].first, rows.groups[s.last - 1].last) for s in way]

        run = timeline_of(rows.table, stages)
        gap = gap_bytes(rows.table, run)
        return formed(variant.nodes, rows, run, gap, self.state_bytes, self._price)

    def _with_blocks(
        self, normal: Costs, plain: Weighed, way: Sequence[Stretch], sure: int, mode: InputMode
    ) -> tuple[Formed, tuple[Stretch, ...]] | None:
        """The same with blocks, if they are worth it beside what it normally costs on its `way`."""
        limit = normal.ram - self.state_bytes - WORTH_BLOCKS + 1
        # Only what is too large as it is matters, and what stands beside it.
        highest = max(stretch.peak for stretch in way)
        large = [stretch for stretch in way if stretch.peak >= min(limit, highest)]
        near = self.order[: large[-1].last + _BESIDE]
        ready = self._in_mode(self._blocked, mode)
        blocks = (
            block for block in largest_of(ready.blocks) if set(near).issuperset(block.operators)
        )
        chosen = {block.op for block in blocks}
        if not chosen:
            return None
        variant = ready.variant(chosen)
        rows = GroupedRows(variant.table, variant.groups)
        ends = [end for end in variant.ends if end <= len(near)]
        blocked = weighed(rows, ends, sure, limit, 1)
        way, _ = least([plain, blocked], self._macs, sure, limit)
        if max(stretch.peak for stretch in way) >= limit:
            return None
        inside = {n for s in way if s.variant for n in range(s.first, s.last)}
        at = dict(zip(variant.ends, variant.groups, strict=False))
        used = {group.operator for place, group in at.items() if place in inside} & chosen
        mixed = ready.variant(used)
        place = {end: number for number, end in enumerate(mixed.ends)}
        stages = tuple(Stretch(place[s.first], place[s.last], s.peak) for s in way)
        found = self._formed(mixed, GroupedRows(mixed.table, mixed.groups), stages)
        costs = Costs(found.costs.ram + WORTH_BLOCKS, found.costs.instructions)
        worth = costs.ram <= normal.ram and is_worth(costs, normal, costs.instructions)
        return (found, stages) if worth else None


def _firm_scratch(node: AnyNode) -> int:
    """Scratch memory for one step of a kernel that has one form; others may do with less, or none."""
    return 0 if isinstance(node, Node) and node.forms else own_scratch(node)


_BESIDE = 3
"""How many operators after those that need much may be part of their blocks and stages."""

_FEW_ROWS = 128
"""A network of at most so many rows is planned as programs are."""

_QUICKLY = 0.05
"""The part of the effort of a program that goes into placing them."""
