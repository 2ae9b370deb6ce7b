"""Generated programs compute what TensorFlow Lite Micro computes, in every tensor.

Why whole networks: kernels are tested one by one elsewhere; here order, placement, views and the
step program have to be right together, for every allocator and every place of the input.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from programs import compiled

from lowtide import deploy
from lowtide.compiler import Options
from networks import present

NETWORKS = [
    *("figure1", "ds-cnn-kws", "resnet8", "mobilenet-v1-0.25-96", "branchy-cell"),
    "attention-block",
    *present("mlperf_kws_int8", "tflm_micro_speech_int8"),
]


@pytest.mark.parametrize("network", NETWORKS)
def test_every_tensor_on_this_computer(network: str) -> None:
    result = deploy.verify(compiled(network), samples=4)
    assert result.mismatch is None
    assert result.bit_exact
    assert result.engine == "tflm"
    assert result.samples == 4
    made = [t for op in compiled(network).graph.ops for t in op.outputs]
    views = set(compiled(network).assembly.views) - set(compiled(network).graph.outputs)
    assert result.tensors == len(set(made) - views)


ALLOCATORS = (("planned", 4), ("greedy", 16), ("compacting", 32))
INPUTS = (Options(), Options(preserve_input=True), Options(input_mode="const"))
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
    assert deploy.verify(program, samples=2).mismatch is None
    assert program.arena_bytes % options.align == 0
    if options.allocator == "compacting":
        assert program.assembly.placement.proved_optimal
    if options.input_mode == "const":
        resident = compiled(network, Options(allocator=options.allocator, align=options.align))
        assert program.arena_bytes <= resident.arena_bytes


def test_compacting_moves_buffers_and_counts_them() -> None:
    program = compiled("branchy-cell", Options(allocator="compacting"))
    moves = program.assembly.placement.moves
    assert moves
    assert program.assembly.placement.moved_bytes == sum(move.size for move in moves)
    slides = [n for n in program.assembly.nodes if n.node.kernel == "lt_slide_buffer"]
    assert len(slides) == len(moves)
    assert b"lt_slide_buffer" in program.files["branchy_cell.c"]
    assert "lt_slide.c" in program.files
    assert "lt_slide.c" not in compiled("branchy-cell").files
