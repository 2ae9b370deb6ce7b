"""Where the rows of each node's ports are: for whole tensors, and for rows placed one by one.

Both layouts answer the same questions, so the tables of the program are built in one way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from lowtide.ir import Graph
from lowtide.ir.liveness import in_arena, lifetimes
from lowtide.lower.nodes import Node, Port
from lowtide.place import ALLOCATORS, Item, Move, Placement, Problem, Rectangle, validate
from lowtide.place.row_boxes import WORD
from lowtide.place.rows import FULL, Placing
from lowtide.rows.stages import Segment, Step, live_bytes
from lowtide.rows.table import Cut, RowTable


@dataclass(frozen=True, slots=True, eq=False)
class TensorLayout:
    """Whole tensors (items by tensor id), and scratch memory per operator.

    `slots[i]` is node i's slot. The compacting allocator may move a tensor between slots.
    """

    placement: Placement
    slots: tuple[int, ...]
    scratch_items: tuple[int, ...]

    def _offset(self, item: int, slot: int) -> int:
        """Where `item` lies in `slot`; 0 for what takes no space."""
        rectangles = (b for b in self.placement.rectangles if b.item == item)
        return next((b.offset for b in rectangles if b.start <= slot < b.end), 0)

    def places(self, tensor: int, port: Port, node: int) -> tuple[int, ...]:
        """Byte offset of every row of `port`, a port of node `node` on `tensor`."""
        offset = self._offset(tensor, self.slots[node])
        return tuple(offset + row * port.row_bytes for row in range(port.rows))

    def scratch(self, node: int) -> tuple[int, ...]:
        """Byte offset of the scratch memory, one for all steps."""
        return (self._offset(self.scratch_items[node], self.slots[node]),)

    def given(self, tensor: int) -> int:
        """Byte offset of a graph input when the caller writes it."""
        return self._offset(tensor, 0)

    def left(self, tensor: int) -> int:
        """Byte offset of a graph output after the last step."""
        stays = [b for b in self.placement.rectangles if b.item == tensor]
        return max(stays, key=lambda b: b.end).offset if stays else 0

    def moves_before(self, node: int) -> list[Move]:
        """The compacting allocator's moves before node `node`."""
        before = self.slots[node - 1] if node else 0
        return [m for m in self.placement.moves if before < m.slot <= self.slots[node]]

    def moves_after(self) -> list[Move]:
        """The moves after the last node: operators that are views have a slot, but no node."""
        return [m for m in self.placement.moves if not self.slots or m.slot > self.slots[-1]]


