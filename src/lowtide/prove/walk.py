"""Turns and loops of a step program, in the order in which lt_run comes to them (lt_walk.h: advance)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lowtide.prove.bundle_reader import DEPTH, LOOP
from lowtide.prove.memory import NotProvedError

Turns = Sequence[tuple[int, int]]
"""lt_turn: (node, steps), or (LOOP + turns of the body, rounds)."""


def walked(turns: Turns) -> Iterator[tuple[int, int]]:
    """(node, steps) of every turn that is run. Raises NotProvedError for a loop that is none."""
    loops: list[list[int]] = []  # [first turn, rounds left]
    at = 0
    while at < len(turns):
        node, steps = turns[at]
        if steps < 1:
            raise NotProvedError(f"turn {at} has no step, or no round")
        if node < LOOP:
            yield node, steps
            at += 1
            while loops and at == _end(turns, loops[-1][0]):
                loops[-1][1] -= 1
                if loops[-1][1] > 0:
                    at = loops[-1][0]
                    break
                loops.pop()
            continue
        at += 1
        end = _end(turns, at)
        if len(loops) == DEPTH:
            raise NotProvedError(f"turn {at - 1}: loops are {DEPTH + 1} deep")
        if not at < end <= len(turns) or (loops and end > _end(turns, loops[-1][0])):
            raise NotProvedError(f"turn {at - 1}: a loop reaches beyond what it is in")
        loops.append([at, steps])


def _end(turns: Turns, first: int) -> int:
    """Where the loop whose body begins with turn `first` ends."""
    return first + turns[first - 1][0] - LOOP
