"""The memory map as text, against a golden file."""

from __future__ import annotations

from pathlib import Path

from place_cases import problem, sequential_network

from lowtide.place import ALLOCATORS
from lowtide.place.ascii import render

GOLDEN = Path(__file__).with_name("golden_maps.txt")


def test_the_maps_of_a_small_problem() -> None:
    task = problem((16, 1, 4), (16, 0, 2), (16, 2, 3), (16, 0, 1))
    maps = "\n".join(render(allocate(task)) for allocate in ALLOCATORS.values())
    assert maps == GOLDEN.read_text(encoding="utf-8")


def test_long_maps_are_cut() -> None:
    lines = render(ALLOCATORS["greedy"](sequential_network([16] * 60)), max_rows=5).splitlines()
    assert len([line for line in lines if line.startswith("slot")]) == 5
    assert lines[-1] == "... and 56 more"


def test_an_empty_map() -> None:
    assert render(ALLOCATORS["greedy"](problem())).startswith("greedy: 0 bytes, bound 0 bytes")
