"""Nodes, an order and offsets become one program: every index resolved, nothing operator-specific.

Graph --lower--> nodes and views --place--> offsets --> Assembly (tables of lowtide.h)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from lowtide.emit.layout import RowLayout, TensorLayout, row_layout, tensor_layout
from lowtide.emit.lower import lower_op
from lowtide.emit.program import Lowered, Node, Params, Port
from lowtide.emit.turns import Loop, Turn, turns_of
from lowtide.ir import DType, Graph
from lowtide.place import Move, Placement
from lowtide.rows.stages import RowPlan, plan_rows
from lowtide.rows.table import row_table

ARENA, CONSTANTS, FIRST_INPUT = 0, 1, 2
"""Bases of lt_rows: the arena, the constants that are operands, the inputs kept elsewhere."""

InputMode = Literal["resident", "const"]


Schedule = Literal["operators", "rows"]


@dataclass(frozen=True, slots=True)
class Rows:
    """lt_rows: a tensor cut into `count` rows from base `base`.

    Row r is at offset + r * pitch, or at places[r] where rows lie apart; `size` is a row's bytes.
    """

    base: int
    offset: int
    pitch: int
    count: int
    tensor: int
    places: tuple[int, ...] | None = None
    size: int = 0


@dataclass(frozen=True, slots=True)
class PortEntry:
    """lt_port."""

    rows: int
    first: int
    stride: int
    count: int
    dilation: int
    table: tuple[int, ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class NodeEntry:
    """lt_node; `node` names the kernel and its params, `scratch` is an index of rows."""

    node: Node
    ports: int
    scratch: int


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
    graph inputs are written and outputs found: tensor -> (base, offset). `plan` is there if rows were
    scheduled.
    """

    graph: Graph
    order: tuple[int, ...]
    input_mode: InputMode
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
    preserve_input: bool = False,
    align: int = 16,
) -> Assembly:
    """Lower every operator, place tensors and scratch, and resolve all indices.

    With the schedule "operators" they run one after the other in `order`, and `allocator` places
    whole tensors; with "rows" their steps are interleaved and every row is placed on its own.
    `preserve_input` keeps resident inputs intact to the end. Raises ModelError for an operator
    without a kernel.
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
    tables = _Tables(layout, views, fixed)
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
        given={t: tables.where(t, layout.given) for t in graph.inputs},
        left={t: tables.where(t, layout.left) for t in graph.outputs},
        plan=plan,
    )


NO_TENSOR = 0xFFFF
"""The tensor of rows that belong to none, such as the target of a move."""


class _Tables:
    """Collects the tables of lowtide.h, node by node."""

    def __init__(
        self,
        layout: TensorLayout | RowLayout,
        views: Mapping[int, int],
        fixed: Mapping[int, tuple[int, int]],
    ) -> None:
        self.layout = layout
        self.views = views
        self.fixed = fixed
        self.rows: dict[Rows, int] = {}
        self.ports: list[PortEntry] = []
        self.nodes: list[NodeEntry] = []
        self.pointers = 1

    def where(self, tensor: int, find: Callable[[int], int]) -> tuple[int, int]:
        """(base, offset) of a graph input or output; `find` knows those in the arena."""
        root = self.views.get(tensor, tensor)
        return self.fixed.get(root) or (ARENA, find(root))

    def add_move(self, move: Move) -> int:
        """A move of the compacting allocator as a node of its own; returns its number."""
        port = Port(NO_TENSOR, 1, move.size)
        node = Node(
            op=-1,
            kernel="lt_slide_buffer",
            header="lt_slide.h",
            params=Params("lt_slide", (("bytes", move.size),)),
            inputs=(port,),
            outputs=(port,),
            steps=1,
        )
        first = len(self.ports)
        for offset in (move.source, move.target):
            self._port(port, Rows(ARENA, offset, move.size, 1, NO_TENSOR, None, move.size))
        return self._node(node, first, Rows(ARENA, 0, 0, 1, NO_TENSOR))

    def add(self, node: Node, index: int) -> int:
        """Node `index` of the schedule; returns its number in the program."""
        first = len(self.ports)
        for port in (*node.inputs, *node.outputs):
            root = self.views.get(port.tensor, port.tensor)
            if root in self.fixed:
                base, offset = self.fixed[root]
                rows = Rows(
                    base, offset, port.row_bytes, port.rows, port.tensor, None, port.row_bytes
                )
            else:
                places = self.layout.places(root, port, index)
                rows = _rows(places, port.row_bytes, port.tensor)
            self._port(port, rows)
        return self._node(node, first, _rows(self.layout.scratch(index), 0, NO_TENSOR))

    def _port(self, port: Port, rows: Rows) -> None:
        index = self.rows.setdefault(rows, len(self.rows))
        self.ports.append(
            PortEntry(index, port.first, port.stride, port.count, port.dilation, port.table)
        )

    def _node(self, node: Node, first_port: int, scratch: Rows) -> int:
        rows = self.rows.setdefault(scratch, len(self.rows))
        self.nodes.append(NodeEntry(node, first_port, rows))
        self.pointers = max(self.pointers, sum(p.count for p in (*node.inputs, *node.outputs)))
        return len(self.nodes) - 1


def _rows(places: Sequence[int], size: int, tensor: int) -> Rows:
    """Rows at byte offsets `places` of the arena: by a formula where one fits, else by a table."""
    pitch = places[1] - places[0] if len(places) > 1 else size
    even = all(b - a == pitch for a, b in pairwise(places))
    if even and pitch >= 0:
        return Rows(ARENA, places[0], pitch, len(places), tensor, None, size)
    return Rows(ARENA, 0, 0, len(places), tensor, tuple(places), size)


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
