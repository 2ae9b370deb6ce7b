"""Nodes, an order and offsets become one program: every index resolved, nothing operator-specific.

Graph --lower--> nodes and views --place--> offsets --> Assembly (tables of lowtide.h)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from lowtide.errors import UsageError
from lowtide.ir import DType, Graph
from lowtide.ir.block import BlockOp
from lowtide.ir.macs import op_macs
from lowtide.lower import lower_op
from lowtide.lower.nodes import Exchange, Node, Run
from lowtide.place import Placement
from lowtide.place.layout import RowLayout, TensorLayout, row_layout, tensor_layout
from lowtide.place.rows import FULL
from lowtide.plans.search import Group, cheapest
from lowtide.program.tables import (
    ARENA,
    CONSTANTS,
    FIRST_INPUT,
    NO_TENSOR,
    Entry,
    KernelEntry,
    PortEntry,
    Rows,
    Tables,
)
from lowtide.program.turns import MAX_DEPTH, Loop, Turn, turns_of
from lowtide.rows.columns import Stripes, stage_windows, stripes
from lowtide.rows.cropped import CroppedRun, Cropper, Part
from lowtide.rows.prepare import (
    InputMode,
    OutputMode,
    Prepared,
    choices_of,
    prepare,
    space_of,
)
from lowtide.rows.stages import (
    Choice,
    RowPlan,
    Segment,
    Stage,
    live_bytes,
    lower_bound,
    row_lives,
    steps_of,
)
from lowtide.rows.table import Cut, row_table

Schedule = Literal["operators", "rows"]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable tensor: memory of its own after all that is placed.

    Init copies `initial` there, or sets every byte to `fill`.
    """

    tensor: int
    offset: int
    size: int
    fill: int
    initial: bytes | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Assembly:
    """Everything the C writer needs. Offsets and sizes in bytes.

    `align` is the arena's, `constants` the blob of constant operands. `given` and `left` say where
    graph inputs are written and outputs found: tensor -> (base, offset); those that are streamed have
    no such place. `plan` is there if rows were scheduled, and `cuts` then says which rows (items of the
    placement) each tensor is.

    `untraced` tensors are made by no node of their own: their parts are, or what they are part of.
    `program_graph` is `graph` with the operators and tensors of blocks and strips after the network's
    own: `members` says which operators each is, `parts` which columns of which tensor, `inner` the
    two tensors inside of a block, -1 for one that is not there. `counters` and
    `bases` are the lengths of the arrays of that name that the program needs.
    """

    graph: Graph
    program_graph: Graph
    order: tuple[int, ...]
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
    plan: RowPlan | None
    untraced: frozenset[int]
    align: int = 16
    parts: Mapping[int, Part] = field(default_factory=dict)
    inner: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    members: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    cuts: tuple[Cut, ...] = ()

    def operators(self, operator: int) -> str:
        """What an operator of the program graph does, in the network's terms: "3 CONV_2D", or, for a
        block, "3 CONV_2D to 5 CONV_2D"."""
        members = self.members.get(operator, (operator,))
        ends = dict.fromkeys((members[0], members[-1]))
        return " to ".join(f"{op} {self.graph.ops[op].label}" for op in ends)

    @property
    def kernels(self) -> tuple[KernelEntry, ...]:
        """The nodes that run operators' kernels."""
        return tuple(entry for entry in self.nodes if isinstance(entry, KernelEntry))

    @property
    def arena_bytes(self) -> int:
        """Bytes of arena the program needs: placed memory, then the variables."""
        ends = [v.offset + v.size for v in self.variables]
        return max([self.placement.arena_bytes, *ends])


def assemble(
    graph: Graph,
    order: Sequence[int],
    *,
    schedule: Schedule = "operators",
    allocator: str = "planned",
    input_mode: InputMode = "resident",
    output_mode: OutputMode = "resident",
    preserve_input: bool = False,
    align: int = 16,
) -> Assembly:
    """Lower every operator, place tensors and scratch, and resolve all indices.

    With the schedule "operators" they run one after the other in `order`, and `allocator` places
    whole tensors; with "rows" their steps are interleaved, nothing is computed twice, and every row is
    placed on its own. `preserve_input` keeps resident inputs intact to the end. Streamed inputs and
    outputs are exchanged with the caller row by row, which needs the schedule "rows". Raises
    ModelError for an operator without a kernel.
    """
    ready = prepare(
        graph,
        order,
        input_mode=input_mode,
        output_mode=output_mode,
        preserve_input=preserve_input,
        align=align,
        join=schedule == "rows",
    )
    if schedule == "operators":
        return assemble_tensors(ready, allocator)
    path = cheapest(space_of(ready, strips=False))
    assert path is not None
    return assemble_rows(ready, choices_of(path, ready))


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
    variables = _place_variables(ready.graph, layout.placement)
    tables = _tables(ready, ready.graph, layout, variables)
    turns: list[Turn | Loop] = []
    for index, node in enumerate(nodes):
        turns += [Turn(tables.add_move(move), 1) for move in layout.moves_before(index)]
        turns.append(Turn(tables.add(node, index), node.steps))
    turns += [Turn(tables.add_move(move), 1) for move in layout.moves_after()]
    return _assembly(ready, ready.graph, tables, layout, turns, variables)


