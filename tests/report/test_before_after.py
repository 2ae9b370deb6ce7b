"""Before and after: one scale each way, one colour a tensor, all of it on the picture."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import accumulate

import pytest

from lowtide.advice.reporting import Reported, report_on
from lowtide.report.before_after import HIGH, WIDE, before_after, timed
from lowtide.report.memory_views import colours_of_views, views_of
from lowtide.report.numbers import Numbers
from lowtide.report.picture import COLOURS, Boxes, Words, letters, svg_text
from networks import model_of

NAMES = ("figure1", "ds-cnn-kws", "streaming-wake-word")


@cache
def reported(name: str) -> Reported:
    return report_on(model_of(name))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_leaves_the_picture(name: str) -> None:
    picture = before_after(reported(name))
    assert (picture.wide, picture.high) == (WIDE, HIGH)
    for element in picture.elements:
        if isinstance(element, Boxes):
            for x, y, wide, high in element.places:
                assert 0 <= x <= x + wide <= WIDE + 0.1
                assert 0 <= y <= y + high <= HIGH
        elif isinstance(element, Words):
            long = letters(element.text, element.size) * 0.85  # letters are narrower than assumed
            left = element.x - long * {"start": 0, "middle": 0.5, "end": 1}[element.at]
            assert left >= 0
            assert left + long <= WIDE, element.text
    assert "<svg" in svg_text(picture)


@pytest.mark.parametrize("name", NAMES)
def test_a_tensor_has_one_colour_in_all_views(name: str) -> None:
    views = views_of(reported(name))
    graph = reported(name).analysis.graph
    colours = colours_of_views(views, graph, len(COLOURS))
    again = colours_of_views(views, graph, len(COLOURS))
    assert colours == again
    for view in views:
        assert {box.tensor for box in view.tensors} <= set(colours)


@pytest.mark.parametrize("name", NAMES)
def test_time_is_the_instructions_that_are_predicted(name: str) -> None:
    shown = reported(name)
    for view in views_of(shown):
        assert len(view.work) == view.shown.slots == len(view.steps)
    rows = next(view for view in views_of(shown) if view.key == "rows")
    assert rows.instructions == pytest.approx(shown.compiled.instructions_predicted, rel=0.01)
    moments = timed(rows, 500, rows.instructions)
    ends = [0, *accumulate(rows.work)]
    for box, before in zip(moments.everything, rows.shown.everything, strict=True):
        assert box.start == round(ends[before.start] * 500 / rows.instructions)
    assert max(moments.live) == rows.shown.peak_bytes


def test_an_operator_has_the_number_of_the_file() -> None:
    """What is before it is left out; a reader has the file open."""
    graph = reported("figure1").analysis.graph
    less = replace(graph, ops=tuple(replace(op, id=op.id - 1) for op in graph.ops[1:]))
    numbers = Numbers(less, graph)
    assert numbers.of == {op.id: op.id + 1 for op in less.ops}
    op = less.ops[0]
    assert numbers.origin(op.outputs[0]) == f"1 {op.label}"
    assert numbers.work({0: 70})[1] == 70
