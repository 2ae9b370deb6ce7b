"""The documents say what was measured: every table and example is as the stored figures are.

Why: figures that were typed in by hand go stale, or were never true. `make figures` mends a failure here
if the figures are right, `make bench` measures them anew.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

from bench.figures.blocks import BLOCKS
from bench.figures.markers import blocks_in, documents, rendered
from bench.shared import stored
from bench.shared.outside import ROOT
from bench.shared.stored import load_figures, markdown, store_figures, store_rows
from bench.shared.tables import Row
from hunting import GENERATORS

BENCHES = sorted((ROOT / "bench").glob("*/__main__.py"))


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_documents_are_as_the_figures_are(path: Path) -> None:
    text = path.read_text("utf-8")
    assert rendered(text) == text, "run `make figures`"


def test_every_block_is_shown_somewhere() -> None:
    shown = {name for path in documents() for name in blocks_in(path.read_text("utf-8"))}
    assert shown == set(BLOCKS)


def test_a_figure_typed_by_hand_is_replaced() -> None:
    begin, end = ("<!-- figures: reordered begin -->\n", "<!-- figures: reordered end -->")
    text = f"Before.\n\n{begin}| 1 B |\n{end}\nAfter.\n"
    new = rendered(text)
    assert new == f"Before.\n\n{begin}{BLOCKS['reordered']()}\n{end}\nAfter.\n"
    assert rendered(new) == new


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<!-- figures: a begin -->\n", "a marker has no other end; whole blocks: none"),
        ("<!-- figures: a begin -->\n<!-- figures: b end -->", "a marker has no other end"),
        ("<!-- figures: a begin -->\n<!-- figures: a end -->", "there are no blocks a"),
    ],
)
def test_markers_that_are_wrong(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        rendered(text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where figures are stored in a test."""
    monkeypatch.setattr(stored, "FIGURES", tmp_path)
    monkeypatch.setattr(stored, "ROOT", tmp_path)
    return tmp_path


def test_storing_a_group_leaves_the_others(folder: Path) -> None:
    store_figures("x", {"a": [{"bytes": 1}], "b": [{"bytes": 2}]}, "by hand")
    store_figures("x", {"b": [{"bytes": 3}]}, "by machine")
    found = load_figures("x")
    assert [g.records for g in found.values()] == [({"bytes": 1},), ({"bytes": 3},)]
    assert [g.by for g in found.values()] == ["by hand", "by machine"]
    assert json.loads((folder / "x.json").read_text())["schema"] == "lowtide.figures/1"


def test_rows_that_are_not_measured_or_wrong_are_not_stored(folder: Path) -> None:
    good = Row("", "", "", "OK", record={"bytes": 1})
    large = Row("", "", "", "MISSED", record={"bytes": 9})
    wrong = Row("", "", "", "MISSED")
    absent = Row("", "", "", "not measured")
    plain = Row("", "", "", "OK")
    groups = {
        "kept": [good, large, plain],
        "wrong": [good, wrong],
        "absent": [good, absent],
        "plain": [plain],
    }
    store_rows("x", groups, "")
    assert list(load_figures("x")) == ["kept"]
    assert load_figures("x")["kept"].records == ({"bytes": 1}, {"bytes": 9})
    assert [path.name for path in folder.iterdir()] == ["x.json"]


@pytest.mark.parametrize("main", BENCHES, ids=lambda path: path.parent.name)
def test_make_runs_every_bench(main: Path) -> None:
    name = main.parent.name
    import_module(f"bench.{name}.__main__")
    stores = f"bench/run {name} --store"
    assert name == "figures" or stores in (ROOT / "Makefile").read_text()


def test_a_table() -> None:
    text = markdown(("network", "RAM:"), [("a", "1 B"), ("b", "2 B")])
    assert text == "| network | RAM |\n| --- | ---: |\n| a | 1 B |\n| b | 2 B |"


def test_the_page_has_all_generators_of_networks() -> None:
    text = (ROOT / "docs" / "how-tested.md").read_text("utf-8")
    assert f"from {len(GENERATORS)}\ngenerators" in text
    table = text.partition("| generator |")[2].partition("\n\n")[0]
    assert [name for name in GENERATORS if f"`{name}`" not in table] == []
