"""What stages need: the peaks of many of them at once, from one order of their steps.

Why so quick: what a row adds to what is live depends on the stage alone. In a stage of the groups
[i, j), a row that was made before it and is read after it counts all the time; one that is made in
it and read after it from its birth on; one that was made before and dies in it until its death; one
that is made and dies in it in between. Summed up, that is

    live(i, j, t) = through(j) + P[j, t] - P[i, t],   P[k, t] = sum over groups g < k of d[g, t]

where d[g, t] adds what group g makes (born by t, less all of it) and what dies in g (what is still there
at t), and through(j) is what is there before group j. So all peaks are maxima over a difference of two
rows of one matrix, and the scratch memory of the forms in which kernels run. (Rows that a group touches
later than their last reader, in another branch, are added once the last reader is in the stage.)

The steps of a stage are those of a longer one to its left without the latter's own, in the same order.
So the order of a stage serves all that end where it does, exactly. Mostly it serves those that end
before it, too: what an operator asks for is asked in the same order by whoever reads its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from lowtide.rows.groups import Group
from lowtide.rows.stages import demand
from lowtide.rows.table import Ints, RowTable, repeated, summed


@dataclass(frozen=True, slots=True, eq=False)
class Touched:
    """A stage's steps in the order in which they run, and its rows: the first and the last step that
    touches each. `step` are their numbers in the table."""

    step: Ints
    rows: Ints
    start: Ints
    end: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Nodes cut into stretches of steps, in their order: of each part its node, its first step and the
    one after its last, by number in the table. Those of group g are `begin[g]` to `begin[g + 1]` - 1."""

    node: Ints
    step: Ints
    stop: Ints
    begin: Ints

    @staticmethod
    def of(table: RowTable, groups: Sequence[Group], counts: Sequence[int]) -> Parts:
        """So many parts of each node, of as many steps, very nearly."""
        many, firsts = np.array(counts, np.int64), np.array(table.begin, np.int64)
        begin = np.cumsum([0, *counts])
        node = repeated(np.arange(len(many)), many)
        at = np.arange(len(node)) - begin[node]
        step = firsts[node] + at * np.diff(firsts)[node] // many[node]
        ends = [0, *(group.last for group in groups)]
        return Parts(node, step, np.append(step[1:], firsts[-1]), begin[ends])


class GroupedRows:
    """The rows of a table, and the groups of nodes that touch them; no order of steps changes any of it.

    Row r has `size[r]` bytes; `maker[r]` is the first group that makes it (-1: given), `reader[r]` the
    last that needs it (the number of groups: kept; -1: none). Before group g, `through[g]` bytes are
    live; the steps from `begin[g]` on, and the table's touches from `touches[g]` on, are of that group
    and later ones. Groups that are `alone` write to a variable.
    """

    def __init__(self, table: RowTable, groups: Sequence[Group]) -> None:
        self.table, self.groups = table, tuple(groups)
        count, rows = len(groups), len(table.size)
        nodes = np.array([group.last - group.first for group in groups], np.int64)
        self.group_of_node = repeated(np.arange(count), nodes)
        self.group_of = self.group_of_node[table.node_of]
        self.begin = np.array([*(table.begin[g.first] for g in groups), table.begin[-1]], np.intp)
        self.alone = frozenset(self.group_of_node[list(table.alone)].tolist())
        self.size, touches = table.sizes, table.touches
        self.touches: list[int] = np.searchsorted(touches.step, self.begin).tolist()
        # Of each row the steps that touch it, by their groups.
        steps, groups_or_one = max(1, table.begin[-1]), max(1, count)
        once = np.unique(touches.row * steps + touches.step)
        row, self._step = once // steps, once % steps
        by_group = row * groups_or_one + self.group_of[self._step]
        self._row = np.flatnonzero(np.diff(row, prepend=-1))
        self._pair = np.flatnonzero(np.diff(by_group, prepend=-1))
        self._pair_group = by_group[self._pair] % groups_or_one
        self._last_pair = np.flatnonzero(np.diff(row[self._pair], append=-1))
        self.touched = row[self._row]
        self.maker, self.reader = np.full(rows, count), np.full(rows, -1)
        np.minimum.at(
            self.maker, touches.row[touches.made], self.group_of[touches.step[touches.made]]
        )
        self.maker[self.maker == count] = -1
        self.maker[list(table.given)] = -1
        self.reader[self.touched] = self._pair_group[self._last_pair]
        self.reader[list(table.kept)] = count
        used = self.reader > self.maker
        there = summed(self.maker[used] + 1, self.size[used], count + 2)
        there -= summed(self.reader[used] + 1, self.size[used], count + 2)
        self.through = np.cumsum(there).astype(np.int64)[: count + 1]

    def most(self, each: Ints) -> list[int]:
        """The most of `each` step in the steps of each group."""
        most = np.zeros(len(self.groups), np.int64)
        np.maximum.at(most, self.group_of, each)
        found: list[int] = most.tolist()
        return found

    def lives(self, place: Ints) -> tuple[Ints, Ints, Ints]:
        """When rows are live if step k is the `place[k]`-th that runs, or does not if that is below 0.

        Of each of the `touched` the first and the last step; and, row by row of these, (which of them, a
        group, its last step) where that group touches the row later than its last reader does.
        """
        when = place[self._step]
        late = np.maximum.reduceat(when, self._pair) if len(when) else when
        when[when < 0] = len(place)
        born = np.minimum.reduceat(when, self._row) if len(when) else when
        dies = late[self._last_pair]
        of_row = repeated(np.arange(len(dies)), np.diff(self._last_pair, prepend=-1))
        longer = np.flatnonzero(late > dies[of_row])
        return born, dies, np.stack([of_row, self._pair_group, late])[:, longer].T


