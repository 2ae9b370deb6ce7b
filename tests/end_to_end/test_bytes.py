"""Random networks of uint8 compute what LiteRT's reference kernels compute, in every tensor.

Why apart from those of int8: they run through the same kernels, flipped, and some operators among them
through kernels of their own; weights have zero points, and concatenations rescale.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from byte_nets import byte_network
from lowtide.commands import checking
from lowtide.commands.compiling import Compiled, Options, compile_model
from lowtide.machines.board import find_target
from lowtide.tflite.read import parse
from networks import compiled, present

_MODES = (
    Options(),
    Options(input_mode="const"),
    Options(input_mode="streamed", output_mode="streamed"),
    Options(schedule="operators"),
    Options(preserve_input=True),
    Options(input_mode="const", output_mode="streamed", max_overhead=1.5, cost="instructions"),
    Options(simplify=False),
)
_CORES = ("any", "cortex-m4", "cortex-m55", "cortex-m3")
_FEW = (*range(7), 23, 30)  # the last two begin with one channel, a window and weights of nine bits


def _options(seed: int) -> Options:
    """A mode and a core, together all combinations of them in turn."""
    mode = _MODES[seed % len(_MODES)]
    core = "any" if mode.cost == "instructions" else _CORES[seed // len(_MODES) % len(_CORES)]
    return replace(mode, target=find_target(core), name="net")


@cache
def _program(seed: int) -> Compiled:
    return compile_model(parse(byte_network(seed), path=f"bytes-{seed}"), _options(seed))


@pytest.mark.parametrize("seed", _FEW)
def test_random_networks(seed: int) -> None:
    result = checking.verify(_program(seed), samples=4)
    assert result.mismatch is None
    assert result.engine == "litert"


def test_random_networks_use_what_is_particular_to_bytes() -> None:
    kernels = {entry.node.kernel for seed in _FEW for entry in _program(seed).assembly.kernels}
    assert {"lt_w9_s8_row", "lt_flip_row", "lt_concat_u8_row", "lt_sum_u8_eat"} <= kernels
    assert not kernels & {"lt_max_pool_u8_row", "lt_add_u8_row"}


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(7, 400))
def test_more_random_networks(seed: int) -> None:
    assert checking.verify(_program(seed), samples=4).mismatch is None


@pytest.mark.parametrize("network", present("swiftnet_cell_uint8"))
def test_a_network_of_bytes_runs_through_the_kernels_of_int8(network: str) -> None:
    program = compiled(network, Options(target=find_target("cortex-m4")))
    assert checking.verify(program, samples=1).mismatch is None
    kernels = {entry.node.kernel for entry in program.assembly.kernels}
    assert {"lt_conv_4x2_s8_row", "lt_depthwise_3x3_s8_row", "lt_add_narrow_s8_row"} <= kernels
    assert "lt_flip_row" not in kernels  # the first convolution flips what it gathers
