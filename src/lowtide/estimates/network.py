"""What one network needs in one input mode: the plan of least peak as the planner would find it.

As `plans.planner.least`, which is what programs get by default: nothing is computed twice, and blocks
run where they save clearly more than the stack that they take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Final

from lowtide.estimates.fitting import Fitted, fitted, prices
from lowtide.estimates.gaps import gap_bytes
from lowtide.estimates.lines import RowsOf, Run, rows_of
from lowtide.estimates.shapes import Shaped, shaped, shaped_block
from lowtide.estimates.weighing import Stretch, Variant, exactly, least, variant
from lowtide.ir import Graph
from lowtide.ir.block import BlockOp
from lowtide.ir.macs import op_macs
from lowtide.lower.convolution_work import Convolution, ConvolutionFours
from lowtide.lower.depthwise_work import Depthwise, DepthwiseColumns
from lowtide.lower.nodes import AnyNode, Lowered, Node
from lowtide.lower.vector_work import ConvolutionLanes, DepthwiseLanes
from lowtide.passes import normalise_windows
from lowtide.place.rows import place_rows
from lowtide.place.variables import place_variables, state_bytes
from lowtide.plans.cost import known_model
from lowtide.plans.forms import Costs, is_worth
from lowtide.rows.blocks import BlockOption, find_blocks, largest_of
from lowtide.rows.groups import Group
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
    can do with less than `bound_bytes`. `nodes` are what runs, in the order of the operators, which
    takes `instructions` (None if no model predicts them). The search was given up where `peak_bytes` is
    None: the bound is above the budget.
    """

    peak_bytes: int | None
    bound_bytes: int
    instructions: int | None = None
    nodes: tuple[Node, ...] = ()
    stages: tuple[Stretch, ...] = ()


