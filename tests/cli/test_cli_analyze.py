"""`lowtide analyze`: each form of the report has what scripts and people were promised.

Why: the JSON document is an interface; a key that is renamed or changes its type breaks users.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from command import call, fine, refused, run

from networks import contents, loaded

# What the schema lowtide.analysis/1 holds at least; a list stands for any number of such elements.
ANALYSIS: dict[str, Any] = {
    "schema": str,
    "model": {
        "path": str,
        "operators": int,
        "tensors": int,
        "macs": int,
        "weights_bytes": int,
        "variables_bytes": int,
    },
    "peak_bytes": int,
    "peak_step": int,
    "peak_tensors": [int],
    "tflm_greedy_arena_bytes": int,
    "best_order": {
        "peak_bytes": int,
        "lower_bound_bytes": int,
        "proved_optimal": bool,
        "order": [int],
        "peak_step": int,
        "peak_tensors": [int],
        "tflm_greedy_arena_bytes": int,
        "step_bytes": [int],
    },
    "steps": [
        {
            "operator": int,
            "type": str,
            "name": str,
            "working_set": [int],
            "bytes": int,
            "macs": int,
        }
    ],
    "tensors": [
        {
            "id": int,
            "name": str,
            "shape": [int],
            "type": str,
            "bytes": int,
            "role": str,
            "first_step": (int, type(None)),
            "last_step": (int, type(None)),
        }
    ],
}


def matches(value: Any, shape: Any, where: str = "$") -> None:
    """Assert that a JSON value has the shape's keys and types; more keys are allowed."""
    if isinstance(shape, dict):
        assert isinstance(value, dict), where
        for key, inner in shape.items():
            assert key in value, f"{where} lacks {key}"
            matches(value[key], inner, f"{where}.{key}")
    elif isinstance(shape, list):
        assert isinstance(value, list), where
        for number, item in enumerate(value):
            matches(item, shape[0], f"{where}[{number}]")
    else:
        assert isinstance(value, shape), where
        assert not isinstance(value, bool) or shape is bool, where


def test_the_text_ends_with_the_totals() -> None:
    text = fine(call("analyze", "zoo:figure1"))
    for title in ("Steps in the file's order", "Steps in the best order", "Tensors in RAM"):
        assert title in text
    assert "zoo:figure1: 7 operators, 20 tensors" in text
    assert "5,216 B     4,960 B  -4.9%, proved optimal" in text
    assert text.endswith("Best order of the operators: 0 3 5 1 2 4 6\n")


@pytest.mark.parametrize("name", ["figure1", "branchy-cell", "attention-block", "ds-cnn-kws"])
def test_the_json_document(name: str) -> None:
    document = json.loads(fine(call("analyze", f"zoo:{name}", "--json")))
    matches(document, ANALYSIS)
    graph = loaded(name).graph
    assert document["schema"] == "lowtide.analysis/1"
    assert document["model"]["path"] == f"zoo:{name}"
    assert document["model"]["operators"] == len(graph.ops) == len(document["steps"])
    assert document["model"]["tensors"] == len(graph.tensors) == len(document["tensors"])
    assert document["model"]["macs"] == sum(step["macs"] for step in document["steps"])
    best = document["best_order"]
    assert sorted(best["order"]) == [step["operator"] for step in document["steps"]]
    assert best["lower_bound_bytes"] <= best["peak_bytes"] <= document["peak_bytes"]
    assert best["proved_optimal"] == (best["lower_bound_bytes"] == best["peak_bytes"])
    assert best["peak_bytes"] == max(best["step_bytes"])
    sizes = [tensor["bytes"] for tensor in document["tensors"]]
    for number, step in enumerate(document["steps"]):
        assert step["bytes"] == sum(sizes[tensor] for tensor in step["working_set"])
        for tensor in document["tensors"]:
            first, last = tensor["first_step"], tensor["last_step"]
            live = first is not None and first <= number <= last
            assert (tensor["id"] in step["working_set"]) == live


def test_figure1_as_json() -> None:
    document = json.loads(fine(call("analyze", "zoo:figure1", "--json")))
    assert document["peak_bytes"] == document["tflm_greedy_arena_bytes"] == 5216
    assert document["best_order"]["peak_bytes"] == 4960
    assert document["best_order"]["proved_optimal"] is True
    assert document["placements"]["order"] == "best_order"
    for allocator in ("greedy", "planned", "compacting"):
        assert document["placements"][allocator]["arena_bytes"] == 4960


