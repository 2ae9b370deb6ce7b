"""Every step of every node, with the rows it reads and writes, as arrays of integers.

Why: the searches over stages try thousands of interleavings. Here each row of each tensor is one
integer, and so is each step; what a step touches is worked out once, from the nodes' ports.

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
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import FaultError
from lowtide.ir import Graph
from lowtide.ir.liveness import in_arena
from lowtide.lower.nodes import AnyNode, Crop, Exchange, Node, Port

Ints = NDArray[np.int64]

Rows = tuple[tuple[tuple[int, ...], ...], ...]
"""By node and step, row numbers."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A tensor as rows `first` to `first + count - 1` of the table, each of `size` bytes."""

    tensor: int
    first: int
    count: int
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class Touches:
    """Step `step[i]` touches row `row[i]`, to write it if `made[i]`: steps in their order, of each first
    what it reads, then what it writes, in the order of its ports."""

    step: Ints
    row: Ints
    made: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RowTable:
    """Nodes in the order of their operators; step s of node n is number `begin[n]` + s of all steps.

    Raises FaultError where a node reads a row that neither it nor one before it makes: no order of
    steps could be right.

    `size` is in bytes, as rows take them in the arena: at multiples of `align`, but for inputs and
    outputs, which lie there in one piece. `kept` rows are live to the end. `scratch[n]` is in bytes, for
    each step alone; `lasting[n]` is the row of scratch memory
    that lasts, or -1. Nodes that are `alone` write to a variable tensor, whose order of accesses rows do
    not show: they are not interleaved.
    """

    cuts: tuple[Cut, ...]
    size: tuple[int, ...]
    begin: tuple[int, ...]
    touches: Touches
    given: frozenset[int]
    kept: frozenset[int]
    scratch: tuple[int, ...]
    lasting: tuple[int, ...]
    align: int = 4
    alone: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        read, made = ~self.touches.made, self.touches.made
        node, row = self.node_of[self.touches.step], self.touches.row
        first = np.full(len(self.size), self.nodes)
        np.minimum.at(first, row[made], node[made])
        first[list(self.given)] = -1
        for at in np.flatnonzero(read & (first[row] > node))[:1].tolist():
            raise FaultError(
                f"node {node[at]} of the program reads row {row[at]} before it is made"
            )

    def having(self, nodes: Sequence[AnyNode], firsts: Sequence[int]) -> RowTable:
        """The same steps as those of other nodes, which are parts of its own: of node n those from
        number `firsts[n]` on. What runs in parts has no scratch memory that lasts."""
        whole = dict(zip(firsts, range(self.nodes), strict=False))
        return replace(
            self,
            begin=tuple(accumulate((node.steps for node in nodes), initial=0)),
            scratch=tuple(map(own_scratch, nodes)),
            lasting=tuple(self.lasting[whole[n]] if n in whole else -1 for n in range(len(nodes))),
            alone=frozenset(n for n in whole if whole[n] in self.alone),
        )

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.begin) - 1

    def steps(self, node: int) -> int:
        """Number of steps of a node."""
        return self.begin[node + 1] - self.begin[node]

    @cached_property
    def node_of(self) -> Ints:
        """The node of each step."""
        begin: Ints = np.array(self.begin, np.int64)
        return repeated(np.arange(self.nodes), begin[1:] - begin[:-1])

    @cached_property
    def sizes(self) -> Ints:
        """`size` as an array."""
        return np.array(self.size, np.int64)

    @cached_property
    def step_scratch(self) -> Ints:
        """`scratch` of each step."""
        return np.array(self.scratch, np.int64)[self.node_of]

    @cached_property
    def reads(self) -> Rows:
        """By node and step, the rows that it reads."""
        return self._by_step(~self.touches.made)

    @cached_property
    def writes(self) -> Rows:
        """By node and step, the rows that it writes."""
        return self._by_step(self.touches.made)

    def _by_step(self, which: NDArray[np.bool_]) -> Rows:
        rows = self.touches.row[which].tolist()
        steps = np.arange(self.begin[-1] + 1)
        ends = np.searchsorted(self.touches.step[which], steps).tolist()
        found = [tuple(rows[start:end]) for start, end in pairwise(ends)]
        return tuple(tuple(found[first:last]) for first, last in pairwise(self.begin))

    @cached_property
    def makers(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """By row, (node, step) pairs: it is complete when all of them have run."""
        row, node, upto = (of.tolist() for of in self._last_makers)
        found: list[list[tuple[int, int]]] = [[] for _ in self.size]
        for at, maker, count in zip(row, node, upto, strict=True):
            found[at].append((maker, count - 1))
        return tuple(map(tuple, found))

    def needs(self, node: int, step: int) -> Iterator[tuple[int, int]]:
        """The (node, step) pairs of other nodes that must have run before this step."""
        for row in self.reads[node][step]:
            for maker in self.makers[row]:
                if maker[0] < node:
                    yield maker

    @cached_property
    def _last_makers(self) -> tuple[Ints, Ints, Ints]:
        """Row by row, its makers: rows, nodes, and how many steps of theirs it takes."""
        made = self.touches.made
        row, step = self.touches.row[made], self.touches.step[made]
        key = row * self.nodes + self.node_of[step]
        order = np.argsort(key, kind="stable")
        last = order[np.diff(key[order], append=-1) != 0]
        node = self.node_of[step[last]]
        return row[last], node, step[last] - np.array(self.begin, np.int64)[node] + 1

    @cached_property
    def waits(self) -> list[list[tuple[int, int]]]:
        """By number of a step, what it waits for, one after the other: (node, how many steps of it must
        have run); of makers of several rows that follow each other, the latest."""
        step, maker, upto = self._waits
        starts = np.flatnonzero(np.diff(step * self.nodes + maker, prepend=-1))
        latest = np.maximum.reduceat(upto, starts) if len(starts) else starts
        begins = np.searchsorted(step[starts], np.arange(self.begin[-1] + 1)).tolist()
        pairs = list(zip(maker[starts].tolist(), latest.tolist(), strict=True))
        return [pairs[first:last] for first, last in pairwise(begins)]

    @cached_property
    def first_reader(self) -> list[int]:
        """By node, the first node that waits for it; the number of nodes if there is none."""
        step, maker, _ = self._waits
        found = np.full(self.nodes, self.nodes)
        np.minimum.at(found, maker, self.node_of[step])
        readers: list[int] = found.tolist()
        return readers

    @cached_property
    def _waits(self) -> tuple[Ints, Ints, Ints]:
        """Step by step and row by row that it reads, the nodes before its own that make the row, and how
        many of their steps that takes."""
        of_row, maker, upto = self._last_makers
        read = ~self.touches.made
        step, row = self.touches.step[read], self.touches.row[read]
        first, last = (np.searchsorted(of_row, row, side) for side in ("left", "right"))
        step, entry = repeated(step, last - first), _ranges(first, last)
        earlier = maker[entry] < self.node_of[step]
        return step[earlier], maker[entry[earlier]], upto[entry[earlier]]


def repeated(values: Ints, times: Ints) -> Ints:
    """Each value so many times; where Python's index type has 32 bits, too."""
    return np.repeat(values, times.astype(np.intp))


def summed(index: Ints, weights: Ints, length: int) -> NDArray[np.float64]:
    """The weights by their index, added up; where Python's index type has 32 bits, too."""
    return np.asarray(np.bincount(index.astype(np.intp), weights, length), np.float64)


def _ranges(first: Ints, last: Ints) -> Ints:
    """The numbers of all ranges [first, last), one after the other."""
    many = last - first
    return np.arange(int(many.sum())) + repeated(first - np.cumsum(many) + many, many)


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
    taken = {p.tensor for node in nodes if isinstance(node, Exchange) for p in node.inputs}
    pushed = {p.tensor for node in nodes if isinstance(node, Exchange) for p in node.outputs}

    def rows_of(tensors: Sequence[int]) -> frozenset[int]:
        chosen = (cuts.get(views.get(t, t)) for t in tensors)
        return frozenset(r for c in chosen if c for r in range(c.first, c.first + c.count))

    given = rows_of([t for t in graph.inputs if t not in pushed])
    kept = rows_of(
        [*(t for t in graph.outputs if t not in taken), *(graph.inputs if preserve else ())]
    )
    size: list[int] = []
    for cut in cuts.values():
        whole = cut.count == 1 or cut.first in given or cut.first in kept
        size += [cut.size if whole else -(-cut.size // align) * align] * cut.count
    ports = _Ports(cuts, views, crops)
    lasting = []
    for number, node in enumerate(nodes):
        ports.see(number, node)
        lasts = isinstance(node, Node) and node.scratch > 0 and node.scratch_lasts
        lasting.append(len(size) if lasts else -1)
        if isinstance(node, Node) and lasts:
            ports.all_steps(number, node.steps, len(size))
            size.append(node.scratch)
    begin = tuple(accumulate((node.steps for node in nodes), initial=0))
    return RowTable(
        cuts=tuple(cuts.values()),
        size=tuple(size),
        begin=begin,
        touches=ports.touches(begin, len(size)),
        given=given,
        kept=kept,
        align=align,
        scratch=tuple(own_scratch(node) for node in nodes),
        lasting=tuple(lasting),
        alone=frozenset(
            index
            for index, node in enumerate(nodes)
            if any(graph.tensors[views.get(p.tensor, p.tensor)].is_variable for p in node.outputs)
        ),
    )


def own_scratch(node: AnyNode) -> int:
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


class _Ports:
    """Ports as rows of numbers: which rows of the table they touch is worked out for all at once."""

    _NUMBERS: Final = 14

    def __init__(
        self, cuts: Mapping[int, Cut], views: Mapping[int, int], crops: Mapping[int, Crop]
    ) -> None:
        self._cuts, self._views, self._crops = cuts, views, crops
        self._ports: list[tuple[int, ...]] = []
        self._tables: dict[int, tuple[int, ...]] = {}

    def see(self, number: int, node: AnyNode) -> None:
        """Add the ports of a node, those of inputs first."""
        for made, ports in enumerate((node.inputs, node.outputs)):
            for port in ports:
                self._port(number, made, port, node.steps)

    def all_steps(self, number: int, steps: int, row: int) -> None:
        """Add a row that each step of a node writes."""
        self._ports.append((number, 1, steps, 1, 0, 0, 1, 1, 0, 1, row, 1, steps, 1))

    def _port(self, number: int, made: int, port: Port, steps: int) -> None:
        cut = self._cuts.get(self._views.get(port.tensor, port.tensor))
        if cut is None:
            return
        crop, images = self._crops.get(port.tensor), port.images
        pitch, before = (port.row_bytes, 0) if crop is None else (crop.pitch, crop.row)
        if port.table is not None:
            self._tables[len(self._ports)] = port.table
        self._ports.append(
            (
                *(number, made, steps, port.count, port.first, port.stride, port.dilation),
                *(port.rows, before, pitch, cut.first, cut.size or 1),
                *((steps, port.rows) if images is None else (images.steps, images.rows)),
            )
        )

    def touches(self, begin: Sequence[int], rows: int) -> Touches:
        """What they touch; step s of node n is number `begin[n]` + s."""
        ports = np.array(self._ports, np.int64).reshape(-1, self._NUMBERS)
        node, made, steps, count, first, stride, dilation = ports[:, :7].T
        port_rows, before, pitch, start, size, image_steps, image_rows = ports[:, 7:].T
        which = repeated(np.arange(len(ports)), steps)
        step = _ranges(np.zeros_like(steps), steps)
        at = first[which] + step * stride[which]
        for port, table in self._tables.items():
            at[which == port] = table[: int(steps[port])]
        # Of each window the taps that are no padding: see `Port.inside`.
        low = step // np.maximum(image_steps, 1)[which] * image_rows[which]
        high, apart = np.minimum(low + image_rows[which], port_rows[which]), dilation[which]
        begins = np.maximum(0, -((at - low) // apart))
        ends = np.maximum(begins, np.minimum(count[which], -((at - high) // apart)))
        window, tap = repeated(np.arange(len(which)), ends - begins), _ranges(begins, ends)
        which, step, row = which[window], step[window], at[window] + tap * apart[window]
        row = start[which] + (row + before[which]) * pitch[which] // size[which]
        step += np.array(begin, np.int64)[node[which]]
        order = np.argsort(step * 2 + made[which], kind="stable")
        which, step, row = which[order], step[order], row[order]
        # Each row that a step reads, or writes, once: where it is first.
        key = (step * 2 + made[which]) * max(1, rows) + row
        in_turn = np.sort(key, kind="stable")
        if (in_turn[1:] == in_turn[:-1]).any():
            once = np.sort(np.unique(key, return_index=True)[1])
            which, step, row = which[once], step[once], row[once]
        return Touches(step, row, made[which] > 0)
