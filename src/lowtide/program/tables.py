"""The tables of lowtide.h as values, and how nodes and a layout become them.

Nothing here knows an operator: a node's ports and the places of rows are all there is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import assert_never

from lowtide.ir import Graph
from lowtide.lower.move import slide_node
from lowtide.lower.nodes import AnyNode, Crop, Exchange, Node, Port
from lowtide.place import Move
from lowtide.place.layout import RowLayout, TensorLayout
from lowtide.rows.bases import ARENA

NO_TENSOR = 0xFFFF
"""The tensor of rows that belong to none, such as the target of a move."""

_MAX_BYTE = 0xFF


@dataclass(frozen=True, slots=True)
class Rows:
    """lt_rows: a tensor cut into `count` rows from base `base`.

    Row r is at offset + r * pitch, or at offset + places[r] where rows lie apart; `size` is a row's
    bytes. Those in a `ring` may go on at its start (lt_ring.h).
    """

    base: int
    offset: int
    pitch: int
    count: int
    tensor: int
    places: tuple[int, ...] | None = None
    size: int = 0
    ring: bool = field(default=False, repr=False)  # goldens of other programs stay as they are


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
class KernelEntry:
    """lt_node that runs a kernel: `node` names it and its params, `scratch` is an index of rows."""

    node: Node
    ports: int
    scratch: int
    counter: int


@dataclass(frozen=True, slots=True)
class ExchangeEntry:
    """lt_node at which the program stops for a row of the caller's."""

    exchange: Exchange
    ports: int
    counter: int


@dataclass(frozen=True, slots=True, eq=False)
class MoveEntry:
    """lt_node that moves a whole tensor, for the compacting allocator: `slide` is the kernel's call."""

    slide: Node
    ports: int
    scratch: int
    counter: int


@dataclass(frozen=True, slots=True)
class StripEntry:
    """lt_node at which a strip begins: (base, from, offset in bytes) of each shift, and the counters
    that begin again."""

    shifts: tuple[tuple[int, int, int], ...]
    counters: range


Entry = KernelEntry | ExchangeEntry | MoveEntry | StripEntry
"""A node of the step program: lt_node."""


def called(entry: Entry) -> Node | None:
    """What the entry calls a kernel for, if it does."""
    match entry:
        case KernelEntry():
            return entry.node
        case MoveEntry():
            return entry.slide
        case ExchangeEntry() | StripEntry():
            return None
        case _:
            assert_never(entry)


def ports_of(entry: Entry) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """The input and output ports of an entry."""
    match entry:
        case KernelEntry(node) | MoveEntry(node):
            return node.inputs, node.outputs
        case ExchangeEntry(exchange):
            return exchange.inputs, exchange.outputs
        case StripEntry():
            return (), ()
        case _:
            assert_never(entry)


