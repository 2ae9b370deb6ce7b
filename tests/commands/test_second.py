"""Where the reference engines differ from one another, nobody is blamed before both were asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import lowtide
from lowtide.commands import checking
from lowtide.commands.compiling import compile_model
from lowtide.ir import Model
from lowtide.modes import EngineName
from lowtide.report.deployment import fault_of, verified_document, verified_text
from lowtide.tflite.read import parse
from lowtide.zoo.spec import NetSpec, OpSpec, TensorSpec
from lowtide.zoo.writer import write


def _overflowing(*, gathered: bool) -> Model:
    """An int16 convolution whose int32 bias leaves 32 bits, where the engines differ; `gathered`, beside
    an operator that TFLM lacks, so that LiteRT alone runs the whole."""
    scale, fine = np.full(1, 7e-4, np.float32), np.full(1, 9e-3, np.float32)
    rng = np.random.default_rng(1)
    weights = rng.integers(-127, 128, (7, 5, 7, 5)).astype(np.int8)
    bias = rng.integers(-(1 << 31), (1 << 31) - 1, 7).astype(np.int32)
    tensors = [
        TensorSpec("x", (1, 3, 3, 5), "INT16", scale),
        TensorSpec("w", weights.shape, "INT8", fine, data=weights),
        TensorSpec("b", (7,), "INT32", scale * fine, data=bias),
        TensorSpec("y", (1, 3, 3, 7), "INT16", np.full(1, 1e-3, np.float32)),
        TensorSpec("i", (1,), "INT32", data=np.array([1], np.int32)),
        TensorSpec("z", (1, 1, 3, 5), "INT16", scale),
    ]
    options = {"stride_w": 1, "stride_h": 1, "dilation_w_factor": 1, "dilation_h_factor": 1}
    ops = [OpSpec("CONV_2D", 3, (0, 1, 2), (3,), "Conv2DOptions", options)]
    if gathered:
        ops.append(OpSpec("GATHER", 1, (0, 4), (5,), "GatherOptions", {"axis": 1}))
    outputs = (3, 5) if gathered else (3,)
    return parse(
        write(NetSpec("net", tuple(tensors), tuple(ops), (0,), outputs)), path="net.tflite"
    )


def test_litert_alone_runs_the_network_and_differs_from_tflm() -> None:
    program = compile_model(_overflowing(gathered=True))
    result = checking.verify(program)
    assert result.engine == "litert"
    assert result.mismatch is not None
    second = result.mismatch.second
    assert second is not None
    assert (second.engine, second.sides, second.alone) == ("tflm", "program", True)
    assert second.value == result.mismatch.difference.left
    assert verified_text(program, result).splitlines()[1] == (
        f"TensorFlow Lite Micro, given the same inputs, has {second.value} there, as the program."
    )
    assert fault_of(result) == (
        "the two reference engines differ from each other, first at operator 0 (CONV_2D); the "
        "generated C matches TensorFlow Lite Micro, which lowtide follows but which cannot run the "
        "whole network",
        "the C is right; verify the parts that both engines run (--from, --until)",
    )
    found = verified_document(program, result)["mismatch"]["second"]
    assert found == {
        "engine": "tflm",
        "same_as": "program",
        "value": second.value,
        "operator_alone": True,
    }


def _summing() -> Model:
    """An int16 SUM, which LiteRT computes wrong, beside an operator that TFLM lacks."""
    one = np.ones(1, np.float32)
    tensors = [
        TensorSpec("x", (1, 3, 4, 5), "INT16", one),
        TensorSpec("axes", (2,), "INT32", data=np.array([1, 2], np.int32)),
        TensorSpec("y", (1, 5), "INT16", np.full(1, 9.0, np.float32)),
        TensorSpec("i", (1,), "INT32", data=np.array([1], np.int32)),
        TensorSpec("z", (1, 1), "INT16", np.full(1, 9.0, np.float32)),
    ]
    ops = (
        OpSpec("SUM", 1, (0, 1), (2,), "ReducerOptions", {"keep_dims": False}),
        OpSpec("GATHER", 1, (2, 3), (4,), "GatherOptions", {"axis": 1}),
    )
    return parse(write(NetSpec("net", tuple(tensors), ops, (0,), (2, 4))), path="net.tflite")


@pytest.mark.parametrize("asked", [True, False], ids=["asked", "absent"])
def test_what_the_first_engine_is_known_to_compute_wrong(
    asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether or not the other engine is there: TFLM's wheels are for Linux alone."""
    if not asked:
        monkeypatch.setattr(checking, "second_opinion", lambda *_: None)
    result = checking.verify(compile_model(_summing()))
    assert (result.engine, result.bit_exact) == ("litert", False)
    assert result.mismatch is not None
    second = result.mismatch.second
    assert (second is not None and second.sides == "program") == asked
    cause, remedy = fault_of(result)
    assert cause.startswith(
        "the generated C differs from the reference kernels at operator 0 (SUM), where these are "
        "wrong: LiteRT's SUM of int16 returns what memory holds"
    )
    assert remedy.startswith("the C is right there")


