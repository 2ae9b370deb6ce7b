"""The reports on the papers' example graph, compared as whole files (see `golden_files`).

Why this graph: both of its tables stand in Appendix A of the operator-reordering paper, so the
figures in the files can be checked by hand: peaks 5,216 and 4,960 bytes.
"""

from __future__ import annotations

import json
from functools import cache

import pytest

from golden_files import assert_golden
from lowtide.commands import reordering
from lowtide.commands.analysis import Analysis
from lowtide.commands.reordering import Placements
from lowtide.report.data import analysis_csv, analysis_document, reordered_document, to_json
from lowtide.report.describe import describe
from lowtide.report.text import analysis_text, reordered_text
from lowtide.zoo.loading import load
from networks import loaded


@cache
def figure1() -> tuple[Analysis, Placements]:
    model = load("zoo:figure1")
    found = reordering.analyze(model)
    return found, reordering.place_tensors(model.graph, found.best.order)


def test_analysis_text(pytestconfig: pytest.Config) -> None:
    assert_golden("figure1_analysis.txt", analysis_text(*figure1()), pytestconfig)


def test_analysis_json(pytestconfig: pytest.Config) -> None:
    """Keys of a schema are never renamed or removed: this file may only grow."""
    document = analysis_document(*figure1())
    assert_golden("figure1_analysis.json", to_json(document), pytestconfig)


@pytest.mark.parametrize("name", ["steps.csv", "best_order_steps.csv", "tensors.csv"])
def test_analysis_csv(name: str, pytestconfig: pytest.Config) -> None:
    tables = analysis_csv(figure1()[0])
    assert len(tables) == 3
    assert_golden(f"figure1_{name}", tables[name].rstrip("\n"), pytestconfig)


def test_reordered_text_and_json(pytestconfig: pytest.Config) -> None:
    """With an offline plan, checked with the reference kernels."""
    result = reordering.reorder(load("zoo:figure1"), offline_plan=True)
    assert_golden("figure1_reordered.txt", reordered_text(result), pytestconfig)
    document = to_json(reordered_document(result, "out.tflite"))
    assert_golden("figure1_reordered.json", document, pytestconfig)


def test_reordered_text_unchecked(pytestconfig: pytest.Config) -> None:
    result = reordering.reorder(loaded("figure1"), check=False)
    assert_golden("figure1_unchecked.txt", reordered_text(result), pytestconfig)
    assert describe(result) == reordered_text(result)


def test_the_papers_tables() -> None:
    """Appendix A: working sets of the default and of the best order, in bytes."""
    document = json.loads(to_json(analysis_document(*figure1())))
    default = [step["bytes"] for step in document["steps"]]
    assert default == [4704, 4704, 5216, 4160, 1280, 1024, 1024]
    best = document["best_order"]
    assert [op + 1 for op in best["order"]] == [1, 4, 6, 2, 3, 5, 7]  # the paper counts from 1
    assert best["step_bytes"] == [4704, 3648, 3904, 4960, 2336, 1024, 1024]
