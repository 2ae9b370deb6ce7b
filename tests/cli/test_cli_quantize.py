"""`lowtide quantize`, and every refusal of a float network names it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command import call, fine, refused

from lowtide import zoo
from lowtide.oracle import quantizer
from lowtide.tflite.read import load


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "my net.tflite"
    path.write_bytes(zoo.build("figure1", floats=True))
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "samples.npz"
    np.savez(path, np.random.default_rng(3).uniform(-1, 1, (8, 7, 7, 32)))
    return path


def test_from_floats_to_a_program(model: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    text = fine(call("quantize", model, "-o", out, "--data", data))
    lines = text.splitlines()
    assert lines[0].startswith(f"{model}: int8 by litert-quantizer 0.")
    assert lines[0].endswith(", calibrated on 6 samples (arrays)")
    assert lines[1] == (
        "Against the float network, on 2 samples held back; by TensorFlow Lite Micro"
    )
    assert lines[2].split() == ["output", "shape", "signal", "to", "noise", "same", "top-1"]
    assert lines[3].endswith("%")
    assert " dB " in lines[3]
    assert lines[5].startswith("now fits in arena of ")
    assert "input INT8 and output INT8 (TensorFlow Lite Micro, predicted: " in lines[5]
    assert lines[6] == f"Wrote {out}."
    assert "bit-exact" in fine(call("verify", out, "--samples", "1"))


def test_the_json_document(model: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    more = ("--int16", "--input-type", "float32", "--samples", "4", "--json")
    document = json.loads(fine(call("quantize", model, "-o", out, "--data", data, *more)))
    (output,) = document.pop("outputs")
    assert output["snr_db"] > 50
    assert (output["shape"], output["equal"]) == ([1, 4, 4, 32], False)
    version = document.pop("quantizer")
    assert version["name"] == "litert-quantizer"
    assert document.pop("arena_bytes") < document.pop("tflm_bytes")
    assert document == {
        "schema": "lowtide.quantize/1",
        "model": str(model),
        "output": str(out),
        "bits": 16,
        "data": "arrays",
        "random": False,
        "calibrated": 3,
        "compared": 1,
        "held_back": True,
        "was_hybrid": False,
        "engine": document["engine"],
        "state_bytes": 0,
        "refused": None,
    }
    assert load(out).graph.tensors[load(out).graph.inputs[0]].dtype.name == "FLOAT32"


def test_random_samples_are_warned_of(model: Path, tmp_path: Path) -> None:
    done = call("quantize", model, "-o", tmp_path / "out.tflite", "--random", "--samples", "4")
    assert done.code == 0
    warning = "WARNING: the samples are random numbers, so the ranges of all tensors are made up"
    assert done.err.startswith(f"lowtide: {warning}")
    assert (done.out + done.err).count("WARNING") == 1
    assert "held back: noise, which says nothing about real inputs; by " in done.out


def test_samples_are_one_or_the_other(model: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    refused(
        call("quantize", model, "-o", out),
        2,
        "there are no samples to calibrate with",
        "give --data SAMPLES, or --random for a trial",
    )
    refused(
        call("quantize", model, "-o", out, "--data", data, "--random"),
        2,
        "--data and --random cannot be combined",
        "leave out one of them",
    )
    assert not out.exists()


def test_a_range_of_pixels(model: Path, data: Path, tmp_path: Path) -> None:
    for text in ("1", "1:0", "a:b"):
        done = call(
            "quantize", model, "-o", tmp_path / "o.tflite", "--data", data, "--image-range", text
        )
        refused(done, 2, f"{text!r} is not a range of numbers, such as -1:1")


def test_the_extra_is_missing(
    model: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(folder: Path) -> tuple[str, int]:
        report = {"missing": True, "message": "No module named 'litert_quantizer'"}
        (folder / "error.json").write_text(json.dumps(report))
        return "", 1

    monkeypatch.setattr(quantizer, "_start", missing)
    out = tmp_path / "out.tflite"
    done = call("quantize", model, "-o", out, "--data", data)
    assert done.code == 4
    assert done.err == (
        "lowtide: litert-quantizer is not installed (No module named 'litert_quantizer')\n"
        '  remedy: run `pip install ".[quantize]"` in your checkout of lowtide\n'
    )
    assert not out.exists()


@pytest.mark.parametrize("command", ["plan", "compile", "verify", "run", "check"])
def test_refusals_of_floats_name_the_command(command: str, model: Path, tmp_path: Path) -> None:
    more = {"compile": ["-o", str(tmp_path / "c")], "run": ["--board", "mps2-an386"]}
    done = call(command, model, *more.get(command, []))
    refused(done, 3, "its type is FLOAT32")
    assert done.err.endswith(
        f"  remedy: quantise it to int8: `lowtide quantize '{model}' -o 'my net_int8.tflite' "
        "--data SAMPLES.npz`\n"
    )


def test_a_network_of_the_zoo_with_floats(tmp_path: Path) -> None:
    out = tmp_path / "f.tflite"
    assert fine(call("zoo", "figure1", "--float", "-o", out)) == f"Wrote {out}.\n"
    assert out.read_bytes() == zoo.build("figure1", floats=True)
