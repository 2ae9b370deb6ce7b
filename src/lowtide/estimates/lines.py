"""Which rows each step touches, as arrays, and one order of all steps of a network.

Why one order: the steps of a stage run on demand (rows/stages.py). What the last operator of a
stage asks for is asked in the same order by whoever reads that operator's rows: so the steps of
every stage are those of the whole network, as its last operator asks for them, without the
operators outside. One pass over all steps serves all stages. (Where branches end side by side, the
planner's order may differ by a row or so.)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import Graph
from lowtide.lower.nodes import AnyNode, Crop, Exchange, Node, Port
from lowtide.rows.groups import Group, groups_of
from lowtide.rows.table import cuts_of

Ints = NDArray[np.int64]


Links = list[list[tuple[int, list[int]]]]
"""By node, the nodes that it waits for: how many steps of each must have run before each of its own."""

ROOM = 0.8
"""As `place.rows` has it."""

_PORT = 14
"""How many numbers say which rows a port touches."""

Turns = dict[int, list[list[tuple[int, int]]]]
"""For nodes that read rows which several nodes make: by step, which nodes they wait for, row by row."""


@dataclass(frozen=True, slots=True, eq=False)
class _Touches:
    """Node `node[i]` touches row `row[i]` in its step `step[i]`, to write it if `made[i]`."""

    node: Ints
    step: Ints
    row: Ints
    made: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Lives:
    """When rows are live if steps run in some order, by the position of steps in it.

    `born[r]` and `dies[r]` are the first and the last step that touch row r. `longer` has rows that a
    group touches later than their last reader does: the row, that group and its last step.
    """

    born: Ints
    dies: Ints
    longer: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Steps in the order in which they run: step k of all is the `place[k]`-th. Row r is live from
    `born[r]` to `dies[r]`; in step t, `live[t]` bytes are, scratch memory included."""

    place: Ints
    born: Ints
    dies: Ints
    live: Ints


@dataclass(frozen=True, slots=True, eq=False)
class RowsOf:
    """The rows that `nodes` touch, and which of their steps do; no order of steps changes any of it.

    Row r has `size[r]` bytes; `maker[r]` is the first group that makes it (-1: given), `reader[r]` the
    last that needs it (the number of groups: kept). Rows that nothing touches are not there. Before
    group g, `through[g]` bytes are live. Step s of node n is number `begin[n]` + s of all steps; those
    of `of_group[g]` and after are of group g and later ones, and step k needs `scratch[k]` bytes of its
    own. Of what one of its steps touches, group g needs at least `own[g]` bytes. Of `sinks`,
    nothing reads what the first group's node makes before the second group. Groups that are `alone`
    write to a variable.
    """

    nodes: tuple[AnyNode, ...]
    groups: tuple[Group, ...]
    alone: frozenset[int]
    size: Ints
    maker: Ints
    reader: Ints
    through: Ints
    begin: Ints
    of_group: Ints
    scratch: Ints
    own: Ints
    sinks: Ints
    given_bytes: int
    kept_bytes: int
    _piece: Ints
    _piece_bytes: Ints
    _step: Ints
    _row: Ints
    _pair: Ints
    _pair_group: Ints
    _last_pair: Ints
    _links: Links
    _turns: Turns

    @property
    def floor(self) -> int:
        """Bytes that are there before the first step, or after the last."""
        return max(self.given_bytes, self.kept_bytes)

    def order(self, first: int, last: int) -> list[int]:
        """The nodes of groups [first, last) as their steps run in one stage."""
        begin, end = self.groups[first].first, self.groups[last - 1].last
        if end - begin == 1:
            return [begin] * int(self.begin[end] - self.begin[begin])
        steps = np.diff(self.begin[: end + 1]).tolist()
        return _demand(self._links[:end], self._turns, steps, begin)

    def lives(self, place: Ints) -> Lives:
        """Lives of rows if step k is the `place[k]`-th that runs, or in none of the stages if that is
        less than 0."""
        when = place[self._step]
        late = np.maximum.reduceat(when, self._pair)
        when[when < 0] = len(place)
        born = np.minimum.reduceat(when, self._row)
        dies = late[self._last_pair]
        of_row = repeated(np.arange(len(dies)), np.diff(self._last_pair, prepend=-1))
        longer = np.flatnonzero(late > dies[of_row])
        found = np.stack([of_row[longer], self._pair_group[longer], late[longer]], axis=1)
        return Lives(born, dies, found)

    def run(self, stages: Sequence[tuple[int, int]]) -> Run:
        """All steps, if groups run in these stages. What is kept is one piece, from its first row on."""
        order = np.concatenate([self.order(first, last) for first, last in stages])
        place, steps = np.argsort(order, kind="stable").astype(np.int64), len(order)
        lives = self.lives(place)
        born, dies = np.where(self.maker < 0, 0, lives.born), lives.dies
        np.maximum.at(dies, lives.longer[:, 0], lives.longer[:, 2])
        kept = self.reader == len(self.groups)
        dies[kept] = steps - 1
        first = np.full(len(self._piece_bytes), steps)
        np.minimum.at(first, self._piece, born)
        born[kept] = first[self._piece[kept]]
        live = _live(born, dies, self.size, steps)
        live[place] += self.scratch
        return Run(place, born, dies, live)

    def in_pieces(self, run: Run) -> Run:
        """The same, with all tensors in one piece that can be far below the peak (`place.rows`)."""
        live = run.live.copy()
        self._lay_whole(live, run.born, run.dies)
        return replace(run, live=live)

    def _lay_whole(self, live: Ints, born: Ints, dies: Ints) -> None:
        """Have tensors take all their memory from their first row to their last, the smallest first,
        where less than `ROOM` of the peak is live then."""
        most = int(live.max(initial=0) * ROOM)
        apart = (self.maker >= 0) & (self.reader < len(self.groups))
        for piece in np.argsort(self._piece_bytes, kind="stable").tolist():
            rows = np.flatnonzero(apart & (self._piece == piece))
            if len(rows) > 1:
                start, end = int(born[rows].min()), int(dies[rows].max()) + 1
                own = _live(born[rows] - start, dies[rows] - start, self.size[rows], end - start)
                span = live[start:end] - own + self._piece_bytes[piece]
                if span.max() <= most:
                    live[start:end] = span


