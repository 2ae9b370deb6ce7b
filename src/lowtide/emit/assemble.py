"""Nodes, an order and offsets become one program: every index resolved, nothing operator-specific.

Graph --lower--> nodes and views --place--> offsets --> Assembly (tables of lowtide.h)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lowtide.emit.lower import lower_op
from lowtide.emit.program import Lowered, Node, Params, Port
from lowtide.ir import DType, Graph
from lowtide.place import ALLOCATORS, Block, Item, Placement, Problem
from lowtide.schedule.liveness import in_arena, lifetimes

ARENA, CONSTANTS, FIRST_INPUT = 0, 1, 2
"""Bases of lt_rows: the arena, the constants that are operands, the inputs kept elsewhere."""

InputMode = Literal["resident", "const"]


@dataclass(frozen=True, slots=True)
class Rows:
    """lt_rows: a tensor cut into `count` rows, row 0 at `offset` from base `base`."""

    base: int
    offset: int
    pitch: int
    count: int
    tensor: int


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
    """lt_node; `node` names the kernel and its params."""

    node: Node
    ports: int
    scratch: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable tensor: memory of its own after all that is placed, set to `fill` by init."""

    tensor: int
    offset: int
    size: int
    fill: int


@dataclass(frozen=True, slots=True, eq=False)
class Assembly:
    """Everything the C writer needs. Offsets and sizes in bytes.

    `turns` are (node, first step, steps). `constants` is the blob of constant operands.
    `placement` covers tensors (by id) and scratch (by number of tensors + operator).
    """

    graph: Graph
    order: tuple[int, ...]
    input_mode: InputMode
    rows: tuple[Rows, ...]
    ports: tuple[PortEntry, ...]
    nodes: tuple[NodeEntry, ...]
    turns: tuple[tuple[int, int, int], ...]
    constants: bytes
    pointers: int
    placement: Placement
    variables: tuple[Variable, ...]
    views: Mapping[int, int]

    @property
    def arena_bytes(self) -> int:
        """Bytes of arena the program needs: placed memory, then the variables."""
        ends = [v.offset + v.size for v in self.variables]
        return max([self.placement.arena_bytes, *ends])

    def given_at(self, tensor: int) -> tuple[int, int]:
        """(base, offset) of graph input `tensor`, when the caller writes it."""
        root = self.views.get(tensor, tensor)
        if self.input_mode == "const" and root in self.graph.inputs:
            return FIRST_INPUT + self.graph.inputs.index(root), 0
        return ARENA, next((b.offset for b in self.placement.blocks if b.item == root), 0)

    def left_at(self, tensor: int) -> tuple[int, int]:
        """(base, offset) of graph output `tensor`, after the last step."""
        root = self.views.get(tensor, tensor)
        if self.input_mode == "const" and root in self.graph.inputs:
            return FIRST_INPUT + self.graph.inputs.index(root), 0
        stays = [b for b in self.placement.blocks if b.item == root]
        return ARENA, max(stays, key=lambda b: b.end).offset if stays else 0


def assemble(
    graph: Graph,
    order: Sequence[int],
    *,
    allocator: str = "planned",
    input_mode: InputMode = "resident",
    preserve_input: bool = False,
    align: int = 16,
) -> Assembly:
    """Lower every operator, place tensors and scratch, and resolve all indices.

    `preserve_input` keeps resident inputs intact to the end. Raises ModelError for an operator
    without a kernel.
    """
    lowered = {op.id: lower_op(graph, op) for op in graph.ops}
    views = _resolve_views(graph, lowered)
    placement = _place(graph, order, lowered, views, allocator, input_mode, preserve_input, align)
    constants, constant_offsets = _constants(graph, lowered)
    fixed = {tensor: (CONSTANTS, at) for tensor, at in constant_offsets.items()}
    variables = _place_variables(graph, placement)
    fixed |= {v.tensor: (ARENA, v.offset) for v in variables}
    if input_mode == "const":
        fixed |= {t: (FIRST_INPUT + i, 0) for i, t in enumerate(graph.inputs)}
    tables = _Tables(placement, views, fixed)
    for slot, index in enumerate(order, start=1):
        tables.add_moves(slot)
        for node in lowered[index].nodes:
            tables.add(node, slot, scratch=len(graph.tensors) + index)
    return Assembly(
        graph=graph,
        order=tuple(order),
        input_mode=input_mode,
        rows=tuple(tables.rows),
        ports=tuple(tables.ports),
        nodes=tuple(tables.nodes),
        turns=tuple((i, 0, entry.node.steps) for i, entry in enumerate(tables.nodes)),
        constants=constants,
        pointers=tables.pointers,
        placement=placement,
        variables=variables,
        views=views,
    )


NO_TENSOR = 0xFFFF
"""The tensor of rows that belong to none, such as the target of a move."""


