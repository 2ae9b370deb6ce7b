"""Generated programs on emulated boards: right outputs, and figures that hold together.

Why: the same C meets other compilers, other word sizes and real memory maps there, and every figure
that lowtide reports about RAM, flash and work comes from such a run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lowtide.commands import checking
from lowtide.commands.checking import Ran
from lowtide.commands.options import Options
from lowtide.emit.header import modes
from lowtide.emit.stack import stack_bytes
from lowtide.machines.board import find_board
from lowtide.machines.glue import read_interface
from networks import compiled, present

SMALL = ["figure1", *present("tflm_micro_speech_int8")]


def _run(network: str, board: str, options: Options | None = None, samples: int = 2) -> Ran:
    program = compiled(network, options)
    ran = checking.run(program, find_board(board), samples=samples)
    bound = stack_bytes(program.assembly, modes(program.assembly).header)
    assert bound // 3 <= ran.measured.ram.stack_bytes <= bound
    return ran


@pytest.mark.parametrize("board", ["mps2-an386", "rv32-virt"])
def test_keyword_spotting_on_a_board(board: str) -> None:
    program = compiled("ds-cnn-kws")
    result = _run("ds-cnn-kws", board)
    assert result.bit_exact
    assert result.measured.warnings == ""

    ram, flash = result.measured.ram, result.measured.flash
    declared = read_interface(program.files, program.name).arena_bytes
    assert ram.arena_bytes == declared == program.arena_bytes
    assert ram.data_bytes == 0  # nothing that is written before it is set
    assert 0 < ram.bss_bytes <= 128  # the instance, and nothing else
    assert 64 <= ram.stack_bytes <= 1024
    assert ram.total_bytes == sum((declared, ram.bss_bytes, ram.stack_bytes))

    parameters = sum(t.bytes for t in program.graph.tensors if t.data is not None)
    assert 0.8 * parameters <= flash.weights_bytes <= 2 * parameters
    assert 1_000 <= flash.code_bytes <= 40_000
    assert 0 < flash.constant_bytes <= 20_000
    assert flash.total_bytes == flash.code_bytes + flash.constant_bytes + flash.weights_bytes

    counts = result.measured.instructions
    assert 2_500_000 < result.macs < 2_800_000
    assert result.macs // 4 < max(counts) < 40 * result.macs
    assert _run("ds-cnn-kws", board).measured == result.measured


@pytest.mark.parametrize("board", ["microbit", "hifive1b"])
@pytest.mark.parametrize("network", SMALL)
def test_parts_with_16_kib(network: str, board: str) -> None:
    result = _run(network, board)
    assert result.bit_exact
    assert result.measured.ram.total_bytes <= 16 * 1024


@pytest.mark.parametrize("board", ["mps2-an385", "mps2-an500", "mps3-an547", "esp32c3"])
def test_other_cores(board: str) -> None:
    result = _run("figure1", board, samples=4)
    assert result.bit_exact
    assert result.measured.warnings == ""


@pytest.mark.parametrize("board", ["mps2-an386", "rv32-virt"])
def test_moving_buffers_on_a_board(board: str) -> None:
    planned = _run("branchy-cell", board, Options(schedule="operators"))
    moving = _run("branchy-cell", board, Options(schedule="operators", allocator="compacting"))
    assert planned.bit_exact
    assert moving.bit_exact
    assert moving.measured.ram.arena_bytes <= planned.measured.ram.arena_bytes
    assert moving.measured.max_instructions > planned.measured.max_instructions


def test_an_input_that_stays_elsewhere_takes_no_ram() -> None:
    const = _run("figure1", "mps2-an386", Options(input_mode="const", smallest=True))
    kept = _run("figure1", "mps2-an386", Options(preserve_input=True, smallest=True))
    assert const.bit_exact
    assert kept.bit_exact
    saved = kept.measured.ram.total_bytes - const.measured.ram.total_bytes
    assert 1568 - 64 <= saved <= 1568 + 64


def test_a_users_board_of_the_real_parts_size(tmp_path: Path) -> None:
    file = tmp_path / "boards.toml"
    file.write_text(
        '[board.mine]\ndescription = "my own"\ncore = "cortex-m4"\nmachine = "mps2-an386"\n'
        'ram = { origin = 0x20000000, length = "8K" }\n'
        'flash = { origin = 0x08000000, length = "64K" }\n'
    )
    result = checking.run(compiled("figure1"), find_board("mine", file), samples=1)
    assert result.bit_exact
    assert result.board.ram.length == 8192
