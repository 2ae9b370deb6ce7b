"""Generated programs compute what TensorFlow Lite Micro computes, in every tensor.

Why whole networks: kernels are tested one by one elsewhere; here order, placement, views and the
step program have to be right together, for both schedules, every allocator and every place of the
input. Rows of random networks are in tests/rows, streamed ones in test_streams.py.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from lowtide.commands import checking
from lowtide.commands.options import Options
from lowtide.modes import Allocator, Schedule
from lowtide.program.tables import MoveEntry
from networks import compiled, present

WHOLE = Options(schedule="operators")
NETWORKS: list[tuple[str, Schedule]] = [
    *(
        (network, "rows")
        for network in (
            *("figure1", "ds-cnn-kws", "resnet8", "mobilenet-v1-0.25-96", "branchy-cell"),
            "attention-block",
            *present("mlperf_kws_int8", "tflm_micro_speech_int8"),
        )
    ),
    *((network, "operators") for network in ("ds-cnn-kws", "resnet8", "attention-block")),
]


@pytest.mark.parametrize(("network", "schedule"), NETWORKS)
def test_every_tensor_on_this_computer(network: str, schedule: Schedule) -> None:
    program = compiled(network, Options(schedule=schedule))
    assert (program.assembly.plan is None) == (schedule == "operators")
    result = checking.verify(program, samples=4)
    assert result.mismatch is None
    assert result.bit_exact
    assert result.engine == "tflm"
    assert result.samples == 4
    made = [t for op in program.graph.ops for t in op.outputs]
    views = set(program.assembly.views) - set(program.graph.outputs)
    assert result.tensors == len(set(made) - views)


ALLOCATORS: tuple[tuple[Allocator, int], ...] = (("planned", 4), ("greedy", 16), ("compacting", 32))
INPUTS = (WHOLE, replace(WHOLE, preserve_input=True), replace(WHOLE, input_mode="const"))
CASES = [
    *(
        ("figure1", replace(inputs, allocator=allocator, align=align))
        for allocator, align in ALLOCATORS
        for inputs in INPUTS
    ),
    *(
        ("branchy-cell", replace(inputs, allocator=allocator, align=align))
        for (allocator, align), inputs in zip(ALLOCATORS, INPUTS, strict=True)
    ),
]


def _shown(value: str | Options) -> str:
    if isinstance(value, str):
        return value
    return f"{value.allocator}-{value.align}-{value.input_mode}{'-kept' * value.preserve_input}"


@pytest.mark.parametrize(("network", "options"), CASES, ids=_shown)
def test_every_allocator_with_every_place_of_the_input(network: str, options: Options) -> None:
    program = compiled(network, options)
    assert checking.verify(program, samples=2).mismatch is None
    assert program.arena_bytes % options.align == 0
    if options.allocator == "compacting":
        assert program.assembly.placement.proved_optimal
    if options.input_mode == "const":
        resident = compiled(network, replace(options, input_mode="resident"))
        assert program.arena_bytes <= resident.arena_bytes


def test_compacting_moves_buffers_and_counts_them() -> None:
    program = compiled("branchy-cell", replace(WHOLE, allocator="compacting"))
    moves = program.assembly.placement.moves
    assert moves
    assert program.assembly.placement.moved_bytes == sum(move.size for move in moves)
    slides = [n for n in program.assembly.nodes if isinstance(n, MoveEntry)]
    assert len(slides) == len(moves)
    assert b"lt_slide_buffer" in program.files["branchy_cell.c"]
    assert "lt_slide.c" in program.files
    assert "lt_slide.c" not in compiled("branchy-cell", WHOLE).files
