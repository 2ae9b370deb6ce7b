"""Pictures: the format comes from the file's name, and every network can be drawn.

Why few: what a picture looks like no test can judge; these see that one comes out, and the same one
each time.
"""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
import xml.etree.ElementTree as Xml
from dataclasses import replace

import pytest
from hand_made import chain, peak_at_start

from lowtide.commands.analysis import analyze
from lowtide.errors import UsageError
from lowtide.ir import Graph
from lowtide.report.analysis_picture import analysis_picture, stacked
from lowtide.report.picture import format_of, side_of
from lowtide.report.plan_boxes import colours_in
from networks import loaded


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.png", "png"), ("a.SVG", "svg"), ("a.b.Png", "png"), (".svg", "svg")],
)
def test_format_of(name: str, expected: str) -> None:
    assert format_of(name) == expected


@pytest.mark.parametrize("name", ["", "png", "a", "a.", "a.pdf", "a.png.", "a.svgz", "a.jpeg"])
def test_format_of_any_other_name(name: str) -> None:
    with pytest.raises(UsageError) as info:
        format_of(name)
    assert info.value.cause == f"cannot tell the picture format of {name!r}"
    assert info.value.remedy == "end the file name in .png or .svg"


def svg(graph: Graph) -> str:
    """The picture of `graph`, which must be well-formed and come without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = analysis_picture(analyze(graph), "svg").decode()
    Xml.fromstring(text)
    return text


def texts(picture: str) -> list[str]:
    """The texts in an svg, which matplotlib draws as outlines, each after a comment."""
    return re.findall(r"<!-- (.*?) -->", picture)


def test_both_orders_are_drawn_with_their_peaks() -> None:
    shown = texts(svg(loaded("figure1").graph))
    for text in (
        "file order: a box is a tensor, as high as its bytes; in RAM together is what is stacked",
        "peak 5,216 B, step 2: 2 DEPTHWISE_CONV_2D",
        "peak 4,960 B, step 3: 1 CONV_2D",
    ):
        assert text in shown
    assert any(text.startswith("best order, proved optimal: ") for text in shown)
    assert "2 DEPTHWISE_CONV_2D" in shown  # below the steps
    assert any(text.startswith("t3  0 CONV_2D, ") for text in shown)  # in the legend


def test_a_best_file_order_is_drawn_once() -> None:
    shown = texts(svg(chain("a", "b", "c")))
    assert any(text.startswith("file order: ") for text in shown)
    assert not any(text.startswith("best order") for text in shown)


def test_png() -> None:
    made = analysis_picture(analyze(chain("a", "b")), "png")
    assert made.startswith(b"\x89PNG\r\n\x1a\n")
    assert made.endswith(b"IEND\xaeB`\x82")


def test_of_very_many_operators_some_are_named() -> None:
    names = [f"tensor{number}" for number in range(152)]
    shown = texts(svg(chain(*names)))
    assert "operator, in the order it runs; one in 2 is named" in shown
    assert "150 ADD" in shown and "149 ADD" not in shown


def test_a_peak_before_the_first_step() -> None:
    assert "peak 2,000 B, before the first step" in texts(svg(peak_at_start()))


@pytest.mark.parametrize("name", ["figure1", "branchy-cell", "streaming-wake-word"])
def test_the_highest_stack_is_the_peak_that_is_told(name: str) -> None:
    """In both orders; boxes of one step lie upon each other, without a gap, on the state."""
    found = analyze(loaded(name).graph)
    for line in (found.file, found.best):
        shown = stacked(found, line)
        assert max(box.offset + box.size for box in shown.boxes) == (
            line.peak_bytes + found.variables_bytes
        )
        assert (shown.peak_slot, shown.peak_bytes) == (line.peak_step, line.peak_bytes)
        for number, step in enumerate(line.steps):
            live = sorted(
                (b.offset, b.size, b.tensor) for b in shown.boxes if b.start <= number < b.end
            )
            assert {tensor for _, _, tensor in live} == set(step.working_set)
            ends = [found.variables_bytes, *(offset + size for offset, size, _ in live)]
            assert [offset for offset, _, _ in live] == ends[:-1]
            assert ends[-1] == found.variables_bytes + step.bytes


def test_a_tensor_has_one_colour_in_both_orders_and_no_neighbour_has_it() -> None:
    found = analyze(loaded("branchy-cell").graph)
    pictures = [stacked(found, line).boxes for line in (found.file, found.best)]
    colours = colours_in(pictures, 18)
    for boxes in pictures:
        for one in boxes:
            for other in boxes:
                if one.tensor != other.tensor and one.start < other.end and other.start < one.end:
                    assert colours[one.tensor] != colours[other.tensor]


def test_a_network_without_memory() -> None:
    graph = chain("a", "b")
    svg(replace(graph, tensors=tuple(replace(t, shape=(0,)) for t in graph.tensors)))


@pytest.mark.parametrize("name", ["cost$x$", "$\\foo$", "a_b^c", "<&>", "\\", "$"])
def test_a_name_is_no_formula(name: str) -> None:
    """Names of custom operators and of files are other people's text."""
    graph = chain("a", "b")
    named = replace(graph, ops=(replace(graph.ops[0], type="CUSTOM", custom=name),))
    svg(named)
    svg(replace(graph, name=name))


def test_matplotlib_is_imported_only_to_draw() -> None:
    modules = "analysis_picture, front_picture, picture, picture_boxes, plan_boxes, plan_picture"
    code = f"import sys; from lowtide.report import {modules}; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("step", "side"),
    [(0, "left"), (2, "left"), (3, "center"), (6, "center"), (7, "right"), (9, "right")],
)
def test_labels_stay_inside(step: int, side: str) -> None:
    assert side_of(step, 9) == side
