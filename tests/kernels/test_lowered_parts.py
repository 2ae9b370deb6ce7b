"""What lowering is made of, each piece by itself: networks run right without some of it, only slower."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lowtide.lower.move import loops
from lowtide.lower.nodes import Node, Params, Port


@pytest.mark.parametrize(
    ("counts", "pitches", "found"),
    [
        ((2, 3, 2), (48, 16, 8), ((12,), (8,), 4)),
        ((2, 2), (10, 8), ((2, 2), (10, 8), 4)),
        ((2, 1, 3), (12, 99, 4), ((), (), 24)),
        ((3, 2, 3), (24, 12, 4), ((), (), 72)),
        ((3, 2), (40, 4), ((3,), (40,), 8)),
    ],
)
def test_loops_that_continue_each_other_are_one(
    counts: tuple[int, ...], pitches: tuple[int, ...], found: tuple[object, ...]
) -> None:
    assert loops(counts, pitches, 4) == found


def test_the_leanest_form_is_that_of_least_scratch_memory() -> None:
    ports = (Port(0, 1, 1),), (Port(1, 1, 1),)
    node = Node(0, "lt_x_row", "lt_x.h", Params("lt_x", ()), *ports, 1, scratch=2)
    some, none = replace(node, scratch=1), replace(node, scratch=0)
    of = replace(node, forms=(some, none))
    assert of.leaner.scratch == 0
    assert [of.within(n).scratch for n in (0, 1, 2, 3)] == [0, 1, 2, 2]
