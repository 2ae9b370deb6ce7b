"""Draws one after the other, in several processes, until all pairs have met or the time is over.

    known draws, then aimed ones --tried--> right ones: their pairs have met, and they are kept

Of the draws that are compiled, only those are compared with the oracle that hold at least half as many
missing pairs as the last ones did; each that is left out lowers what is asked of the next.
"""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field

from lowtide.oracle import interpreters
from oracle_server import served
from pairs.aiming import Aim
from pairs.drawing import Draw, Outcome, tried
from pairs.features import Pair
from pairs.impossible import REFERENCES, impossible, possible

_SECONDS_EACH = 900
_LAST = 20
"""Draws over which it is averaged how many pairs one adds."""


@dataclass(slots=True)
class Met:
    """What has met so far: `kept` are draws that let something new meet, with all of their pairs."""

    missing: set[Pair] = field(default_factory=lambda: set(possible()))
    kept: dict[Draw, frozenset[Pair]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    finds: list[Outcome] = field(default_factory=list)
    wrong_rules: set[Pair] = field(default_factory=set)
    gain: float = 0.0

    def add(self, outcome: Outcome) -> None:
        """What became of one more draw."""
        self.counts[outcome.kind] += 1
        self.wrong_rules |= {
            pair
            for pair in outcome.pairs - possible()
            # What no reference runs compiles, and is compared with nothing.
            if outcome.kind == "right" or not _has_no_reference(pair)
        }
        if outcome.is_find:
            self.finds.append(outcome)
        if outcome.kind == "nothing new":
            self.gain *= 1 - 1 / _LAST
        if outcome.kind == "right":
            new = len(self.missing & outcome.pairs)
            self.gain += (new - self.gain) / _LAST
            self.missing -= outcome.pairs
            if new:
                self.kept[outcome.draw] = outcome.pairs

    @property
    def least(self) -> int:
        """How many missing pairs a draw should hold to be worth comparing."""
        return max(1, int(self.gain / 2))

    def needed(self) -> list[Draw]:
        """Those of the draws that the pairs that have met need: of the others, other draws hold all."""
        holding = Counter(pair for pairs in self.kept.values() for pair in pairs)
        left = []
        for draw, pairs in reversed(self.kept.items()):
            own = pairs & possible()
            if all(holding[pair] > 1 for pair in own):
                holding.subtract(own)
            else:
                left.append(draw)
        return left[::-1]


def _has_no_reference(pair: Pair) -> bool:
    rule = impossible().get(pair)
    return rule is not None and rule.where == REFERENCES


def meet(
    known: Sequence[Draw],
    aim: Aim,
    seconds: float,
    jobs: int,
    missing: Collection[Pair] | None = None,
) -> Met:
    """Try the known draws, and then others for `seconds` in all; says on stderr what it finds. What
    is not `missing`, if that is given, has met before."""
    met, end, first = Met(), time.monotonic() + seconds, list(known)
    if missing is not None:
        met.missing = set(missing)

    def next_draw() -> tuple[Draw, int] | None:
        if first:
            return first.pop(0), 1
        if met.missing and time.monotonic() < end:
            return aim.draw(met.missing), met.least
        return None

    for outcome in _outcomes(next_draw, met.missing, jobs):
        met.add(outcome)
        aim.learn(outcome)
        if outcome.is_find:
            print(f"{outcome.kind}: {outcome.said}\n  {outcome.draw.line}", file=sys.stderr)
        if met.counts.total() % _LAST == 0:
            told = ", ".join(f"{count} {kind}" for kind, count in sorted(met.counts.items()))
            print(f"{told}; {len(met.missing):,} pairs missing", file=sys.stderr, flush=True)
    return met


def _outcomes(
    next_draw: Callable[[], tuple[Draw, int] | None], missing: set[Pair], jobs: int
) -> Iterator[Outcome]:
    with ProcessPoolExecutor(jobs, initializer=_limited) as pool:
        running: set[Future[Outcome]] = set()
        while True:
            while len(running) <= jobs and (asked := next_draw()) is not None:
                running.add(pool.submit(_within_time, asked[0], frozenset(missing), asked[1]))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)


def _limited() -> None:
    # Oracles answer from one process that has them loaded.
    setattr(interpreters, "start_worker", served(interpreters.start_worker))  # noqa: B010  # for mypy
    signal.signal(signal.SIGALRM, _too_long)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _too_long(*_: object) -> None:
    raise TimeoutError(f"no end after {_SECONDS_EACH} s")


def _within_time(draw: Draw, missing: frozenset[Pair], least: int) -> Outcome:
    signal.alarm(_SECONDS_EACH)
    try:
        return tried(draw, missing, least)
    finally:
        signal.alarm(0)
