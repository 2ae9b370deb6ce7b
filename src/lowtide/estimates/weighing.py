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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lowtide.estimates.lines import Ints, RowsOf, repeated, summed

_HOPE: Final = 0.8
"""What part of its estimate a stage may need that ends with several operators, until tries say less."""

_NEARLY: Final = 0.99
"""What part of a way's peak another may need and still be no better."""

_MOST: Final = 1 << 60
_NO_HOPE: Final = 1e9

_TRIES: Final = 6
"""How many orders of steps are worked out for stages that end with several operators."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Groups [first, last) of the network as one stage, which needs `peak` bytes; `variant` says with
    which set of blocks."""

    first: int
    last: int
    peak: int
    variant: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """The stages that end before group `last` of a variant: where each begins, and what it needs; `end`
    and `begins` are the same places in the network.

    The first `vague` of them end with several operators, which ask for their rows in turns: they may
    need more or less, but no less than `least`.
    """

    variant: int
    last: int
    end: int
    firsts: Ints
    begins: Sequence[int]
    peaks: Sequence[int]
    vague: int
    least: Sequence[int]


class Weighed:
    """The stages of groups [first, last), with their steps in the order in which the last one asks."""

    def __init__(self, rows: RowsOf, first: int, last: int) -> None:
        self._rows, self._first = rows, first
        low, high = int(rows.of_group[first]), int(rows.of_group[last])
        count, steps = last - first, high - low
        place = np.full(len(rows.scratch), -1, np.int64)
        place[low:high] = np.argsort(rows.order(first, last), kind="stable")
        lives = rows.lives(place)
        made = np.flatnonzero((rows.maker >= first) & (rows.maker < last))
        dies = np.flatnonzero((rows.reader >= first) & (rows.reader < last))
        maker, reader = rows.maker[made] - first, rows.reader[dies] - first
        gone, born = rows.size[dies], rows.size[made]
        at = np.concatenate(
            [
                maker * (steps + 1) + lives.born[made],
                maker * (steps + 1),
                reader * (steps + 1) + lives.dies[dies] + 1,
                reader * (steps + 1),
            ]
        )
        change = summed(at, np.concatenate([born, -born, -gone, gone]), count * (steps + 1))
        change = change.reshape(count, steps + 1).astype(_whole(rows))
        adds = np.cumsum(change, axis=1, dtype=change.dtype)[:, place[low:high]]
        self._sums = np.zeros((count + 1, steps), change.dtype)
        np.cumsum(adds, axis=0, out=self._sums[1:], dtype=change.dtype)
        self._ends = (rows.of_group[first : last + 1] - low).astype(np.intp)
        alone = adds[repeated(np.arange(count), np.diff(self._ends)), np.arange(steps)]
        self._alone = alone + rows.scratch[low:high]
        self._scratch = rows.scratch[low:high]
        self._longer = self._longest(lives.longer, lives.dies, place[low:high], last)

    def _longest(
        self, longer: Ints, dies: Ints, place: Ints, last: int
    ) -> dict[int, list[tuple[int, Ints]]]:
        """By the last group that reads rows: (an earlier group, what it adds to what is live)."""
        rows, groups = self._rows, longer[:, 1]
        here = (rows.reader[longer[:, 0]] < last) & (groups >= self._first)
        found: dict[int, dict[int, Ints]] = {}
        upto: dict[int, int] = {}
        for row, group, late in longer[here][::-1].tolist():  # of each row the last group first
            since = upto.get(row, int(dies[row]))
            if late > since:
                upto[row] = late
                mine = found.setdefault(int(rows.reader[row]), {})
                more = mine.setdefault(group, np.zeros(len(place) + 1, self._sums.dtype))
                more[since + 1] += rows.size[row]
                more[late + 1] -= rows.size[row]
        return {
            reader: [
                (group, np.cumsum(more, dtype=more.dtype)[place]) for group, more in mine.items()
            ]
            for reader, mine in found.items()
        }

    @property
    def singles(self) -> Ints:
        """What each group alone needs."""
        if not len(self._alone):
            return self._rows.through[self._first + 1 : self._first + len(self._ends)]
        most: Ints = np.maximum.reduceat(self._alone, self._ends[:-1])
        return most + self._rows.through[self._first + 1 : self._first + len(self._ends)]

    def peaks(self, wanted: Sequence[tuple[int, Ints]]) -> list[Ints]:
        """For each `last`, and some `firsts` before it, what these stages need. They come by `last`."""
        found: list[Ints] = []
        sums, done = self._sums, self._first
        if self._longer:
            sums = sums.copy()
        for last, firsts in wanted:
            for reader in range(done, last):
                for group, more in self._longer.get(reader, ()):
                    sums[group + 1 - self._first :] += more
            done = last
            ends = self._ends[firsts - self._first]
            begin, end = int(ends[0]), int(self._ends[last - self._first])
            rows = sums[last - self._first, begin:end] + self._scratch[begin:end]
            live = rows - sums[firsts - self._first, begin:end]
            # By stretch of groups between `firsts`: of each stage those from its own on.
            parts = np.maximum.reduceat(live, ends - begin, axis=1)
            most = np.where(_above(len(firsts)), parts, 0).max(axis=1)
            found.append(most.astype(np.int64) + self._rows.through[last])
        return found


