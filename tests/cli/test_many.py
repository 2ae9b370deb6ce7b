"""fit and sweep on the command line, and --mcu."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import call

from lowtide.cli import checks
from lowtide.cli.compile_options import compile_once
from lowtide.machines.mcus import find_mcu


def lowtide(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lowtide", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def test_fit_prints_and_writes(tmp_path: Path) -> None:
    done = lowtide("fit", "zoo:figure1", "--mcu", "STM32L4,rp2040", "-o", str(tmp_path / "f.csv"))
    assert done.returncode == 0, done.stderr
    assert "STM32L432KC" in done.stdout
    assert "RP2040" in done.stdout
    assert "NRF52832" not in done.stdout
    assert len((tmp_path / "f.csv").read_text().splitlines()) == 7
    shown = json.loads(lowtide("fit", "zoo:figure1", "--mcu", "RP2040", "--json").stdout)
    assert [row["way"] for row in shown["fits"]] == ["as is"]


def test_a_name_that_is_given_twice_counts_once() -> None:
    names = "RP2040,rp2040,RP"
    done = lowtide("fit", "zoo:figure1", "zoo:figure1", "--mcu", names, "--json")
    found = json.loads(done.stdout)["fits"]
    assert [row["mcu"] for row in found] == ["RP2040", "RP2350"]


def test_commands_agree_on_external_flash() -> None:
    """Even where the emulator has less."""
    (fit,) = json.loads(call("fit", "zoo:figure1", "--mcu", "RP2040", "--json").out)["fits"]
    checked = json.loads(call("check", "zoo:figure1", "--mcu", "RP2040", "--json").out)
    assert checked["limits"]["flash_bytes"] == fit["flash"] == 16 << 20
    assert checked["limits"]["ram_bytes"] == fit["ram"]
    ran = call("run", "zoo:figure1", "--mcu", "RP2040").out
    assert f" of {16 << 20:,} B\n" in ran


def test_a_network_that_cannot_be_compiled_is_told_beside_the_others(tmp_path: Path) -> None:
    (tmp_path / "bad.tflite").write_bytes(b"no model")
    done = lowtide(
        *("fit", str(tmp_path / "bad.tflite"), "zoo:figure1", "--mcu", "RP2040", "--json")
    )
    assert done.returncode == 3
    assert f"lowtide: {tmp_path / 'bad.tflite'} is not a .tflite file" in done.stderr
    shown = json.loads(done.stdout)
    assert [row["network"] for row in shown["fits"]] == ["zoo:figure1"]
    assert [row["network"] for row in shown["failed"]] == [str(tmp_path / "bad.tflite")]
    assert shown["failed"][0]["remedy"]
    assert done.stderr.count("bad.tflite") == 1


def test_fit_refuses_names_and_endings() -> None:
    done = lowtide("fit", "zoo:figure1", "--mcu", "RP2041")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "lowtide: there is no microcontroller 'RP2041'\n  remedy: did you"
    )
    done = lowtide("fit", "zoo:figure1", "-o", "table.xlsx")
    assert done.stderr == (
        "lowtide: the format of table.xlsx is unknown\n  remedy: use one of: .csv, .html, .json\n"
    )


def test_boards_lists_microcontrollers() -> None:
    shown = json.loads(lowtide("boards", "--mcus", "--json").stdout)
    assert shown["schema"] == "lowtide.mcus/1"
    assert len(shown["mcus"]) >= 60
    assert "STM32L432KC" in lowtide("boards", "--mcus").stdout


def test_a_report_is_about_the_microcontroller_that_was_named(tmp_path: Path) -> None:
    """One that nothing here emulates is predicted."""
    page = tmp_path / "report.html"
    done = lowtide("report", "zoo:figure1", "--mcu", "esp32s3", "-o", str(page))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Fits ESP32-S3 with 413 KiB of RAM to spare. ")
    assert "416 KiB: ESP32-S3" in page.read_text("utf-8")


def test_a_report_on_two_networks_says_which_is_which(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = lowtide("report", "zoo:figure1", "--compare", "zoo:lstm-gestures", "-o", str(page))
    first, second, last = done.stdout.splitlines()
    assert first.startswith("zoo:figure1: Fits ")
    assert second.startswith("zoo:lstm-gestures: Fits ")
    assert last == f"Wrote {page}."
    done = lowtide("report", "zoo:figure1", "--compare", "gone.tflite", "-o", str(page))
    assert done.stderr.startswith("lowtide: cannot read gone.tflite: ")


def test_a_board_and_a_microcontroller_exclude_each_other() -> None:
    done = lowtide("check", "zoo:figure1", "--board", "microbit", "--mcu", "RP2040")
    assert done.returncode == 2
    assert done.stderr == (
        "lowtide: --board and --mcu both choose what to run on\n  remedy: give only one of them\n"
    )
    done = lowtide("run", "zoo:figure1")
    assert done.returncode == 2
    assert done.stderr == (
        "lowtide: Missing option '--board' or '--mcu'\n  remedy: see `lowtide run --help`\n"
    )


def test_sweep_runs_on_boards_and_microcontrollers(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    done = lowtide("sweep", "zoo:figure1", "--mcu", "stm32f405rg", "-o", str(out))
    assert done.returncode == 0, done.stderr
    row = json.loads(out.read_text())
    assert (row["asked"], row["error"]) == ("run STM32F405RG", "")
    assert row["measured_ram_bytes"] > row["arena_bytes"]
    for options, cause, remedy in (
        (
            ("--board", "microbit", "--mcu", "RP2040"),
            "--board and --mcu both choose what to run on",
            "give only one of them",
        ),
        (
            ("--planned", "--mcu", "RP2040"),
            "--mcu plans each program already",
            "leave out --planned",
        ),
    ):
        done = lowtide("sweep", "zoo:figure1", *options, "-o", str(out))
        assert (done.returncode, done.stderr) == (2, f"lowtide: {cause}\n  remedy: {remedy}\n")


def test_verify_compiles_for_a_microcontroller(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def compiled(model: str, on: Any) -> Any:
        asked.append(on.target)
        return compile_once(model, on)

    monkeypatch.setattr(checks, "compile_once", compiled)
    done = call("verify", "zoo:figure1", "--mcu", "stm32f405rg")
    assert done.code == 0, done.err
    assert asked == [find_mcu("STM32F405RG").target]
    done = call("verify", "zoo:figure1", "--mcu", "RP2040", "--core", "any")
    assert done.err == (
        "lowtide: --core and --mcu both choose the core\n  remedy: give only one of them\n"
    )