class Network:
    """A graph whose operators stand in `order`, as an estimate sees it; for all input modes."""

    def __init__(self, graph: Graph, order: Sequence[int], target: Target) -> None:
        self.graph = normalise_windows(graph)
        self.target = target
        model = known_model(target.priced_as)
        self._price = None if model is None else prices(model)
        self.shapes: Mapping[int, Shaped] = {
            op.id: shaped(self.graph, op, target) for op in self.graph.ops
        }
        self.lowered: dict[int, Lowered] = {n: s.lowered for n, s in self.shapes.items()}
        self.views = resolve_views(self.graph, self.lowered)
        self.joined: Joined = joined(self.graph, self.lowered, self.views)
        crops = self.joined.crops.items()
        self.roots = {**self.views, **{t: self.views.get(c.tensor, c.tensor) for t, c in crops}}
        self._given = tuple(order)
        self.order = [n for n in order if n not in self.joined.operators and self.lowered[n].nodes]

    @cached_property
    def state_bytes(self) -> int:
        """Bytes that outlive a run."""
        return state_bytes(place_variables(self.graph, self._given, self.roots, 1))

    @cached_property
    def _macs(self) -> tuple[int, ...]:
        """MACs before each place in the order."""
        each = (op_macs(self.graph, self.graph.ops[n]) for n in self.order)
        return tuple(accumulate(each, initial=0))

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
            assert isinstance(op, BlockOp)
            self.lowered[block.op] = shaped_block(wide, op, (self.lowered, within), self.target)
        return wide, chosen

    def need(self, mode: InputMode, budget: int | None = None) -> Need:
        """What the network needs with its input in that mode; with a `budget`, in bytes, no more is
        looked for once it is known to be too little."""
        rows = self._rows(self.graph, self.order, mode)
        own = zip((group.operator for group in rows.groups), rows.own.tolist(), strict=True)
        sure = max([rows.floor, *(most for op, most in own if op not in self.fusible)])
        if budget is not None and sure > budget:
            return Need(None, sure)
        plain = variant(rows, range(len(rows.groups) + 1), sure)
        if len(rows.size) <= _FEW_ROWS:
            plain = exactly(plain)
        way, endings = least([plain], self._macs, sure)
        found = self._fitted(self.graph, rows, way, mode)
        if found.normal.ram - self.state_bytes - sure >= WORTH_BLOCKS and self.fusible:
            plain = replace(plain, endings=endings)
            blocked = self._with_blocks(found.normal, plain, way, sure, mode)
            if blocked is not None:
                found, way = blocked
        return Need(
            found.costs.ram - self.state_bytes,
            sure,
            None if self._price is None else found.costs.instructions,
            found.nodes,
            way,
        )

    def _fitted(
        self, graph: Graph, rows: RowsOf, stages: Sequence[Stretch], mode: InputMode
    ) -> Fitted:
        """What the network needs in these stages, of groups of `rows`."""

        def arena(nodes: Sequence[AnyNode], run: Run, peak: int) -> int:
            if len(rows.size) > _FEW_ROWS:
                return peak + gap_bytes(rows, run)
            return max(peak, self._placed(graph, rows.groups, nodes, stages, peak, mode))

        runs = [(stretch.first, stretch.last) for stretch in stages]
        return fitted(rows, runs, arena, self.state_bytes, self._price)

    def _placed(
        self,
        graph: Graph,
        groups: Sequence[Group],
        nodes: Sequence[AnyNode],
        way: Sequence[Stretch],
        peak: int,
        mode: InputMode,
    ) -> int:
        """The arena of the few rows of a small network: there one that does not fit a gap is a large
        part of all, and placing them takes a millisecond or two."""
        outside = self.graph.inputs if mode == "const" else ()
        table = row_table(graph, nodes, self.roots, outside=outside, crops=self.joined.crops)
        stages = [Segment(groups[s.first].first, groups[s.last - 1].last) for s in way]
        steps = steps_of(table, stages)
        lives = row_lives(table, steps)
        for effort in _EFFORTS:
            arena = place_rows(
                table, steps, lives, stages, align=table.align, effort=effort
            ).arena_bytes
            if arena <= peak * _NEARLY:
                break
        return arena

    def _with_blocks(
        self, normal: Costs, plain: Variant, way: Sequence[Stretch], sure: int, mode: InputMode
    ) -> tuple[Fitted, tuple[Stretch, ...]] | None:
        """The same with blocks, if they are worth it beside what it normally costs on its `way`."""
        limit = normal.ram - self.state_bytes - WORTH_BLOCKS + 1
        # Only what is too large as it is matters, and what stands beside it.
        highest = max(stretch.peak for stretch in way)
        large = [stretch for stretch in way if stretch.peak >= min(limit, highest)]
        last = min(len(self.order), large[-1].last + _BESIDE)
        wide, blocks = self._blocks(last)
        if not blocks:
            return None
        last_of = {block.operators[-1]: block for block in blocks}
        members = {block.op: block.operators for block in blocks}
        inside = {n for block in blocks for n in block.operators}
        order = [
            last_of[n].op if n in last_of else n
            for n in self.order[:last]
            if n in last_of or n not in inside
        ]
        rows = self._rows(wide, order, mode, self.order[last:])
        place = [0]
        for group in rows.groups:
            place.append(place[-1] + len(members.get(group.operator, (0,))))
        blocked = variant(rows, place, sure, limit, number=1)
        way, _ = least([plain, blocked], self._macs, sure, limit)
        if max(stretch.peak for stretch in way) >= limit:
            return None
        runs = [dict(enumerate(self.order)), dict(zip(place, order, strict=False))]
        chosen: list[int] = []
        stages: list[Stretch] = []
        for stretch in way:
            of, before = runs[stretch.variant], len(chosen)
            chosen += [of[at] for at in range(stretch.first, stretch.last) if at in of]
            stages.append(Stretch(before, len(chosen), stretch.peak))
        mixed = self._rows(wide, chosen, mode)
        found = self._fitted(wide, mixed, stages, mode)
        saved = normal.ram - found.costs.ram
        worth = saved >= WORTH_BLOCKS and is_worth(found.costs, normal)
        return (found, tuple(stages)) if worth else None

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

_FEW_ROWS = 128
"""A network of at most so many rows has them placed, and all its stages weighed as they would run."""

_EFFORTS, _NEARLY = (20_000, 100_000), 1.02
"""What goes into that (see `place.rows`): more where the arena is not near the peak."""
