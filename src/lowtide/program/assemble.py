"""Nodes, an order and offsets become one program: every index resolved, nothing operator-specific.

Graph --lower--> nodes and views --place--> offsets --> Assembly (tables of lowtide.h)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType

from lowtide.ir import Graph
from lowtide.lower.counts import Features
from lowtide.lower.nodes import AnyNode, Crop, Node
from lowtide.modes import InputMode, OutputMode
from lowtide.place import Placement
from lowtide.place.layout import RowLayout, TensorLayout, tensor_layout
from lowtide.place.variables import Variable, state_bytes, variables_of
from lowtide.plans.placed import PlacedPlan
from lowtide.program.scratch import with_shared_places
from lowtide.program.tables import Entry, ExchangeEntry, KernelEntry, PortEntry, Rows, Tables
from lowtide.program.turns import MAX_DEPTH, Loop, Turn, expand, turns_of
from lowtide.rows.bases import FIRST_INPUT, RING_BASES
from lowtide.rows.between import Run, begun, between
from lowtide.rows.cropped import CroppedRun, StripTensor
from lowtide.rows.prepare import Prepared
from lowtide.rows.stages import RowPlan
from lowtide.rows.table import Cut
from lowtide.target import Target


@dataclass(frozen=True, slots=True)
class ByOperators:
    """Operators run one after the other; the placement's items are whole tensors."""


