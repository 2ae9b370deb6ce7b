"""What every allocator makes of a small problem, as maps of memory in a golden file."""

from __future__ import annotations

from pathlib import Path

from memory_map import render
from place_cases import problem

from lowtide.place import ALLOCATORS

GOLDEN = Path(__file__).with_name("golden_maps.txt")


def test_the_maps_of_a_small_problem() -> None:
    task = problem((16, 1, 4), (16, 0, 2), (16, 2, 3), (16, 0, 1))
    maps = "\n".join(render(allocate(task)) for allocate in ALLOCATORS.values())
    assert maps == GOLDEN.read_text(encoding="utf-8")
