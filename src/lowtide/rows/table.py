"""Every step of every node, with the rows it reads and writes, as plain integers.

Why: the searches over stages try thousands of interleavings. Here each row of each tensor is one
integer, and a step is two tuples of them, worked out once from the nodes' ports.

Scratch memory that lasts from step to step is a row of its own, which every step writes.

A tensor that all its ports cut alike is a sequence of rows. One that is cut in different ways (a
reshape between two operators, a transpose) is one row: its memory must be contiguous, it is made
when its last step has run, and it dies as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from lowtide.emit.program import Node, Port
from lowtide.ir import Graph
from lowtide.schedule.liveness import in_arena


@dataclass(frozen=True, slots=True)
class Cut:
    """A tensor as rows `first` to `first + count - 1` of the table, each of `size` bytes."""

    tensor: int
    first: int
    count: int
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class RowTable:
    """Nodes in the order of their operators; `reads[n][s]`, `writes[n][s]` are row numbers.

    `makers[row]` lists (node, step) pairs: the row is complete when all of them have run. Rows of
    graph inputs have none. `kept` rows are live to the end. `scratch[n]` is in bytes, for each step
    alone; `lasting[n]` is the row of scratch memory that lasts, or -1. Nodes that are `alone` use a
    variable tensor, whose order of accesses rows do not show: they are not interleaved.
    """

    cuts: tuple[Cut, ...]
    size: tuple[int, ...]
    reads: tuple[tuple[tuple[int, ...], ...], ...]
    writes: tuple[tuple[tuple[int, ...], ...], ...]
    makers: tuple[tuple[tuple[int, int], ...], ...]
    given: frozenset[int]
    kept: frozenset[int]
    scratch: tuple[int, ...]
    lasting: tuple[int, ...]
    alone: frozenset[int] = frozenset()

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.reads)

    def steps(self, node: int) -> int:
        """Number of steps of a node."""
        return len(self.reads[node])


def row_table(
    graph: Graph,
    nodes: Sequence[Node],
    views: Mapping[int, int],
    *,
    outside: Collection[int] = (),
    preserve: bool = False,
) -> RowTable:
    """The table of `nodes`; `views` maps a view tensor to the tensor whose memory it is.

    `outside` tensors are not in the arena (inputs kept elsewhere). With `preserve`, the rows of
    graph inputs are kept to the end.
    """
    cuts = _cuts(graph, nodes, views, outside)
    size = [0] * sum(cut.count for cut in cuts.values())
    for cut in cuts.values():
        size[cut.first : cut.first + cut.count] = [cut.size] * cut.count
    lasting = []
    for node in nodes:
        lasts = node.scratch > 0 and node.scratch_lasts
        lasting.append(len(size) if lasts else -1)
        size += [node.scratch] * lasts
    makers: list[dict[int, int]] = [{} for _ in size]
    reads, writes = [], []
    for index, node in enumerate(nodes):
        node_reads, node_writes = [], []
        for step in range(node.steps):
            node_reads.append(_rows(node.inputs, step, cuts, views))
            extra = (lasting[index],) if lasting[index] >= 0 else ()
            node_writes.append(_rows(node.outputs, step, cuts, views) + extra)
            for row in node_writes[-1]:
                makers[row][index] = step
        reads.append(tuple(node_reads))
        writes.append(tuple(node_writes))

    def rows_of(tensors: Sequence[int]) -> frozenset[int]:
        chosen = (cuts.get(views.get(t, t)) for t in tensors)
        return frozenset(r for c in chosen if c for r in range(c.first, c.first + c.count))

    return RowTable(
        cuts=tuple(cuts.values()),
        size=tuple(size),
        reads=tuple(reads),
        writes=tuple(writes),
        makers=tuple(tuple(sorted(made.items())) for made in makers),
        given=rows_of(graph.inputs),
        kept=rows_of([*graph.outputs, *(graph.inputs if preserve else ())]),
        scratch=tuple(0 if node.scratch_lasts else node.scratch for node in nodes),
        lasting=tuple(lasting),
        alone=frozenset(
            index
            for index, node in enumerate(nodes)
            if any(graph.tensors[p.tensor].is_variable for p in (*node.inputs, *node.outputs))
        ),
    )


def _cuts(
    graph: Graph,
    nodes: Sequence[Node],
    views: Mapping[int, int],
    outside: Collection[int],
) -> dict[int, Cut]:
    """Tensor -> cut, for every tensor in the arena, in order of first use; inputs come first."""
    shapes: dict[int, set[tuple[int, int]]] = {}
    for tensor in (views.get(t, t) for t in graph.inputs):
        if in_arena(graph.tensors[tensor]) and tensor not in outside:
            shapes.setdefault(tensor, set())
    for node in nodes:
        for port in (*node.inputs, *node.outputs):
            tensor = views.get(port.tensor, port.tensor)
            if in_arena(graph.tensors[tensor]) and tensor not in outside:
                shapes.setdefault(tensor, set()).add((port.rows, port.row_bytes))
    cuts: dict[int, Cut] = {}
    first = 0
    for tensor, ways in shapes.items():
        count, size = next(iter(ways)) if len(ways) == 1 else (1, graph.tensors[tensor].bytes)
        cuts[tensor] = Cut(tensor, first, count, size)
        first += count
    return cuts


def _rows(
    ports: Sequence[Port], step: int, cuts: Mapping[int, Cut], views: Mapping[int, int]
) -> tuple[int, ...]:
    rows: dict[int, None] = {}
    for port in ports:
        cut = cuts.get(views.get(port.tensor, port.tensor))
        if cut is None:
            continue
        if cut.count != port.rows:  # seen through another cut: the tensor is one row
            rows[cut.first] = None
            continue
        at = port.first + step * port.stride if port.table is None else port.table[step]
        for row in range(at, at + port.count * port.dilation, port.dilation):
            if 0 <= row < cut.count:
                rows[cut.first + row] = None
    return tuple(rows)
