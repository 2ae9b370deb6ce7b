"""The picture of a front: its marks, its axes, and a step line that never goes up."""

from __future__ import annotations

import itertools
from functools import cache

from drawn import inside, texts

from lowtide.commands.options import Options
from lowtide.commands.planned import Planned, planned_model
from lowtide.report.front_picture import front_picture
from lowtide.report.picture import COLOURS, RED, Boxes, Line
from lowtide.tflite.read import parse
from random_nets import random_network


@cache
def planned() -> Planned:
    return planned_model(parse(random_network(3)), Options(), front=True)


def test_axes_and_marks_are_named() -> None:
    points = planned().points
    assert points is not None
    picture = front_picture(planned().compiled, points)
    shown = texts(picture)
    assert {"plans", "this plan", "arena, bytes"} <= set(shown)
    assert any(text.startswith("million instructions, predicted for a cortex-m4") for text in shown)
    marks = [e.fill for e in picture.elements if isinstance(e, Boxes)]
    assert marks.count(COLOURS[0]) == len(points) + 1  # and one in the legend
    assert marks.count(RED) == 2
    inside(picture)


def test_the_line_goes_down_in_steps() -> None:
    points = planned().points
    assert points is not None
    picture = front_picture(planned().compiled, points)
    (line,) = (e for e in picture.elements if isinstance(e, Line) and e.colour == COLOURS[0])
    turns = line.points
    assert 2 < len(turns) <= 2 * len(points)
    for (x, y), (next_x, next_y) in itertools.pairwise(turns):
        assert next_x >= x and next_y >= y  # y grows downwards
        assert next_x == x or next_y == y
