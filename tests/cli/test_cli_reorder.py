"""`lowtide reorder`: a model comes out only if it is proved the same, else nothing does.

Why: this command replaces files that people ship, so what happens when something is wrong matters
more than what happens when all is well.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from command import call, fine, refused

import lowtide
from lowtide.commands import reordering
from lowtide.place.offline_plan import METADATA_NAME, decode
from lowtide.tflite.rewrite import permute_operators
from lowtide.zoo.loading import load
from networks import contents, loaded

MISSING = "raise ImportError('no such engine')\n"


def test_the_written_file_has_the_best_order(tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    text = fine(call("reorder", "zoo:figure1", "-o", out, "--no-advice"))
    assert text.endswith(f"Wrote {out}.\n")
    assert "5,216 B  4,960 B  -4.9%" in text
    assert "Checked with TensorFlow Lite Micro: all 8 tensors in RAM are the same" in text
    after = lowtide.analyze(load(out))
    assert after.peak_bytes == after.best.peak_bytes == 4960
    assert list(tmp_path.iterdir()) == [out]


def test_no_check_writes_the_same_file_and_says_so(tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    text = fine(call("reorder", "zoo:figure1", "-o", out, "--no-check"))
    assert "Not checked against the reference kernels (--no-check)." in text
    order = lowtide.best_order(loaded("figure1")).order
    assert out.read_bytes() == permute_operators(contents("figure1"), order)


@pytest.mark.parametrize("flags", [(), ("--offline-plan",), ("--no-check",)])
def test_the_json_document(flags: tuple[str, ...], tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    document = json.loads(
        fine(call("reorder", "zoo:figure1", "-o", out, "--json", "--no-advice", *flags))
    )
    plan, check = document.pop("offline_plan"), document.pop("check")
    ways = document.pop("ways")
    assert [way["arena_head_bytes"] for way in ways][:: len(ways) - 1] == [5216, 4960]
    assert [way["chosen"] for way in ways] == [False] * (len(ways) - 1) + [True]
    assert len(ways) == (4 if "--offline-plan" in flags else 2)
    assert document == {
        "schema": "lowtide.reorder/1",
        "model": "zoo:figure1",
        "output": str(out),
        "better": True,
        "changed": True,
        "order": [0, 3, 5, 1, 2, 4, 6],
        "peak_bytes": {"before": 5216, "after": 4960},
        "lower_bound_bytes": 4960,
        "proved_optimal": True,
        "tflm_greedy_arena_bytes": {"before": 5216, "after": 4960},
        "arena_heads_measured": True,
    }
    assert (plan is not None) == ("--offline-plan" in flags)
    if plan is not None:
        assert plan["arena_bytes"] == plan["lower_bound_bytes"] == 4960
        assert plan["proved_optimal"] is True
        assert plan["align"] == 16
    if "--no-check" in flags:
        assert check is None
    else:
        heads = {"before": 5216, "after": 4960}
        expected = {"engine": "tflm", "samples": 2, "tensors": 8, "bit_exact": True}
        assert check == {**expected, "samples_again": 0, "tflm_head_bytes": heads}


def test_offline_plan_stores_offsets(tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    text = fine(call("reorder", "zoo:figure1", "-o", out, "--offline-plan", "--no-check"))
    assert "offsets stored" in text
    (entry,) = [m for m in load(out).metadata if m.name == METADATA_NAME]
    assert len(decode(entry.data)) == 20


def test_what_was_reordered_is_not_better_again(tmp_path: Path) -> None:
    net, out = tmp_path / "net.tflite", tmp_path / "out.tflite"
    net.write_bytes(contents("figure1"))
    fine(call("reorder", net, "-o", out, "--no-check"))
    written = out.read_bytes()
    assert lowtide.analyze(load(out)).peak_bytes == 4960
    text = fine(call("reorder", out, "-o", net, "--no-check", "--no-advice"))
    assert "The order of the operators is unchanged: peak 4,960 B (proved optimal)." in text
    assert text.endswith("Nothing is better than the file as it is.\nNo file was written.\n")
    assert (net.read_bytes(), out.read_bytes()) == (contents("figure1"), written)


@pytest.mark.parametrize("flags", [("--no-advice",), ("--no-advice", "--offline-plan")])
def test_nothing_is_better(flags: tuple[str, ...], tmp_path: Path) -> None:
    """A chain: no file, and no error; --always-write gives the file as it was."""
    out = tmp_path / "out.tflite"
    text = fine(call("reorder", "zoo:ds-cnn-kws", "-o", out, *flags))
    assert text.endswith("Nothing is better than the file as it is.\nNo file was written.\n")
    assert list(tmp_path.iterdir()) == []
    document = json.loads(fine(call("reorder", "zoo:ds-cnn-kws", "-o", out, "--json", *flags)))
    assert (document["better"], document["output"], document["check"]) == (False, None, None)
    assert list(tmp_path.iterdir()) == []
    text = fine(call("reorder", "zoo:ds-cnn-kws", "-o", out, "--always-write", *flags))
    assert text.endswith(f"Nothing is better than the file as it is.\nWrote {out}.\n")
    assert out.read_bytes() == contents("ds-cnn-kws")


def _damaged(source: bytes, *_: Any) -> bytes:
    """`source` with one weight changed, which every loader accepts."""
    weights = max((t.data or b"" for t in loaded("figure1").graph.tensors), key=len)
    at = source.index(weights)
    return source[:at] + bytes([source[at] ^ 1]) + source[at + 1 :]


def test_a_model_that_differs_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reordering, "permute_operators", _damaged)
    out = tmp_path / "out.tflite"
    result = call("reorder", "zoo:figure1", "-o", out)
    refused(result, 1, "the rewritten model gives different results", "it wrote no file")
    assert list(tmp_path.iterdir()) == []
    # A file that was there before is still the old one.
    out.write_bytes(contents("figure1"))
    refused(call("reorder", "zoo:figure1", "-o", out, "--json"), 1, "gives different results")
    assert out.read_bytes() == contents("figure1")


def _hide(packages: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every process started from now on fail to import `packages`."""
    for package in packages:
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").write_text(MISSING)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)


def test_no_engine_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _hide(("tflite_micro", "ai_edge_litert"), tmp_path / "hidden", monkeypatch)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    out = tmp_path / "out.tflite"
    result = call("reorder", "zoo:figure1", "-o", out)
    refused(result, 4, "TensorFlow Lite Micro is not installed (no such engine)", "pip install")
    assert "LiteRT is not installed" in result.err
    assert 'run `pip install ".[verify]"` in your checkout of lowtide' in result.err
    assert not out.exists()
    assert list(scratch.iterdir()) == []


def test_without_tflm_the_other_engine_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _hide(("tflite_micro",), tmp_path / "hidden", monkeypatch)
    out = tmp_path / "out.tflite"
    text = fine(call("reorder", "zoo:figure1", "-o", out))
    assert "Checked with LiteRT's reference kernels: all 8 tensors" in text
    assert "measured" not in text
    assert out.exists()


def test_an_interrupt_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(reordering, "compare", interrupt)
    result = call("reorder", "zoo:figure1", "-o", tmp_path / "out.tflite")
    assert (result.code, result.out, result.messages.strip()) == (130, "", "lowtide: interrupted")
    assert list(tmp_path.iterdir()) == []