def test_effort_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less of it proves less."""
    monkeypatch.setattr("lowtide.order.best._WORK", 60_000)
    little, usual = (
        json.loads(fine(call("analyze", "zoo:branchy-cell", *more, "--json")))["best_order"]
        for more in (("--effort", "0.01"), ())
    )
    assert not little["proved_optimal"]
    assert usual["proved_optimal"]
    assert little["lower_bound_bytes"] <= usual["lower_bound_bytes"]
    assert usual["peak_bytes"] <= little["peak_bytes"]


def test_csv_writes_three_tables(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "on demand"
    text = fine(call("analyze", "zoo:figure1", "--csv", folder))
    assert text == fine(call("analyze", "zoo:figure1"))
    steps = ["step", "operator", "type", "name", "bytes", "macs", "working_set"]
    tensors = ["tensor", "name", "shape", "type", "bytes", "role", "first_step", "last_step"]
    expected = {
        "steps.csv": (steps, 7),
        "best_order_steps.csv": (steps, 7),
        "tensors.csv": (tensors, 20),
    }
    assert {path.name for path in folder.iterdir()} == set(expected)
    for name, (header, count) in expected.items():
        rows = list(csv.reader((folder / name).open(newline="")))
        assert rows[0] == header
        assert [row[0] for row in rows[1:]] == list(map(str, range(count)))
        assert {len(row) for row in rows} == {len(header)}


def test_csv_into_a_folder_that_exists_replaces_tables_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    fine(call("analyze", "zoo:branchy-cell", "--csv", tmp_path))
    before = (tmp_path / "steps.csv").read_text()
    fine(call("analyze", "zoo:figure1", "--csv", tmp_path))
    assert (tmp_path / "steps.csv").read_text() != before
    assert len(list(tmp_path.iterdir())) == 4
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (tmp_path / "steps.csv").read_text().startswith("step,operator,")


def test_all_outputs_at_once(tmp_path: Path) -> None:
    picture = tmp_path / "a.PNG"
    out = call("analyze", "zoo:figure1", "--json", "--csv", tmp_path, "--plot", picture)
    matches(json.loads(fine(out)), ANALYSIS)
    assert len(list(tmp_path.iterdir())) == 4
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_an_svg_is_the_same_in_every_process(tmp_path: Path) -> None:
    pictures = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for seed, picture in enumerate(pictures):
        fine(run("analyze", "zoo:figure1", "--plot", picture, PYTHONHASHSEED=str(seed)))
    first, second = (picture.read_bytes() for picture in pictures)
    assert first.startswith(b"<!-- Drawn by lowtide. -->\n<svg")
    assert first == second


@pytest.mark.parametrize("name", ["out.pdf", "out", ".", "png", "out.png.gz", "svg."])
def test_an_unknown_picture_format(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    refused(call("analyze", "zoo:figure1", "--plot", name), 2, "picture format", ".png or .svg")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        (b"", "is empty"),
        (b"\0", "is not a .tflite file"),
        (b"#!/bin/sh\necho model\n", "is not a .tflite file"),
        (contents("figure1")[:4] + b"TFL2" + contents("figure1")[8:], "is not a .tflite file"),
        (contents("figure1")[:8], "is damaged"),
        (contents("figure1")[:2000], "is damaged"),
    ],
)
def test_an_unusable_model(source: bytes, cause: str, tmp_path: Path) -> None:
    model = tmp_path / "net.tflite"
    model.write_bytes(source)
    refused(call("analyze", model), 3, f"{model} {cause}", "pass a .tflite file")
    refused(call("reorder", model, "-o", tmp_path / "out.tflite"), 3, f"{model} {cause}")
    assert list(tmp_path.iterdir()) == [model]


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "none.tflite"
    refused(call("analyze", missing), 3, f"cannot read {missing}", "zoo:NAME")
    refused(call("analyze", tmp_path), 3, f"cannot read {tmp_path}", "check the path")


def test_nothing_is_left_behind_for_an_unusable_model(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    refused(call("analyze", tmp_path / "none.tflite", "--csv", folder), 3, "cannot read")
    assert list(tmp_path.iterdir()) == []
