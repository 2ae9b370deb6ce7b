"""`lowtide verify`: proof in one line, or the first operator and element that differ.

Why a wrong oracle: lowtide's own C is right as far as is known, so the tests change what it is
compared with, in one weight of one operator, and know where the difference must show first.
"""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from command import call, fine, refused, run

from lowtide.ir import Model
from lowtide.oracle.samples import reference, sample_inputs
from lowtide.prove.proof import NOT_PROVED as NOT_PROVED_EITHER
from lowtide.zoo import loading
from networks import contents, loaded

_OPERATOR = 4  # of figure1: neither the first nor the last to run


def _damaged() -> Model:
    """figure1 as it is, but for its source, which the oracle runs: one weight there is another."""
    model = loaded("figure1")
    weights = model.graph.tensors[model.graph.ops[_OPERATOR].inputs[1]].data
    assert weights is not None
    source = contents("figure1")
    at = source.index(weights)
    assert source.count(weights) == 1
    return replace(
        model, path="zoo:figure1", source=source[:at] + bytes([source[at] ^ 64]) + source[at + 1 :]
    )


@pytest.fixture
def damaged(monkeypatch: pytest.MonkeyPatch) -> Model:
    """Every command loads the damaged model."""
    model = _damaged()
    monkeypatch.setattr(loading, "load", lambda _, **__: model)
    return model


TFLM = f"TensorFlow Lite Micro (tflite-micro {version('tflite-micro')})"
BUILT = "the C built for this computer with AddressSanitizer and UndefinedBehaviorSanitizer."
KERNELS = "Kernels: portable. To check a core's own kernels, add --core, such as --core cortex-m4."
NOT_PROVED = (
    "Not proved: other inputs, and the C as another compiler builds it. `lowtide run` compares outputs "
    "on a board."
)


def test_a_network_that_is_right() -> None:
    text = fine(call("verify", "zoo:figure1"))
    assert text == (
        f"zoo:figure1: bit-exact. All 7 tensors are those of {TFLM}, byte for byte, on 8 inputs, "
        f"{BUILT}\n"
        f"{KERNELS}\n{NOT_PROVED}\n"
    )
    assert "on 1 input, the C built" in fine(call("verify", "zoo:figure1", "--samples", "1"))
    streamed = ("--input", "streamed", "--output", "streamed")
    assert fine(call("verify", "zoo:figure1", *streamed)) == text


def test_the_json_document() -> None:
    flags = ("--schedule", "operators", "--allocator", "greedy", "--input", "const")
    document = json.loads(fine(call("verify", "zoo:figure1", "--json", "--samples", "3", *flags)))
    assert document == {
        "schema": "lowtide.verify/1",
        "model": "zoo:figure1",
        "bit_exact": True,
        "engine": "tflm",
        "engine_package": f"tflite-micro {version('tflite-micro')}",
        "kernels": "any",
        "rounding": "tflm",
        "samples": 3,
        "seed": 1,
        "tensors": 7,
        "simplified": True,
        "tensors_left_out": 0,
        "proof": {
            "data_flow": True,
            "bounds": True,
            "left_out": [],
            "data_dependent": [],
            "not_proved": list(NOT_PROVED_EITHER),
        },
        "state": None,
        "mismatch": None,
    }


def test_a_network_with_state() -> None:
    text = fine(call("verify", "zoo:lstm-gestures", "--samples", "3", "--seed", "7"))
    assert text == (
        f"zoo:lstm-gestures: bit-exact. All 6 tensors are those of {TFLM}, byte for byte, on 3 inputs, "
        f"{BUILT}\n"
        "The network has state, 48 B in 2 tensors (lstm/hidden 16 B, lstm/cell 32 B): carried over 3 "
        "invocations; after a reset, the first 3 inputs gave the same results again.\n"
        f"{KERNELS}\n{NOT_PROVED}\n"
    )
    refused(call("verify", "zoo:figure1", "--seed", "-1"), 2, "--seed", "verify --help")


def test_the_first_difference_is_named(damaged: Model) -> None:
    tensor = damaged.graph.ops[_OPERATOR].outputs[0]
    inputs = sample_inputs(damaged, 8)
    right, wrong = (
        np.stack([s[tensor].reshape(-1) for s in reference(m, inputs, [tensor]).samples])
        for m in (loaded("figure1"), damaged)
    )
    sample, element = (int(i[0]) for i in np.nonzero(right != wrong))
    got, expected = int(right[sample, element]), int(wrong[sample, element])

    result = call("verify", "zoo:figure1", "--json")
    assert result.code == 1
    document = json.loads(result.out)
    assert document["bit_exact"] is False
    assert document["mismatch"] == {
        "operator": _OPERATOR,
        "claimed": False,
        "type": "CONV_2D",
        "sample": sample,
        "tensor": tensor,
        "element": element,
        "got": got,
        "expected": expected,
        "second": {
            "engine": "litert",
            "same_as": "first",
            "value": expected,
            "operator_alone": False,
        },
    }

    result = call("verify", "zoo:figure1")
    assert result.code == 1
    assert result.out == (
        "zoo:figure1: differs from TensorFlow Lite Micro. First at operator "
        f"{_OPERATOR} (CONV_2D): tensor {tensor}, element {element}, sample {sample}: {got} "
        f"instead of {expected}\n"
        f"LiteRT's reference kernels have {expected} there, too.\n"
    )
    assert result.messages == (
        "lowtide: zoo:figure1: the generated C differs from the reference kernels\n"
        "  remedy: this is an internal error of lowtide; report it, with the model\n"
    )


def test_a_missing_compiler_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    result = call("verify", "zoo:figure1")
    refused(result, 4, "gcc is not installed", "sudo apt-get install gcc")


def test_a_missing_compiler_as_a_process() -> None:
    refused(run("verify", "zoo:figure1", PATH=""), 4, "gcc", "sudo apt-get install gcc")


def test_wrong_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused(call("verify", "zoo:figure1", "--samples", "0"), 2, "--samples", "verify --help")
    refused(call("verify", "zoo:figure1", "--samples", "1001"), 2, "--samples", "verify --help")
    refused(
        call("verify", "zoo:figure1", "--align", "3"), 2, "--align cannot be 3", "a power of two"
    )
    refused(call("verify", "zoo:figure1", "-o", "out"), 2, "No such option", "verify --help")
    refused(call("verify", "zoo:figure9"), 2, "no network named 'figure9'", "figure1")
    refused(call("verify", "none.tflite"), 3, "cannot read none.tflite", "check the path")
    assert list(tmp_path.iterdir()) == []
