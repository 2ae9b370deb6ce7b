"""The allocator that lowtide uses: the best offsets it can find, the same on every machine.

Why: dynamic storage allocation is NP-hard, yet the instances of real networks are small or
regular, and a good search nearly always reaches the lower bound, which proves it optimal.

Stages, each of which ends the work when the bound is met:

1. first fit in a few orders (one is TFLM's, so that the result is never worse than `greedy`);
2. the search of `lowtide.place.exact`, asked for the bound itself and then, by bisection, for the
   sizes between what is known impossible and what is known possible. It is restarted often, with
   different preferences among the boxes and little effort each, and the effort doubles with every
   pass: luck solves large problems, patience proves small ones.

All effort is counted in nodes of the search, not in seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from math import gcd
from random import Random

from lowtide.effort import Budget
from lowtide.place.exact import Columns, Verdict, columns_of, search
from lowtide.place.firstfit import Boxes, boxes_of, first_fit, height, placement_of
from lowtide.place.problem import Placement, Problem

# About a second on a desktop of 2020, for 70 as for 2,000 items: in wide problems nodes cost more.
_EFFORT = 8_000_000
_EFFORT_PER_NODE = 120
_COLUMNS_PER_EFFORT = 5

_RESTARTS = 8
"""Preferences tried per size and pass."""


def planned(problem: Problem) -> Placement:
    """The smallest arena found for `problem`, without moves; never worse than `greedy`.

    Raises PlacementError if the problem is malformed.
    """
    boxes = boxes_of(problem)
    unit = gcd(*boxes.sizes) or 1
    scaled = replace(boxes, sizes=tuple(size // unit for size in boxes.sizes))
    bound = problem.lower_bound() // problem.align // unit
    offsets = _best_first_fit(scaled, bound)
    if height(scaled, offsets) > bound:
        offsets = _improve(scaled, offsets, bound)
    return placement_of("planned", problem, boxes, [offset * unit for offset in offsets])


def _best_first_fit(boxes: Boxes, bound: int) -> list[int]:
    """The best of the orders, up to the first that meets the bound."""
    best: list[int] = []
    for order in _orders(boxes):
        offsets = first_fit(boxes, order)
        if not best or height(boxes, offsets) < height(boxes, best):
            best = offsets
        if height(boxes, best) <= bound:
            break
    return best


def _orders(boxes: Boxes) -> Iterator[list[int]]:
    """Orders for first fit: by size as TFLM does, by area, by duration, by birth, by death."""
    sizes, starts, ends = boxes.sizes, boxes.starts, boxes.ends
    everything = range(len(boxes))
    yield sorted(everything, key=lambda box: (-sizes[box], -box))
    yield sorted(everything, key=lambda box: -sizes[box] * (ends[box] - starts[box]))
    yield sorted(everything, key=lambda box: (starts[box] - ends[box], -sizes[box]))
    yield sorted(everything, key=lambda box: (starts[box], -ends[box]))
    yield sorted(everything, key=lambda box: (-ends[box], starts[box]))


def _improve(boxes: Boxes, offsets: list[int], bound: int) -> list[int]:
    """Better offsets by search, or `offsets` if there are none within the effort."""
    columns = columns_of(boxes)
    per_node = _EFFORT_PER_NODE + len(columns.loads) // _COLUMNS_PER_EFFORT
    purse = Budget(_EFFORT // per_node)
    preferences = _preferences(columns)
    best, top = offsets, height(boxes, offsets)
    effort = 500 + 2 * len(boxes)  # twice what it takes to place every box once
    possible = bound  # everything below is known to be impossible
    while possible < top and not purse.used_up:
        # Bisection over the caps that nobody has ruled out; the first guess is the boldest.
        low, cap = possible, possible
        while low < top and not purse.used_up:
            verdict, found = _attempt(columns, cap, effort, preferences, purse)
            if found is not None:
                best, top = found, height(boxes, found)
            else:
                low = cap + 1
                if verdict is Verdict.IMPOSSIBLE:
                    possible = low
            cap = (low + top - 1) // 2
        effort *= 2
    return best


def _attempt(
    columns: Columns, cap: int, effort: int, preferences: Iterator[list[float]], purse: Budget
) -> tuple[Verdict, list[int] | None]:
    """Ask for offsets below `cap`, with several preferences."""
    for preference in islice(preferences, _RESTARTS):
        outcome = search(columns, cap, min(effort, purse.left), preference.__getitem__)
        purse.spend(outcome.nodes)
        if outcome.offsets is not None:
            return outcome.verdict, list(outcome.offsets)
        if outcome.verdict is Verdict.IMPOSSIBLE or purse.used_up:
            return outcome.verdict, None
    return Verdict.GAVE_UP, None


def _preferences(columns: Columns) -> Iterator[list[float]]:
    """Endlessly many, always the same: mixtures of size and duration, with a little noise."""
    lengths = [high - low for low, high in zip(columns.lows, columns.highs, strict=True)]
    weights = [(1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.5, 1.0), (1.0, 0.5)]
    random = Random(0).random
    noise = 0.0
    while True:
        for by_size, by_length in weights:
            yield [
                -(size**by_size) * length**by_length * (1.0 + noise * random())
                for size, length in zip(columns.sizes, lengths, strict=True)
            ]
        noise = 0.1 if noise != 0.1 else 0.3
