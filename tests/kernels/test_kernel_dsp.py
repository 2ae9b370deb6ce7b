"""Which cores get the kernels in Arm's DSP instructions, and that all others get the plain ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.shared.built import compile_only
from lowtide.emit.runtime import kernel_files
from lowtide.machines.failures import BuildError

_ASK = b'#include "lt_fixed.h"\n#ifdef LT_DSP\n#error the DSP variant\n#endif\n'


def _has_dsp(flags: str, folder: Path) -> bool:
    header = kernel_files()["lt_fixed.h"].encode()
    try:
        compile_only({"lt_fixed.h": header, "ask.c": _ASK}, "arm-none-eabi", folder, *flags.split())
    except BuildError as error:
        assert "#error the DSP variant" in error.cause
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
    assert _has_dsp(flags, tmp_path) == dsp


@pytest.mark.parametrize(
    "flags", ["-mcpu=cortex-a7 -marm", "-mcpu=cortex-m4 -mthumb -mno-unaligned-access"]
)
def test_all_kernels_compile_without_them(flags: str, tmp_path: Path) -> None:
    files = {name: text.encode() for name, text in kernel_files().items()}
    assert compile_only(files, "arm-none-eabi", tmp_path, "-O2", *flags.split()) == ""
