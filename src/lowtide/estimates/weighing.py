"""The peaks of all stages of a network at once, and the least peak of a way through them.

Why so quick: what a row adds to what is live depends on the stage alone. In a stage of the groups
[i, j), a row that was made before it and is read after it counts all the time; one that is made in
it and read after it from its birth on; one that was made before and dies in it until its death; one
that is made and dies in it in between. Summed up, that is

    live(i, j, t) = through(j) + P[j, t] - P[i, t],   P[k, t] = sum over groups g < k of d[g, t]

where d[g, t] adds what group g makes (born by t, less all of it) and what dies in g (what is still there
at t), and through(j) is what is there before group j. So all peaks are maxima over a difference of two
rows of one matrix. (Rows that a group reads later than their last reader, in another branch, are added
once the last reader is in the stage.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lowtide.estimates.lines import Lines

Ints = NDArray[np.int64]

_NONE = 1 << 60
_OPTIMISM = 0.8
"""What part of its estimate a stage may need that ends with several operators."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Groups [first, last) of the network as one stage; `variant` says with which set of blocks. It is
    `exact` if its steps are in the order in which they would run."""

    first: int
    last: int
    peak: int
    variant: int = 0
    own: int = 0
    exact: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """The stages that end before one group of the network: where each begins, and what each needs.

    Those that are not `exact` may need as little as `floors`: operators that end side by side ask for
    their rows in turns. Group `own` of the variant is the network's group `last`.
    """

    last: int
    firsts: Ints
    peaks: Ints
    variant: int = 0
    own: int = 0
    exact: NDArray[np.bool_] | None = None
    floors: Ints | None = None


class Weighed:
    """All stages of `lines`; `place[g]` is where group g begins in the network's own groups."""

    def __init__(self, lines: Lines, place: Sequence[int], *, variant: int = 0) -> None:
        self._lines, self._variant = lines, variant
        self._place = np.array(place, np.int64)
        count, steps = len(lines.groups), len(lines.group)
        by_group = np.argsort(lines.group, kind="stable")
        self._scratch = lines.scratch[by_group]
        self._ends = np.searchsorted(lines.group[by_group], np.arange(count + 1))
        made, dies = lines.maker >= 0, lines.reader < count
        change = np.zeros((count, steps + 1), np.int64)
        np.add.at(change, (lines.maker[made], lines.first[made]), lines.size[made])
        np.add.at(change, (lines.reader[dies], lines.ends[dies] + 1), -lines.size[dies])
        np.cumsum(change, axis=1, out=change)
        before = np.zeros(count, np.int64)
        np.add.at(before, lines.maker[made], -lines.size[made])
        np.add.at(before, lines.reader[dies], lines.size[dies])
        change += before[:, None]
        self._sums = np.zeros((count + 1, steps), np.int64)
        np.cumsum(change[:, by_group], axis=0, out=self._sums[1:])
        self._longer = self._longest(by_group)
        # Live before group g: made before it, and read in it or later.
        there = np.zeros(count + 3, np.int64)
        np.add.at(there, lines.maker + 1, lines.size)
        np.add.at(there, lines.reader + 1, -lines.size)
        self.through = np.cumsum(there)[: count + 1]
        self.singles = self._singles()

    def _longest(self, by_group: Ints) -> dict[int, list[tuple[int, Ints]]]:
        """By the last group that reads rows: (an earlier group, what it adds to what is live)."""
        lines = self._lines
        found: dict[int, dict[int, Ints]] = {}
        upto: dict[int, int] = {}
        for row, group, last in lines.longer.tolist():  # of each row the last group first
            since = upto.get(row, int(lines.ends[row]))
            reader = int(lines.reader[row])
            if last <= since or reader >= self.count:
                continue
            upto[row] = last
            mine = found.setdefault(reader, {})
            if group not in mine:
                mine[group] = np.zeros(len(by_group), np.int64)
            mine[group][since + 1 : last + 1] += lines.size[row]
        return {
            reader: [(group, more[by_group]) for group, more in mine.items()]
            for reader, mine in found.items()
        }

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self._lines.groups)

    def _singles(self) -> Ints:
        """The peak of each group alone."""
        found = []
        for group in range(self.count):
            begin, end = int(self._ends[group]), int(self._ends[group + 1])
            sums = self._sums[group + 1, begin:end] - self._sums[group, begin:end]
            found.append((sums + self._scratch[begin:end]).max(initial=0))
        return np.array(found, np.int64) + self.through[1:]

    def endings(self, limit: int, floor: int) -> list[Ending]:
        """The stages of one group, and of those of several that need less than `limit` bytes the ones
        with a group in them that alone needs more than `floor`."""
        place, count, alone = self._place, self.count, self._lines.alone
        found = [
            Ending(int(place[g + 1]), place[g : g + 1], self.singles[g : g + 1], self._variant)
            for g in range(count)
        ]
        hot = np.flatnonzero(self.singles > floor)
        if not len(hot):
            return found
        hottest = np.searchsorted(hot, np.arange(count + 1)).tolist()
        fits = self.through < limit
        barrier = 0
        sums = self._sums.copy() if self._longer else self._sums
        for last in range(1, count + 1):
            for group, more in self._longer.get(last - 1, ()):
                sums[group + 1 :] += more
            if last - 1 in alone:
                barrier = last
            if not fits[last] or not hottest[last]:
                continue
            upto = min(int(hot[hottest[last] - 1]), last - 2)
            firsts = barrier + np.flatnonzero(fits[barrier : upto + 1])
            if len(firsts):
                peaks = self._peaks(sums, last, firsts)
                found.append(self._ending(last, firsts, peaks))
        return found

    def ending(self, limit: int) -> Ending:
        """The stages that end before the last group, and are exact: `lines` are in their order."""
        last = self.count
        sums = self._sums.copy()
        for group, more in (each for found in self._longer.values() for each in found):
            sums[group + 1 :] += more
        begin = max((n + 1 for n in self._lines.alone if n < last), default=0)
        firsts = begin + np.flatnonzero(self.through[begin : last - 1] < limit)
        firsts = firsts if len(firsts) else np.array([last - 1])
        peaks = self._peaks(sums, last, firsts)
        return Ending(int(self._place[last]), self._place[firsts], peaks, self._variant, last)

    def _ending(self, last: int, firsts: Ints, peaks: Ints) -> Ending:
        place, sinks = self._place, self._lines.sinks
        open_ended = np.sort(sinks[(sinks[:, 0] < last) & (sinks[:, 1] >= last), 0])
        exact, floors = None, None
        if len(open_ended) > 1:
            exact = len(open_ended) - np.searchsorted(open_ended, firsts) <= 1
            floors = np.maximum(self.through[firsts], self.through[last])
            floors = np.maximum((peaks * _OPTIMISM).astype(np.int64), floors)
        return Ending(int(place[last]), place[firsts], peaks, self._variant, last, exact, floors)

    def _peaks(self, sums: Ints, last: int, firsts: Ints) -> Ints:
        """What the stages from `firsts` to `last` need."""
        begin, end = int(self._ends[firsts[0]]), int(self._ends[last])
        rows = sums[last, begin:end] + self._scratch[begin:end]
        live = rows - sums[firsts, begin:end]
        # By stretch of groups between `firsts`: of each stage those from its own on.
        parts = np.maximum.reduceat(live, self._ends[firsts] - begin, axis=1)
        parts[_below(len(firsts))] = -_NONE
        peaks: Ints = parts.max(axis=1) + self.through[last]
        return peaks