def _whole(rows: RowsOf) -> type[np.int32] | type[np.int64]:
    """Whole numbers that are large enough for sums of bytes; small ones are quicker."""
    return np.int32 if 4 * int(rows.size.sum()) < np.iinfo(np.int32).max else np.int64


@cache
def _above(size: int) -> NDArray[np.bool_]:
    """What lies on the diagonal of a square, and above."""
    return ~np.tri(size, k=-1, dtype=bool)


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """The stages of one group of `rows`, and of several."""

    rows: RowsOf
    singles: tuple[Stretch, ...]
    endings: tuple[Ending, ...]


def variant(
    rows: RowsOf, place: Sequence[int], floor: int, limit: int | None = None, number: int = 0
) -> Variant:
    """Variant `number` of a network: its group g begins at `place[g]` of the network's.

    Of the stages of several groups that may need less than `limit` bytes those that have a group in
    them that alone needs more than `floor`. Without a limit: no more than as few stages as can be need,
    or as many.
    """
    count, through = len(rows.groups), rows.through
    weighed = Weighed(rows, 0, count)
    singles = weighed.singles
    if limit is None:
        limit = 1 + max(rows.floor, min(int(singles.max(initial=0)), _fewest(rows, weighed)))
    hot = np.flatnonzero(singles > floor)
    hottest = np.searchsorted(hot, np.arange(count + 1)).tolist()
    fits = through < limit
    barrier = 0
    wanted = []
    for last in range(1, count + 1):
        if last - 1 in rows.alone:
            barrier = last
        if fits[last] and hottest[last]:
            upto = min(int(hot[hottest[last] - 1]), last - 2)
            firsts = barrier + np.flatnonzero(fits[barrier : upto + 1])
            if len(firsts):
                wanted.append((last, firsts))
    at = np.array(place, np.int64)
    beside = _side_by_side(rows)
    endings = [
        Ending(
            number,
            last,
            place[last],
            firsts,
            at[firsts].tolist(),
            peaks.tolist(),
            int(np.searchsorted(firsts, beside[last], "right")),
            np.maximum(through[firsts], through[last]).tolist(),
        )
        for (last, firsts), peaks in zip(wanted, weighed.peaks(wanted), strict=True)
    ]
    ones = zip(pairwise(place), singles.tolist(), strict=True)
    alone = tuple(Stretch(first, last, peak, number) for (first, last), peak in ones)
    return Variant(rows, alone, tuple(endings))


def _fewest(rows: RowsOf, weighed: Weighed) -> int:
    """What is needed if all that may run together does."""
    ends = sorted({0, len(rows.groups), *rows.alone, *(group + 1 for group in rows.alone)})
    stages = [(last, np.array([first])) for first, last in pairwise(ends)]
    return max((int(peaks[0]) for peaks in weighed.peaks(stages)), default=0)


def _side_by_side(rows: RowsOf) -> list[int]:
    """By last group: stages that begin at that group or before end with several operators."""
    groups, waits = rows.sinks[:, 0], rows.sinks[:, 1]
    lasts = np.arange(len(rows.groups) + 1)[:, None]
    open_ended = np.where((groups < lasts) & (waits >= lasts), groups, -1)
    padded = np.pad(open_ended, ((0, 0), (2, 0)), constant_values=-1)
    found: list[int] = np.partition(padded, -2, axis=1)[:, -2].tolist()
    return found


