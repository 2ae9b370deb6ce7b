"""Nodes, an order and offsets become one program: every index resolved, nothing operator-specific.

Graph --lower--> nodes and views --place--> offsets --> Assembly (tables of lowtide.h)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lowtide.emit.layout import RowLayout, TensorLayout, row_layout, tensor_layout
from lowtide.emit.lower import lower_op
from lowtide.emit.program import Lowered, Node, Params, Port
from lowtide.emit.tables import (
    ARENA,
    CONSTANTS,
    FIRST_INPUT,
    NO_TENSOR,
    NodeEntry,
    PortEntry,
    Rows,
    Tables,
)
from lowtide.emit.turns import Loop, Turn, turns_of
from lowtide.ir import DType, Graph
from lowtide.place import Placement
from lowtide.rows.stages import RowPlan, plan_rows
from lowtide.rows.table import Cut, cuts_of, row_table

InputMode = Literal["resident", "const", "streamed"]
OutputMode = Literal["resident", "streamed"]
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
    """

    graph: Graph
    order: tuple[int, ...]
    input_mode: InputMode
    output_mode: OutputMode
    rows: tuple[Rows, ...]
    ports: tuple[PortEntry, ...]
    nodes: tuple[NodeEntry, ...]
    turns: tuple[Turn | Loop, ...]
    constants: bytes
    pointers: int
    placement: Placement
    variables: tuple[Variable, ...]
    views: Mapping[int, int]
    given: Mapping[int, tuple[int, int]]
    left: Mapping[int, tuple[int, int]]
    plan: RowPlan | None
    align: int = 16
    cuts: tuple[Cut, ...] = ()

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
    whole tensors; with "rows" their steps are interleaved and every row is placed on its own.
    `preserve_input` keeps resident inputs intact to the end. Streamed inputs and outputs are
    exchanged with the caller row by row, which needs the schedule "rows". Raises ModelError for an
    operator without a kernel.
    """
    lowered = {op.id: lower_op(graph, op) for op in graph.ops}
    views = _resolve_views(graph, lowered)
    constants, fixed = _constants(graph, lowered)
    outside = set(graph.inputs) if input_mode == "const" else set()
    fixed |= {t: (FIRST_INPUT + i, 0) for i, t in enumerate(graph.inputs) if t in outside}
    nodes = [node for index in order for node in lowered[index].nodes]
    plan = None
    layout: TensorLayout | RowLayout
    if schedule == "rows":
        streamed = input_mode == "streamed", output_mode == "streamed"
        nodes = _with_exchanges(graph, nodes, views, outside, *streamed)
        table = row_table(graph, nodes, views, outside=outside, preserve=preserve_input)
        plan = plan_rows(table)
        wide = any(t.dtype.bits == 64 and not t.is_constant for t in graph.tensors)
        layout = row_layout(table, plan.steps, align=8 if wide else 4)
    else:
        slots = [s for s, index in enumerate(order, start=1) for _ in lowered[index].nodes]
        layout = tensor_layout(
            graph, order, nodes, slots, views, allocator, outside, preserve_input, align
        )
    placement = layout.placement
    variables = _place_variables(graph, placement)
    fixed |= {v.tensor: (ARENA, v.offset) for v in variables}
    tables = Tables(layout, views, fixed)
    turns: list[Turn | Loop] = []
    for index, node in enumerate(nodes):
        turns += [Turn(tables.add_move(move), 1) for move in layout.moves_before(index)]
        turns.append(Turn(tables.add(node, index), node.steps))
    if plan is not None:
        turns = list(turns_of(plan.steps))
    return Assembly(
        graph=graph,
        order=tuple(order),
        input_mode=input_mode,
        output_mode=output_mode,
        rows=tuple(tables.rows),
        ports=tuple(tables.ports),
        nodes=tuple(tables.nodes),
        turns=tuple(turns),
        constants=constants,
        pointers=tables.pointers,
        placement=placement,
        align=max(align, placement.align),
        variables=variables,
        views=views,
        given={t: tables.where(t, layout.given) for t in graph.inputs if input_mode != "streamed"},
        left={t: tables.where(t, layout.left) for t in graph.outputs if output_mode != "streamed"},
        plan=plan,
        cuts=tuple(layout.cuts.values()) if isinstance(layout, RowLayout) else (),
    )


def _with_exchanges(
    graph: Graph,
    nodes: Sequence[Node],
    views: Mapping[int, int],
    outside: Collection[int],
    inputs: bool,
    outputs: bool,
) -> list[Node]:
    """`nodes` with those that take streamed inputs before them, and streamed outputs as made."""
    cuts = cuts_of(graph, nodes, views, outside)

    def port(tensor: int) -> Port:
        """Rows as the tensor is cut, or, where it is in one piece, as its shape says."""
        of, cut = graph.tensors[tensor], cuts.get(views.get(tensor, tensor))
        count = cut.count if cut is not None else 1
        if count == 1 and len(of.shape) > 2:
            count = of.shape[0] * of.shape[1] or 1
        return Port(tensor, count, of.bytes // count)

    def exchange(number: int, tensor: int, given: bool) -> Node:
        ports = (port(tensor),)
        return Node(
            op=-1,
            kernel="",
            header="",
            params=Params("", ()),
            inputs=() if given else ports,
            outputs=ports if given else (),
            steps=ports[0].rows,
            exchange=number,
        )

    last_maker = {
        views.get(p.tensor, p.tensor): at for at, node in enumerate(nodes) for p in node.outputs
    }
    after: dict[int, list[Node]] = {}
    for number, tensor in enumerate(graph.outputs if outputs else ()):
        at = last_maker.get(views.get(tensor, tensor), len(nodes) - 1)
        after.setdefault(at, []).append(exchange(number, tensor, False))
    given = [exchange(n, t, True) for n, t in enumerate(graph.inputs) if inputs]
    # An output that no node makes is an input, or a constant.
    rest = [node for at, taken in after.items() if at < 0 for node in taken]
    return [
        *given,
        *rest,
        *(n for at, node in enumerate(nodes) for n in (node, *after.get(at, ()))),
    ]


def _resolve_views(graph: Graph, lowered: Mapping[int, Lowered]) -> dict[int, int]:
    """View tensor -> the tensor whose memory it is, through chains of views."""
    views: dict[int, int] = {}
    for op in graph.ops:  # in file order, so that a view's source is resolved before it
        for view, source in lowered[op.id].views:
            views[view] = views.get(source, source)
    return views


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


def _constants(
    graph: Graph, lowered: Mapping[int, Lowered]
) -> tuple[bytes, dict[int, tuple[int, int]]]:
    """Constant tensors that ports read (not through params), as one blob; tensor -> (base, offset)."""
    blob = bytearray()
    offsets: dict[int, tuple[int, int]] = {}
    for op in graph.ops:
        for node in lowered[op.id].nodes:
            for port in node.inputs:
                data = graph.tensors[port.tensor].data
                if data is not None and port.tensor not in offsets:
                    blob.extend(bytes(-len(blob) % 16))
                    offsets[port.tensor] = (CONSTANTS, len(blob))
                    blob.extend(data)
    return bytes(blob), offsets


__all__ = ["ARENA", "CONSTANTS", "FIRST_INPUT", "NO_TENSOR", "NodeEntry", "PortEntry", "Rows"]
