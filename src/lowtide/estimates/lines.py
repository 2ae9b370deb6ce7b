"""Which rows each step touches, as arrays, and one order of all steps of a network.

Why one order: the steps of a stage run on demand (rows/stages.py). What the last operator of a
stage asks for is asked in the same order by whoever reads that operator's rows: so the steps of
every stage are those of the whole network, as its last operator asks for them, without the
operators outside. One pass over all steps serves all stages. (Where branches end side by side, the
planner's order may differ by a row or so.)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import Graph
from lowtide.lower.nodes import AnyNode, Crop, Exchange, Node, Port
from lowtide.lower.work import Plain
from lowtide.rows.groups import Group, groups_of
from lowtide.rows.table import cuts_of

Ints = NDArray[np.int64]


Links = list[list[tuple[int, list[int]]]]
"""By node, the nodes that it waits for: how many steps of each must have run before each of its own."""

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
class Lines:
    """The rows of a network, and its steps in one order.

    Row r has `size[r]` bytes; `first[r]` is the first step that touches it, `maker[r]` and
    `reader[r]` the first group that makes it (-1: given) and the last that needs it (the number of
    groups: kept). Rows that nothing touches are not there. The last step of `reader[r]` that
    touches it is `ends[r]`; where an earlier group touches it still later, `longer` has the row,
    that group and its last step. Step t is one of group `group[t]`, needs `scratch[t]` bytes of its
    own and touches `touched[t]`, these included. Of `sinks`, nothing reads what the first group's
    node makes before the second group. Groups that are `alone` write to a variable.
    """

    groups: tuple[Group, ...]
    size: Ints
    first: Ints
    maker: Ints
    reader: Ints
    ends: Ints
    longer: Ints
    group: Ints
    scratch: Ints
    touched: Ints
    sinks: Ints
    alone: frozenset[int]
    given_bytes: int
    kept_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class RowsOf:
    """The rows that `nodes` touch: what orders of their steps are made from."""

    nodes: tuple[AnyNode, ...]
    groups: tuple[Group, ...]
    alone: frozenset[int]
    _size: Ints
    _state: Ints
    _cut: Ints
    _touches: _Touches
    _links: Links
    _turns: Turns
    _steps: tuple[int, ...]

    def lines(self, last: int | None = None) -> Lines:
        """In the order in which the last operator asks for rows; or that of the stages that end before
        group `last`, as far as that."""
        count = len(self.groups) if last is None else last
        nodes = self.groups[count].first if count < len(self.groups) else len(self.nodes)
        sequence = _demand(self._links[:nodes], self._turns, self._steps[:nodes])
        return self._lines(count, nodes, sequence)

    def peak(self, stages: Sequence[tuple[int, int]]) -> int:
        """The most that is live if groups run in these stages, in bytes; what is kept is one piece."""
        sequence: list[int] = []
        for first, last in stages:
            begin, end = self.groups[first].first, self.groups[last - 1].last
            sequence += _demand(self._links[:end], self._turns, self._steps[:end], begin)
        order = np.array(sequence, np.int64)
        size, touches, steps = self._size, self._touches, len(sequence)
        steps_of = np.array(self._steps, np.int64)
        start = np.cumsum(steps_of) - steps_of
        when = np.argsort(order, kind="stable")[start[touches.node] + touches.step]
        first_touch = np.full(len(size), steps, np.int64)
        last_touch = np.full(len(size), -1, np.int64)
        np.minimum.at(first_touch, touches.row, when)
        np.maximum.at(last_touch, touches.row, when)
        given, kept = (self._state & 1) > 0, (self._state & 2) > 0
        first_touch[given] = 0
        pieces = np.full(int(self._cut.max(initial=-1)) + 1, steps, np.int64)
        np.minimum.at(pieces, self._cut[kept], first_touch[kept])
        first_touch[kept] = pieces[self._cut[kept]]
        last_touch[kept & (last_touch >= 0)] = steps - 1
        used = last_touch >= 0
        change = np.zeros(steps + 1, np.int64)
        np.add.at(change, first_touch[used], size[used])
        np.add.at(change, last_touch[used] + 1, -size[used])
        own = np.array([_own_scratch(n) for n in self.nodes], np.int64)
        live = np.cumsum(change)[:steps] + own[order]
        return max(int(live.max(initial=0)), int(size[given].sum()), int(size[kept].sum()))

    def _lines(self, groups: int, nodes: int, sequence: Sequence[int]) -> Lines:
        size, state, touches = self._size, self._state, self._touches
        steps, order = len(sequence), np.array(sequence, np.int64)
        of_node = np.full(len(self.nodes) + 1, len(self.groups), np.int64)
        for at, of in enumerate(self.groups):
            of_node[of.first : of.last] = at
        maker = np.full(len(size), len(self.groups), np.int64)
        reader = np.full(len(size), -1, np.int64)
        of_touch = of_node[touches.node]
        np.minimum.at(maker, touches.row[touches.made], of_touch[touches.made])
        np.maximum.at(reader, touches.row, of_touch)
        maker[(state & 1) > 0] = -1
        reader[(state & 2) > 0] = groups
        # Step s of node n is at place[start[n] + s] of the sequence.
        steps_of = np.bincount(order.astype(np.intp), minlength=len(self.nodes))
        start = np.cumsum(steps_of) - steps_of
        place = np.argsort(order, kind="stable").astype(np.int64)
        node, step, row = touches.node, touches.step, touches.row
        if nodes < len(self.nodes):
            inside = node < nodes
            node, step, row, of_touch = node[inside], step[inside], row[inside], of_touch[inside]
        when = place[start[node] + step]
        first = np.full(len(size), steps, np.int64)
        np.minimum.at(first, row, when)
        used = (first < steps) & (maker < groups)
        ends, longer = _ends(row, of_touch, when, len(size), len(self.groups))
        number = np.cumsum(used) - 1
        longer = longer[used[longer[:, 0]]]
        longer[:, 0] = number[longer[:, 0]]
        touched = np.zeros(steps, np.int64)
        once = np.unique(when * max(1, len(size)) + row)
        np.add.at(touched, once // max(1, len(size)), size[once % max(1, len(size))])
        own = np.array([_own_scratch(n) for n in self.nodes], np.int64)
        firm = np.array([_firm_scratch(n) for n in self.nodes], np.int64)
        scratch = own[order] if steps else np.zeros(0, np.int64)
        return Lines(
            groups=self.groups[:groups],
            size=size[used],
            first=first[used],
            maker=maker[used],
            reader=np.minimum(reader[used], groups),
            ends=ends[used],
            longer=longer,
            group=of_node[order],
            scratch=scratch,
            touched=touched + (firm[order] if steps else scratch),
            sinks=self._sinks(of_node),
            alone=self.alone,
            given_bytes=int(size[(state & 1) > 0].sum()),
            kept_bytes=int(size[(state & 2) > 0].sum()),
        )

    def _sinks(self, of_node: Ints) -> Ints:
        """Nodes' groups, and the first that waits for each."""
        waits = [len(self.nodes)] * len(self.nodes)
        for reader in range(len(self.nodes) - 1, -1, -1):
            for maker, _ in self._links[reader]:
                waits[maker] = reader
        return np.stack([of_node[:-1], of_node[np.array(waits, np.int64)]], axis=1)


