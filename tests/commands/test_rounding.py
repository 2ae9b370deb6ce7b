"""Where only LiteRT can be the oracle, its rounding of dense layers is compiled for the comparison.

The network's sums lie exactly between two outputs, and the two roundings part there.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import lowtide
from lowtide.ir import Model
from lowtide.oracle.interpreters import engine_package
from lowtide.report.data import to_json
from lowtide.report.deployment import NOT_PROVED, PORTABLE_RAN, ran_document, verified_document
from lowtide.tflite.read import parse
from lowtide.zoo.spec import NetSpec, OpSpec, TensorSpec
from lowtide.zoo.writer import write

LITERT = "\nCompiled for this comparison with LiteRT's arithmetic in place of "
TFLM = "TensorFlow Lite Micro"


def halves(dtype: str = "INT8", *, gathered: bool = False) -> Model:
    """One dense layer, whose outputs are half its inputs, and perhaps a GATHER of its rows."""
    one = np.ones(1, np.float32)
    tensors = (
        TensorSpec("x", (4, 8), dtype, scales=one),
        TensorSpec("w", (8, 8), "INT8", scales=one, data=np.eye(8, dtype=np.int8)),
        TensorSpec("y", (4, 8), dtype, scales=2 * one),
        TensorSpec("rows", (2,), "INT32", data=np.array([3, 1], np.int32)),
        TensorSpec("z", (2, 8), dtype, scales=2 * one),
    )
    ops = (
        OpSpec(
            "FULLY_CONNECTED", 1, (0, 1), (2,), "FullyConnectedOptions", {"keep_num_dims": True}
        ),
        OpSpec("GATHER", 1, (2, 3), (4,), "GatherOptions"),
    )
    if gathered:
        return parse(write(NetSpec("halves", tensors, ops, (0,), (4,))), path="halves.tflite")
    return parse(write(NetSpec("halves", tensors[:3], ops[:1], (0,), (2,))), path="halves.tflite")


@pytest.fixture
def no_tflm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Oracles that are asked from now on have no TFLM."""
    (tmp_path / "tflite_micro.py").write_text("raise ImportError('hidden')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)


def test_tflm_is_the_rule() -> None:
    program = lowtide.compile(halves())
    result = lowtide.verify(program)
    assert (result.engine, result.bit_exact) == ("tflm", True)
    assert result.compared is program
    assert LITERT not in lowtide.describe(result)


@pytest.mark.usefixtures("no_tflm")
@pytest.mark.parametrize("schedule", ["rows", "operators"])
def test_verify_with_litert_alone(schedule: str) -> None:
    options = lowtide.Options(schedule="rows" if schedule == "rows" else "operators")
    program = lowtide.compile(halves(), options)
    result = lowtide.verify(program)
    assert (result.engine, result.bit_exact) == ("litert", True)
    assert result.compared.options.rounding == "litert"
    assert result.compared.arena_bytes == program.arena_bytes
    assert lowtide.describe(result) == (
        f"halves.tflite: bit-exact. The only tensor is that of LiteRT's reference kernels "
        f"({engine_package('litert')}), byte for byte, on 8 inputs, the C built for this computer with "
        f"AddressSanitizer and UndefinedBehaviorSanitizer.{LITERT}{TFLM}'s: {TFLM} is not installed.\n"
        f"{PORTABLE_RAN}\n{NOT_PROVED}"
    )
    document = verified_document(program, result)
    assert (document["engine"], document["rounding"]) == ("litert", "litert")
    assert to_json(document)


@pytest.mark.usefixtures("no_tflm")
def test_without_it_the_comparison_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowtide.commands.checking.rounded_as", lambda compiled, _: compiled)
    assert not lowtide.verify(lowtide.compile(halves())).bit_exact


@pytest.mark.usefixtures("no_tflm")
def test_run_measures_the_program_itself() -> None:
    program = lowtide.compile(halves())
    result = lowtide.run(program, "microbit")
    assert result.bit_exact
    assert result.compiled is program
    assert result.compared is not program
    assert f"{LITERT}{TFLM}'s: {TFLM} is not" in lowtide.describe(result)
    assert ran_document(result)["rounding"] == "litert"


def test_a_program_with_litert_s_rounding_is_compared_with_litert() -> None:
    program = lowtide.compile(halves(), lowtide.Options(rounding="litert"))
    result = lowtide.verify(program)
    assert (result.engine, result.bit_exact, result.passed_over) == ("litert", True, "")
    assert result.compared is program
    assert LITERT not in lowtide.describe(result)


def test_an_operator_that_tflm_lacks() -> None:
    """GATHER of int16: only LiteRT runs the network, though TFLM is there."""
    result = lowtide.verify(lowtide.compile(halves("INT16", gathered=True)))
    assert (result.engine, result.bit_exact) == ("litert", True)
    assert result.compared.options.rounding == "litert"
    told = lowtide.describe(result)
    assert told.endswith(
        f"{LITERT}{TFLM}'s: {TFLM} cannot run this network.\n{PORTABLE_RAN}\n{NOT_PROVED}"
    )


@pytest.mark.parametrize("dtype", ["INT8", "INT16"])
def test_relu6_goes_from_scale_to_scale_in_litert_alone(dtype: str) -> None:
    """LiteRT alone runs the network, for its GATHER; TFLM's RELU6 takes both scales for the same."""
    scales = [np.full(1, scale, np.float32) for scale in (0.013, 0.029)]
    tensors = (
        TensorSpec("x", (4, 200), dtype, scales=scales[0]),
        TensorSpec("y", (4, 200), dtype, scales=scales[1]),
        TensorSpec("rows", (2,), "INT32", data=np.array([3, 1], np.int32)),
        TensorSpec("z", (2, 200), dtype, scales=scales[1]),
    )
    ops = (
        OpSpec("RELU6", 1, (0,), (1,), "LeakyReluOptions"),
        OpSpec("GATHER", 1, (1, 2), (3,), "GatherOptions"),
    )
    for last in (1, 3):
        model = parse(write(NetSpec("six", tensors, ops[: (last + 1) // 2], (0,), (last,))))
        result = lowtide.verify(lowtide.compile(model))
        assert result.bit_exact
        assert result.compared.options.rounding == result.engine