def assemble_rows(ready: Prepared, choices: Sequence[Choice], *, effort: int = FULL) -> Assembly:
    """Rows interleaved in the stages `choices`, which cover the operators in their order.

    `effort` goes into placing them: see `rows.place`.

    Raises UsageError for a stage that cannot run in strips of the width asked for.
    """
    chosen = [ready.chosen(choice) for choice in choices]
    variant = ready.variant({op for ops in chosen for op in ops if op >= len(ready.graph.ops)})
    cropper = Cropper(ready.wide, ready.joined.crops)
    nodes: list[Run] = []
    segments: list[Segment] = []
    cropped: dict[int, CroppedRun] = {}
    spans: list[tuple[int, int]] = []
    macs = 0
    groups = iter(variant.groups)
    for choice, operators in zip(choices, chosen, strict=True):
        begin = len(nodes)
        mine = [next(groups) for _ in operators] or list(groups)
        if choice.strip_width is None:
            here = variant.nodes[mine[0].first : mine[-1].last] if mine else ()
            nodes += [_form(ready, choice, node, _operator(node)) for node in here]
            segments.append(Segment(begin, len(nodes)))
            macs += sum(op_macs(ready.wide, ready.wide.ops[op]) for op in operators)
            for op in operators:
                block = ready.wide.ops[op]
                if isinstance(block, BlockOp):
                    cropper.full_width(block)
        else:
            cut = _stripes(ready, variant.nodes, mine, operators, choice.strip_width)
            macs += cut.macs
            for run in cropper.stage(cut):
                cropped[len(segments)] = run
                start = len(nodes)
                graph = cropper.graph
                for op in run.operators:
                    here = lower_op(graph, graph.ops[op], ready.lowered).nodes
                    nodes += [_form(ready, choice, node, cropper.origin[op]) for node in here]
                segments.append(Segment(start, len(nodes), run.times))
        spans.append((begin, len(nodes)))
    graph = cropper.graph
    views = {**ready.views, **_crop_roots(cropper, ready.views)}
    table = row_table(
        graph,
        nodes,
        views,
        outside=ready.outside,
        crops={t: c.row for t, c in cropper.crops.items()},
        preserve=ready.preserve_input,
    )
    steps = steps_of(table, segments)
    lives = row_lives(table, steps, segments)
    live = live_bytes(table, steps, lives)
    plan = RowPlan(
        stages=_stages(choices, spans, steps, live),
        segments=tuple(segments),
        steps=steps,
        operators=tuple(cropper.origin.get(op, op) for op in map(_operator, nodes)),
        peak_bytes=max(live),
        lower_bound_bytes=lower_bound(table),
        macs=macs,
    )
    layout = row_layout(table, steps, lives, segments, align=table.align, effort=effort)
    variables = _place_variables(graph, layout.placement)
    tables = _tables(ready, graph, layout, variables, cropper)
    turns = _turns(tables, nodes, plan, cropped)
    return _assembly(ready, graph, tables, layout, turns, variables, plan, cropper)


def _operator(node: Run) -> int:
    """The operator of a node; -1 for an exchange."""
    return -1 if isinstance(node, Exchange) else node.op


def _form(ready: Prepared, choice: Choice, node: Run, operator: int) -> Run:
    """The node of an operator of the wider graph in the form that the choice says."""
    lean = choice.lean and not set(choice.normal).intersection(ready.members(operator))
    return node.leaner if lean and isinstance(node, Node) else node


def _skipped(ready: Prepared, plan: RowPlan | None) -> frozenset[int]:
    """Tensors that no node makes: what is joined, and what lies inside of blocks."""
    stages = () if plan is None else plan.stages
    inside = {op for stage in stages for block in stage.blocks for op in block.operators[:-1]}
    return frozenset(
        t for op in {*ready.joined.operators, *inside} for t in ready.graph.ops[op].outputs
    )


