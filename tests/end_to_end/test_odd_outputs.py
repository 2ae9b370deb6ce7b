"""Outputs that no operator makes, or that lie elsewhere after the last one: constants, views, moves."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from bench.shared.built import compile_only
from lowtide.commands.checking import run, verify
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.ir import Model
from lowtide.machines.board import find_board
from lowtide.modes import Allocator
from lowtide.tflite.read import parse
from lowtide.zoo.spec import NetSpec, OpSpec, TensorSpec
from lowtide.zoo.writer import write
from schema_models import Net

_FLAT, _SQUARE = (1, 8), (1, 2, 2, 2)


def _tensor(name: str, shape: tuple[int, ...], data: bool = False) -> TensorSpec:
    values = np.arange(8, dtype=np.int8).reshape(shape) if data else None
    return TensorSpec(name, shape, "INT8", np.array([0.05], np.float32), data=values)


def _add(a: int, b: int, out: int) -> OpSpec:
    return OpSpec("ADD", 1, (a, b), (out,), "AddOptions", {"fused_activation_function": 0})


def _reshape(source: int, shape: int, out: int) -> OpSpec:
    return OpSpec("RESHAPE", 1, (source, shape), (out,), "ReshapeOptions", {"new_shape": _FLAT})


def _model(tensors: list[TensorSpec], ops: list[OpSpec], outputs: tuple[int, ...]) -> Model:
    return parse(write(NetSpec("odd", tuple(tensors), tuple(ops), (0,), outputs)), path="odd")


def _constants() -> Model:
    """y = x + x; outputs are y, a constant, and another one reshaped, which is added to x as well."""
    shape = TensorSpec("shape", (2,), "INT32", data=np.array(_FLAT, np.int32))
    tensors = [_tensor("x", _FLAT), _tensor("y", _FLAT), _tensor("k", _FLAT, data=True)]
    tensors += [
        _tensor("q", _SQUARE, data=True),
        shape,
        _tensor("flat", _FLAT),
        _tensor("z", _FLAT),
    ]
    return _model(tensors, [_add(0, 0, 1), _reshape(3, 4, 5), _add(0, 5, 6)], (1, 2, 5, 6))


@pytest.mark.parametrize(
    "options",
    [
        Options(),
        Options(schedule="operators"),
        Options(input_mode="streamed", output_mode="streamed"),
    ],
    ids=["rows", "operators", "streamed"],
)
def test_constants_are_outputs(options: Options) -> None:
    verified = verify(compile_model(_constants(), options), samples=2)
    assert verified.bit_exact
    assert verified.tensors == 4


@pytest.mark.parametrize(
    "toolchain", ["host", "arm-none-eabi", "riscv64-unknown-elf", "xtensa-lx106-elf"]
)
def test_constants_are_aligned_for_every_type(toolchain: str, tmp_path: Path) -> None:
    files = dict(compile_model(_constants()).files)
    found = re.search(rb"bases\[1\] = \(uint8_t \*\)\(uintptr_t\)(\w+)", files["odd.c"])
    assert found is not None
    files["odd.c"] += b"extern int check[__alignof__(%s) >= 8 ? 1 : -1];\n" % found[1]
    assert compile_only(files, toolchain, tmp_path) == ""


def test_constants_are_outputs_on_a_board() -> None:
    assert run(compile_model(_constants()), find_board("mps2-an385"), samples=1).bit_exact


@pytest.mark.parametrize("allocator", ["planned", "greedy", "compacting"])
@pytest.mark.parametrize("views", [1, 2])
def test_the_last_operators_are_views(allocator: Allocator, views: int) -> None:
    """Before them the input dies, so that the compacting allocator moves their memory."""
    shape = TensorSpec("shape", (2,), "INT32", data=np.array(_FLAT, np.int32))
    tensors = [_tensor("x", _SQUARE), _tensor("y", _SQUARE), shape]
    tensors += [_tensor(f"view{i}", _FLAT) for i in range(views)]
    ops = [_add(0, 0, 1), _reshape(1, 2, 3), *(_reshape(2 + i, 2, 3 + i) for i in range(1, views))]
    model = _model(tensors, ops, (2 + views,))
    compiled = compile_model(model, Options(schedule="operators", allocator=allocator))
    assert bool(compiled.assembly.placement.moves) == (allocator == "compacting")
    assert verify(compiled, samples=2).bit_exact


def _nothing(*, given: bool) -> Model:
    """y = x + x; another output is a map without elements: an input, or a SLICE of no columns."""
    net = Net(np.int8)
    x = net.input((1, 4, 2, 3))
    part = net.input((1, 4, 0, 3)) if given else x
    where = map(net.const, ([0, 0, 1, 0], [1, 4, 0, 3]))
    empty = part if given else net.op("SLICE", [x, *where], (1, 4, 0, 3))
    net.outputs = [empty, net.op("RELU", [x], (1, 4, 2, 3))]
    return parse(net.build())


@pytest.mark.parametrize("given", [False, True], ids=["sliced", "given"])
@pytest.mark.parametrize(
    "options",
    [Options(), Options(schedule="operators"), Options(target="cortex-m4", preserve_input=True)],
    ids=["rows", "operators", "preserved"],
)
def test_an_output_without_elements(options: Options, given: bool) -> None:
    assert verify(compile_model(_nothing(given=given), options), samples=4).bit_exact