class Peaks:
    """The peaks of stages of the groups [first, last), their steps in the order in which the last asks,
    for `go` steps in a go.

    Those of the stages that begin at `begin` or after are there to be asked for.
    """

    def __init__(
        self, rows: GroupedRows, first: int, last: int, begin: int | None = None, go: int = 1
    ) -> None:
        self._rows, self._begin, self._last = rows, first if begin is None else begin, last
        groups, table = rows.groups, rows.table
        self._low, self._high = int(rows.begin[self._begin]), int(rows.begin[last])
        low, steps = int(rows.begin[first]), int(rows.begin[last] - rows.begin[first])
        place = np.full(table.begin[-1], -1, np.int64)
        order = demand(table, groups[first].first, groups[last - 1].last, go)
        place[low : self._high] = np.argsort(order, kind="stable")
        self._place = place[self._low : self._high]
        born, dies, longer = rows.lives(place)
        count, touched = last - self._begin, rows.touched
        maker, reader = rows.maker[touched] - self._begin, rows.reader[touched] - self._begin
        made, gone = (np.flatnonzero((group >= 0) & (group < count)) for group in (maker, reader))
        grows, shrinks = rows.size[touched[made]], rows.size[touched[gone]]
        at = np.concatenate(
            [
                maker[made] * (steps + 1) + born[made],
                maker[made] * (steps + 1),
                reader[gone] * (steps + 1) + dies[gone] + 1,
                reader[gone] * (steps + 1),
            ]
        )
        # Small numbers are quicker, if they are large enough for sums of bytes.
        whole = np.int32 if 4 * int(rows.size.sum()) < np.iinfo(np.int32).max else np.int64
        change = summed(at, np.concatenate([grows, -grows, -shrinks, shrinks]), count * (steps + 1))
        adds = np.cumsum(change.reshape(count, steps + 1).astype(whole), axis=1, dtype=whole)
        self._sums = np.zeros((count + 1, self._high - self._low), whole)
        np.cumsum(adds[:, self._place], axis=0, out=self._sums[1:], dtype=whole)
        self._ends = rows.begin[self._begin : last + 1] - self._low
        self._longer = self._longest(longer, dies, steps, last)

    def _longest(
        self, longer: Ints, dies: Ints, steps: int, last: int
    ) -> dict[int, list[tuple[int, Ints]]]:
        """By the last group that reads rows: (an earlier group, what it adds to what is live)."""
        rows = self._rows
        found: dict[int, dict[int, Ints]] = {}
        upto: dict[int, int] = {}
        for at, group, late in longer[::-1].tolist():  # of each row the last group first
            row = int(rows.touched[at])
            since, reader = upto.get(row, int(dies[at])), int(rows.reader[row])
            if late > since and group >= self._begin and reader < last:
                upto[row] = late
                more = found.setdefault(reader, {}).setdefault(
                    group, np.zeros(steps + 1, self._sums.dtype)
                )
                more[since + 1] += rows.size[row]
                more[late + 1] -= rows.size[row]
        return {
            reader: [
                (group, np.cumsum(more, dtype=more.dtype)[self._place])
                for group, more in of.items()
            ]
            for reader, of in found.items()
        }

    def singles(self, scratch: Ints) -> Ints:
        """What each group from `begin` on needs as a stage of its own; `scratch` is as for `of`."""
        group = self._rows.group_of[self._low : self._high] - self._begin
        step = np.arange(len(group))
        live = (
            self._sums[group + 1, step] - self._sums[group, step] + scratch[self._low : self._high]
        )
        most = np.maximum.reduceat(live, self._ends[:-1]) if len(live) else np.zeros(1, np.int64)
        through = self._rows.through[self._begin + 1 : self._begin + len(self._ends)]
        return np.asarray(most.astype(np.int64) + through)

    def of(self, wanted: Sequence[tuple[int, Ints]], scratch: Ints) -> list[Ints]:
        """For each `last`, and some `firsts` before it, what these stages need, if step k of all needs
        `scratch[k]` bytes of its own. They come by `last`."""
        found: list[Ints] = []
        sums, done = self._sums.copy() if self._longer else self._sums, self._begin
        own = scratch[self._low : self._high]
        for last, firsts in wanted:
            for reader in range(done, last):
                for group, more in self._longer.get(reader, ()):
                    sums[group + 1 - self._begin :] += more
            done = last
            starts = self._ends[firsts - self._begin]
            by_group = self._by_part(last, firsts, sums, own, starts)
            most = by_group.max(axis=1, where=_above(len(firsts)), initial=np.iinfo(np.int32).min)
            found.append(most.astype(np.int64) + self._rows.through[last])
        return found

    def by_part(self, last: int, firsts: Ints, scratch: Ints, parts: Parts) -> Ints:
        """The same of the stages that end before `last` alone, by part of groups from the first of
        `firsts` on: the most that is live while its steps run. Far below 0 for groups before a stage."""
        sums = self._sums
        for reader in range(self._begin, last):
            for group, more in self._longer.get(reader, ()):
                sums = sums.copy() if sums is self._sums else sums
                sums[group + 1 - self._begin :] += more
        own = scratch[self._low : self._high]
        first = int(firsts[0])
        mine = slice(int(parts.begin[first]), int(parts.begin[last]))
        live = self._by_part(last, firsts, sums, own, parts.step[mine] - self._low)
        of = self._rows.group_of_node[parts.node[mine]]
        before = of[None, :] < firsts[:, None]
        live = np.where(before, np.iinfo(np.int32).min, live).astype(np.int64)
        return live + int(self._rows.through[last])

    def _by_part(self, last: int, firsts: Ints, sums: Ints, own: Ints, starts: Ints) -> Ints:
        """By the steps from each of `starts` to the next, beside what is there before `last`."""
        begin, end = int(starts[0]), int(self._ends[last - self._begin])
        live = (
            sums[last - self._begin, begin:end]
            + own[begin:end]
            - sums[firsts - self._begin, begin:end]
        )
        return np.asarray(np.maximum.reduceat(live, (starts - begin).astype(np.intp), axis=1))

    def touches(self, first: int) -> int:
        """How many rows the steps of the stage of groups [first, last) touch, each step's counted."""
        return self._rows.touches[self._last] - self._rows.touches[first]

    @cached_property
    def order(self) -> Ints:
        """The numbers of the steps, in the order in which they run."""
        return np.asarray(self._low + np.argsort(self._place))

    def again(self, counted: NDArray[np.bool_]) -> list[int]:
        """How often a node goes on after a step of another one, in the stage of each group from `begin`
        on; by step, `counted` says whether that counts.

        In between, the stages run steps of those groups that are theirs. So a node goes on anew in those
        that begin at the last of these groups or before.
        """
        order = self.order
        node, group = self._rows.table.node_of[order], self._rows.group_of[order]
        at = np.argsort(node, kind="stable")
        before, after = at[:-1], at[1:]
        here = (node[before] == node[after]) & (after > before + 1) & counted[order[after]]
        before, after = before[here], after[here]
        count = self._last - self._begin
        if not len(after):
            return [0] * count
        between = np.maximum.reduceat(group, np.stack([before + 1, after], axis=1).ravel())[::2]
        least = np.minimum(between, group[after]) - self._begin
        times: list[int] = np.cumsum(np.bincount(least, minlength=count)[::-1])[::-1].tolist()
        return times

    def touched(self, first: int) -> Touched:
        """The steps of the stage of groups [first, last)."""
        table, begin = self._rows.table, int(self._rows.begin[first])
        step = begin + np.argsort(self._place[begin - self._low :])
        rank = np.empty_like(step)
        rank[step - begin] = range(len(step))
        low, high = self._rows.touches[first], self._rows.touches[self._last]
        row, when = table.touches.row[low:high], rank[table.touches.step[low:high] - begin]
        start, end = np.full(len(table.size), len(step)), np.full(len(table.size), -1)
        np.minimum.at(start, row, when)
        np.maximum.at(end, row, when)
        rows = np.flatnonzero(end >= 0)
        return Touched(step, rows, start[rows], end[rows])


@cache
def _above(size: int) -> NDArray[np.bool_]:
    """What lies on the diagonal of a square, and above."""
    return ~np.tri(size, k=-1, dtype=bool)