def _live(born: Ints, dies: Ints, size: Ints, steps: int) -> Ints:
    """Bytes of rows that are live in each step."""
    change = summed(born, size, steps + 1) - summed(dies + 1, size, steps + 1)
    return np.cumsum(change[:steps]).astype(np.int64)


def summed(index: Ints, weights: Ints, length: int) -> NDArray[np.float64]:
    """The weights by their index, added up; where Python's index type has 32 bits, too."""
    return np.asarray(np.bincount(index.astype(np.intp), weights, length), np.float64)


def repeated(values: Ints, times: Ints) -> Ints:
    """Each value so many times; where Python's index type has 32 bits, too."""
    return np.repeat(values, times.astype(np.intp))


def _firm_scratch(node: AnyNode) -> int:
    """The same of kernels that have one form; others may do with less, or none."""
    return 0 if isinstance(node, Node) and node.forms else _own_scratch(node)


def _own_scratch(node: AnyNode) -> int:
    """Bytes of scratch memory for one step alone."""
    return 0 if isinstance(node, Exchange) or node.scratch_lasts else node.scratch


def rows_of(
    graph: Graph,
    nodes: Sequence[AnyNode],
    views: Mapping[int, int],
    outside: Collection[int],
    crops: Mapping[int, Crop],
    later: Collection[int] = (),
) -> RowsOf:
    """The rows of `nodes`, of which those of the tensors `later` are read afterwards; the rest is as for
    `rows.table.row_table`."""
    cuts = cuts_of(graph, nodes, views, outside, crops)
    taken = {p.tensor for node in nodes if isinstance(node, Exchange) for p in node.inputs}
    pushed = {p.tensor for node in nodes if isinstance(node, Exchange) for p in node.outputs}
    kept = {views.get(t, t) for t in graph.outputs if t not in taken}
    given = {views.get(t, t) for t in graph.inputs if t not in pushed}
    after = {views.get(t, t) for t in later}
    align = max((graph.tensors[t].dtype.bits // 8 for t in cuts), default=1)
    sizes: list[int] = []
    counts: list[int] = []
    state: list[int] = []
    for cut in cuts.values():
        whole = cut.count == 1 or cut.tensor in given or cut.tensor in kept
        sizes.append(cut.size if whole else -(-cut.size // align) * align)
        counts.append(cut.count)
        state.append((cut.tensor in given) + 2 * (cut.tensor in kept or cut.tensor in after))
    at = sum(counts)
    ports: list[tuple[int, ...]] = []
    tables: dict[int, tuple[int, ...]] = {}

    def see(number: int, made: int, port: Port, steps: int) -> None:
        cut = cuts.get(views.get(port.tensor, port.tensor))
        if cut is None:
            return
        crop = crops.get(port.tensor)
        pitch, before = (port.row_bytes, 0) if crop is None else (crop.pitch, crop.row)
        if port.table is not None:
            tables[len(ports)] = port.table
        images = port.images
        ports.append(
            (
                *(number, made, steps, port.count, port.first, port.stride, port.dilation),
                *(port.rows, before, pitch, cut.first, cut.size or 1),
                *((steps, port.rows) if images is None else (images.steps, images.rows)),
            )
        )

    for number, node in enumerate(nodes):
        steps = node.steps
        for port in node.inputs:
            see(number, 0, port, steps)
        for port in node.outputs:
            see(number, 1, port, steps)
        if isinstance(node, Node) and node.scratch > 0 and node.scratch_lasts:
            ports.append((number, 1, steps, 1, 0, 0, 1, 1, 0, 1, at, 1, steps, 1))
            sizes.append(node.scratch)
            counts.append(1)
            state.append(0)
            at += 1
    writes = {
        n
        for n, node in enumerate(nodes)
        if any(graph.tensors[views.get(p.tensor, p.tensor)].is_variable for p in node.outputs)
    }
    return _rows(
        tuple(nodes),
        writes,
        np.repeat(np.array([sizes, state, range(len(counts))], np.int64), counts, axis=1),
        _touches(np.array(ports, np.int64).reshape(-1, _PORT), tables),
    )


def _rows(
    nodes: tuple[AnyNode, ...], writes: Collection[int], rows: Ints, touches: _Touches
) -> RowsOf:
    """`rows` are their sizes, whether they are given (1) or kept (2), and the tensors they are of."""
    size, state, piece = rows
    groups = groups_of([-1 if isinstance(node, Exchange) else node.op for node in nodes])
    count = len(groups)
    steps_of = np.array([node.steps for node in nodes], np.int64)
    begin = np.append(0, np.cumsum(steps_of))
    group = np.repeat(np.arange(count), [g.last - g.first for g in groups])
    group_of = repeated(group, steps_of)
    # Of each row the steps that touch it, by their groups.
    steps = max(1, int(begin[-1]))
    once = np.sort(touches.row * steps + begin[touches.node] + touches.step, kind="stable")
    once = once[np.diff(once, prepend=-1) > 0]
    row, step = once // steps, once % steps
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    by_group = row * count + group_of[step]
    pairs = np.flatnonzero(np.diff(by_group, prepend=-1))
    last_pair = np.append(np.flatnonzero(np.diff(row[pairs])), len(pairs) - 1)[: len(starts)]
    used = row[starts]
    maker = np.full(len(size), count, np.int64)
    np.minimum.at(maker, touches.row[touches.made], group[touches.node[touches.made]])
    maker[(state & 1) > 0] = -1
    maker, reader = maker[used], by_group[pairs[last_pair]] % max(1, count)
    reader[(state[used] & 2) > 0] = count
    there = summed(maker + 1, size[used], count + 2)
    there -= summed(reader + 1, size[used], count + 2)
    own = np.array([_own_scratch(node) for node in nodes], np.int64)
    firm = np.array([_firm_scratch(node) for node in nodes], np.int64)
    touched = summed(step, size[row], steps).astype(np.int64)[: len(group_of)]
    most = np.zeros(count, np.int64)
    np.maximum.at(most, group_of, touched + repeated(firm, steps_of))
    links, turns = _links(touches, steps_of, len(size))
    return RowsOf(
        nodes=nodes,
        groups=tuple(groups),
        alone=frozenset(group[list(writes)].tolist()),
        size=size[used],
        maker=maker,
        reader=reader,
        through=np.cumsum(there).astype(np.int64)[: count + 1],
        begin=begin,
        of_group=begin[[*(g.first for g in groups), len(nodes)]],
        scratch=repeated(own, steps_of),
        own=most,
        sinks=_sinks(links, group),
        given_bytes=int(size[(state & 1) > 0].sum()),
        kept_bytes=int(size[(state & 2) > 0].sum()),
        _piece=piece[used],
        _piece_bytes=summed(piece, size, int(piece.max(initial=-1)) + 1).astype(np.int64),
        _step=step,
        _row=starts,
        _pair=pairs,
        _pair_group=by_group[pairs] % max(1, count),
        _last_pair=last_pair,
        _links=links,
        _turns=turns,
    )


def _sinks(links: Links, group: Ints) -> Ints:
    """Nodes' groups, and the first that waits for each."""
    waits = [len(links)] * len(links)
    for reader in range(len(links) - 1, -1, -1):
        for maker, _ in links[reader]:
            waits[maker] = reader
    after = int(group.max(initial=-1)) + 1
    return np.stack([group, np.append(group, after)[np.array(waits, np.int64)]], axis=1)


def _touches(ports: Ints, tables: Mapping[int, tuple[int, ...]]) -> _Touches:
    """What `ports` touch, a row of numbers each: see `rows_of`."""
    node, made, steps, count, first, stride, dilation, rows, before, pitch, start, size = ports[
        :, :12
    ].T
    image_steps, image_rows = ports[:, 12:].T
    many = steps * count
    which = repeated(np.arange(len(ports)), many)
    place = np.arange(len(which)) - repeated(np.cumsum(many) - many, many)
    step = place // np.maximum(count, 1)[which]
    tap = place - step * count[which]
    begin = first[which] + step * stride[which]
    for port, table in tables.items():
        mine = which == port
        begin[mine] = np.array(table, np.int64)[step[mine]]
    row = begin + tap * dilation[which]
    low = step // np.maximum(image_steps, 1)[which] * image_rows[which]
    there = (row >= low) & (row < np.minimum(low + image_rows[which], rows[which]))
    which, step, row = which[there], step[there], row[there]
    row = start[which] + (row + before[which]) * pitch[which] // size[which]
    return _Touches(node[which], step, row, made[which] > 0)


def _links(touches: _Touches, steps_of: Ints, rows: int) -> tuple[Links, Turns]:
    """Which steps wait for which."""
    nodes = len(steps_of)
    links: Links = [[] for _ in range(nodes)]
    turns: Turns = {}
    made = touches.made
    # Makers of a row, row by row: of each only the last of its steps counts.
    row, node, step = touches.row[made], touches.node[made], touches.step[made]
    by_row = np.lexsort((step, node, row))
    row, node, step = row[by_row], node[by_row], step[by_row]
    if len(row):
        last = np.append((row[1:] != row[:-1]) | (node[1:] != node[:-1]), True)
        row, node, step = row[last], node[last], step[last]
    begin = np.searchsorted(row, np.arange(rows + 1))
    reads = ~made
    r_row, r_node, r_step = touches.row[reads], touches.node[reads], touches.step[reads]
    many = begin[r_row + 1] - begin[r_row]
    which = repeated(np.arange(len(r_row)), many)
    maker = np.arange(len(which)) - repeated(np.cumsum(many) - many, many) + begin[r_row][which]
    earlier = node[maker] < r_node[which]
    which, maker = which[earlier], maker[earlier]
    if not len(which):
        return links, turns
    shared = np.unique(r_node[which[1:]][which[1:] == which[:-1]])
    for reader in shared.tolist():
        turns[reader] = [[] for _ in range(int(steps_of[reader]))]
        mine = np.flatnonzero(r_node[which] == reader)
        for at, of in zip(which[mine].tolist(), maker[mine].tolist(), strict=True):
            turns[reader][int(r_step[at])].append((int(node[of]), int(step[of]) + 1))
    pair = r_node[which] * nodes + node[maker]
    pairs, seen, number = np.unique(pair, return_index=True, return_inverse=True)
    reader = pairs // nodes
    length = steps_of[reader]
    start = np.cumsum(length) - length
    needs = np.zeros(int(length.sum()), np.int64)
    np.maximum.at(needs, start[number.reshape(-1)] + r_step[which], step[maker] + 1)
    flat = needs.tolist()
    for at in np.argsort(seen, kind="stable").tolist():
        begin_at = int(start[at])
        links[int(reader[at])].append(
            (int(pairs[at]) % nodes, flat[begin_at : begin_at + int(length[at])])
        )
    return links, turns


def _demand(
    links: Sequence[Sequence[tuple[int, list[int]]]],
    turns: Turns,
    steps_of: Sequence[int],
    first: int = 0,
) -> list[int]:
    """The nodes from `first` on in the order in which their steps run: see `rows.stages.demand`.

    A node waits for what `links` say, or, if it is there, what `turns` say.
    """
    nodes = len(steps_of)
    read = {maker for mine in links[first:] for maker, _ in mine}
    sinks = [n for n in range(first, nodes) if n not in read]
    done = [*steps_of[:first], *([0] * (nodes - first))]
    order: list[int] = []
    add = order.append

    def run(node: int, upto: int) -> None:
        stack = [(node, upto)]
        while stack:
            at, goal = stack[-1]
            step = done[at]
            if step >= goal:
                stack.pop()
                continue
            if at in turns:
                missing = next((need for need in turns[at][step] if done[need[0]] < need[1]), None)
                if missing is not None:
                    stack.append(missing)
                else:
                    add(at)
                    done[at] += 1
                continue
            mine = links[at]
            while step < goal:
                for maker, needs in mine:
                    if done[maker] < needs[step]:
                        stack.append((maker, needs[step]))
                        break
                else:
                    add(at)
                    step += 1
                    done[at] = step
                    continue
                break

    if len(sinks) == 1:
        run(sinks[0], steps_of[sinks[0]])
    else:
        in_turns = sorted((step / steps_of[n], n) for n in sinks for step in range(steps_of[n]))
        for _, node in in_turns:
            run(node, done[node] + 1)
    for node in range(nodes):
        run(node, steps_of[node])
    return order
