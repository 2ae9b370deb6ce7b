"""How soon is the least peak memory by order there, beside the recursion that searches use in Python?"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bench.reorder.graphs import peak_of
from bench.shared.tables import Detail, Row, amount, verdict
from bench.shared.work import note
from bench.sweep.candidates import FAMILIES, LEAST, MOST, candidate, family
from bench.sweep.paper_recursion import GaveUpError, least_peak
from lowtide.order import best_order

_Result = TypeVar("_Result")
_TIMES_AS_FAST = 20


@dataclass(frozen=True, slots=True)
class _Compared:
    """A candidate: seconds of CPU time and bytes, ours and the peer's, None where it gave up.

    `sound`: the order really needs what is said of it.
    """

    family: str
    seconds: float
    peak: int
    sound: bool
    proved: bool
    peer_seconds: float
    peer_peak: int | None


def orders(candidates: int, limit: float) -> list[Row]:
    """The best order of `candidates` networks; the peer may take `limit` seconds for each."""
    compared = []
    for seed in range(candidates):
        if seed % 20 == 0:
            note(f"orders of candidates from {seed} of {candidates}")
        compared.append(_compared(seed, limit))
    ours, theirs = sum(c.seconds for c in compared), sum(c.peer_seconds for c in compared)
    gave_up = sum(c.peer_peak is None for c in compared)
    larger = sum(c.peer_peak is not None and c.peak > c.peer_peak for c in compared)
    sound = all(c.sound for c in compared)
    middle = statistics.median(c.peer_seconds / c.seconds for c in compared)
    measured = (
        f"{theirs / ours:,.0f} times as fast, in the median {middle:.1f} times; {larger} larger, "
        f"{sum(c.proved for c in compared)} proved optimal"
    )
    return [
        Row(
            on=f"peak by order, {candidates} candidates of {LEAST} to {MOST} operators",
            asked=f">= {_TIMES_AS_FAST} times as fast as the peer, no peak larger",
            measured=measured if sound else "an order does NOT need what is said of it",
            status=verdict(sound and not larger and theirs >= _TIMES_AS_FAST * ours),
            peer=f"Algorithm 1 in Python: {theirs:,.1f} s (ours {ours:.2f} s); gave up on {gave_up} "
            f"after {limit:g} s",
            values={
                "candidates": candidates,
                "limit_seconds": limit,
                "seconds": ours,
                "peer_seconds": theirs,
                "median_times": middle,
                "larger": larger,
                "gave_up": gave_up,
            },
            record={
                "candidates": candidates,
                "limit_seconds": limit,
                "seconds": round(ours, 2),
                "peer_seconds": round(theirs, 1),
                "times_in_all": round(theirs / ours),
                "times_median": round(middle, 1),
                "peer_gave_up": gave_up,
                "proved_optimal": sum(c.proved for c in compared),
            },
            details=(_by_family(compared),),
        )
    ]


def _compared(seed: int, limit: float) -> _Compared:
    graph = candidate(seed)
    found, seconds = _cpu(lambda: best_order(graph))

    def peer() -> int | None:
        try:
            return least_peak(graph, limit)
        except GaveUpError:
            return None

    peak, peer_seconds = _cpu(peer)
    return _Compared(
        family(seed),
        seconds,
        found.peak_bytes,
        peak_of(graph, found.order) == found.peak_bytes,
        found.proved_optimal,
        limit if peak is None else peer_seconds,
        peak,
    )


def _cpu(call: Callable[[], _Result]) -> tuple[_Result, float]:
    """A call's result, and its seconds of CPU time, which other work on this machine lengthens less."""
    begin = time.process_time()
    result = call()
    return result, time.process_time() - begin


def _by_family(compared: Sequence[_Compared]) -> Detail:
    lines = []
    for name in FAMILIES:
        some = [c for c in compared if c.family == name]
        if not some:
            continue
        slowest = max(some, key=lambda c: c.seconds)
        lines.append(
            (
                name,
                f"{len(some)}",
                f"{1e3 * sum(c.seconds for c in some) / len(some):.1f} ms",
                f"{1e3 * slowest.seconds:.1f} ms",
                f"{sum(c.peer_seconds for c in some) / len(some):.3f} s",
                f"{max(c.peer_seconds for c in some):.1f} s",
                f"{sum(c.peer_peak is None for c in some)}",
                amount(max(c.peak for c in some)),
            )
        )
    return Detail(
        "peak by order, by kind of network, seconds of CPU time",
        ("kind", "networks", "ours, mean", "most", "peer, mean", "most", "gave up", "largest peak"),
        tuple(lines),
    )