def _stripes(
    ready: Prepared,
    nodes: Sequence[Run],
    groups: Sequence[Group],
    operators: Sequence[int],
    width: int,
) -> Stripes:
    """The stage of `groups` of the nodes in strips."""
    graph = ready.wide
    first, last = groups[0].first, groups[-1].last
    later = [p.tensor for node in nodes[last:] for p in node.inputs]
    outside = frozenset(ready.views.get(t, t) for t in (*later, *graph.outputs))
    exchanges = any(isinstance(node, Exchange) for node in nodes[first:last])
    touched = {t for op in operators for t in (*graph.ops[op].inputs, *graph.ops[op].outputs)}
    found = None
    if not exchanges and touched.isdisjoint(ready.parts):
        found = stage_windows(graph, operators, outside, lambda op: ready.lowered[op].columns)
    cut = None if found is None else stripes(graph, operators, *found, width)
    if cut is None:
        raise UsageError(
            f"operators {ready.members(operators[0])[0]} to {ready.members(operators[-1])[-1]} cannot "
            f"run together in strips of {width} columns",
            "strips need operators on feature maps with one output; see `lowtide plan --front`",
        )
    return cut


def _crop_roots(cropper: Cropper, views: Mapping[int, int]) -> dict[int, int]:
    return {t: views.get(crop.tensor, crop.tensor) for t, crop in cropper.crops.items()}


def _stages(
    choices: Sequence[Choice],
    spans: Sequence[tuple[int, int]],
    steps: Sequence[tuple[int, int]],
    live: Sequence[int],
) -> tuple[Stage, ...]:
    """The stages with what is live while they run; `live` is per slot, the first before all steps."""
    peaks = dict.fromkeys(range(len(choices)), 0)
    of_node = [number for number, (first, last) in enumerate(spans) for _ in range(first, last)]
    for (node, _), size in zip(steps, live[1:], strict=True):
        peaks[of_node[node]] = max(peaks[of_node[node]], size)
    return tuple(
        Stage(choice, first, last, peaks[number])
        for number, (choice, (first, last)) in enumerate(zip(choices, spans, strict=True))
    )


def _turns(
    tables: Tables,
    nodes: Sequence[Run],
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
    cropper: Cropper | None = None,
) -> Tables:
    fixed = {**ready.fixed, **{v.tensor: (ARENA, v.offset) for v in variables}}
    bases = FIRST_INPUT + (len(graph.inputs) if ready.input_mode == "const" else 0)
    return Tables(layout, graph, ready.views, fixed, cropper.crops if cropper else {}, bases)


def _assembly(
    ready: Prepared,
    graph: Graph,
    tables: Tables,
    layout: TensorLayout | RowLayout,
    turns: Sequence[Turn | Loop],
    variables: tuple[Variable, ...],
    plan: RowPlan | None = None,
    cropper: Cropper | None = None,
) -> Assembly:
    placement = layout.placement
    return Assembly(
        graph=ready.graph,
        program_graph=graph,
        order=ready.order,
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
        plan=plan,
        untraced=_skipped(ready, plan),
        cuts=layout.table.cuts if isinstance(layout, RowLayout) else (),
        parts=cropper.parts if cropper else {},
        inner=cropper.inner if cropper else {},
        members={
            op.id: ready.members(cropper.origin.get(op.id, op.id) if cropper else op.id)
            for op in graph.ops
        },
    )


def _place_variables(graph: Graph, placement: Placement) -> tuple[Variable, ...]:
    """Variables keep their contents between invocations, so nothing shares their memory.

    They start as zero, in int8 as the zero point: MicroInterpreter's ResetVariableTensors.
    """
    used = {t for op in graph.ops for t in op.inputs if t >= 0}
    at = placement.arena_bytes
    variables = []
    for tensor in graph.tensors:
        if tensor.is_variable and tensor.id in used:
            zero = tensor.quant.zero_point[0] if tensor.quant else 0
            fill = zero & 0xFF if tensor.dtype is DType.INT8 else 0
            variables.append(Variable(tensor.id, at, tensor.bytes, fill, tensor.initial))
            at += -(-tensor.bytes // placement.align) * placement.align
    return tuple(variables)


__all__ = ["ARENA", "CONSTANTS", "FIRST_INPUT", "NO_TENSOR", "PortEntry", "Rows"]
