"""Board files: what lowtide brings, what users add, and errors that name the key."""

from __future__ import annotations

from pathlib import Path

import pytest
from board_bundles import INCREMENT, bundle

from lowtide.errors import UsageError
from lowtide.machines.board import board_rows, boards_document, find_board, load_boards
from lowtide.machines.parts import Region
from lowtide.machines.qemu import run_on_board

MINE = """
[board.mine]
description = "My board"
core = "cortex-m4"
machine = "mps2-an386"
ram = { origin = 0x20000000, length = "64K" }
flash = { origin = 0x08000000, length = "512K" }
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_the_boards_that_the_documentation_promises() -> None:
    parts = {name: (b.core.name, b.ram.length, b.flash.length) for name, b in load_boards().items()}
    assert parts == {
        "mps2-an385": ("cortex-m3", 4 << 20, 4 << 20),
        "mps2-an386": ("cortex-m4", 4 << 20, 4 << 20),
        "mps2-an500": ("cortex-m7", 4 << 20, 4 << 20),
        "mps2-an505": ("cortex-m33", 4 << 20, 4095 << 10),
        "mps3-an547": ("cortex-m55", 4 << 20, 2 << 20),
        "microbit": ("cortex-m0", 16 << 10, 256 << 10),
        "netduinoplus2": ("cortex-m4", 128 << 10, 1 << 20),
        "nucleo-f767zi": ("cortex-m7", 512 << 10, 2 << 20),
        "stm32f746g-disco": ("cortex-m7", 320 << 10, 1 << 20),
        "nucleo-f412zg": ("cortex-m4", 256 << 10, 1 << 20),
        "hifive1b": ("rv32imac", 16 << 10, 4032 << 10),
        "esp32c3": ("rv32imc", 384 << 10, 4 << 20),
        "rv32-virt": ("rv32imac", 8 << 20, 16 << 20),
    }


def test_ticks_stand_for_the_right_number_of_instructions() -> None:
    ratios = {n: float(b.machine.instructions_per_tick) for n, b in load_boards().items()}
    assert ratios["mps2-an386"] == ratios["mps2-an500"] == ratios["mps2-an385"] == 40
    assert ratios["mps3-an547"] == 31.25
    assert ratios["microbit"] == 62.5
    assert ratios["netduinoplus2"] == pytest.approx(1000 / 168)
    assert ratios["hifive1b"] == ratios["esp32c3"] == 1


def test_a_users_board_runs(tmp_path: Path) -> None:
    board = find_board("mine", write(tmp_path, MINE + 'flags = ["-DNDEBUG"]\noptimise = "-O3"\n'))
    assert board.ram == Region(0x20000000, 65536)
    assert board.flags[-1] == "-DNDEBUG"
    assert board.optimise == "-O3"
    run = run_on_board(board, bundle(INCREMENT, arena=60_000), "tiny", [[b"\1\1\1\1"]])
    assert run.outputs == ((b"\2\2\2\2",),)
    assert run.board == "mine"


def test_lists_for_people_and_programs(tmp_path: Path) -> None:
    boards = load_boards(write(tmp_path, MINE))
    row = ("mine", "cortex-m4", "64 KiB", "512 KiB", "mps2-an386", "My board")
    assert board_rows(boards)[-1] == row
    document = boards_document(boards)
    assert document["schema"] == "lowtide.boards/1"
    assert document["boards"][-1]["ram"] == {"origin": 0x20000000, "length": 65536}
    assert document["boards"][-1]["emulator"] == "qemu-system-arm -M mps2-an386"


def test_an_unknown_board_gets_suggestions() -> None:
    with pytest.raises(UsageError) as caught:
        find_board("nucleo-f746zg")
    assert caught.value.cause == "there is no board 'nucleo-f746zg'"
    assert caught.value.remedy.startswith("did you mean nucleo-f767zi or nucleo-f412zg?")
    with pytest.raises(UsageError, match="`lowtide boards` lists all"):
        find_board("xyz")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("length", "lenght", "[board.mine] needs 'ram', as { origin = 0x20000000, length"),
        ('"64K"', '"64X"', "[board.mine.ram] has the invalid size length = '64X': use bytes, or a"),
        (
            '"64K"',
            '"64KB"',
            "[board.mine.ram] has the invalid size length = '64KB': use bytes, or a string",
        ),
        ('"64K"', "0", "[board.mine.ram] has the invalid size length = 0"),
        ('"64K"', "true", "[board.mine.ram] has the invalid size length = True"),
        ('"64K"', '"5M"', "has 5,242,880 bytes of ram, but its machine mps2-an386 has 4,194,304"),
        ("0x20000000", "-1", "[board.mine.ram] needs 'origin', an integer from 0 to 0xffffffff"),
        ("0x20000000", "0xfffffff0", "[board.mine.ram] ends beyond 4 GiB"),
        ("0x20000000", "0x20000004", "has the origin 0x20000004, which is not a multiple of 16"),
        ('"My board"', "1", "[board.mine] needs 'description', a string"),
        ('"cortex-m4"', '"cortex-m9"', "has core = 'cortex-m9'; known: cortex-m0, cortex-m3"),
        ('"cortex-m4"', '"cortex-m7"', "has the core cortex-m7, but its machine mps2-an386 runs"),
        ('"mps2-an386"', '"mps9"', "has machine = 'mps9'; known: mps2-an385"),
        (
            "description",
            "clock = 1\ndescription",
            "[board.mine] has the unknown key 'clock'; known",
        ),
        ("[board.mine]", "[board.microbit]", "is already defined in boards.toml: choose another"),
        ("[board.mine]", "[boards.mine]", "unknown key 'boards'; known: [core.NAME]"),
        ("[board.mine]", "board = 1\n[a]", "unknown key 'board'; known"),
        ("core =", 'flags = "-O2"\ncore =', "[board.mine] needs 'flags', a list of strings"),
        (
            "core =",
            "multiply_cycles = 2\ncore =",
            "has multiply_cycles = 2: a Cortex-M0's are 1 or 32",
        ),
        ("core =", 'optimise = "-O9"\ncore =', "has optimise = '-O9'; known: -O2, -O3, -Os"),
        ("[board", "[board", ""),
        ("[board.mine]", "[board.mine", "is not TOML"),
    ],
)
def test_errors_name_file_table_and_key(old: str, new: str, problem: str, tmp_path: Path) -> None:
    path = write(tmp_path, MINE.replace(old, new, 1))
    if not problem:
        assert "mine" in load_boards(path)
        return
    with pytest.raises(UsageError) as caught:
        load_boards(path)
    assert problem in caught.value.cause
    assert str(path) in caught.value.cause


MACHINE = """
[machine.m]
emulator = "qemu-system-arm"
args = []
cores = ["cortex-m4"]
ram = { origin = 0, length = 16 }
flash = { origin = 0, length = 16 }
counter = "systick"
hz = 1
"""


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("hz = 1", "", "[machine.m] needs 'hz'"),
        ("hz = 1", "hz = 0", "[machine.m] needs 'hz'"),
        ('"systick"', '"clock"', "has counter = 'clock'; known: systick, minstret"),
        ('"cortex-m4"', '"z80"', "has the unknown core 'z80'"),
        ("hz = 1", 'hz = 1\nroomy = "n"', "has roomy = 'n'; known: mps2-an385"),
        ('"qemu-system-arm"', '"qemu-system-avr"', "known: qemu-system-arm, qemu-system-riscv32"),
    ],
)
def test_errors_in_machines(old: str, new: str, problem: str, tmp_path: Path) -> None:
    assert load_boards(write(tmp_path, MACHINE)) == load_boards()
    with pytest.raises(UsageError) as caught:
        load_boards(write(tmp_path, MACHINE.replace(old, new)))
    assert problem in caught.value.cause


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 5000 + "]" * 5000, f'"{"9" * 5000}K"'])
def test_values_beyond_all_measure(value: str, tmp_path: Path) -> None:
    file = tmp_path / "boards.toml"
    text = f"[board.mine]\nram = {{ origin = 0x20000000, length = {value} }}\n"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        load_boards(file)
    assert caught.value.exit_code == 2


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file or directory"):
        load_boards(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot read the board file"):
        load_boards(tmp_path / "binary.toml")
