"""A program is refused by compilers that would make it wrong, or silently slow; computers may try it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from lowtide.commands.checking import run
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.emit.runtime import kernel_files
from lowtide.errors import UsageError
from lowtide.machines.board import find_board, find_target
from networks import compiled, model_of

ARM = "arm-none-eabi-gcc"
RISCV = ("riscv64-unknown-elf-gcc", "--specs=picolibc.specs", "-march=rv32imc", "-mabi=ilp32")


def _said(core: str, folder: Path, *command: str) -> list[str]:
    """What #error says of a program for `core`, at each line that does."""
    program = compiled("figure1", Options(name="net", target=find_target(core)))
    for name, content in program.files.items():
        (folder / name).write_bytes(content)
    flags = ["-std=c99", "-fsyntax-only", "net.c"]
    done = subprocess.run([*command, *flags], cwd=folder, capture_output=True, text=True)
    found = re.findall(r"error: #error (.*)", done.stderr)
    assert (done.returncode != 0) == bool(found), done.stderr
    return found


M55 = (
    '"generated for cortex-m55, whose kernels need Helium: compile with GCC 12 or newer, '
    '-mfloat-abi=hard (Zephyr: CONFIG_FPU=y) and -mcpu=cortex-m55; or generate it with --core any"'
)
M4 = (
    '"generated for cortex-m4, whose kernels need the DSP extension: compile with -mcpu=cortex-m4; '
    'or generate it with --core any"'
)
OTHER = '"generated for {}: for this core, generate it with --core any"'


@pytest.mark.parametrize(
    ("core", "command", "said"),
    [
        ("cortex-m55", (ARM, "-mcpu=cortex-m55"), M55),
        ("cortex-m55", (ARM, "-mcpu=cortex-m55+nomve", "-mfloat-abi=hard"), M55),
        ("cortex-m55", (ARM, "-mcpu=cortex-m55", "-mfloat-abi=hard"), None),
        ("cortex-m55", (ARM, "-mcpu=cortex-m4"), M55),
        ("cortex-m55", RISCV, M55),
        ("cortex-m55", ("gcc",), None),
        ("cortex-m4", (ARM, "-mcpu=cortex-m4"), None),
        ("cortex-m4", (ARM, "-mcpu=cortex-m33"), None),
        ("cortex-m4", (ARM, "-mcpu=cortex-m4", "-mno-unaligned-access"), M4),
        ("cortex-m4", (ARM, "-mcpu=cortex-m0"), M4),
        ("cortex-m4", (ARM,), M4),
        ("cortex-m4", RISCV, M4),
        ("cortex-m4", ("gcc",), None),
        ("cortex-m4", (ARM, "-mcpu=cortex-m55", "-mfloat-abi=hard"), OTHER.format("cortex-m4")),
        ("cortex-m3", (ARM, "-mcpu=cortex-m4"), OTHER.format("cortex-m3")),
        ("cortex-m3", (ARM, "-mcpu=cortex-m0"), None),
        ("rv32imc", RISCV, None),
        ("any", (ARM, "-mcpu=cortex-m55"), None),
    ],
)
def test_its_kernels_are_compiled_in_or_nothing_is(
    core: str, command: tuple[str, ...], said: str | None, tmp_path: Path
) -> None:
    assert _said(core, tmp_path, *command) == ([] if said is None else [said])


def test_a_program_is_not_run_on_a_core_without_its_kernels() -> None:
    program = compile_model(model_of("figure1"), Options(target=find_target("cortex-m4")))
    with pytest.raises(
        UsageError, match="the program is for cortex-m4, but microbit has a cortex-m0"
    ):
        run(program, find_board("microbit"))


def test_an_int_of_16_bits_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lowtide.h").write_text(kernel_files()["lowtide.h"])
    (tmp_path / "a.c").write_text('#include "lowtide.h"\n')
    small = ["-U__INT_MAX__", "-D__INT_MAX__=0x7fff"]
    command = ["gcc", "-std=c99", "-ffreestanding", "-fsyntax-only", *small, "a.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "C needs an int of 32 bits, which this core (such as AVR or MSP430)" in done.stderr


@pytest.mark.parametrize("source", ["lt_conv_2x2.c", "lt_softmax.c", "lt_pool.c", "lowtide.c"])
def test_arduino_compiles_it_for_speed(source: str, tmp_path: Path) -> None:
    """Whatever it says: -Os. What differs is how functions and loops are aligned."""
    for name, text in kernel_files().items():
        (tmp_path / name).write_text(text)

    def size(*flags: str) -> int:
        core = ["-mcpu=cortex-m4", "-mthumb", "-std=c99"]
        subprocess.run([ARM, *core, *flags, "-c", source, "-o", "a.o"], cwd=tmp_path, check=True)
        told = subprocess.run(
            ["arm-none-eabi-size", "a.o"], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return int(told.stdout.splitlines()[1].split()[0])

    small, quick = size("-Os"), size("-O2")
    assert size("-Os", "-DARDUINO=10607") - small > 0.6 * (quick - small) > 0