class Tables:
    """Collects the tables of lowtide.h, node by node.

    `crops` are the tensors that are some columns of another, `bases` the first base that is free for
    where a strip begins. `number[index]` is the place in the program of node `index` of the schedule.
    """

    def __init__(
        self,
        layout: TensorLayout | RowLayout,
        graph: Graph,
        views: Mapping[int, int],
        fixed: Mapping[int, tuple[int, int]],
        crops: Mapping[int, Crop],
        bases: int,
    ) -> None:
        self.layout = layout
        self.graph = graph
        self.rings = graph.inputs if graph.hop is not None and graph.hop.ring else ()
        self.views = views
        self.fixed = fixed
        self.crops = crops
        self.bases = self.first_moving = bases
        self.rows: dict[Rows, int] = {}
        self.ports: list[PortEntry] = []
        self.known: dict[tuple[PortEntry, ...], int] = {}
        self.nodes: list[Entry] = []
        self.number: dict[int, int] = {}
        self.moving: dict[int, int] = {}
        self.pointers = 1
        self.counters = 0
        self.shared: range = range(0)

    def where(self, tensor: int, find: Callable[[int], int]) -> tuple[int, int]:
        """(base, offset) of a graph input or output; `find` knows those in the arena."""
        root = self.views.get(tensor, tensor)
        return self.fixed.get(root) or (ARENA, find(root))

    def add_move(self, move: Move) -> int:
        """A move of the compacting allocator as a node of its own; returns its number."""
        port = Port(NO_TENSOR, 1, move.size)
        node = slide_node(-1, port, port, move.size, (move.source, move.target))
        ports = [
            self._port(port, Rows(ARENA, offset, move.size, 1, NO_TENSOR, None, move.size), 1)
            for offset in (move.source, move.target)
        ]
        scratch = self._index(Rows(ARENA, 0, 0, 1, NO_TENSOR))
        return self._add(
            MoveEntry(node, self._first_of(tuple(ports)), scratch, self._new_counter())
        )

    def share_counters(self, count: int) -> None:
        """Set `count` counters apart for the nodes of strips, which are never under way together."""
        self.shared = range(self.counters, self.counters + count)
        self.counters += count

    def add_strip(self, start: Mapping[int, int], *, absolute: bool) -> int:
        """The begin of a strip as a node; `start[t]` is where its rows of tensor t begin.

        That is counted in bytes from the whole rows, or from where the last strip began.
        """
        self.moving = {t: self.first_moving + k for k, t in enumerate(start)}
        self.bases = max(self.bases, self.first_moving + len(start))
        shifts = []
        for tensor, base in self.moving.items():
            root = self.views.get(tensor, tensor)
            source = self.fixed[root][0] if root in self.fixed else ARENA
            shifts.append((base, source if absolute else base, start[tensor]))
        return self._add(StripEntry(tuple(shifts), self.shared))

    def add(self, node: AnyNode, index: int, *, shared: int | None = None) -> int:
        """Node `index` of the schedule; returns its number in the program.

        With `shared`, it is counted by that one of the shared counters.
        """
        ports = []
        for port in (*node.inputs, *node.outputs):
            rows = self._rows_of(port, index)
            ports.append(self._port(port, rows, node.steps))
        entry: Entry
        match node:
            case Exchange():
                counter = self._counter(shared)
                entry = ExchangeEntry(node, self._first_of(tuple(ports)), counter)
            case Node():
                scratch = _rows(self.layout.scratch(index), 0, NO_TENSOR)
                counter = self._counter(shared)
                at = self._index(scratch)
                entry = KernelEntry(node, self._first_of(tuple(ports)), at, counter)
            case _:
                assert_never(node)
        self.number[index] = self._add(entry)
        return self.number[index]

    def _counter(self, shared: int | None) -> int:
        return self._new_counter() if shared is None else self.shared[shared]

    def _index(self, rows: Rows) -> int:
        """Where `rows` stands in the table."""
        return self.rows.setdefault(rows, len(self.rows))

    def _add(self, entry: Entry) -> int:
        """Add an entry; returns its number."""
        self.nodes.append(entry)
        inputs, outputs = ports_of(entry)
        self.pointers = max(self.pointers, sum(p.count for p in (*inputs, *outputs)))
        return len(self.nodes) - 1

    def _rows_of(self, port: Port, index: int) -> Rows:
        """Where the rows of a port lie; a crop's are part of another tensor's."""
        crop = self.crops.get(port.tensor)
        root = self.views.get(port.tensor, port.tensor)
        if crop is None:
            return self._whole(root, port, port.tensor, index)
        root = self.views.get(crop.tensor, crop.tensor)
        rows = Port(root, self.graph.tensors[root].bytes // crop.pitch, crop.pitch)
        whole = self._whole(root, rows, port.tensor, index)
        places = whole.places
        if places is not None:
            places = places[crop.row : crop.row + port.rows]
        base = self.moving[crop.tensor] if crop.moves else whole.base
        offset = whole.offset + crop.row * whole.pitch + crop.offset
        return Rows(
            *(base, offset, whole.pitch, port.rows, port.tensor, places, port.row_bytes, whole.ring)
        )

    def _whole(self, root: int, port: Port, tensor: int, index: int) -> Rows:
        """Where the rows of a port lie that are rows of `root`; `tensor` is what they are called."""
        if root in self.fixed:
            base, offset = self.fixed[root]
            size, ring = port.row_bytes, root in self.rings
            return Rows(base, offset, size, port.rows, tensor, None, size, ring)
        return _rows(self.layout.places(root, port, index), port.row_bytes, tensor)

    def _new_counter(self) -> int:
        self.counters += 1
        return self.counters - 1

    def _port(self, port: Port, rows: Rows, steps: int) -> PortEntry:
        index = self._index(rows)
        table = port.table
        if table is None and port.stride > _MAX_BYTE:
            table = tuple(port.first + step * port.stride for step in range(steps))
        if table is not None:
            return PortEntry(index, 0, 0, port.count, port.dilation, table)
        return PortEntry(index, port.first, port.stride, port.count, port.dilation, None)

    def _first_of(self, ports: tuple[PortEntry, ...]) -> int:
        """Where `ports` stand in the table, one after the other; they are added if they do not yet."""
        if ports not in self.known:
            # A node's output is often the next one's input: the new ones may begin with the last.
            overlap = next(
                n
                for n in range(len(ports), -1, -1)
                if tuple(self.ports[len(self.ports) - n :]) == ports[:n]
            )
            self.known[ports] = len(self.ports) - overlap
            self.ports += ports[overlap:]
        return self.known[ports]


def _rows(places: Sequence[int], size: int, tensor: int) -> Rows:
    """Rows at byte offsets `places` of the arena: by a formula where one fits, else by a table."""
    pitch = places[1] - places[0] if len(places) > 1 else size
    even = all(b - a == pitch for a, b in pairwise(places))
    if even and pitch >= 0:
        return Rows(ARENA, places[0], pitch, len(places), tensor, None, size)
    return Rows(ARENA, 0, 0, len(places), tensor, tuple(places), size)
