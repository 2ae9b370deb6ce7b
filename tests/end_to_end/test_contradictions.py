"""Models that contradict themselves: refused with one message, or run as the interpreters run them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from lowtide.commands import checking
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.errors import LowtideError, ModelError
from lowtide.ir import DType, Model
from lowtide.machines.board import find_target
from lowtide.tflite.read import load, parse
from lowtide.zoo.spec import NetSpec, OpSpec, TensorSpec
from lowtide.zoo.writer import write

REPRO = Path(__file__).resolve().parents[3] / "shared" / "repro"
_ONE = np.ones(1, np.float32)


def _tensor(name: str, *shape: int, dtype: str = "INT8") -> TensorSpec:
    return TensorSpec(name, shape, dtype, _ONE)


def _constant(name: str, values: object, dtype: str = "INT32") -> TensorSpec:
    data = np.array(values, {"INT32": np.int32, "FLOAT32": np.float32, "INT8": np.int8}[dtype])
    return TensorSpec(name, data.shape, dtype, _ONE if dtype == "INT8" else None, data=data)


def _sliced(begin: TensorSpec | None = None) -> NetSpec:
    """A SLICE of one row of two."""
    tensors = (
        _tensor("x", 1, 2, 3),
        begin or _constant("begin", [0, 1, 0]),
        _constant("size", [1, 1, 3]),
        _tensor("y", 1, 1, 3),
        _tensor("unused", 1, 5, dtype="INT4"),
    )
    ops = (OpSpec("SLICE", 2, (0, 1, 2), (3,), "SliceOptions"),)
    return NetSpec("sliced", tensors, ops, (0,), (3,))


def _depthwise(multiplier: int) -> NetSpec:
    tensors = (
        _tensor("x", 1, 3, 3, 4),
        _constant("w", np.ones((1, 1, 1, 8)), "INT8"),
        _constant("b", [0] * 8),
        _tensor("y", 1, 3, 3, 8),
    )
    options = {
        "stride_h": 1,
        "stride_w": 1,
        "depth_multiplier": multiplier,
        "dilation_w_factor": 1,
        "dilation_h_factor": 1,
    }
    op = OpSpec("DEPTHWISE_CONV_2D", 3, (0, 1, 2), (3,), "DepthwiseConv2DOptions", options)
    return NetSpec("depthwise", tensors, (op,), (0,), (3,))


def _resized(
    options_type: str, options: dict[str, int | float | bool | str | tuple[int, ...]]
) -> Model:
    tensors = (_tensor("x", 1, 4, 3, 2), _constant("size", [8, 5]), _tensor("y", 1, 8, 5, 2))
    op = OpSpec("RESIZE_BILINEAR", 3, (0, 1), (2,), options_type, options)
    return parse(write(NetSpec("resized", tensors, (op,), (0,), (2,))), path="resized.tflite")


def _refusal(net: NetSpec, **options: Any) -> str:
    with pytest.raises(ModelError) as caught:
        compile_model(parse(write(net), path="net.tflite"), Options(**options))
    assert caught.value.exit_code == 3
    return caught.value.cause


@pytest.mark.parametrize("modes", [{}, {"input_mode": "const", "output_mode": "streamed"}])
def test_no_outputs(modes: dict[str, str]) -> None:
    cause = _refusal(replace(_sliced(), outputs=()), **modes)
    assert cause == "the model has no outputs: there is nothing to compute"


@pytest.mark.parametrize("modes", [{}, {"input_mode": "const"}, {"input_mode": "streamed"}])
def test_a_constant_is_an_input(modes: dict[str, str]) -> None:
    cause = _refusal(replace(_sliced(), inputs=(0, 1)), **modes)
    assert cause == (
        "graph input 1 is a constant: the file holds its contents, so a caller cannot give it"
    )


@pytest.mark.parametrize("dtype", [kind.name for kind in DType if kind.bits])
def test_an_unused_input_of_any_type(dtype: str) -> None:
    net = _sliced()
    tensors = (*net.tensors[:4], _tensor("unused", 1, 6, dtype=dtype))
    net = replace(net, tensors=tensors, inputs=(0, 4))
    program = compile_model(parse(write(net), path="net.tflite"))
    assert "NET_INPUT_1_TYPE" in program.files["net.h"].decode()


@pytest.mark.parametrize("begin", [[0.0, 1.0, 0.0], [0.0, float("nan"), 0.0]])
def test_indices_that_are_no_integers(begin: list[float]) -> None:
    cause = _refusal(_sliced(_constant("begin", begin, "FLOAT32")))
    assert cause == "operator 0 (SLICE): input 1 must hold integers, and is FLOAT32"


def test_a_multiplier_that_contradicts_the_shapes() -> None:
    assert _refusal(_depthwise(255)) == (
        "operator 0 (DEPTHWISE_CONV_2D): its depth_multiplier is 255, but it makes 8 channels from 4"
    )
    for right in (0, 2):
        compile_model(parse(write(_depthwise(right)), path="net.tflite"))


def test_strides_that_no_options_say() -> None:
    """TFLM takes them for 0 then, and makes nothing."""
    net = _depthwise(2)
    other = replace(net.ops[0], options_type="AddOptions", options={})
    assert _refusal(replace(net, ops=(other,))) == (
        "operator 0 (DEPTHWISE_CONV_2D): its strides and dilations must be at least 1"
    )


@pytest.mark.parametrize("count", [0, 1, 3, -128])
def test_a_number_of_parts_that_contradicts_the_lists(count: int) -> None:
    """TFLM believes it, and packs or unpacks so many."""
    parts = (_tensor("a", 1, 6), _tensor("b", 1, 6), _tensor("both", 2, 1, 6))
    pack = OpSpec("PACK", 1, (0, 1), (2,), "PackOptions", {"values_count": count})
    unpack = OpSpec("UNPACK", 1, (2,), (0, 1), "UnpackOptions", {"num": count})
    assert _refusal(NetSpec("pack", parts, (pack,), (0, 1), (2,))) == (
        f"operator 0 (PACK): its option values_count is {count}, but it has 2 tensors"
    )
    assert _refusal(NetSpec("unpack", parts, (unpack,), (2,), (0, 1))) == (
        f"operator 0 (UNPACK): its option num is {count}, but it has 2 tensors"
    )


def test_another_operators_options_are_none() -> None:
    none = _resized("ResizeBilinearOptions", {})
    other = _resized("ResizeNearestNeighborOptions", {"half_pixel_centers": True})
    own = _resized("ResizeBilinearOptions", {"half_pixel_centers": True})
    assert other.graph.ops[0].options == {}
    files = [compile_model(model).files["resized.c"] for model in (none, other, own)]
    assert files[0] == files[1] != files[2]
    assert checking.verify(compile_model(other)).bit_exact


@pytest.mark.parametrize("path", sorted(REPRO.glob("*.tflite")), ids=lambda path: path.stem)
@pytest.mark.parametrize("mode", ["resident", "streamed"])
def test_files_that_broke_something(path: Path, mode: Literal["resident", "streamed"]) -> None:
    target = find_target("cortex-m7" if mode == "streamed" else "any")
    try:
        model = load(path)
        compile_model(model, Options(input_mode=mode, output_mode=mode, target=target))
        # What nobody reads would be left out, though the reference kernels refuse it.
        options = Options(input_mode=mode, output_mode=mode, target=target, simplify=False)
        program = compile_model(model, options)
        if path.stem != "tb_int4_unused_input":  # of which no test input can be made
            assert checking.verify(program, samples=4).bit_exact
    except LowtideError as error:
        assert error.exit_code == ModelError.exit_code
