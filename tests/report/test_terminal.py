"""Text fits the terminal: whole words, columns left out by name, and the usual width for a file."""

from __future__ import annotations

import pytest

from lowtide.commands.analysis import analyze
from lowtide.report import terminal
from lowtide.report.terminal import GLUE, columns_of, counted, fitted, table, width
from lowtide.report.text import analysis_text
from networks import graph_of

_COLUMNS = ("step", "operator.", "bytes", "working set.", "MACs", "tensors.")
_ROWS = [
    (0, "CONV_2D", "8,490", "###########", "160,000", "0 3"),
    (1, "DEPTHWISE_CONV_2D", "16,000", "#" * 20 + " <- peak", "1,160,000", "3 6 12 19 27 31"),
]


@pytest.mark.parametrize(("asked", "got"), [("1", 60), ("60", 60), ("80", 80), ("500", 160)])
def test_the_width_is_asked_for(monkeypatch: pytest.MonkeyPatch, asked: str, got: int) -> None:
    monkeypatch.setenv("COLUMNS", asked)
    assert width() == got


@pytest.mark.parametrize("across", [60, 72, 80, 100, 140])
def test_a_table_fits_and_says_what_it_leaves_out(
    monkeypatch: pytest.MonkeyPatch, across: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(across))
    lines = table("A title", _COLUMNS, _ROWS).splitlines()
    assert max(map(len, lines)) <= across
    shown = [c.rstrip(".") for c in _COLUMNS if c.rstrip(".") in lines[1]]
    left_out = [c.rstrip(".") for c in _COLUMNS if c.rstrip(".") not in lines[1]]
    assert shown[:2] == ["step", "operator"]
    if left_out:
        assert lines[-1] == f"(the terminal is too narrow for: {', '.join(left_out)})"
    else:
        assert not lines[-1].startswith("(")
    assert bool(left_out) == (across < 78)


@pytest.mark.parametrize("across", [60, 80])
def test_no_number_is_cut(monkeypatch: pytest.MonkeyPatch, across: int) -> None:
    """Titles are broken between words, and give way to what stands below them."""
    monkeypatch.setenv("COLUMNS", str(across))
    titles = ("arena and state, bytes", "live, bytes", "overhead", "MACs", "instr., predicted")
    row = ("1,234,567", "1,234,444", "1.0000", "12,656,768", "44,637,962")
    made = table("", titles, [row]).splitlines()
    assert made[-1].split() == list(row)
    assert " ".join(made[:-1]).split().count("bytes") == 2


def test_glue_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    mark = f"here:{GLUE}<-{GLUE}peak"
    made = table("", ("a.", "b."), [("word " * 30, mark)])
    assert "here: <- peak" in made and GLUE not in made


def test_wide_letters_take_two_columns() -> None:
    made = table("", ("a.", "b."), [("\u4e2d\u6587", "x"), ("abcd", "x")]).splitlines()
    assert [columns_of(line) for line in made[1:]] == [7, 7]


def test_a_long_word_is_broken_after_a_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    word = "/".join(["a_long_folder"] * 6)
    lines = table("", ("a.", "n"), [(word, 12)]).splitlines()[1:]
    assert "".join(line.split()[0] for line in lines) == word
    assert all(line.split()[0][-1] in "/_" for line in lines[:-1])


@pytest.mark.parametrize("across", [60, 80])
def test_long_lines_are_broken_between_words(monkeypatch: pytest.MonkeyPatch, across: int) -> None:
    monkeypatch.setenv("COLUMNS", str(across))
    text = "  " + "a-word another_word/with/parts 12,345 B; " * 8 + "\nshort"
    made = fitted(text)
    assert made.split() == text.split()
    first, *more, last = made.splitlines()
    assert first.startswith("  a") and all(line.startswith("      ") for line in more)
    assert last == "short" and all(len(line) <= across for line in made.splitlines())
    assert fitted("x" * 300) == "x" * 300


def test_a_file_has_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert fitted("word " * 60) == "word " * 60


@pytest.mark.parametrize("across", [60, 75, 100])
def test_reports_fit(monkeypatch: pytest.MonkeyPatch, across: int) -> None:
    monkeypatch.setenv("COLUMNS", str(across))
    text = fitted(analysis_text(analyze(graph_of("branchy-cell"))))
    assert max(map(len, text.splitlines())) <= across


def test_a_pipe_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out of a table there is named without a terminal, which is not there."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(terminal, "_asked", lambda: 0)
    wide = tuple("x" * 40 for _ in range(4))
    assert table("", wide, [(1, 2, 3, 4)]).endswith(
        f"(100 columns are too few for: {wide[2]}, {wide[3]})"
    )


def test_one_is_no_plural() -> None:
    assert [counted(n, "stage") for n in (0, 1, 2, 1234)] == [
        *("0 stages", "1 stage", "2 stages", "1,234 stages")
    ]
    assert counted(2, "entry", "entries") == "2 entries"
