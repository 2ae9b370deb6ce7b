"""Rows that come again and again: which of them can lie in one place, as the rows of a ring do.

Why: while a stage runs, its steps mostly repeat: after so many steps each tensor has so many new rows,
and as many have died. Of rows that are so far apart in time, or a few times as far, one dies before the
other is born, and both may lie in the same place. So hundreds of rows are a few boxes, each live again
and again, and what is searched is as small for tall maps as for low ones.

    slot    0   1   2   3   4   5   6   7   8         a row per two slots, live for four: two rounds make
    row     [ 0 . . . ) [ 2 . . . ) [ 4 . . . )       one box of rows 0, 2, 4, another of rows 1, 3, 5
                [ 1 . . . ) [ 3 . . . )
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from lowtide.place.firstfit import Boxes, Pairs, meets_of
from lowtide.rows.table import Ints

_LATE = 0.1
"""The part of a kind's boxes that may be live for longer than most are: where a stage begins or ends."""

_TRIES = 64
"""How many lengths of a round are tried in a segment."""


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """Boxes, of which each stands for those of `group` that have its number; `known` ones lie fixed.
    None stands for those whose number is -1."""

    boxes: Boxes
    known: Mapping[int, int]
    group: Ints

    def of_each(self, offsets: Sequence[int]) -> list[int]:
        """The offsets of what the boxes stand for; any, of what none stands for."""
        found: list[int] = np.array(offsets, np.int64)[self.group].tolist()
        return found


def round_of(kinds: Ints) -> int:
    """After how many slots the same kinds of steps come again in the middle of a segment; 0: never."""
    quarter = len(kinds) // 4
    middle = kinds[quarter : len(kinds) - quarter]
    if len(middle) < 2:
        return 0
    found, counts = np.unique(middle, return_counts=True)
    again = np.flatnonzero(middle == found[counts.argmin()])
    for length in (again[1 : _TRIES + 1] - again[0]).tolist():
        if 2 * length > len(middle):
            break
        if (middle[:-length] == middle[length:]).all():
            return int(length)
    return 0


def rings(boxes: Boxes, kinds: Ints, each: Mapping[int, int], rounds: int) -> Ints:
    """Number of the group of each box: those of one kind and size that are so many rounds apart.

    `each` says how many boxes of a kind are born in one round; others stand for themselves.
    """
    sizes, starts, ends = (np.array(of, np.int64) for of in (boxes.sizes, boxes.starts, boxes.ends))
    order = np.lexsort((starts, sizes, kinds))
    borders = np.flatnonzero(np.diff(kinds[order]) | np.diff(sizes[order])) + 1
    before = np.full(len(boxes), -1)
    for same in np.split(order, borders):
        some = each.get(int(kinds[same[0]]), 0) * rounds if len(same) else 0
        apart = some
        while 0 < apart < len(same):
            fits = ends[same[:-apart]] <= starts[same[apart:]]
            if fits.mean() > 1 - _LATE:
                before[same[apart:]] = np.where(fits, same[:-apart], -1)
                break
            apart += some
    group = np.arange(len(boxes))
    for box in np.argsort(starts, kind="stable").tolist():
        if before[box] >= 0:
            group[box] = group[before[box]]
    return np.unique(group, return_inverse=True)[1].reshape(-1)


def level_of(
    boxes: Boxes,
    pairs: Pairs,
    walls: Sequence[tuple[tuple[int, int], ...]],
    group: Ints,
    fixed: Mapping[int, int] = MappingProxyType({}),
) -> Level:
    """The boxes of each group as one, live as long as all of them together, from when the first is.

    `pairs` are boxes that are live together; `walls` are the ranges [low, high) where each cannot lie:
    those of a box that is born earlier hold those of later ones. Boxes in `fixed`, each alone in its
    group, lie at these offsets.
    """
    count = int(group.max(initial=-1)) + 1
    first = np.full(count, -1)
    starts = np.array(boxes.starts, np.int64)
    order = np.argsort(-starts, kind="stable")
    first[group[order]] = order
    lasts = np.bincount(group, np.array(boxes.ends, np.int64) - starts, count).astype(np.int64)
    aligns = np.ones(count, np.int64)
    np.maximum.at(aligns, group, np.array(boxes.aligns, np.int64))
    one, other = pairs
    if count < len(boxes):
        together = np.zeros((count, count), np.bool_)
        together[group[one], group[other]] = True
        one, other = np.nonzero(together)
    meets = list(meets_of(one, other, count))
    known: dict[tuple[int, int], int] = {}
    for box, at in enumerate(first.tolist()):
        if walls[at]:
            some = [known.setdefault(wall, count + len(known)) for wall in walls[at]]
            near = meets[box]
            meets[box] = (*near, *some) if isinstance(near, tuple) else np.append(near, some)
    born = starts[first]
    sizes = np.array(boxes.sizes, np.int64)[first].tolist()
    beside = [0] * len(known)
    found = replace(
        boxes,
        index=tuple(range(count + len(known))),
        sizes=(*sizes, *(high - low for low, high in known)),
        starts=(*born.tolist(), *beside),
        ends=(*(born + lasts).tolist(), *beside),
        meets=(*meets, *((),) * len(known)),
        aligns=(*aligns.tolist(), *(1 for _ in known)),
    )
    lying = {box: low for (low, _), box in known.items()}
    return Level(found, lying | {int(group[box]): at for box, at in fixed.items()}, group)


def walls_of(
    boxes: Boxes, fixed: Sequence[tuple[int, int, int]]
) -> list[tuple[tuple[int, int], ...]]:
    """Of each box, the ranges [low, high) that are taken when it is born by what lies fixed: `fixed` are
    (low, high, end), all live from the start to slot `end` - 1; they may overlap."""
    low, high, end = np.array(sorted(fixed), np.int64).reshape(-1, 3).T
    gone = np.searchsorted(np.sort(end), np.array(boxes.starts), "right").tolist()
    known: dict[int, tuple[tuple[int, int], ...]] = {}
    for number, start in zip(gone, boxes.starts, strict=True):
        if number not in known:
            here = end > start
            # Rows of an input take the place of an output's rows, so that one range can hold others.
            begins, ends = low[here], np.maximum.accumulate(high[here])
            apart = np.flatnonzero(begins[1:] > ends[:-1])
            firsts = begins[np.append(0, apart + 1)] if len(begins) else begins
            lasts = ends[np.append(apart, len(ends) - 1)] if len(ends) else ends
            known[number] = tuple(zip(firsts.tolist(), lasts.tolist(), strict=True))
    return [known[number] for number in gone]
