"""Results in a notebook: HTML that is whole, small, names nothing as markup, and has the figures."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

import lowtide
from lowtide.commands.analysis import analyze
from lowtide.commands.checking import verify
from lowtide.commands.options import Options
from lowtide.commands.planned import planned_model
from lowtide.report.describe import Shown
from lowtide.report.notebook import notebook_html
from lowtide.report.plan_boxes import plan_boxes
from networks import compiled, model_of

MOST_BYTES = 40_000


def parsed(result: Shown) -> ElementTree.Element:
    text = notebook_html(result)
    assert text == result._repr_html_()
    assert len(text) <= MOST_BYTES
    return ElementTree.fromstring(text)


def told(result: Shown) -> str:
    return " ".join("".join(parsed(result).itertext()).split())


def test_analysis() -> None:
    text = told(analyze(model_of("figure1")))
    assert "peak memory5,216 B4,960 B" in text
    assert "best order, proved optimal" in text
    assert "live at the peak, operator" in text


def test_a_plan_has_a_box_for_each_row_and_the_front() -> None:
    planned = planned_model(model_of("figure1"), Options(max_overhead=1.5), front=True)
    tree = parsed(planned)
    paths = [e.attrib["d"] for e in tree.iter("{http://www.w3.org/2000/svg}path")]
    assert sum(d.count("M") for d in paths) == len(plan_boxes(planned.compiled).boxes)
    text = told(planned)
    assert all(f"{point.arena_bytes:,}" in text for point in planned.points or ())
    assert f"lower bound, {'proved' if planned.proved_optimal else 'not'}" in text


def test_programs_verdicts_and_estimates() -> None:
    program = compiled("figure1")
    assert f"{program.arena_bytes:,} B" in told(program)
    assert "bit-exact" in told(verify(program, samples=1))
    estimate = lowtide.estimate(model_of("figure1"), budget=1)
    assert "does not fit a budget of 1 B" in told(estimate)


def test_state_is_a_figure_of_its_own() -> None:
    assert "state1,720 B" in told(compiled("streaming-wake-word"))


def test_names_are_never_markup() -> None:
    model = model_of("figure1")
    named = replace(analyze(model), path="<script>alert(1)</script>")
    text = notebook_html(named)
    assert "<script" not in text
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize("way", ["reordered", "simplified"])
def test_files_are_told_as_text(way: str) -> None:
    model = model_of("figure1")
    made = (
        lowtide.reorder(model, check=False)
        if way == "reordered"
        else lowtide.simplify(model, check=False)
    )
    assert "<pre" in notebook_html(made)
    parsed(made)
