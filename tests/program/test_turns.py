"""Turns and loops run the very steps that they were made of, in lowtide.c's eyes too.

Why: the step program is all that a compiled network knows of its schedule. A loop of one turn too many
reads rows that do not exist yet, and only in networks that are folded in just that way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import cycle, islice

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lowtide.emit.runtime import kernel_files
from lowtide.program.turns import MAX_DEPTH, Loop, Turn, expand, flatten, turns_of

LT_LOOP = 0x8000

nodes = st.integers(0, 4)
pieces: st.SearchStrategy[list[int]] = st.recursive(
    st.lists(nodes, max_size=6),
    lambda inner: st.builds(
        lambda parts, times: [node for part in parts for node in part] * times,
        st.lists(inner, max_size=3),
        st.integers(1, 6),
    ),
    max_leaves=8,
)
"""Node sequences made of repetitions within repetitions, deeper than loops may nest."""


def steps_of(sequence: Sequence[int]) -> list[tuple[int, int]]:
    """(node, number of its step) pairs."""
    done: dict[int, int] = {}
    steps = []
    for node in sequence:
        steps.append((node, done.get(node, 0)))
        done[node] = done.get(node, 0) + 1
    return steps


def depth(turns: Sequence[Turn | Loop]) -> int:
    return max((1 + depth(t.body) for t in turns if isinstance(t, Loop)), default=0)


def walk(entries: Sequence[tuple[int, int]]) -> list[int]:
    """The node of every step, found as lt_run does: a stack of loops, 16-bit numbers, no recursion."""
    sequence: list[int] = []
    stack: list[list[int]] = []  # [start, end, rounds left]
    at = 0
    while at < len(entries):
        node, count = entries[at]
        assert 0 <= node <= 0xFFFF
        assert 0 < count <= 0xFFFF
        at += 1
        if node >= LT_LOOP:
            stack.append([at, at + node - LT_LOOP, count])
            assert len(stack) <= MAX_DEPTH
            continue
        sequence += [node] * count
        while stack and at == stack[-1][1]:
            stack[-1][2] -= 1
            if stack[-1][2] > 0:
                at = stack[-1][0]
                break
            stack.pop()
    assert not stack
    return sequence


def check_entries(turns: Sequence[Turn | Loop], entries: Sequence[tuple[int, int]]) -> None:
    """Every loop's entry counts the entries of its body, loops within it included."""
    at = 0
    for turn in turns:
        if isinstance(turn, Turn):
            assert entries[at] == (turn.node, turn.steps)
            at += 1
            continue
        length = entries[at][0] - LT_LOOP
        assert entries[at][1] == turn.times >= 2
        assert length >= 1
        check_entries(turn.body, entries[at + 1 : at + 1 + length])
        at += 1 + length
    assert at == len(entries)


def check(sequence: Sequence[int]) -> list[tuple[int, int]]:
    turns = turns_of(steps_of(sequence))
    assert expand(turns) == list(sequence)
    assert depth(turns) <= MAX_DEPTH
    entries = flatten(turns)
    check_entries(turns, entries)
    assert walk(entries) == list(sequence)
    runs = sum(a != b for a, b in zip(sequence, [-1, *sequence], strict=False))
    assert len(entries) <= runs  # loops never make the program longer
    return entries


@given(st.lists(nodes, max_size=80))
@example([])
@example([0])
def test_any_sequence(sequence: list[int]) -> None:
    check(sequence)


@given(pieces)
def test_repetitions_within_repetitions(sequence: list[int]) -> None:
    check(sequence)


@given(
    st.lists(nodes, max_size=9),
    st.lists(nodes, min_size=1, max_size=9),
    st.integers(0, 120),
    st.lists(nodes, max_size=9),
)
def test_a_periodic_sequence_stays_short(
    before: list[int], body: list[int], length: int, after: list[int]
) -> None:
    """However often the body runs, whole or broken off in the middle."""
    entries = check([*before, *islice(cycle(body), length), *after])
    assert len(entries) <= len(before) + 3 * len(body) + len(after) + 2


def test_one_node_alone_is_one_turn() -> None:
    assert turns_of(steps_of([3] * 500)) == (Turn(3, 500),)


def test_nested_loops_word_for_word() -> None:
    turns = turns_of(steps_of([0, *[1, 2] * 3, 5] * 4 + [7]))
    assert turns == (
        Loop((Turn(0, 1), Loop((Turn(1, 1), Turn(2, 1)), 3), Turn(5, 1)), 4),
        Turn(7, 1),
    )
    assert flatten(turns) == [
        *((LT_LOOP + 5, 4), (0, 1)),
        *((LT_LOOP + 2, 3), (1, 1), (2, 1)),
        *((5, 1), (7, 1)),
    ]


def test_loops_that_end_together() -> None:
    """The inner loop is the last of the outer one's body: both end at the same entry."""
    turns = turns_of(steps_of([0, *[1, 2] * 3] * 4))
    assert depth(turns) == 2
    assert walk(flatten(turns)) == [0, *[1, 2] * 3] * 4


def test_nesting_stops_where_the_stack_ends() -> None:
    sequence = [0, 1]
    for node in range(2, MAX_DEPTH + 4):
        sequence = [*sequence * 3, node]
    sequence *= 3
    check(sequence)
    assert depth(turns_of(steps_of(sequence))) == MAX_DEPTH


def test_the_walk_can_fail() -> None:
    """A body that is one entry too long is another program."""
    entries = flatten(turns_of(steps_of([1, 2] * 5 + [3])))
    assert entries[0] == (LT_LOOP + 2, 5)
    assert walk(entries) == [1, 2] * 5 + [3]
    assert walk([(LT_LOOP + 3, 5), *entries[1:]]) != [1, 2] * 5 + [3]


@pytest.mark.parametrize(("name", "value"), [("LT_LOOP", LT_LOOP), ("LT_DEPTH", MAX_DEPTH)])
def test_the_runtime_has_the_same_constants(name: str, value: int) -> None:
    header = kernel_files()["lowtide.h"]
    (found,) = re.findall(rf"#define {name} (\w+?)U?\n", header)
    assert int(found, 0) == value
