"""A bound for placements around boxes that lie fixed: what is free between these is a hole of its own.

Why: a resident input is written as one piece, and its rows die one by one. A hole grows below those that
are left, and no other row can lie partly in it and partly above them. So which rows lie in the hole is a
knapsack; what they leave of it stays empty, and adds to what is live. (Martello and Toth, *Knapsack
Problems*, 1990, chapter 4: subset sums by dynamic programming.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import gcd

import numpy as np

from lowtide.place.firstfit import Boxes
from lowtide.rows.table import Ints

_SLOTS = 300
"""At most so many slots are looked at, those first in which most is live."""


def bound_around(boxes: Boxes, known: Mapping[int, int]) -> int:
    """A height, in units, that no placement of the boxes is below in which those that are `known` lie at
    their offsets. It is at least what is live in any slot."""
    sizes, starts, ends = (np.array(of, np.int64) for of in (boxes.sizes, boxes.starts, boxes.ends))
    fixed = np.array(list(known), np.int64)
    offsets = np.array(list(known.values()), np.int64)
    others = np.setdiff1d(np.arange(len(boxes)), fixed)
    slots = np.unique(starts)
    live = (starts[fixed] <= slots[:, None]) & (ends[fixed] > slots[:, None])
    high = np.where(live, offsets + sizes[fixed], 0).max(axis=1, initial=0)
    hole = high - live @ sizes[fixed]
    total = _until(slots, starts[others], sizes[others]) - _until(
        slots, ends[others], sizes[others]
    )
    bound = int((high + total - np.minimum(hole, total)).max(initial=0))
    for at in np.argsort(hole - high - total, kind="stable")[:_SLOTS].tolist():
        above = int(high[at] + total[at])
        if above > bound and hole[at]:
            there = others[(starts[others] <= slots[at]) & (ends[others] > slots[at])]
            filled = _filled(Counter(sizes[there].tolist()), int(hole[at]))
            bound = max(bound, above - filled)
    return bound


def _until(slots: Ints, times: Ints, sizes: Ints) -> Ints:
    """The sizes of those whose times are at most a slot, together, for each slot."""
    order = np.argsort(times, kind="stable")
    sums = np.append(0, np.cumsum(sizes[order]))
    found: Ints = sums[np.searchsorted(times[order], slots, "right")]
    return found


def _filled(sizes: Mapping[int, int], hole: int) -> int:
    """The most of a hole that some of the boxes fill; `sizes` are size -> how many have it."""
    unit = gcd(*sizes)
    hole //= unit
    sums = 1  # bit n: some of them are n units together
    for size, count in sizes.items():
        several = 1
        while count > 0 and not sums >> hole:
            several = min(several, count)
            sums |= sums << size // unit * several
            sums &= (2 << hole) - 1
            count -= several
            several *= 2
    return (sums.bit_length() - 1) * unit