@dataclass(frozen=True, slots=True, eq=False)
class ByRows:
    """Rows are interleaved as `plan` says; `cuts` says which rows, items of the placement, each tensor
    is. No placement of them can be smaller than `bound_bytes` (see `PlacedPlan`)."""

    plan: RowPlan
    cuts: tuple[Cut, ...]
    bound_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Assembly:
    """Everything the C writer needs. Offsets and sizes in bytes.

    `align` is the arena's, `constants` the blob of constant operands. `given` and `left` say where
    graph inputs are written and outputs found: tensor -> (base, offset); those that are streamed have
    no such place.

    `untraced` tensors are made by no node of their own: their parts are, or what they are part of.
    `program_graph` is `graph` with the operators and tensors of blocks and strips after the network's
    own: `members` says which operators each is, `parts` which columns of which tensor, `inner` the
    two tensors inside of a block, -1 for one that is not there. `counters` and
    `bases` are the lengths of the arrays of that name that the program needs. `costs` has, for a
    program that can run in slices, the predicted instructions of a step of each node. `notes` say, of
    ("INPUT" or "OUTPUT", index), how it differs from what the file has.
    """

    graph: Graph
    program_graph: Graph
    order: tuple[int, ...]
    target: Target
    input_mode: InputMode
    output_mode: OutputMode
    rows: tuple[Rows, ...]
    ports: tuple[PortEntry, ...]
    nodes: tuple[Entry, ...]
    turns: tuple[Turn | Loop, ...]
    constants: bytes
    pointers: int
    placement: Placement
    variables: tuple[Variable, ...]
    counters: int
    bases: int
    views: Mapping[int, int]
    given: Mapping[int, tuple[int, int]]
    left: Mapping[int, tuple[int, int]]
    schedule: ByOperators | ByRows
    untraced: frozenset[int]
    align: int = 16
    parts: Mapping[int, StripTensor] = field(default_factory=dict)
    inner: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    members: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    costs: tuple[int, ...] | None = None
    notes: Mapping[tuple[str, int], str] = field(default_factory=dict)

    def operators(self, operator: int) -> str:
        """What an operator of the program graph does, in the network's terms: "3 CONV_2D", or, for a
        block, "3 CONV_2D to 5 CONV_2D"."""
        members = self.members.get(operator, (operator,))
        ends = dict.fromkeys((members[0], members[-1]))
        return " to ".join(f"{op} {self.graph.ops[op].label}" for op in ends)

    def operator_of(self, entry: Entry) -> int | None:
        """The network's operator that a node of the program is of, of a block's its first; None for one
        that only moves or exchanges rows."""
        if not isinstance(entry, KernelEntry):
            return None
        return self.members.get(entry.node.op, (entry.node.op,))[0]

    @property
    def plan(self) -> RowPlan | None:
        """The plan, if rows are interleaved."""
        return self.schedule.plan if isinstance(self.schedule, ByRows) else None

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """The rows that each tensor is, if rows are interleaved."""
        return self.schedule.cuts if isinstance(self.schedule, ByRows) else ()

    @property
    def kernels(self) -> tuple[KernelEntry, ...]:
        """The nodes that run operators' kernels."""
        return tuple(entry for entry in self.nodes if isinstance(entry, KernelEntry))

    @property
    def arena_bytes(self) -> int:
        """Bytes of arena the program needs while it runs."""
        return self.placement.arena_bytes

    @property
    def arena_bound_bytes(self) -> int:
        """No placement of the same tensors, or rows, can be smaller."""
        if isinstance(self.schedule, ByRows):
            return self.schedule.bound_bytes
        return self.placement.lower_bound_bytes

    @property
    def state_bytes(self) -> int:
        """Bytes that it keeps from one run to the next, beside the arena."""
        return state_bytes(self.variables)

    @property
    def state_align(self) -> int:
        """What the state must be aligned to: as its elements are, in words at least."""
        tensors = [self.program_graph.tensors[v.tensor] for v in self.variables]
        least = 4 if self.plan is not None else self.align
        return max([least, *(t.dtype.bits // 8 for t in tensors)])

    @property
    def state_base(self) -> int:
        """The base of the variables, if there are any."""
        return _state_base(self.graph, self.input_mode)

    @property
    def ring(self) -> int:
        """How many rows of the input a run reads in the caller's ring; 0 if there is none."""
        return 0 if self.graph.hop is None else self.graph.hop.ring

    @property
    def executed(self) -> list[tuple[Node, int]]:
        """The nodes that run kernels, and how often each runs through all its steps."""
        steps = Counter(expand(self.turns))
        return [
            (entry.node, steps[number] // entry.node.steps)
            for number, entry in enumerate(self.nodes)
            if isinstance(entry, KernelEntry)
        ]

    @property
    def between(self) -> Features:
        """What the step program does between the steps of kernels: see `between`."""
        runs: list[Run] = []
        for number, of in groupby(expand(self.turns)):
            entry = self.nodes[number]
            if isinstance(entry, KernelEntry):
                runs.append((entry.node, sum(1 for _ in of)))
            elif isinstance(entry, ExchangeEntry):
                runs.append((entry.exchange, sum(1 for _ in of)))
        return between(runs, begun(self.executed), self.program_graph)


def assemble_tensors(ready: Prepared, allocator: str) -> Assembly:
    """Operators one after the other, whole tensors placed by `allocator`."""
    lowered, order = ready.lowered, ready.order
    nodes = [node for index in order for node in lowered[index].nodes]
    slots = [s for s, index in enumerate(order, start=1) for _ in lowered[index].nodes]
    layout = tensor_layout(
        ready.graph,
        order,
        nodes,
        slots,
        ready.views,
        allocator,
        ready.outside,
        ready.preserve_input,
        ready.align,
    )
    variables = variables_of(ready, ready.align)
    tables = _tables(ready, ready.graph, layout, variables)
    turns: list[Turn | Loop] = []
    for index, node in enumerate(nodes):
        turns += [Turn(tables.add_move(move), 1) for move in layout.moves_before(index)]
        turns.append(Turn(tables.add(node, index), node.steps))
    turns += [Turn(tables.add_move(move), 1) for move in layout.moves_after()]
    return _assembly(ready, ready.graph, tables, layout, turns, variables)


def assemble_placed(ready: Prepared, placed: PlacedPlan) -> Assembly:
    """The program of a plan whose rows are placed."""
    rows = placed.rows
    variables = variables_of(ready)
    layout = with_shared_places(placed.layout, rows.plan.steps)
    tables = _tables(ready, rows.graph, layout, variables, rows.crops)
    turns = _turns(tables, rows.nodes, rows.plan, rows.strips)
    return _assembly(ready, rows.graph, tables, layout, turns, variables, placed)


def _skipped(ready: Prepared, plan: RowPlan | None) -> frozenset[int]:
    """Tensors that no node makes: what is joined, and what lies inside of blocks."""
    stages = () if plan is None else plan.stages
    inside = {op for stage in stages for block in stage.blocks for op in block.operators[:-1]}
    return frozenset(
        t for op in {*ready.joined.operators, *inside} for t in ready.graph.ops[op].outputs
    )


def _turns(
    tables: Tables,
    nodes: Sequence[AnyNode],
    plan: RowPlan,
    cropped: Mapping[int, CroppedRun],
) -> list[Turn | Loop]:
    """Loops over the steps of each segment; strips begin with a node that says where they are."""
    shared = max((s.last - s.first for i, s in enumerate(plan.segments) if i in cropped), default=0)
    tables.share_counters(shared)
    turns: list[Turn | Loop] = []
    plain: list[tuple[int, int]] = []
    at = 0
    for number, segment in enumerate(plan.segments):
        count = sum(node.steps for node in nodes[segment.first : segment.last])
        steps = plan.steps[at : at + count]
        at += count
        run = cropped.get(number)
        if run is None:
            for index in range(segment.first, segment.last):
                tables.add(nodes[index], index)
            plain += [(tables.number[node], step) for node, step in steps]
            continue
        turns += turns_of(plain)
        plain = []
        turns.append(Turn(tables.add_strip(run.start, absolute=True), 1))
        for index in range(segment.first, segment.last):
            tables.add(nodes[index], index, shared=index - segment.first)
        body = turns_of([(tables.number[node], step) for node, step in steps], MAX_DEPTH - 1)
        turns += body
        if (
            run.times > 1
        ):  # the first strip stands apart, so that no base is ever outside its memory
            again = Turn(tables.add_strip(run.shift, absolute=False), 1)
            turns.append(Loop((again, *body), run.times - 1))
    return [*turns, *turns_of(plain)]


def _tables(
    ready: Prepared,
    graph: Graph,
    layout: TensorLayout | RowLayout,
    variables: Sequence[Variable],
    crops: Mapping[int, Crop] = MappingProxyType({}),
) -> Tables:
    state = _state_base(graph, ready.input_mode)
    fixed = {**ready.fixed, **{v.tensor: (state, v.offset) for v in variables}}
    return Tables(layout, graph, ready.views, fixed, crops, state + bool(variables))


def _state_base(graph: Graph, mode: InputMode) -> int:
    if graph.hop is not None and graph.hop.ring:
        return FIRST_INPUT + RING_BASES
    return FIRST_INPUT + (len(graph.inputs) if mode == "const" else 0)


def _assembly(
    ready: Prepared,
    graph: Graph,
    tables: Tables,
    layout: TensorLayout | RowLayout,
    turns: Sequence[Turn | Loop],
    variables: tuple[Variable, ...],
    placed: PlacedPlan | None = None,
) -> Assembly:
    rows = None if placed is None else placed.rows
    placement = layout.placement
    plan = None if rows is None else rows.plan
    origin = {} if rows is None else rows.origin
    return Assembly(
        graph=ready.graph,
        program_graph=graph,
        order=ready.order,
        target=ready.target,
        input_mode=ready.input_mode,
        output_mode=ready.output_mode,
        rows=tuple(tables.rows),
        ports=tuple(tables.ports),
        nodes=tuple(tables.nodes),
        turns=tuple(turns),
        constants=ready.constants,
        pointers=tables.pointers,
        placement=placement,
        align=max(ready.align, placement.align),
        variables=variables,
        counters=tables.counters,
        bases=tables.bases,
        views=ready.views,
        given={
            t: tables.where(t, layout.given) for t in graph.inputs if ready.input_mode != "streamed"
        },
        left={
            t: tables.where(t, layout.left)
            for t in graph.outputs
            if ready.output_mode != "streamed"
        },
        schedule=ByOperators()
        if placed is None
        else ByRows(placed.plan, placed.rows.table.cuts, placed.bound_bytes),
        untraced=_skipped(ready, plan),
        parts={} if rows is None else rows.parts,
        inner={} if rows is None else rows.inner,
        members={op.id: ready.members(origin.get(op.id, op.id)) for op in graph.ops},
    )
