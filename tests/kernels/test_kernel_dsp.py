"""What lt_fixed.h finds out of cores: which get the kernels in Arm's DSP instructions, and which are
short of registers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.shared.built import compile_only
from lowtide.emit.runtime import kernel_files
from lowtide.machines.board import load_boards
from lowtide.machines.failures import BuildError
from lowtide.machines.parts import Core

_CORES = {board.core.name: board.core for board in load_boards().values()}


def _defined(macro: str, toolchain: str, flags: Sequence[str], folder: Path) -> bool:
    header = kernel_files()["lt_fixed.h"].encode()
    ask = f'#include "lt_fixed.h"\n#ifdef {macro}\n#error it is defined\n#endif\n'.encode()
    try:
        compile_only({"lt_fixed.h": header, "ask.c": ask}, toolchain, folder, *flags)
    except BuildError as error:
        assert "#error it is defined" in error.cause
        return True
    return False


@pytest.mark.parametrize(
    ("flags", "dsp"),
    [
        ("-mcpu=cortex-m4 -mthumb", True),
        ("-mcpu=cortex-m55 -mthumb -mfloat-abi=hard", True),
        ("-mcpu=cortex-m3 -mthumb", False),
        ("-mcpu=cortex-m0 -mthumb", False),
        ("-mcpu=cortex-m4 -mthumb -mno-unaligned-access", False),
        ("-mcpu=cortex-m4 -mthumb -mbig-endian", False),
        ("-mcpu=cortex-a7 -marm", False),
    ],
)
def test_the_instructions_alone_are_not_enough(flags: str, dsp: bool, tmp_path: Path) -> None:
    assert _defined("LT_DSP", "arm-none-eabi", flags.split(), tmp_path) == dsp


@pytest.mark.parametrize("core", _CORES.values(), ids=[*_CORES])
def test_a_target_knows_how_short_its_core_is(core: Core, tmp_path: Path) -> None:
    defined = _defined("LT_SHORT", core.toolchain, core.flags, tmp_path)
    assert core.target.is_short == defined


@pytest.mark.parametrize(
    "flags", ["-mcpu=cortex-a7 -marm", "-mcpu=cortex-m4 -mthumb -mno-unaligned-access"]
)
def test_all_kernels_compile_without_them(flags: str, tmp_path: Path) -> None:
    files = {name: text.encode() for name, text in kernel_files().items()}
    assert compile_only(files, "arm-none-eabi", tmp_path, "-O2", *flags.split()) == ""
