"""Every step of every node, with the rows it reads and writes, as plain integers.

Why: the searches over stages try thousands of interleavings. Here each row of each tensor is one
integer, and a step is two tuples of them, worked out once from the nodes' ports.

Scratch memory that lasts from step to step is a row of its own, which every step writes.

A tensor is cut into the smallest rows that every port's rows divide: mostly all ports agree. Where two
cut it in ways that do not fit (a reshape between two operators, a transpose) it is one row: its memory
must be contiguous, it is made when its last step has run, and it dies as a whole.

A row of a joined tensor may have several makers, one for each part, and one part may be made from
another. So a step waits for the makers that come before its node, and for no others: nodes are in an
order in which whatever is read has been made.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from lowtide.errors import FaultError
from lowtide.ir import Graph
from lowtide.ir.liveness import in_arena
from lowtide.lower.nodes import AnyNode, Crop, Exchange, Node, Port


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

    Raises FaultError where a node reads a row that neither it nor one before it makes: no order of
    steps could be right.

    `size` is in bytes, as rows take them in the arena: at multiples of `align`, but for inputs and
    outputs, which lie there in one piece.

    `makers[row]` lists (node, step) pairs: the row is complete when all of them have run. Rows of
    graph inputs have none. `kept` rows are live to the end. `scratch[n]` is in bytes, for each step
    alone, `lean_scratch[n]` that of its lean form; `lasting[n]` is the row of scratch memory that
    lasts, or -1. Nodes that are `alone` write to a variable tensor, whose order of accesses rows do
    not show: they are not interleaved.
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
    lean_scratch: tuple[int, ...] = ()
    align: int = 4
    alone: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        first = [min((node for node, _ in made), default=self.nodes) for made in self.makers]
        for node, steps in enumerate(self.reads):
            for row in {row for rows in steps for row in rows} - self.given:
                if first[row] > node:
                    raise FaultError(
                        f"node {node} of the program reads row {row} before it is made"
                    )

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.reads)

    def steps(self, node: int) -> int:
        """Number of steps of a node."""
        return len(self.reads[node])

    def needs(self, node: int, step: int) -> Iterator[tuple[int, int]]:
        """The (node, step) pairs of other nodes that must have run before this step."""
        for row in self.reads[node][step]:
            for maker in self.makers[row]:
                if maker[0] < node:
                    yield maker


def row_table(
    graph: Graph,
    nodes: Sequence[AnyNode],
    views: Mapping[int, int],
    *,
    outside: Collection[int] = (),
    crops: Mapping[int, Crop] = MappingProxyType({}),
    preserve: bool = False,
) -> RowTable:
    """The table of `nodes`; `views` maps a view tensor to the tensor whose memory it is.

    Those of them that are `crops` are some rows and columns of it.
    `outside` tensors are not in the arena (inputs kept elsewhere). With `preserve`, the rows of graph
    inputs are kept to the end. Inputs and outputs that a node exchanges with the caller are
    neither there before the first step nor after the last.
    """
    cuts = cuts_of(graph, nodes, views, outside, crops)
    align = max((graph.tensors[t].dtype.bits // 8 for t in cuts), default=1)
    seen = _Seen(cuts, views, crops)
    taken = {p.tensor for node in nodes if isinstance(node, Exchange) for p in node.inputs}
    pushed = {p.tensor for node in nodes if isinstance(node, Exchange) for p in node.outputs}

    def rows_of(tensors: Sequence[int]) -> frozenset[int]:
        chosen = (cuts.get(views.get(t, t)) for t in tensors)
        return frozenset(r for c in chosen if c for r in range(c.first, c.first + c.count))

    size = [0] * sum(cut.count for cut in cuts.values())
    given = rows_of([t for t in graph.inputs if t not in pushed])
    kept = rows_of(
        [*(t for t in graph.outputs if t not in taken), *(graph.inputs if preserve else ())]
    )
    for cut in cuts.values():
        whole = cut.count == 1 or cut.first in given or cut.first in kept
        each = cut.size if whole else -(-cut.size // align) * align
        size[cut.first : cut.first + cut.count] = [each] * cut.count
    lasting = []
    for node in nodes:
        lasts = isinstance(node, Node) and node.scratch > 0 and node.scratch_lasts
        lasting.append(len(size) if lasts else -1)
        size += [node.scratch] if isinstance(node, Node) and lasts else []
    makers: list[dict[int, int]] = [{} for _ in size]
    reads, writes = [], []
    for index, node in enumerate(nodes):
        node_reads, node_writes = [], []
        for step in range(node.steps):
            node_reads.append(seen.rows(node.inputs, step))
            extra = (lasting[index],) if lasting[index] >= 0 else ()
            node_writes.append(seen.rows(node.outputs, step) + extra)
            for row in node_writes[-1]:
                makers[row][index] = step
        reads.append(tuple(node_reads))
        writes.append(tuple(node_writes))

    return RowTable(
        cuts=tuple(cuts.values()),
        size=tuple(size),
        reads=tuple(reads),
        writes=tuple(writes),
        makers=tuple(tuple(sorted(made.items())) for made in makers),
        given=given,
        kept=kept,
        align=align,
        scratch=tuple(_own_scratch(node) for node in nodes),
        lasting=tuple(lasting),
        lean_scratch=tuple(
            _own_scratch(node.leaner if isinstance(node, Node) else node) for node in nodes
        ),
        alone=frozenset(
            index
            for index, node in enumerate(nodes)
            if any(graph.tensors[views.get(p.tensor, p.tensor)].is_variable for p in node.outputs)
        ),
    )


def _own_scratch(node: AnyNode) -> int:
    """Bytes of scratch memory for one step alone."""
    return 0 if isinstance(node, Exchange) or node.scratch_lasts else node.scratch


def cuts_of(
    graph: Graph,
    nodes: Sequence[AnyNode],
    views: Mapping[int, int],
    outside: Collection[int] = (),
    crops: Mapping[int, Crop] = MappingProxyType({}),
) -> dict[int, Cut]:
    """Tensor -> cut, for every tensor in the arena, in order of first use; inputs come first."""
    sizes: dict[int, set[int]] = {}
    for tensor in (views.get(t, t) for t in graph.inputs):
        if in_arena(graph.tensors[tensor]) and tensor not in outside:
            sizes.setdefault(tensor, set())
    for node in nodes:
        for port in (*node.inputs, *node.outputs):
            tensor = views.get(port.tensor, port.tensor)
            if in_arena(graph.tensors[tensor]) and tensor not in outside:
                total = graph.tensors[tensor].bytes
                crop, fits = crops.get(port.tensor), port.rows * port.row_bytes == total
                way = crop.pitch if crop is not None else port.row_bytes if fits else 0
                sizes.setdefault(tensor, set()).add(way)
    cuts: dict[int, Cut] = {}
    first = 0
    for tensor, ways in sizes.items():
        total = graph.tensors[tensor].bytes
        size = math.lcm(*ways) if ways else 0
        if not size or total % size:
            size = total
        cuts[tensor] = Cut(tensor, first, total // size if size else 1, size)
        first += cuts[tensor].count
    return cuts


@dataclass(frozen=True, slots=True)
class _Seen:
    """Which rows of the table a port's window is."""

    cuts: Mapping[int, Cut]
    views: Mapping[int, int]
    crops: Mapping[int, Crop]

    def rows(self, ports: Sequence[Port], step: int) -> tuple[int, ...]:
        """The rows that `ports` touch in step `step`."""
        rows: dict[int, None] = {}
        for port in ports:
            root = self.views.get(port.tensor, port.tensor)
            cut = self.cuts.get(root)
            if cut is None:
                continue
            crop = self.crops.get(port.tensor)
            pitch, before = (port.row_bytes, 0) if crop is None else (crop.pitch, crop.row)
            for row in port.inside(step):
                byte = (row + before) * pitch
                rows[cut.first + (byte // cut.size if cut.size else 0)] = None
        return tuple(rows)
