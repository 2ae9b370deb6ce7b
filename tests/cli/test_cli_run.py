"""`lowtide run` and `lowtide boards`: what fits is measured, what does not is told by how much."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from command import call, fine, refused, run

from lowtide.machines.board import load_boards
from lowtide.zoo import loading
from networks import contents, loaded


def _board_file(folder: Path, ram: int, flash: int) -> Path:
    """A user's board called `mine`, with so many bytes."""
    path = folder / "boards.toml"
    path.write_text(
        '[board.mine]\ndescription = "my own"\ncore = "cortex-m4"\nmachine = "mps2-an386"\n'
        f"ram = {{ origin = 0x20000000, length = {ram} }}\n"
        f"flash = {{ origin = 0x08000000, length = {flash} }}\n"
    )
    return path


def _run_json(*flags: str | Path) -> dict[str, object]:
    document = json.loads(fine(call("run", "zoo:figure1", "--json", *flags)))
    assert isinstance(document, dict)
    return document


def test_the_json_document_is_the_one_that_was_agreed() -> None:
    document = _run_json("--board", "mps2-an386")
    ram, flash = document["ram"], document["flash"]
    assert isinstance(ram, dict)
    assert isinstance(flash, dict)
    assert set(document) >= {"schema", "model", "board", "bit_exact", "samples", "ram", "flash"}
    assert set(document) - {"engine", "rounding"} == {
        *("schema", "model", "board", "bit_exact", "samples", "ram", "flash"),
        *("instructions", "macs", "seed", "state", "simplified"),
        *("instructions_predicted", "cost_model"),
    }
    assert (document["seed"], document["state"]) == (1, None)
    assert document["schema"] == "lowtide.run/1"
    assert (document["model"], document["board"]) == ("zoo:figure1", "mps2-an386")
    assert (document["bit_exact"], document["samples"]) == (True, 2)
    assert document["macs"] == 254_464
    parts = ["arena_bytes", "state_bytes", "data_bytes", "bss_bytes", "stack_bytes"]
    assert list(ram) == [*parts, "total_bytes"]
    assert ram["total_bytes"] == sum(ram[part] for part in parts)
    parts = ["code_bytes", "constant_bytes", "weights_bytes"]
    assert list(flash) == [*parts, "total_bytes"]
    assert flash["total_bytes"] >= sum(flash[part] for part in parts)
    for value in (*ram.values(), *flash.values(), document["instructions"]):
        assert type(value) is int
        assert value >= 0
    assert _run_json("--board", "mps2-an386") == document


def test_the_table_has_the_same_figures() -> None:
    document = _run_json("--board", "hifive1b", "--samples", "1")
    text = fine(call("run", "zoo:figure1", "--board", "hifive1b", "--samples", "1"))
    head, _, *lines = text.splitlines()
    assert head.startswith("zoo:figure1 on hifive1b (rv32imac), emulated; outputs bit-exact to ")
    table = dict(re.split(r"  +", line, maxsplit=1) for line in lines if "  " in line)
    ram, flash = document["ram"], document["flash"]
    assert isinstance(ram, dict)
    assert isinstance(flash, dict)
    assert table["arena"] == f"{ram['arena_bytes']:,} B"
    assert table["RAM in all"] == f"{ram['total_bytes']:,} B of 16,384 B"
    assert table["code"] == f"{flash['code_bytes']:,} B"
    assert table["flash in all"] == f"{flash['total_bytes']:,} B of 4,128,768 B"
    assert table["instructions of one inference"] == f"{document['instructions']:,}"
    assert table["MACs"] == "254,464"


def test_options_change_what_is_measured() -> None:
    """An input of 1,568 bytes that lies elsewhere, or whose memory nobody else may use."""
    const = _run_json("--board", "mps2-an386", "--input", "const")["ram"]
    kept = _run_json("--board", "mps2-an386", "--preserve-input")["ram"]
    whole = _run_json("--board", "mps2-an386", "--schedule", "operators")["ram"]
    assert isinstance(const, dict)
    assert isinstance(kept, dict)
    assert isinstance(whole, dict)
    assert kept["arena_bytes"] - const["arena_bytes"] == 1568
    assert kept["arena_bytes"] < whole["arena_bytes"]


def test_streamed_rows_on_a_board() -> None:
    """Neither the input, of 1,568 bytes, nor the output is in RAM as a whole."""
    flags = ("--board", "mps2-an386", "--input", "streamed", "--output", "streamed")
    streamed, resident = _run_json(*flags), _run_json("--board", "mps2-an386")
    assert streamed["bit_exact"] is True
    assert isinstance(streamed["ram"], dict)
    assert isinstance(resident["ram"], dict)
    assert streamed["ram"]["arena_bytes"] < resident["ram"]["arena_bytes"]


