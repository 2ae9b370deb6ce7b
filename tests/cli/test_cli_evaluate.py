"""`lowtide evaluate`: what it prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command import call, fine, refused

from lowtide.commands.loading import Program
from networks import compiled, contents


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A network, eight samples of integers, and what it makes of them as labels."""
    monkeypatch.chdir(tmp_path)
    Path("kws.tflite").write_bytes(contents("ds-cnn-kws"))
    program: Program = compiled("ds-cnn-kws").load()
    shape = program.inputs[0].shape
    given = np.random.default_rng(1).integers(-128, 128, (8, *shape), dtype=np.int8)
    labels = program.many(given).argmax(-1)
    labels[3] = (labels[3] + 1) % program.outputs[0].shape[-1]
    np.savez("samples.npz", given)
    np.save("labels.npy", labels.reshape(8))
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_top1_and_figures() -> None:
    text = fine(call("evaluate", "kws.tflite", "--data", "samples.npz", "--labels", "labels.npy"))
    lines = text.splitlines()
    assert lines[0].startswith("kws.tflite: 8 samples (the network's integers), run by the C that")
    assert "top-1 87.50%: 7 of 8 right, by output" in text
    assert "Outputs, as real numbers" in lines


@pytest.mark.usefixtures("folder")
def test_the_document() -> None:
    text = fine(
        call(
            *("evaluate", "kws.tflite", "--data", "samples.npz", "--labels", "labels.npy"),
            *("--against", "zoo:ds-cnn-kws", "--input", "const", "--core", "cortex-m4", "--json"),
        )
    )
    document = json.loads(text)
    assert document["schema"] == "lowtide.evaluate/1"
    assert document["core"] == "cortex-m4"
    assert document["samples"] == 8
    top1 = document["top1"]
    assert (top1["correct"], top1["places"], top1["correct_against"]) == (7, 8, 7)
    assert top1["share"] == 0.875
    assert document["against"] == "zoo:ds-cnn-kws"
    (output,) = document["outputs"]
    assert output["distance"] == {
        "equal": True,
        "same_top1": 1,
        "greatest": 0,
        "mean": 0,
        "rms": 0,
        "snr_db": None,
    }


@pytest.mark.usefixtures("folder")
def test_sliding_windows_are_refused_before_data_is_read() -> None:
    nothing = ("evaluate", "kws.tflite", "--data", "none.npz", "--against", "none.tflite")
    cause = "a program with a sliding window takes the rows of one recording, not arrays"
    result = call(*nothing, "--labels", "none.npy", "--hop", "2")
    refused(result, 2, cause, "leave out --hop here: the outputs are the same")
    fine(call("plan", "kws.tflite", "--hop", "2", "--keep", "1", "-o", "plan.json"))
    planned = ("evaluate", "kws.tflite", "--data", "none.npz", "--plan", "plan.json")
    refused(call(*planned), 2, cause)


@pytest.mark.usefixtures("folder")
def test_what_is_refused() -> None:
    result = call("evaluate", "kws.tflite")
    assert result.code == 2
    assert "Missing option '--data'" in result.err
    result = call("evaluate", "kws.tflite", "--data", "labels.npy")
    assert result.code == 2
    assert "remedy: give N samples of shape [" in result.err
    result = call("evaluate", "kws.tflite", "--data", "samples.npz", "--labels", "none.npy")
    assert result.code == 2
    assert "cannot read none.npy" in result.err
    result = call("evaluate", "kws.tflite", "--data", "samples.npz", "--reset-every", "2")
    assert result.code == 2
    assert "kws.tflite has no state to reset" in result.err