def tensor_layout(
    graph: Graph,
    order: Sequence[int],
    nodes: Sequence[Node],
    slots: Sequence[int],
    views: Mapping[int, int],
    allocator: str,
    outside: Collection[int],
    preserve_input: bool,
    align: int,
) -> TensorLayout:
    """Place tensors, the lifetimes of their views joined, and each operator's scratch memory.

    They lie at multiples of `align` bytes, or of their largest element.
    """
    end = len(order) + 1
    spans: dict[int, tuple[int, int]] = {}
    for tensor, life in lifetimes(graph, order).items():
        root = views.get(tensor, tensor)
        start, stop = spans.get(root, (life.start, life.end))
        spans[root] = (min(start, life.start), max(stop, life.end))
    for tensor in graph.inputs:
        if preserve_input and tensor in spans:
            spans[tensor] = (0, end)
    items = [
        Item(tensor, graph.tensors[tensor].bytes, start, stop)
        for tensor, (start, stop) in sorted(spans.items())
        if in_arena(graph.tensors[tensor]) and tensor not in outside
    ]
    widths = [graph.tensors[item.id].dtype.bits // 8 for item in items]
    scratch: dict[int, int] = {}
    for node, slot in zip(nodes, slots, strict=True):
        scratch[slot] = max(scratch.get(slot, 0), node.scratch)
    items += [
        Item(len(graph.tensors) + slot, size, slot, slot + 1)
        for slot, size in scratch.items()
        if size
    ]
    return TensorLayout(
        ALLOCATORS[allocator](Problem(tuple(items), max([align, *widths]))),
        tuple(slots),
        tuple(len(graph.tensors) + slot for slot in slots),
    )


@dataclass(frozen=True, slots=True, eq=False)
class RowLayout:
    """Every row on its own (items as `place.rows` numbers them), or a tensor's as one of the `pieces`,
    which are known by their first row."""

    placement: Placement
    table: RowTable
    cuts: Mapping[int, Cut]
    offsets: Mapping[int, int]
    pieces: frozenset[int]
    step_scratch: Mapping[int, tuple[int, ...]]

    def having(
        self, table: RowTable, steps: Sequence[Step], places: Mapping[int, int]
    ) -> RowLayout:
        """The same rows at the same offsets, with the scratch memory of another table of theirs: in slot
        s at `places[s]`, or where it is. It is validated anew."""
        rows, old = len(table.size), self.placement
        known = {r.start: r.offset for r in old.rectangles if r.item >= rows} | dict(places)
        kept = [r for r in old.rectangles if r.item < rows]
        scratch = [
            Rectangle(rows + slot - 1, known[slot], size, slot, slot + 1)
            for slot, (node, _) in enumerate(steps, 1)
            if (size := table.scratch[node])
        ]
        rectangles = (*kept, *scratch)
        words = {row for row in table.lasting if row >= 0}.union(range(rows, rows + len(steps)))
        items = (
            Item(r.item, r.size, r.start, r.end, WORD if r.item in words else 1) for r in rectangles
        )
        problem = Problem(tuple(items), old.align)
        arena = max((r.offset + problem.aligned(r.size) for r in rectangles), default=0)
        placement = Placement(old.allocator, old.align, arena, problem.lower_bound(), rectangles)
        validate(problem, placement)
        return _row_layout(placement, table, steps)

    def places(self, tensor: int, port: Port, node: int) -> tuple[int, ...]:
        """Byte offset of every row of `port`; 0 for rows that nothing touches."""
        del node  # a row never moves
        cut = self.cuts[tensor]
        first = self.offsets.get(cut.first, 0)
        if cut.first in self.pieces or cut.count == 1:
            return tuple(first + row * port.row_bytes for row in range(port.rows))
        each = cut.size // port.row_bytes
        return tuple(
            self.offsets.get(cut.first + row // each, 0) + row % each * port.row_bytes
            for row in range(port.rows)
        )

    def scratch(self, node: int) -> tuple[int, ...]:
        """Byte offset of the scratch memory of each step."""
        if self.table.lasting[node] >= 0:
            return (self.offsets[self.table.lasting[node]],) * self.table.steps(node)
        return self.step_scratch.get(node, (0,))

    def given(self, tensor: int) -> int:
        """Byte offset of a graph input: it is given as one piece."""
        return self._whole(tensor)

    def left(self, tensor: int) -> int:
        """Byte offset of a graph output: it is left as one piece."""
        return self._whole(tensor)

    def _whole(self, tensor: int) -> int:
        """Byte offset of a tensor that is one piece; 0 if no step touches it, as it has no elements."""
        is_cut = tensor in self.cuts
        return self.offsets.get(self.cuts[tensor].first, 0) if is_cut else 0


class RowLayouts:
    """Layouts of the rows of `table` for `steps`, each at a multiple of `align` bytes or more.

    More effort finds better ones: it begins with what less has found.

    `lives` are those of `rows.stages.row_lives`. The program's tables hold places in 16 bits, so that
    rows of a large arena are aligned more.
    """

    def __init__(
        self,
        table: RowTable,
        steps: Sequence[Step],
        lives: Mapping[int, tuple[int, int]],
        segments: Sequence[Segment],
        *,
        align: int = 4,
    ) -> None:
        self._table, self._steps, self._lives, self._segments = table, steps, lives, segments
        self._align = align
        peak = max(live_bytes(table, steps, lives))
        while peak > self._align << 16:  # no arena is smaller
            self._align *= 2
        self._placings: dict[int, Placing] = {}

    def within(self, effort: int = FULL) -> RowLayout:
        """The best one that is found with so much effort: see `place.rows.QUICK`."""
        align = self._align
        placement = self._aligned(align).within(effort)
        while placement.arena_bytes > align << 16:
            align *= 2
            placement = self._aligned(align).within(effort)
        return _row_layout(placement, self._table, self._steps)

    def _aligned(self, align: int) -> Placing:
        if align not in self._placings:
            of = self._table, self._steps, self._lives, self._segments
            self._placings[align] = Placing(*of, align=align)
        return self._placings[align]

    @property
    def pairs(self) -> int:
        """How many pairs of rows are live together: what it takes to keep this."""
        return sum(placing.pairs for placing in self._placings.values())


def _row_layout(placement: Placement, table: RowTable, steps: Sequence[Step]) -> RowLayout:
    offsets = {rectangle.item: rectangle.offset for rectangle in placement.rectangles}
    sizes = {rectangle.item: rectangle.size for rectangle in placement.rectangles}
    scratch: dict[int, list[int]] = {}
    for at, (node, _) in enumerate(steps):
        if table.scratch[node]:
            scratch.setdefault(node, []).append(offsets[len(table.size) + at])
    return RowLayout(
        placement,
        table,
        {cut.tensor: cut for cut in table.cuts},
        offsets,
        frozenset(
            cut.first
            for cut in table.cuts
            if cut.count > 1 and sizes.get(cut.first) == cut.size * cut.count
        ),
        {node: tuple(places) for node, places in scratch.items()},
    )