@pytest.mark.parametrize("part", ["RAM", "flash"])
def test_a_board_that_is_too_small_by_so_many_bytes(part: str, tmp_path: Path) -> None:
    sizes = {"RAM": 2048, "flash": 65_536} if part == "RAM" else {"RAM": 65_536, "flash": 8192}
    flags = ("run", "zoo:figure1", "--board", "mine", "--board-file")
    result = call(*flags, _board_file(tmp_path, sizes["RAM"], sizes["flash"]))
    refused(result, 1, "the program does not fit mine: it needs ", "use --mcu ")
    found = re.search(r"needs ([0-9,]+) B more (RAM|flash) than the \d+ KiB there are", result.err)
    assert found is not None
    assert found[2] == part
    missing = int(found[1].replace(",", ""))
    parts = re.findall(r"\w+ ([0-9,]+) B[,)]", result.err.partition("there are (")[2])
    assert sum(int(size.replace(",", "")) for size in parts) == sizes[part] + missing

    # It fits where there is that much more, and a little for the code that measures it.
    sizes[part] += missing + 2048
    fine(call(*flags, _board_file(tmp_path, sizes["RAM"], sizes["flash"])))


def test_a_real_part_that_is_too_small() -> None:
    result = call("run", "zoo:resnet8", "--board", "microbit", "--schedule", "operators")
    refused(result, 1, "B more RAM than the 16 KiB there are (arena ", "use --mcu ")
    result = call("run", "zoo:mbv2-w0.35-144-chain", "--board", "microbit", "--json")
    refused(result, 1, "B more flash than the 256 KiB there are (code ", "use --mcu ")


def test_outputs_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle runs another model: its output's zero point is the same, its weights are not."""
    model = loaded("figure1")
    source = contents("figure1")
    weights = max((t.data or b"" for t in model.graph.tensors), key=len)
    at = source.index(weights)
    changed = source[:at] + bytes(x ^ 0x55 for x in weights) + source[at + len(weights) :]
    other = replace(model, path="zoo:figure1", source=changed)
    monkeypatch.setattr(loading, "load", lambda _, **__: other)
    result = call("run", "zoo:figure1", "--board", "mps2-an386")
    assert result.code == 1
    assert "outputs differ from TensorFlow Lite Micro: tensor " in result.out
    assert result.messages == (
        "lowtide: zoo:figure1: the outputs on mps2-an386 differ from those of the reference kernels\n"
        "  remedy: find the first operator that differs with `lowtide verify`\n"
    )
    result = call("run", "zoo:figure1", "--board", "mps2-an386", "--json")
    assert result.code == 1
    assert json.loads(result.out)["bit_exact"] is False


def test_wrong_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_it = ("run", "zoo:figure1")
    refused(call(*run_it), 2, "Missing option '--board'", "`lowtide run --help`")
    refused(call(*run_it, "--board", "mps2-an38"), 2, "no board 'mps2-an38'", "did you mean")
    refused(call(*run_it, "--board", "zzz"), 2, "no board 'zzz'", "`lowtide boards` lists all")
    missing = call(*run_it, "--board", "mine", "--board-file", "none.toml")
    refused(missing, 2, "cannot read the board file none.toml", "a readable TOML file")
    refused(
        call(*run_it, "--board", "microbit", "--align", "3"),
        2,
        "--align cannot be 3",
        "power of two",
    )
    refused(call(*run_it, "--board", "microbit", "--name", "3"), 2, "'3' cannot be", "m_3")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("board", "present", "missing", "package"),
    [
        ("mps2-an386", (), "qemu-system-arm", "qemu-system-arm"),
        ("esp32c3", (), "qemu-system-riscv32", "qemu-system-misc"),
        ("microbit", ("qemu-system-arm",), "arm-none-eabi-gcc", "gcc-arm-none-eabi"),
        (
            *("hifive1b", ("qemu-system-riscv32",)),
            *("riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf"),
        ),
    ],
)
def test_missing_tools_are_named_with_their_package(
    board: str,
    present: tuple[str, ...],
    missing: str,
    package: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in present:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    result = call("run", "zoo:figure1", "--board", board)
    refused(result, 4, f"{missing} is not installed", f"sudo apt-get install {package}")


def test_a_missing_emulator_as_a_process() -> None:
    result = run("run", "zoo:figure1", "--board", "mps2-an386", PATH="")
    refused(result, 4, "qemu-system-arm", "sudo apt-get install qemu-system-arm")


def test_boards_lists_all(tmp_path: Path) -> None:
    text = fine(call("boards"))
    for name, board in load_boards().items():
        assert re.search(rf"^{name} +{board.core.name} ", text, re.MULTILINE)
    document = json.loads(fine(call("boards", "--json")))
    assert document["schema"] == "lowtide.boards/1"
    assert [board["name"] for board in document["boards"]] == list(load_boards())
    assert {
        *("mps2-an385", "mps2-an386", "mps2-an500", "mps3-an547", "microbit", "netduinoplus2"),
        *("nucleo-f767zi", "stm32f746g-disco", "nucleo-f412zg", "hifive1b", "esp32c3"),
    } <= set(load_boards())

    file = _board_file(tmp_path, 4096, 8192)
    assert re.search(
        r"^mine +cortex-m4 +4 KiB +8 KiB ", fine(call("boards", "--board-file", file)), re.M
    )
    mine = json.loads(fine(call("boards", "--json", "--board-file", file)))["boards"][-1]
    assert mine["ram"] == {"origin": 0x20000000, "length": 4096}
    file.write_text("nonsense")
    refused(call("boards", "--board-file", file), 2, str(file))
