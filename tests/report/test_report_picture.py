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
from lowtide.report.picture import analysis_picture, format_of, side_of
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
    for text in ("file order", "best order, proved optimal", "peak 5,216 B", "peak 4,960 B"):
        assert text in shown
    assert "2 DEPTHWISE_CONV_2D" in shown


def test_a_best_file_order_is_drawn_once() -> None:
    shown = texts(svg(chain("a", "b", "c")))
    assert "file order" in shown
    assert not any(text.startswith("best order") for text in shown)


def test_png() -> None:
    made = analysis_picture(analyze(chain("a", "b")), "png")
    assert made.startswith(b"\x89PNG\r\n\x1a\n")
    assert made.endswith(b"IEND\xaeB`\x82")


def test_many_operators_have_no_labels() -> None:
    shown = texts(svg(loaded("mbv2-w0.35-144-chain").graph))
    assert "step" in shown
    assert not any("CONV_2D" in text for text in shown)


def test_a_peak_before_the_first_step() -> None:
    assert "peak 2,000 B" in texts(svg(peak_at_start()))


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
    modules = "front_picture, picture, plan_boxes, plan_picture"
    code = f"import sys; from lowtide.report import {modules}; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("step", "side"),
    [(0, "left"), (2, "left"), (3, "center"), (6, "center"), (7, "right"), (9, "right")],
)
def test_labels_stay_inside(step: int, side: str) -> None:
    assert side_of(step, 9) == side
