"""Concatenations along channels in whole networks: put together where they are read, and compared there.

The kernels alone are in tests/kernels/test_kernel_joined.py.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import MappingProxyType

import pytest

from lowtide.commands import checking
from lowtide.commands.certifying import certified
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.ir import Model
from lowtide.machines.board import find_target
from lowtide.modes import InputMode
from lowtide.target import ANY
from lowtide.tflite.read import parse
from lowtide.zoo.builder import NetBuilder
from lowtide.zoo.quantise import Activation

CORES = ("any", "cortex-m4", "cortex-m55")


@cache
def cells() -> Model:
    """Three maps, which several concatenations join: two of them lie beneath pointwise convolutions, one
    beneath a depthwise one and a pointwise one."""
    net, relu6 = NetBuilder("joined"), Activation.RELU6
    stem = net.conv(net.input((1, 40, 30, 3)), "stem", 16, 3, 1, relu6)
    a, b, c = (net.conv(stem, name, 16, 3, 1, relu6) for name in "abc")
    wide = net.depthwise(net.concat([a, b], "ab"), "wide", 3, 1, relu6)
    d = net.conv(wide, "d", 16, 1, 1, relu6)
    e = net.conv(net.concat([a, b, c], "abc"), "e", 16, 1, 1, relu6)
    f = net.conv(net.concat([d, e, c], "dec"), "f", 8, 1, 1, relu6)
    return parse(net.finish(net.mean(f, "mean")), path="joined")


def program(core: str, mode: InputMode) -> Compiled:
    """Its program, streamed or not."""
    target = ANY if core == "any" else find_target(core)
    return compile_model(cells(), Options(input_mode=mode, target=target))


def joining(made: Compiled) -> list[tuple[int, ...]]:
    """The blocks that begin with a concatenation."""
    plan = made.assembly.plan
    assert plan is not None
    blocks = [block.operators for stage in plan.stages for block in stage.blocks]
    return [ops for ops in blocks if made.graph.ops[ops[0]].type == "CONCATENATION"]


@pytest.mark.parametrize("mode", ["streamed", "const"])
@pytest.mark.parametrize("core", CORES)
def test_every_tensor_is_compared(core: str, mode: InputMode) -> None:
    made = program(core, mode)
    assert {len(ops) for ops in joining(made)} == {2, 3}
    result = checking.verify(made, samples=2)
    assert result.mismatch is None
    assert result.tensors == len({t for op in made.graph.ops for t in op.outputs})


def test_a_fault_is_found_where_it_is() -> None:
    made = program("any", "const")
    source = made.files["lt_joined.c"].decode()
    right = "    lt_concat_row(&some, &own);\n"
    assert source.count(right) == 1
    wrong = right + "    *(uint8_t *)step->out[0] ^= 1;\n"
    files = {**made.files, "lt_joined.c": source.replace(right, wrong).encode()}
    result = checking.verify(replace(made, files=MappingProxyType(files)), samples=1)
    assert result.mismatch is not None
    assert result.mismatch.type == "CONCATENATION"


def test_certificate() -> None:
    """What the convolutions of such blocks compute is proved like that of others."""
    document = certified(program("cortex-m4", "streamed"))
    proved = {claim["operator"] for claim in document["proved"]["products"]}
    assert {op for ops in joining(program("cortex-m4", "streamed")) for op in ops[1:]} <= proved


def test_less_ram_than_rows_of_concatenations() -> None:
    """Its live peak, and that of the same stages without blocks."""
    made = program("cortex-m4", "streamed")
    plan = made.assembly.plan
    assert plan is not None
    stages = tuple(replace(stage.choice, blocks=(), limits=()) for stage in plan.stages)
    without = compile_model(made.model, replace(made.options, stages=stages))
    assert without.assembly.plan is not None
    assert plan.peak_bytes < without.assembly.plan.peak_bytes
