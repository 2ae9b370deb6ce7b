"""Text reports in the cases that the example graph does not show.

Why: names in a model are other people's text, and a report must neither fail on one nor change it.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import chain, peak_at_start, unproved, with_variable

from lowtide.commands import reordering
from lowtide.commands.analysis import analyze
from lowtide.commands.reordering import Check, place_tensors
from lowtide.report.describe import describe
from lowtide.report.terminal import short_name
from lowtide.report.text import (
    amount,
    analysis_text,
    change,
    reordered_text,
    shape_text,
    steps_text,
    summary_text,
    table,
)
from networks import loaded


def line(text: str, start: str) -> str:
    """The one line that starts with `start`."""
    (found,) = [row for row in text.splitlines() if row.startswith(start)]
    return found


def test_small_forms() -> None:
    assert amount(0) == "0 B"
    assert amount(1234567) == "1,234,567 B"
    assert change(100, 75) == "-25.0%"
    assert change(75, 100) == "+33.3%"
    assert change(7, 7) == change(0, 0) == change(0, 7) == "same"
    assert shape_text((1, 7, 7, 64)) == "1x7x7x64"
    assert shape_text(()) == "scalar"


def test_a_table_aligns_numbers_right_and_text_left() -> None:
    made = table("title", ("n", "what."), [(1, "a"), (1000, "bc")])
    assert made == "title\n   n  what\n   1  a\n1000  bc"


def test_an_order_that_is_already_best() -> None:
    text = analysis_text(analyze(chain("a", "b", "c")))
    assert "Steps in the best order" not in text
    assert "Peak in the best order" not in text
    assert line(text, "peak memory").endswith("8 B         8 B  same, proved optimal")
    assert text.endswith("The file's order of the operators is already the best one found.")


def test_an_unproved_order_shows_its_gap() -> None:
    found = unproved(chain("a", "b", "c"), lower_bound=5)
    words = " ".join(analysis_text(found).split())  # the note may take a second line
    assert "8 B 8 B same, lower bound 5 B, gap at most 60.0%" in words
    assert "proved" not in words


def test_an_unproved_placement_shows_its_bound() -> None:
    graph = chain("a", "b", "c")
    places = place_tensors(graph, (0, 1))
    loose = replace(places, planned=replace(places.planned, lower_bound_bytes=16))
    assert line(summary_text(analyze(graph), places), "arena, planned").endswith("proved optimal")
    row = line(summary_text(analyze(graph), loose), "arena, planned")
    assert row.endswith("lower bound 16 B")
    # Without placements there are no such rows.
    assert "arena, planned" not in summary_text(analyze(graph))


def test_a_peak_before_the_first_step() -> None:
    found = analyze(peak_at_start())
    text = analysis_text(found)
    assert "<- peak" not in text
    start = "Peak in the file's order: 2,000 B before the first step, when all inputs are given"
    assert start in text
    assert "1,000 B  tensor 0 [1000 INT8], held for operator 0" in text
    assert "1,000 B  tensor 1 [1000 INT8], given as a graph input" in text


def test_reasons_at_the_peak() -> None:
    found = analyze(loaded("branchy-cell"))
    text = summary_text(found)
    peak = found.file.steps[found.file.peak_step]
    assert f"at step {found.file.peak_step}, operator {peak.operator} ({peak.type})" in text
    assert "the operator's own" in text
    assert "held for operator " in text
    graph = chain("a", "b", "c")
    kept = replace(graph, outputs=(1, 2), ops=(graph.ops[0], replace(graph.ops[1], inputs=(0, 0))))
    assert "tensor 1 b [1x4 INT8], held as a graph output" in summary_text(analyze(kept))


def test_variables_and_scalars() -> None:
    text = analysis_text(analyze(with_variable()))
    assert "weights 8 B of flash, variables 20 B" in text
    assert "1 B  tensor 3 out [scalar INT8], the operator's own" in text
    rows = text[text.index("Tensors in RAM") :].split("\n\n")[0]
    assert "scalar" in line(rows, "     3")
    for absent in ("state", "weights", "stray"):
        assert absent not in rows
    assert "variables" not in analysis_text(analyze(chain("a", "b")))


def test_tensors_without_names() -> None:
    text = analysis_text(analyze(chain("", "", "")))
    assert text.count("(no name)") == 3
    assert "4 B  tensor 0 [1x4 INT8], the operator's own" in text


@pytest.mark.parametrize(
    "name",
    ["model/[conv]", "a[/b]", "[red]x[/red]", "[bold", ":cat:", "a\\[b]", "x;y:0", "\u4e2d\u6587"],
)
def test_a_name_is_shown_as_it_is(name: str) -> None:
    """Whatever it looks like: square brackets are no markup here."""
    rows = analysis_text(analyze(chain(name, "b"))).splitlines()
    assert sum(name in row for row in rows) == 2  # in the table, and at the peak


def test_a_name_of_control_characters_sends_the_terminal_no_command() -> None:
    text = analysis_text(analyze(chain("a\x1b[31mb", "c\x07\rd", "e\x9bf")))
    assert all(character == "\n" or character.isprintable() for character in text)


@pytest.mark.parametrize(
    ("name", "room", "shown"),
    [
        ("short", 20, "short"),
        ("a/b;c/d", 20, "a/b;c/d"),
        (
            "model/activation_1/Relu;model/batch_norm",
            40,
            "model/activation_1/Relu;model/batch_norm",
        ),
        ("model/activation_1/Relu;model/batch_norm", 30, "model/activation_1/Relu;\u2026"),
        ("model/activation_1/Relu;model/batch_norm", 20, "\u2026/activation_1/Relu"),
        ("abcdefghij" * 4, 20, "\u2026bcdefghijabcdefghij"),
    ],
)
def test_a_long_name_keeps_its_end(name: str, room: int, shown: str) -> None:
    assert short_name(name, room) == shown
    assert len(shown) <= room


def test_a_long_name_does_not_widen_a_table() -> None:
    text = analysis_text(analyze(chain("scope/" * 30 + "last", "b")))
    rows = text[text.index("Tensors in RAM") :].split("\n\n")[0]
    assert "scope/last" in rows
    assert max(map(len, rows.splitlines())) <= 100


def test_a_title_is_one_line() -> None:
    """However narrow the table under it is."""
    assert table("a title of many words", ("n",), [(1,)]).splitlines()[0] == "a title of many words"


def test_a_step_without_memory_has_a_bar() -> None:
    graph = chain("a", "b")
    empty = replace(graph, tensors=tuple(replace(t, shape=(0,)) for t in graph.tensors))
    text = steps_text("title", analyze(empty).file)
    assert "#" in text
    assert "proved optimal" in analysis_text(analyze(empty))


def test_a_model_prints_its_analysis() -> None:
    found = analyze(loaded("figure1"))
    assert describe(found) == analysis_text(found)


def test_a_rewrite_that_changes_nothing() -> None:
    result = reordering.reorder(loaded("ds-cnn-kws"), check=False)
    text = reordered_text(result)
    assert "The order of the operators is unchanged: peak 16,000 B (proved optimal)." in text
    assert line(text, "peak memory").endswith("same")
    assert "offsets stored" not in text


@pytest.mark.parametrize(
    ("check", "sentence", "measured"),
    [
        (
            Check("litert", 1, 86, None, None),
            "Checked with LiteRT's reference kernels: all 86 tensors in RAM are the same, "
            "byte for byte, on 1 input (random and extreme).",
            None,
        ),
        (
            Check("tflm", 4, 8, 5216, 4960),
            "Checked with TensorFlow Lite Micro: all 8 tensors in RAM are the same, "
            "byte for byte, on 4 inputs (random and extreme).",
            "-4.9%",
        ),
        (None, "Not checked against the reference kernels (--no-check).", None),
    ],
)
def test_how_a_rewrite_was_checked(
    check: Check | None, sentence: str, measured: str | None
) -> None:
    done = reordering.reorder(loaded("figure1"), check=False)
    found = replace(done, measured=measured is not None, check=check)
    text = reordered_text(found)
    assert text.endswith("\n" + sentence)
    assert ("measured" in text) == (measured is not None)
    if measured:
        assert line(text, "arena head").endswith(measured)