def test_known_faults_excuse_no_program_that_both_engines_contradict() -> None:
    result = checking.verify(compile_model(_summing()))
    mismatch = result.mismatch
    assert mismatch is not None and mismatch.second is not None
    for sides in ("first", "neither"):
        wrong = replace(mismatch, second=replace(mismatch.second, sides=sides))
        assert "internal error of lowtide" in fault_of(replace(result, mismatch=wrong))[1]


def test_tflm_runs_it() -> None:
    program = compile_model(_overflowing(gathered=False))
    result = checking.verify(program)
    assert (result.engine, result.bit_exact) == ("tflm", True)


@pytest.mark.parametrize(("first", "second"), [("tflm", "litert"), ("litert", "tflm")])
def test_both_differ_from_the_program(first: EngineName, second: EngineName) -> None:
    """A wrong program: compiled of other weights than the engines run."""
    model = lowtide.load("zoo:figure1")
    weights = model.graph.tensors[model.graph.ops[4].inputs[1]].data
    assert weights is not None
    at = model.source.index(weights)
    source = model.source[:at] + bytes([model.source[at] ^ 64]) + model.source[at + 1 :]
    options = lowtide.Options(rounding=first)
    result = checking.verify(compile_model(replace(model, source=source), options))
    assert result.mismatch is not None
    told = result.mismatch.second
    assert told is not None
    assert (result.engine, told.engine, told.sides) == (first, second, "first")
    assert fault_of(result) == (
        "the generated C differs from the reference kernels",
        "this is an internal error of lowtide; report it, with the model",
    )


def _reading(names: Sequence[str]) -> Model:
    """A network that reads the variable "a", and assigns those of `names`."""
    one = np.ones(1, np.float32)
    tensors = [
        TensorSpec("x", (1, 4), "INT8", one),
        TensorSpec("handle", (), "RESOURCE"),
        TensorSpec("held", (1, 4), "INT8", one),
        TensorSpec("y", (1, 4), "INT8", one),
    ]
    handle = OpSpec("VAR_HANDLE", 1, (), (1,), "VarHandleOptions", {"shared_name": "a"})
    ops = [handle, OpSpec("READ_VARIABLE", 1, (1,), (2,), "ReadVariableOptions")]
    ops.append(OpSpec("ADD", 1, (0, 2), (3,), "AddOptions"))
    if "a" in names:
        ops.append(OpSpec("ASSIGN_VARIABLE", 1, (1, 3), (), "AssignVariableOptions"))
    return parse(write(NetSpec("net", tuple(tensors), tuple(ops), (0,), (3,))), path="net.tflite")


def test_a_variable_that_nothing_sets() -> None:
    with pytest.raises(lowtide.LowtideError) as caught:
        compile_model(_reading([]))
    assert caught.value.exit_code == 3
    assert str(caught.value) == (
        "operator 0 (READ_VARIABLE) reads the variable a, which nothing sets\n"
        "  remedy: export the model with the subgraph that sets its variables (CALL_ONCE)"
    )


def test_a_variable_that_is_assigned_later() -> None:
    """It holds the zero point before, as in TFLM."""
    assert checking.verify(compile_model(_reading(["a"]))).bit_exact
