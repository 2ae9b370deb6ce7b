"""Compiling without running, and reading the linker's map."""

from __future__ import annotations

from pathlib import Path

import pytest
from board_bundles import INCREMENT, bundle

from bench.shared.built import compile_only
from lowtide.errors import MissingToolError
from lowtide.machines.failures import BuildError
from lowtide.machines.linkmap import read_map
from lowtide.machines.toolchain import build_host

MAP = """
Discarded input sections

 .text.unused   0x00000000       0x40 bundle/tiny.o

Linker script and memory map

.vectors        0x00000000       0x40
 .harness_vectors
                0x00000000       0x40 harness/start_arm.o

.text           0x00000040      0x400
 *(.text .text.*)
 .text.start    0x00000040       0x10 harness/start_arm.o
                0x00000040                _start
 .text.tiny_invoke
                0x00000050       0x1e bundle/tiny.o
                0x00000050                tiny_invoke
 *fill*         0x0000006e        0x2
 .text          0x00000070       0x20 /usr/lib/libc.a(memcpy.o)
 .rodata.tiny_weights_conv
                0x00000090      0x100 bundle/tiny.o
 .rodata.lt_weights.x
                0x00000190       0x10 bundle/more file.o
 .srodata.small
                0x000001a0        0x8 bundle/tiny.o
 .rodata.str1.1
                0x000001a8        0x5 bundle/tiny.o
                                  0x9 (size before relaxing)
 .rodata.names  0x000001b0       0x10 harness/main_board.o

.arena          0x20000000       0x80
 .arena         0x20000000       0x80 harness/main_board.o

.data           0x20000080        0x8 load address 0x00000200
 .data.counted  0x20000080        0x6 bundle/tiny.o

.bss            0x20000088       0x2c
 .bss.harness_model
                0x20000088       0x14 harness/main_board.o
 .bss.harness_wraps
                0x2000009c        0x4 harness/start_arm.o
 .bss.empty     0x200000a0        0x0 bundle/tiny.o
 COMMON         0x200000a0        0x8 bundle/tiny.o

.debug_info     0x00000000     0x1000
 .debug_info    0x00000000     0x1000 bundle/tiny.o
"""


def test_a_map_is_counted_by_kind_and_owner() -> None:
    sizes = read_map(MAP, "tiny")
    assert (sizes.arena, sizes.data, sizes.bss) == (0x80, 6, 0x14 + 8)
    assert (sizes.code, sizes.constants, sizes.weights) == (0x1E + 0x22, 8 + 5, 0x110)
    assert sizes.static_ram == 0x80 + 6 + 0x1C
    assert sizes.flash == 0x40 + 13 + 0x110 + 6
    assert sizes.function_at(0x51) == "tiny_invoke"
    assert sizes.function_at(0x6E) == "?"


TOOLCHAINS = [
    ("host", "-O2"),
    ("arm-none-eabi", "-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"),
    ("riscv64-unknown-elf", "-march=rv32imc", "-mabi=ilp32"),
    ("xtensa-lx106-elf", "-O2"),
]


@pytest.mark.parametrize("toolchain", TOOLCHAINS, ids=lambda toolchain: toolchain[0])
def test_compiling_alone_returns_the_warnings(toolchain: tuple[str, ...], tmp_path: Path) -> None:
    name, *flags = toolchain
    body = "float x = expf((float)in[0]); memcpy(out, in, 4); out[0] = (uint8_t)x;"
    clean = bundle(body, globals_="#include <math.h>")
    assert compile_only(clean, name, tmp_path, *flags) == ""
    (tmp_path / "again").mkdir()
    unclean = bundle("int unused; int wide = in[0] << 4; out[0] = wide;" + INCREMENT)
    warnings = compile_only(unclean, name, tmp_path / "again", *flags)
    assert "-Wunused-variable" in warnings
    assert "-Wconversion" in warnings


_MANY_WARNINGS = "".join(f"int unused_{i};" for i in range(20))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("out[0] = no_such_thing;", "error: 'no_such_thing' undeclared"),
        ("extern int elsewhere(void); out[0] = (uint8_t)elsewhere();", "undefined reference to"),
    ],
)
def test_the_error_is_shown_before_warnings(
    body: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    with pytest.raises(BuildError) as caught:
        build_host(bundle(_MANY_WARNINGS + body), "tiny", tmp_path, [])
    assert words in caught.value.cause.splitlines()[1]


@pytest.mark.parametrize("toolchain", TOOLCHAINS, ids=lambda toolchain: toolchain[0])
@pytest.mark.parametrize(
    ("value", "words"), [("{ 70000 }", "70000"), ("{ NULL }", "without a cast")]
)
def test_a_value_in_the_wrong_field_is_no_mere_warning(
    toolchain: tuple[str, ...], value: str, words: str, tmp_path: Path
) -> None:
    name, *flags = toolchain
    table = f"static const struct {{ uint16_t rows; }} table[] = {{{value}}};"
    with pytest.raises(BuildError, match=f"(?s)error: .*{words}"):
        compile_only(
            bundle("out[0] = (uint8_t)table[0].rows;", globals_=table), name, tmp_path, *flags
        )


def test_a_missing_compiler_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    for name, package in (("host", "gcc"), ("xtensa-lx106-elf", "gcc-xtensa-lx106")):
        with pytest.raises(MissingToolError, match=f"apt-get install {package}$"):
            compile_only(bundle(), name, tmp_path)
