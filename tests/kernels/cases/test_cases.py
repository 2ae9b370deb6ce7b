"""Some cases of every family in each run, many in soak runs, and on emulated boards."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from .boards import PLACES, Batch
from .convolutions import Convolutions
from .coverage import COUNTED
from .drawing import Case, Draw
from .families import FAMILIES
from .oracle import differences
from .running import on_board, run


@pytest.mark.parametrize("family", FAMILIES)
def test_reference_is_that_of_the_interpreters(family: str) -> None:
    lines, asked = differences(family, 1, 24)
    assert lines == []
    assert sum(asked.values()) >= 12


@pytest.mark.parametrize("family", FAMILIES)
def test_some_cases(family: str) -> None:
    assert [str(found) for found in run(family, 1000, 1).finds] == []


def test_of_a_window_the_last_row_alone_may_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """With weights of nine bits, a row of the window that is none was looked for at address 0."""
    made = Convolutions(("UINT8",), ((3, 3),), (2, 6), (1, 17), depthwise=True)

    def far(draw: Draw) -> Case:
        draw.wishes = {"far": 9}
        return made(draw)

    monkeypatch.setitem(FAMILIES, "far", far)
    tally = run("far", 3000, 1)
    assert [str(found) for found in tally.finds] == []
    assert tally.kernels["lt_w9_s8_row"] > 500


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 12))
@pytest.mark.parametrize("family", FAMILIES)
def test_many_references_are_those_of_the_interpreters(family: str, seed: int) -> None:
    assert differences(family, seed, 40)[0] == []


@pytest.mark.soak
@pytest.mark.parametrize("family", FAMILIES)
def test_many_cases(family: str) -> None:
    """Two million in all, of which a part of the families takes a minute."""
    assert [str(found) for found in run(family, 70_000, 2).finds] == []


@pytest.mark.soak
@pytest.mark.parametrize("board", PLACES)
def test_memory_ends_at_edges(board: str) -> None:
    """Else nothing that is read beyond a buffer would be a fault."""
    batch, place = Batch(board, np.random.default_rng(1)), PLACES[board]
    inside = [*(end - 1 for end in place.ends), *place.starts]
    outside = [*place.ends, *(start - 1 for start in place.starts)]
    assert [batch.faults_at(address) for address in inside] == [False] * len(inside)
    assert [batch.faults_at(address) for address in outside] == [True] * len(outside)


@pytest.mark.soak
@pytest.mark.parametrize("board", PLACES)
def test_cases_on_boards(board: str) -> None:
    assert [str(found) for found in on_board(board, list(FAMILIES), 40_000, 2).finds] == []


def test_the_page_says_how_many_there_are() -> None:
    text = (Path(__file__).parents[3] / "docs" / "how-tested.md").read_text("utf-8")
    assert f"{len(FAMILIES)} families draw cases" in text
    assert f"{len(PLACES)} emulated boards" in text


def test_the_runtime_is_counted_as_it_is_in_networks() -> None:
    """Else branches of one build would be added to others of the other."""
    text = (Path(__file__).parents[2] / "pairs" / "covered.py").read_text("utf-8")
    assigned = [
        node.value
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COUNTED"
    ]
    assert [eval(ast.unparse(value)) for value in assigned] == [COUNTED]  # ours