def _firm_scratch(node: AnyNode) -> int:
    """The same of kernels that have one form; others may do with less, or none."""
    has_forms = isinstance(node, Node) and not isinstance(node.work, Plain | None)
    return 0 if has_forms else _own_scratch(node)


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
        ports.append(
            (
                *(number, made, steps, port.count, port.first, port.stride, port.dilation),
                *(port.rows, before, pitch, cut.first, cut.size or 1),
            )
        )

    for number, node in enumerate(nodes):
        steps = node.steps
        for port in node.inputs:
            see(number, 0, port, steps)
        for port in node.outputs:
            see(number, 1, port, steps)
        if isinstance(node, Node) and node.scratch > 0 and node.scratch_lasts:
            ports.append((number, 1, steps, 1, 0, 0, 1, 1, 0, 1, at, 1))
            sizes.append(node.scratch)
            counts.append(1)
            state.append(0)
            at += 1
    steps_of = np.array([node.steps for node in nodes], np.int64)
    touches = _touches(np.array(ports, np.int64).reshape(-1, 12), tables)
    groups = groups_of([-1 if isinstance(node, Exchange) else node.op for node in nodes])
    writes = {
        n
        for n, node in enumerate(nodes)
        if any(graph.tensors[views.get(p.tensor, p.tensor)].is_variable for p in node.outputs)
    }
    return RowsOf(
        tuple(nodes),
        tuple(groups),
        frozenset(
            number
            for number, group in enumerate(groups)
            if not writes.isdisjoint(range(group.first, group.last))
        ),
        np.repeat(np.array(sizes, np.int64), counts),
        np.repeat(np.array(state, np.int64), counts),
        np.repeat(np.arange(len(counts)), counts),
        touches,
        *_links(touches, steps_of, at),
        tuple(steps_of.tolist()),
    )


def _touches(ports: Ints, tables: Mapping[int, tuple[int, ...]]) -> _Touches:
    """What `ports` touch, a row of numbers each: see `rows_of`."""
    node, made, steps, count, first, stride, dilation, rows, before, pitch, start, size = ports.T
    many = (steps * count).astype(np.intp)  # np.repeat takes no wider numbers
    which = np.repeat(np.arange(len(ports)), many)
    place = np.arange(len(which)) - np.repeat(np.cumsum(many) - many, many)
    step = place // np.maximum(count, 1)[which]
    tap = place - step * count[which]
    begin = first[which] + step * stride[which]
    for port, table in tables.items():
        mine = which == port
        begin[mine] = np.array(table, np.int64)[step[mine]]
    row = begin + tap * dilation[which]
    there = (row >= 0) & (row < rows[which])
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
    which = np.repeat(np.arange(len(r_row)), many)
    maker = np.arange(len(which)) - np.repeat(np.cumsum(many) - many, many) + begin[r_row][which]
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


def _ends(row: Ints, group: Ints, when: Ints, rows: int, groups: int) -> tuple[Ints, Ints]:
    """`Lines.ends` and `Lines.longer` of rows that groups touch."""
    ends = np.full(rows, -1, np.int64)
    if not len(row):
        return ends, np.zeros((0, 3), np.int64)
    # Of each row the last group first, and of each group its last step.
    key = row * groups + (groups - 1 - group)
    keys, number = np.unique(key, return_inverse=True)
    last = np.full(len(keys), -1, np.int64)
    np.maximum.at(last, number.reshape(-1), when)
    of_row = keys // groups
    first = np.append(True, of_row[1:] != of_row[:-1])
    ends[of_row[first]] = last[first]
    later = np.flatnonzero(last > ends[of_row])
    found = np.stack([of_row, groups - 1 - keys % groups, last], axis=1)[later]
    return ends, found