def least(
    variants: Sequence[Variant], macs: Sequence[int], floor: int, limit: int = _MOST
) -> tuple[tuple[Stretch, ...], tuple[Ending, ...]]:
    """The way of least peak, or of at most `floor` bytes, and all endings as they are known then;
    `macs` are those before each place of the network.

    What stages need that end with several operators is worked out one ending after the other, as far
    as `_TRIES` go and as long as there is hope for less than `limit` bytes, and for clearly less than
    the best way so far; each try lets the next hope for less.
    """
    ends = variants[0].singles[-1].last + 1 if variants[0].singles else 1
    ones: list[list[Stretch]] = [[] for _ in range(ends)]
    for stretch in (each for of in variants for each in of.singles):
        ones[stretch.last].append(stretch)
    endings = [ending for of in variants for ending in of.endings]
    several: list[list[int]] = [[] for _ in range(ends)]
    for number, ending in enumerate(endings):
        several[ending.end].append(number)

    def way_with(hope: float) -> tuple[list[_Step], int]:
        return _way(ones, several, endings, macs, hope, floor)

    hope, enough = _HOPE, limit
    for tries in range(_TRIES):
        way, hoped = way_with(hope)
        vague = [(s.peak, n) for s, n, at in way if n is not None and at < endings[n].vague]
        if not vague:
            return tuple(stretch for stretch, _, _ in way), tuple(endings)
        if hoped >= enough:
            break
        _, number = max(vague)
        endings[number] = _exactly(variants[endings[number].variant].rows, endings[number])
        if len(vague) == 1:
            known = (s.peak if n is None else endings[n].peaks[at] for s, n, at in way)
            enough = min(enough, int(max(known) * _NEARLY))
        hope = hope if tries == 0 else (1 + hope) / 2
    (way, needed), (guess, hoped) = way_with(_NO_HOPE), way_with(1)
    best = way if needed * _NEARLY <= hoped else guess
    return tuple(stretch for stretch, _, _ in best), tuple(endings)


def exactly(of: Variant) -> Variant:
    """With what all its stages really need."""
    endings = (_exactly(of.rows, each) if each.vague else each for each in of.endings)
    return replace(of, endings=tuple(endings))


def _exactly(rows: RowsOf, ending: Ending) -> Ending:
    """With what the stages really need."""
    wanted = ending.last, ending.firsts
    (peaks,) = Weighed(rows, int(ending.firsts[0]), ending.last).peaks([wanted])
    return replace(ending, peaks=peaks.tolist(), vague=0)


_Step = tuple[Stretch, int | None, int]
"""A stage of a way, and if it is one of several groups, which ending it is of, and where in it."""


def _way(
    ones: Sequence[Sequence[Stretch]],
    several: Sequence[Sequence[int]],
    endings: Sequence[Ending],
    macs: Sequence[int],
    hope: float,
    floor: int,
) -> tuple[list[_Step], int]:
    """The way of least peak, and what it needs; `ones` and `several` are stages by where they end.

    Of equal ones that whose last stage computes the least, and then needs the least: see `plans.search`.
    """
    needs = [0] * len(ones)
    came: list[_Step | None] = [None] * len(ones)
    for last in range(1, len(ones)):
        rank = _MOST, 0, 0
        for stretch in ones[last]:
            work = macs[last] - macs[stretch.first]
            if (one := (max(needs[stretch.first], stretch.peak), work, stretch.peak)) < rank:
                rank, came[last] = one, (stretch, None, 0)
        for number in several[last] if rank[0] > floor else ():
            ending = endings[number]
            peaks, begins, vague = ending.peaks, ending.begins, ending.vague
            for at in range(len(begins) - 1, -1, -1):  # of equal ones the shortest
                first = begins[at]
                need, needed = needs[first], peaks[at]
                if need > rank[0]:
                    continue
                if at < vague:
                    needed = max(int(needed * hope), ending.least[at])
                if needed > rank[0]:
                    continue
                if need < needed:
                    need = needed
                if (one := (need, macs[last] - macs[first], needed)) < rank:
                    rank = one
                    came[last] = Stretch(first, last, peaks[at], ending.variant), number, at
        needs[last] = rank[0]
    way: list[_Step] = []
    step = came[-1]
    while step is not None:
        way.append(step)
        step = came[step[0].first]
    return way[::-1], needs[-1]
