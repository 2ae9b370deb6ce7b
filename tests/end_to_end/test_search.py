"""examples/search, run as its README says: each engine finds the same, the best is as estimated."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = """
    python examples/search/search.py --max-ram 64K -o front.png
    python examples/search/search.py --max-ram 64K --engine joblib --jobs 2 -o front.png
    python examples/search/search.py --max-ram 64K --engine ray --jobs 2 -o front.png
"""
ENGINES = ("joblib", "ray") if find_spec("ray") else ("joblib",)
"""Ray is large, and not in the extra `test`: the README says with which version it was tried."""


def searched(folder: Path, name: str, *options: str) -> str:
    """What a short search prints."""
    command = [sys.executable, str(ROOT / "examples" / "search" / "search.py"), "--max-ram", "16K"]
    command += ["--trials", "40", "-o", str(folder / name), *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_best_network_takes_what_was_estimated(tmp_path: Path) -> None:
    said = searched(tmp_path, "front.png")
    document = json.loads((tmp_path / "front.json").read_text())
    front = document["front"]
    assert document["fitting"] + document["too_large"] <= 40  # some are drawn twice
    assert document["too_large"] > 0
    assert [point["ram"] for point in front] == sorted({point["ram"] for point in front})
    assert [point["macs"] for point in front] == sorted({point["macs"] for point in front})
    assert all(point["ram"] <= 16384 for point in front)
    words = said.replace(",", "").split()
    arena, estimated = (int(words[words.index(word) + 1]) for word in ("arena", "estimated"))
    assert estimated == front[-1]["ram"]
    assert abs(arena / estimated - 1) <= 0.03
    assert said.endswith("outputs as the reference kernels\n")
    assert (tmp_path / "front.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_find_the_same_front(engine: str, tmp_path: Path) -> None:
    searched(tmp_path, "here.svg", "--search-only")
    searched(tmp_path, "there.svg", "--search-only", "--engine", engine, "--jobs", "2")
    for ending in ("json", "svg"):
        here, there = ((tmp_path / f"{who}.{ending}").read_bytes() for who in ("here", "there"))
        assert here == there