_MASKS: dict[int, NDArray[np.bool_]] = {}


def _below(size: int) -> NDArray[np.bool_]:
    """What lies below the diagonal of a square."""
    if size not in _MASKS:
        _MASKS[size] = np.tri(size, k=-1, dtype=bool)
    return _MASKS[size]


def least(endings: Iterable[Ending], count: int) -> tuple[Stretch, ...]:
    """The way of least peak through all `count` groups."""
    by_last: list[list[Ending]] = [[] for _ in range(count + 1)]
    for ending in endings:
        by_last[ending.last].append(ending)
    best = np.full(count + 1, _NONE, np.int64)
    best[0] = 0
    came: list[Stretch | None] = [None] * (count + 1)
    for last in range(1, count + 1):
        for ending in by_last[last]:
            peaks, exact = ending.peaks, ending.exact
            if exact is not None and ending.floors is not None:
                peaks = np.where(exact, peaks, ending.floors)
            needs = np.maximum(best[ending.firsts], peaks)
            at = len(needs) - 1 - int(needs[::-1].argmin())  # of equal ones the shortest
            if needs[at] < best[last]:
                best[last] = needs[at]
                came[last] = Stretch(
                    int(ending.firsts[at]),
                    last,
                    int(ending.peaks[at]),
                    ending.variant,
                    ending.own,
                    exact is None or bool(exact[at]),
                )
    way: list[Stretch] = []
    at = count
    while at:
        step = came[at]
        assert step is not None
        way.append(step)
        at = step.first
    return tuple(way[::-1])
