"""Nodes, an order and offsets become one program: every index resolved, nothing operator-specific.

Graph --lower--> nodes and views --place--> offsets --> Assembly (tables of lowtide.h)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lowtide.emit.lower import lower_op
from lowtide.emit.program import Lowered, Node
from lowtide.ir import Graph
from lowtide.place import ALLOCATORS, Item, Placement, Problem
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
    views: Mapping[int, int]

    @property
    def arena_bytes(self) -> int:
        """Bytes of arena the program needs."""
        return self.placement.arena_bytes


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
    offsets = {block.item: block.offset for block in placement.blocks}
    constants, constant_offsets = _constants(graph, lowered)
    bases: dict[int, tuple[int, int]] = {
        tensor: (CONSTANTS, at) for tensor, at in constant_offsets.items()
    }
    if input_mode == "const":
        bases |= {t: (FIRST_INPUT + i, 0) for i, t in enumerate(graph.inputs)}

    rows: dict[Rows, int] = {}
    ports: list[PortEntry] = []
    nodes: list[NodeEntry] = []
    pointers = 1
    for index in order:
        for node in lowered[index].nodes:
            first_port = len(ports)
            for port in (*node.inputs, *node.outputs):
                root = views.get(port.tensor, port.tensor)
                base, offset = bases.get(root, (ARENA, offsets.get(root, 0)))
                cut = Rows(base, offset, port.row_bytes, port.rows, port.tensor)
                ports.append(
                    PortEntry(
                        rows.setdefault(cut, len(rows)),
                        port.first,
                        port.stride,
                        port.count,
                        port.dilation,
                        port.table,
                    )
                )
            nodes.append(NodeEntry(node, first_port, offsets.get(len(graph.tensors) + index, 0)))
            pointers = max(pointers, sum(p.count for p in (*node.inputs, *node.outputs)))
    return Assembly(
        graph=graph,
        order=tuple(order),
        input_mode=input_mode,
        rows=tuple(rows),
        ports=tuple(ports),
        nodes=tuple(nodes),
        turns=tuple((i, 0, entry.node.steps) for i, entry in enumerate(nodes)),
        constants=constants,
        pointers=pointers,
        placement=placement,
        views=views,
    )


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
