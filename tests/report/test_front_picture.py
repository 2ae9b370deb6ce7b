"""The picture of a front: its marks, its axes, and a step line that never goes up."""

from __future__ import annotations

import itertools
from functools import cache

from drawn import inside, texts

from lowtide.commands.options import Options
from lowtide.commands.planned import Planned, planned_model
from lowtide.machines.mcus import find_mcu
from lowtide.report.front_picture import front_picture
from lowtide.report.picture import COLOURS, RED, Boxes, Line, Words, letters
from lowtide.tflite.read import parse
from lowtide.zoo.loading import load
from random_nets import random_network


@cache
def planned() -> Planned:
    return planned_model(parse(random_network(3)), Options(), front=True)


def test_axes_and_marks_are_named() -> None:
    points = planned().points
    assert points is not None
    picture = front_picture(planned())
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
    picture = front_picture(planned())
    (line,) = (e for e in picture.elements if isinstance(e, Line) and e.colour == COLOURS[0])
    turns = line.points
    assert 2 < len(turns) <= 2 * len(points)
    for (x, y), (next_x, next_y) in itertools.pairwise(turns):
        assert next_x >= x and next_y >= y  # y grows downwards
        assert next_x == x or next_y == y


def test_of_a_part_with_slow_flash_waiting_counts() -> None:
    """Marks lie as far apart as plans cost, by which they were chosen: there, instructions alone would
    put some at one place."""
    planned = planned_model(
        load("zoo:ds-cnn-kws"), Options(target=find_mcu("RP2350").target), front=True
    )
    points = planned.points
    assert points is not None
    picture = front_picture(planned)
    label = next(text for text in texts(picture) if text.startswith("million "))
    assert label.startswith("million instructions with waiting for flash, predicted for a ")
    boxes = [e.places[0] for e in picture.elements if isinstance(e, Boxes) and e.fill == COLOURS[0]]
    at = [x + wide / 2 for x, _, wide, _ in boxes[: len(points)]]
    costs = [point.cost for point in points]
    scale = (max(at) - min(at)) / (max(costs) - min(costs))
    for x, cost in zip(at, costs, strict=True):
        assert abs(x - min(at) - scale * (cost - min(costs))) < 1
    assert len({point.cost - point.instructions for point in points}) > 1
    inside(picture)
    lines = [e for e in picture.elements if isinstance(e, Words) and "KiB" in e.text]
    assert lines  # no mark hides the name of a part
    for words in lines:
        wide = letters(words.text, words.size)
        left = words.x - (wide if words.at == "end" else 0)
        for x, y, across, high in (e.places[0] for e in picture.elements if isinstance(e, Boxes)):
            apart = x > left + wide or x + across < left or y > words.y or y + high < words.y - 11
            assert apart
