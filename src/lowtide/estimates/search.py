"""The least peak of a way through all stages of a network.

As `plans.search` has it over the stages of `plans.space`, which all are worked out exactly. Here one
order of steps says of all stages what they need, or nearly (`plans.peaks`); of those on the best way
that may need more or less it is worked out anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from lowtide.plans.peaks import GroupedRows, Peaks
from lowtide.rows.stages import ends_bytes
from lowtide.rows.table import Ints

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


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """The stages of one group of `rows`, and of several."""

    rows: GroupedRows
    singles: tuple[Stretch, ...]
    endings: tuple[Ending, ...]

    def really(self, ending: Ending) -> Ending:
        """With what the stages really need."""
        peaks = Peaks(self.rows, int(ending.firsts[0]), ending.last)
        (found,) = peaks.of([(ending.last, ending.firsts)], self.rows.table.step_scratch)
        return replace(ending, peaks=found.tolist(), vague=0)


def weighed(
    rows: GroupedRows,
    place: Sequence[int],
    floor: int,
    limit: int | None = None,
    number: int = 0,
) -> Weighed:
    """Variant `number` of a network, as far as `place` goes: its group g begins at `place[g]` of the
    network's.

    Of the stages of several groups that may need less than `limit` bytes those that have a group in
    them that alone needs more than `floor`. Without a limit: no more than as few stages as can be need,
    or as many.
    """
    count, through, scratch = len(place) - 1, rows.through, rows.table.step_scratch
    peaks = Peaks(rows, 0, count)
    singles = peaks.singles(scratch)
    if limit is None:
        ends = sorted({0, count, *rows.alone, *(group + 1 for group in rows.alone)})
        fewest = peaks.of([(last, np.array([first])) for first, last in pairwise(ends)], scratch)
        most = min(int(singles.max()), max(int(peak[0]) for peak in fewest))
        limit = 1 + max(ends_bytes(rows.table), most)
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
            needs.tolist(),
            int(np.searchsorted(firsts, beside[last], "right")),
            np.maximum(through[firsts], through[last]).tolist(),
        )
        for (last, firsts), needs in zip(wanted, peaks.of(wanted, scratch), strict=True)
    ]
    ones = zip(pairwise(place), singles.tolist(), strict=True)
    alone = tuple(Stretch(first, last, peak, number) for (first, last), peak in ones)
    return Weighed(rows, alone, tuple(endings))


def _side_by_side(rows: GroupedRows) -> list[int]:
    """By last group: stages that begin at that group or before end with several operators."""
    table, count = rows.table, len(rows.groups)
    waits = np.append(rows.group_of_node, count)[table.first_reader]
    groups, lasts = rows.group_of_node, np.arange(count + 1)[:, None]
    open_ended = np.where((groups < lasts) & (waits >= lasts), groups, -1)
    padded = np.pad(open_ended, ((0, 0), (2, 0)), constant_values=-1)
    found: list[int] = np.partition(padded, -2, axis=1)[:, -2].tolist()
    return found


def least(
    variants: Sequence[Weighed], macs: Sequence[int], floor: int, limit: int = _MOST
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
        endings[number] = variants[endings[number].variant].really(endings[number])
        if len(vague) == 1:
            known = (s.peak if n is None else endings[n].peaks[at] for s, n, at in way)
            enough = min(enough, int(max(known) * _NEARLY))
        hope = hope if tries == 0 else (1 + hope) / 2
    (way, needed), (guess, hoped) = way_with(_NO_HOPE), way_with(1)
    best = way if needed * _NEARLY <= hoped else guess
    return tuple(stretch for stretch, _, _ in best), tuple(endings)


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
