"""Programs that crash, hang or fail on a board, and tools that are not there."""

from __future__ import annotations

from pathlib import Path

import pytest
from board_bundles import INCREMENT, bundle

from lowtide.errors import MissingToolError
from lowtide.machines.board import find_board
from lowtide.machines.failures import BuildError, ProgramError
from lowtide.machines.qemu import run_on_board

SAMPLES = [[bytes([1, 0, 0, 0])], [bytes([2, 0, 0, 0])]]
BAD_ADDRESS = "if (in[0] == 2) { *(volatile uint32_t *)0xE8000000u = 1; }" + INCREMENT


@pytest.mark.parametrize("name", ["mps2-an386", "mps3-an547", "microbit"])
def test_a_crash_on_arm_names_fault_function_and_sample(name: str) -> None:
    with pytest.raises(ProgramError) as caught:
        run_on_board(find_board(name), bundle(BAD_ADDRESS), "tiny", SAMPLES)
    assert f"on {name}, invoke of sample 1 crashed: HardFault" in caught.value.cause
    assert "in tiny_invoke (pc 0x" in caught.value.cause


@pytest.mark.parametrize("name", ["hifive1b", "esp32c3"])
def test_a_crash_on_riscv(name: str) -> None:
    with pytest.raises(ProgramError) as caught:
        run_on_board(find_board(name), bundle(BAD_ADDRESS), "tiny", SAMPLES)
    message = "invoke of sample 1 crashed: write to memory that does not exist in tiny_invoke"
    assert message in caught.value.cause
    assert caught.value.cause.endswith("address 0xe8000000")


def test_an_instruction_that_the_core_lacks() -> None:
    # The esp32c3 has no atomic instructions, the fe310 has.
    body = '__asm__ volatile(".word 0x0003202f");' + INCREMENT  # amoadd.w x0, x0, (x6)
    with pytest.raises(ProgramError, match="illegal instruction in tiny_invoke"):
        run_on_board(find_board("esp32c3"), bundle(body), "tiny", SAMPLES)


def test_a_crash_in_init() -> None:
    model = bundle(init="*(volatile uint32_t *)0xE8000000u = 1;")
    with pytest.raises(ProgramError, match="init crashed: HardFault"):
        run_on_board(find_board("mps2-an500"), model, "tiny", SAMPLES)


def test_a_status_other_than_0() -> None:
    board = find_board("mps2-an386")
    with pytest.raises(ProgramError, match="on mps2-an386, invoke of sample 1 returned 7"):
        run_on_board(board, bundle("if (in[0] == 2) { return 7; }"), "tiny", SAMPLES)
    with pytest.raises(ProgramError, match="on mps2-an386, init returned -3"):
        run_on_board(board, bundle(init="if (size > 3) { return -3; }"), "tiny", SAMPLES)


def test_a_model_without_a_buffer_for_its_input() -> None:
    model = bundle()
    source = model["tiny.c"].replace(
        b"{ return m->arena + tiny_offsets[i]; }", b"{(void)m;(void)i;return 0;}"
    )
    with pytest.raises(ProgramError, match="gave no buffer"):
        run_on_board(find_board("mps2-an386"), {**model, "tiny.c": source}, "tiny", SAMPLES)


@pytest.mark.parametrize("name", ["mps2-an386", "rv32-virt"])
def test_a_program_that_hangs_is_stopped(name: str) -> None:
    with pytest.raises(ProgramError, match=f"on {name}, the program did not end within 1 s"):
        run_on_board(find_board(name), bundle("for (;;) { }"), "tiny", SAMPLES, timeout=1)


def test_faulty_c_shows_the_compilers_first_lines() -> None:
    with pytest.raises(BuildError) as caught:
        run_on_board(find_board("mps2-an386"), bundle("no_such_variable = 1;"), "tiny", SAMPLES)
    assert caught.value.cause.startswith("the generated C does not compile:\n    bundle/tiny.c")
    assert "no_such_variable" in caught.value.cause
    with pytest.raises(BuildError, match=r"does not link:(.|\n)*no_such_function"):
        model = bundle("no_such_function();", globals_="void no_such_function(void);")
        run_on_board(find_board("mps2-an386"), model, "tiny", SAMPLES)
    with pytest.raises(BuildError, match=r"header other\.h does not define OTHER_ARENA_SIZE"):
        run_on_board(find_board("mps2-an386"), bundle(), "other", SAMPLES)


def fake_tools(folder: Path, *names: str) -> str:
    """A PATH with programs that print nothing and do nothing."""
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("board", "present", "missing", "package"),
    [
        ("microbit", [], "qemu-system-arm", "qemu-system-arm"),
        ("esp32c3", [], "qemu-system-riscv32", "qemu-system-misc"),
        ("microbit", ["qemu-system-arm"], "arm-none-eabi-gcc", "gcc-arm-none-eabi"),
        ("hifive1b", ["qemu-system-riscv32"], "riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf"),
        (
            "microbit",
            ["qemu-system-arm", "arm-none-eabi-gcc"],
            "arm-none-eabi-gcc has no C library",
            "libnewlib-arm-none-eabi",
        ),
        (
            "esp32c3",
            ["qemu-system-riscv32", "riscv64-unknown-elf-gcc"],
            "riscv64-unknown-elf-gcc has no C library",
            "picolibc-riscv64-unknown-elf",
        ),
    ],
)
def test_missing_tools_name_their_package(
    board: str,
    present: list[str],
    missing: str,
    package: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = find_board(board)
    monkeypatch.setenv("PATH", fake_tools(tmp_path, *present))
    with pytest.raises(MissingToolError) as caught:
        run_on_board(found, bundle(), "tiny", SAMPLES)
    assert caught.value.exit_code == 4
    assert missing in caught.value.cause
    assert caught.value.remedy == f"install it: sudo apt-get install {package}"
