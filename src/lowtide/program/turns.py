"""Steps as turns and loops: the step program made compact.

Interleaved steps repeat: once a stage is under way, every few rows the same nodes run in the same
order. Each node counts its own steps, so that a repeated run of turns is a loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAX_DEPTH = 4
"""LT_DEPTH in lowtide.h."""

_LONGEST_BODY = 512


@dataclass(frozen=True, slots=True)
class Turn:
    """The next `steps` steps of `node`."""

    node: int
    steps: int


@dataclass(frozen=True, slots=True)
class Loop:
    """`body`, `times` times."""

    body: tuple[Turn | Loop, ...]
    times: int


def turns_of(steps: Iterable[tuple[int, int]], depth: int = MAX_DEPTH) -> tuple[Turn | Loop, ...]:
    """Turns and loops that run `steps`, (node, number of step) pairs with each node's in order.

    Loops hold loops at most `depth` deep.
    """
    runs: list[tuple[int, int]] = []
    for node, _ in steps:
        if runs and runs[-1][0] == node:
            runs[-1] = (node, runs[-1][1] + 1)
        else:
            runs.append((node, 1))
    return _fold([Turn(*run) for run in runs], depth)


def _fold(turns: Sequence[Turn], depth: int) -> tuple[Turn | Loop, ...]:
    """Replace repeated runs by loops, from the left, the largest saving first."""
    folded: list[Turn | Loop] = []
    at = 0
    while at < len(turns):
        saving, length, times = _repeat(turns, at) if depth else (0, 0, 0)
        if saving > 0:
            folded.append(Loop(_fold(turns[at : at + length], depth - 1), times))
            at += length * times
        else:
            folded.append(turns[at])
            at += 1
    return tuple(folded)


def _repeat(turns: Sequence[Turn], at: int) -> tuple[int, int, int]:
    """(turns saved, body length, times) of the best repetition that starts at `at`."""
    best = (0, 0, 0)
    for length in range(1, min(_LONGEST_BODY, (len(turns) - at) // 2) + 1):
        if turns[at] != turns[at + length]:
            continue
        body, times = turns[at : at + length], 1
        while turns[at + times * length : at + (times + 1) * length] == body:
            times += 1
        best = max(best, (length * (times - 1) - 1, -length, times))
    return best[0], -best[1], best[2]


def flatten(turns: Sequence[Turn | Loop]) -> list[tuple[int, int]]:
    """lt_turn entries: (node, steps), or (LT_LOOP + entries of the body, times)."""
    entries: list[tuple[int, int]] = []
    for turn in turns:
        match turn:
            case Turn():
                entries.append((turn.node, turn.steps))
            case Loop():
                body = flatten(turn.body)
                entries.append((0x8000 + len(body), turn.times))
                entries += body
    return entries


def expand(turns: Sequence[Turn | Loop]) -> list[int]:
    """The node of every step, in the order in which they run."""
    nodes: list[int] = []
    for turn in turns:
        match turn:
            case Turn():
                nodes += [turn.node] * turn.steps
            case Loop():
                nodes += expand(turn.body) * turn.times
    return nodes