class _Tables:
    """Collects the tables of lowtide.h, node by node."""

    def __init__(
        self,
        placement: Placement,
        views: Mapping[int, int],
        fixed: Mapping[int, tuple[int, int]],
    ) -> None:
        self.placement = placement
        self.views = views
        self.fixed = fixed
        self.rows: dict[Rows, int] = {}
        self.ports: list[PortEntry] = []
        self.nodes: list[NodeEntry] = []
        self.pointers = 1
        self.blocks: dict[int, list[Block]] = {}
        for block in placement.blocks:
            self.blocks.setdefault(block.item, []).append(block)

    def offset(self, item: int, slot: int) -> int:
        """Where `item` lies in `slot`; 0 for what takes no space."""
        for block in self.blocks.get(item, ()):
            if block.start <= slot < block.end:
                return block.offset
        return 0

    def add_moves(self, slot: int) -> None:
        """The compacting allocator's moves before `slot`, as nodes of their own."""
        for move in self.placement.moves:
            if move.slot != slot:
                continue
            source = Port(NO_TENSOR, 1, move.size)
            node = Node(
                op=-1,
                kernel="lt_slide_buffer",
                header="lt_slide.h",
                params=Params("lt_slide", (("bytes", move.size),)),
                inputs=(source,),
                outputs=(source,),
                steps=1,
            )
            first = len(self.ports)
            for offset in (move.source, move.target):
                self._port(source, Rows(ARENA, offset, move.size, 1, NO_TENSOR))
            self._node(node, first, 0)

    def add(self, node: Node, slot: int, scratch: int) -> None:
        """An operator's node, run in `slot`; its scratch memory is item `scratch`."""
        first = len(self.ports)
        for port in (*node.inputs, *node.outputs):
            root = self.views.get(port.tensor, port.tensor)
            base, offset = self.fixed.get(root) or (ARENA, self.offset(root, slot))
            self._port(port, Rows(base, offset, port.row_bytes, port.rows, port.tensor))
        self._node(node, first, self.offset(scratch, slot))

    def _port(self, port: Port, rows: Rows) -> None:
        index = self.rows.setdefault(rows, len(self.rows))
        self.ports.append(
            PortEntry(index, port.first, port.stride, port.count, port.dilation, port.table)
        )

    def _node(self, node: Node, first_port: int, scratch: int) -> None:
        self.nodes.append(NodeEntry(node, first_port, scratch))
        self.pointers = max(self.pointers, sum(p.count for p in (*node.inputs, *node.outputs)))


def _resolve_views(graph: Graph, lowered: Mapping[int, Lowered]) -> dict[int, int]:
    """View tensor -> the tensor whose memory it is, through chains of views."""
    views: dict[int, int] = {}
    for op in graph.ops:  # in file order, so that a view's source is resolved before it
        for view, source in lowered[op.id].views:
            views[view] = views.get(source, source)
    return views


def _place(
    graph: Graph,
    order: Sequence[int],
    lowered: Mapping[int, Lowered],
    views: Mapping[int, int],
    allocator: str,
    input_mode: InputMode,
    preserve_input: bool,
    align: int,
) -> Placement:
    """Tensors with the lifetimes of their views joined, and each operator's scratch."""
    end = len(order) + 1
    spans: dict[int, tuple[int, int]] = {}
    for tensor, life in lifetimes(graph, order).items():
        root = views.get(tensor, tensor)
        start, stop = spans.get(root, (life.start, life.end))
        spans[root] = (min(start, life.start), max(stop, life.end))
    for tensor in graph.inputs:
        if input_mode == "const":
            spans.pop(tensor, None)
        elif preserve_input and tensor in spans:
            spans[tensor] = (0, end)
    items = [
        Item(tensor, graph.tensors[tensor].bytes, start, stop)
        for tensor, (start, stop) in sorted(spans.items())
        if in_arena(graph.tensors[tensor])
    ]
    for slot, index in enumerate(order, start=1):
        scratch = max((node.scratch for node in lowered[index].nodes), default=0)
        if scratch:
            items.append(Item(len(graph.tensors) + index, scratch, slot, slot + 1))
    return ALLOCATORS[allocator](Problem(tuple(items), align))


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
            variables.append(Variable(tensor.id, at, tensor.bytes, fill))
            at += -(-tensor.bytes // placement.align) * placement.align
    return tuple(variables)


def _constants(graph: Graph, lowered: Mapping[int, Lowered]) -> tuple[bytes, dict[int, int]]:
    """Constant tensors that ports read (not through params), as one blob with their offsets."""
    blob = bytearray()
    offsets: dict[int, int] = {}
    for op in graph.ops:
        for node in lowered[op.id].nodes:
            for port in node.inputs:
                data = graph.tensors[port.tensor].data
                if data is not None and port.tensor not in offsets:
                    blob.extend(bytes(-len(blob) % 16))
                    offsets[port.tensor] = len(blob)
                    blob.extend(data)
    return bytes(blob), offsets
