"""JSON documents and CSV tables of what the example graph does not show."""

from __future__ import annotations

import csv
import io
import json

from hand_made import chain, peak_at_start, unproved, with_variable

from lowtide.commands.analysis import analyze
from lowtide.commands.reordering import place_tensors
from lowtide.report.data import analysis_csv, analysis_document, to_json


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_json_keeps_what_it_is_given() -> None:
    document = {"b": [1, True, None], "a": "\u4e2d [x] \ud800"}
    text = to_json(document)
    assert json.loads(text) == document
    assert list(json.loads(text)) == ["b", "a"]
    assert not text.endswith("\n")


def test_placements_are_optional() -> None:
    graph = chain("a", "b", "c")
    found = analyze(graph)
    assert "placements" not in analysis_document(found)
    document = analysis_document(found, place_tensors(graph, (0, 1)))
    places = document["placements"]
    assert list(places) == ["order", "greedy", "planned", "compacting"]
    for place in (places[name] for name in list(places)[1:]):
        assert set(place) == {
            "arena_bytes",
            "lower_bound_bytes",
            "proved_optimal",
            "align",
            "moved_bytes",
            "moves",
        }
    assert places["greedy"]["moves"] == places["planned"]["moves"] == 0


def test_an_unproved_order() -> None:
    best = analysis_document(unproved(chain("a", "b", "c"), lower_bound=5))["best_order"]
    assert (best["peak_bytes"], best["lower_bound_bytes"]) == (8, 5)
    assert best["proved_optimal"] is False


def test_a_peak_before_the_first_step() -> None:
    document = analysis_document(analyze(peak_at_start()))
    assert document["peak_bytes"] == 2000
    assert document["peak_step"] == -1
    assert document["peak_tensors"] == [0, 1]
    assert document["steps"][0]["working_set"] == [0, 2]


def test_roles_and_scalars() -> None:
    found = analyze(with_variable())
    document = analysis_document(found)
    assert document["model"]["weights_bytes"] == 8
    assert document["model"]["variables_bytes"] == 20
    tensors = document["tensors"]
    roles = ["input", "variable", "constant", "output", "unused"]
    assert [t["role"] for t in tensors] == roles
    assert [t["first_step"] for t in tensors] == [0, None, None, 0, None]
    assert [t["shape"] for t in tensors] == [[8], [1, 20], [8], [], [2]]
    table = rows(analysis_csv(found)["tensors.csv"])
    assert [row["role"] for row in table] == roles
    assert [row["last_step"] for row in table] == ["0", "", "", "0", ""]
    assert [row["shape"] for row in table] == ["8", "1x20", "8", "", "2"]


def test_csv_quotes_names() -> None:
    names = ["a,b", 'say "c"', "two\nlines", "\u4e2d"]
    tables = analysis_csv(analyze(chain(*names)))
    assert [row["name"] for row in rows(tables["tensors.csv"])] == names
    assert [row["name"] for row in rows(tables["steps.csv"])] == names[1:]


def test_csv_lists_are_separated_by_spaces() -> None:
    table = rows(analysis_csv(analyze(chain("a", "b", "c")))["steps.csv"])
    assert [row["working_set"] for row in table] == ["0 1", "1 2"]
    assert [row["bytes"] for row in table] == ["8", "8"]
