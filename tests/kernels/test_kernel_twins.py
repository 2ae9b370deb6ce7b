"""What kernels have in assembly does what the C beside it says: both run on boards, on random values."""

from __future__ import annotations

import subprocess
from importlib import resources
from pathlib import Path

import pytest

from lowtide.emit.runtime import kernel_files
from lowtide.machines.board import find_board
from lowtide.machines.emulate import find_emulator
from lowtide.machines.finding import find_compiler

# The C of each file under other names: as on a core without the instructions.
_TWINS = {
    "lt_depthwise_3x3": (
        *("3x3_make_1", "3x3_make_2", "3x3_any_1", "3x3_any_2"),
        "depthwise_3x3_s8_any",
    ),
    "lt_depthwise_columns": (
        *("columns_weights", "columns_unpack", "columns_sum", "columns_sum_any"),
        *("columns_tap", "columns_tap_any"),
        "depthwise_columns_s8_any",
    ),
    "lt_conv_4x2": (
        *(
            "4x2_unpack",
            "4x2_unpack_flipped",
            "4x2_unpack_three",
            "4x2_two",
            "4x2_one",
            "4x2_one_packed",
            "4x2_three",
            "4x2_two_any",
            "4x2_one_any",
        ),
        "conv_4x2_s8_any",
        "conv_4x2_s8_three",
        "conv_4x2_s8_one",
    ),
    "lt_add_narrow": ("add_narrow_sums",),
    "lt_conv_2x2": ("2x2_pair", "2x2_single"),
    "lt_dots": ("dots_s8",),
    "lt_svdf": ("svdf_move",),
    "lt_depthwise_s16": ("depthwise_s16_four",),
}
_FLAGS = ("-std=c99", "-ffunction-sections", "-nostartfiles", "-T", "board.ld", "-Wl,--gc-sections")
_HOST = ("-nographic", "-semihosting-config", "enable=on,target=native")


def _twin(stem: str) -> str:
    rows = (f"{stem.removeprefix('lt_').removesuffix('_s16')}_{kind}_row" for kind in ("s8", "s16"))
    names = *_TWINS[stem], *rows
    renamed = [f"#define lt_{name} twin_{name}" for name in names]
    return "\n".join(['#include "lt_fixed.h"', "#undef LT_DSP", *renamed, f'#include "{stem}.c"\n'])


@pytest.mark.parametrize("optimise", ["-O0", "-O2"])
@pytest.mark.parametrize("board_name", ["mps2-an386", "mps2-an500"])
def test_assembly_and_c_agree(board_name: str, optimise: str, tmp_path: Path) -> None:
    board = find_board(board_name)
    boards = resources.files("lowtide.machines") / "boards"
    for name, text in kernel_files().items():
        (tmp_path / name).write_text(text)
    for name in ("start_arm.c", "harness.h"):
        (tmp_path / name).write_text((boards / name).read_text())
    (tmp_path / "board.ld").write_text(_script((boards / "board.ld.in").read_text()))
    for stem in _TWINS:
        (tmp_path / f"twin_{stem}.c").write_text(_twin(stem))
    program = Path(__file__).with_name("twins_program.c")
    sources = ["start_arm.c", str(program), *(f"twin_{stem}.c" for stem in _TWINS)]
    sources += [f"{stem}_dsp.c" for stem in _TWINS]
    command = [*find_compiler(board.core.toolchain), *board.flags, optimise, *_FLAGS]
    command += ["-I.", "-DROUNDS=1500", *sources, "-o", "program.elf"]
    subprocess.run(command, cwd=tmp_path, check=True)
    ran = subprocess.run(
        [find_emulator(board), *board.machine.args, *_HOST, "-kernel", "program.elf"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.stderr + ran.stdout == (
        "wrong: 0000000 (columns, fours, additions, roundings, twos, dots, windows)\n"
    )
    assert ran.returncode == 0


def _script(text: str) -> str:
    values = {"FLASH_ORIGIN": "0", "FLASH_LENGTH": "4M", "RAM_ORIGIN": "0x20000000"}
    values |= {"RAM_LENGTH": "4M", "VECTORS_MEMORY": "", "VECTORS_REGION": "FLASH"}
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text
