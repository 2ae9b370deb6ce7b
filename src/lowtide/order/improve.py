"""Make a good order better: solve the neighbourhood of its peak again, exactly.

The state before and the state after a window of consecutive steps do not depend on the order within
it. So a window is an ordering problem of its own (`bitgraph.restrict`), small enough for the exact
search, and a better order of the window only lowers the whole order's memory there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lowtide.effort import Budget
from lowtide.order.bitgraph import BitGraph, restrict
from lowtide.order.search import beam, exact

_WINDOWS = (12, 24, 48, 96)
_WHERE = (0.5, 0.2, 0.8, 0.35, 0.65)  # the part of a window that lies before the peak
_WINDOW_STATES = 2_000


def improve(
    bg: BitGraph, order: Sequence[int], *, floor: int, budget: Budget
) -> tuple[tuple[int, ...], int]:
    """(an order at least as good as `order`, its peak); stops at `floor` bytes or when `budget` is
    used up."""
    best = list(order)
    while True:
        profile = _profile(bg, best)
        peak = max(profile)
        at = profile.index(peak)
        if peak <= floor:
            break
        for first, last in _windows(at, len(best)):
            window = _resolve(bg, best, first, last, peak, budget)
            if window is not None:
                best[first:last] = window
                break
        else:
            break
        if budget.used_up:
            break
    return tuple(best), bg.peak(best)


def _profile(bg: BitGraph, order: Sequence[int]) -> list[int]:
    """Bytes while each step runs."""
    done, live, profile = 0, bg.base, []
    for op in order:
        profile.append(live + bg.out[op])
        live = bg.live_after(done, live, op)
        done |= 1 << op
    return profile


def _windows(at: int, steps: int) -> Iterator[tuple[int, int]]:
    """Half-open windows of steps that hold step `at`, small ones first."""
    for width in _WINDOWS:
        for share in _WHERE:
            first = max(0, int(at - width * share))
            yield first, max(at + 1, min(steps, first + width))


def _resolve(
    bg: BitGraph, order: Sequence[int], first: int, last: int, peak: int, budget: Budget
) -> list[int] | None:
    """Steps [first, last) in an order of a peak below `peak`, if one is found."""
    part = sorted(order[first:last])
    sub = restrict(bg, sum(1 << op for op in order[:first]), part)
    found = exact(sub, sub.base, states=_WINDOW_STATES, ceiling=peak, budget=budget)
    if found.order is None and found.lower_bound < peak:
        found = beam(sub, width=16, backward=False, below=peak, budget=budget)
    if found.order is None or sub.peak(found.order) >= peak:
        return None
    return [part[k] for k in found.order]
