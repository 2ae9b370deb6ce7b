"""Blocks in whole networks: every tensor is compared, those that are in no memory too.

The kernels alone are in tests/kernels/test_kernel_block.py, plans with blocks in tests/rows.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

from lowtide.commands import checking
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from networks import compiled, model_of

CONST = Options(input_mode="const")
PLANS = (
    ("mobilenet-v2-0.35-144", CONST),
    ("mobilenet-v2-0.35-144", replace(CONST, max_overhead=1.15)),
    ("mn2-vww5-80-chain", replace(CONST, max_overhead=2.0, output_mode="streamed")),
)


def _shown(value: str | Options) -> str:
    return value if isinstance(value, str) else f"{value.max_overhead or 1:g}"


def _inside(program: Compiled) -> set[int]:
    """The tensors that blocks do not leave in memory."""
    plan = program.assembly.plan
    assert plan is not None
    blocks = [block for stage in plan.stages for block in stage.blocks]
    return {program.graph.ops[op].outputs[0] for b in blocks for op in b.operators[:-1]}


@pytest.mark.parametrize(("network", "options"), PLANS, ids=_shown)
def test_tensors_inside_of_blocks_are_compared(network: str, options: Options) -> None:
    program = compile_model(model_of(network), options)  # with little effort it may have no blocks
    assert _inside(program)
    result = checking.verify(program, samples=2)
    assert result.mismatch is None
    assert result.tensors == len({t for op in program.graph.ops for t in op.outputs})


@pytest.mark.parametrize(
    ("right", "wrong", "kind"),
    (
        ("b->expand(b, old, high - old, &expanding);", "*(int8_t *)to ^= 1;", "CONV_2D"),
        (
            "b->depthwise(b, n, low - first, high - low, &inner);",
            "*(int8_t *)made ^= 1;",
            "DEPTHWISE_CONV_2D",
        ),
    ),
)
def test_a_fault_inside_of_a_block_is_found_there(right: str, wrong: str, kind: str) -> None:
    program = compiled("mobilenet-v2-0.35-144", CONST)
    source = program.files["lt_block.c"].decode()
    assert source.count(right) == 1
    files = {**program.files, "lt_block.c": source.replace(right, right + wrong).encode()}
    result = checking.verify(replace(program, files=MappingProxyType(files)), samples=1)
    assert result.mismatch is not None
    assert result.mismatch.type == kind
    assert result.mismatch.difference.tensor in _inside(program)
