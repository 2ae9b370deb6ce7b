"""`lowtide run --profile`: what it shows as text, JSON and CSV; what is refused."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from command import call, fine, refused

import lowtide.machines.qemu as qemu
from lowtide.machines.profiled import Unprofiled

RUN = ("run", "zoo:figure1", "--samples", "1")


def _document(*flags: str) -> dict[str, Any]:
    document = json.loads(fine(call(*RUN, "--json", *flags)))
    assert isinstance(document, dict)
    return document


def test_the_json_document_has_the_keys_of_the_manual_page() -> None:
    document = _document("--board", "hifive1b", "--profile", "--clock", "320MHz")
    profile = document["profile"]
    span = {"least", "usual", "most"}
    assert set(profile) == {
        *(
            "instructions",
            "macs",
            "manual",
            "cycles_by_manual",
            "operators",
            "kernels",
            "functions",
            "flash",
        ),
        *("clock_hz", "milliseconds_by_manual_at_zero_wait_states"),
    }
    assert profile["flash"] is None
    assert set(profile["manual"]) == {"core", "title", "wait_states", "assumptions"}
    assert profile["manual"]["wait_states"] == 0
    assert profile["instructions"] == document["instructions"]
    assert profile["macs"] == document["macs"] == 254_464
    assert set(profile["cycles_by_manual"]) == span
    for operator in profile["operators"]:
        assert set(operator) == {
            *("operators", "type", "kernels", "instructions", "macs", "cycles_by_manual")
        }
    for kernel in profile["kernels"]:
        assert set(kernel) == {"name", "instructions", "macs", "cycles_by_manual"}
    for function in profile["functions"]:
        assert set(function) == {"name", "instructions", "cycles_by_manual"}
    assert [o["operators"] for o in profile["operators"] if o["operators"]] == [
        [n] for n in range(7)
    ]
    time = profile["milliseconds_by_manual_at_zero_wait_states"]
    assert set(time) == span
    assert time["usual"] == pytest.approx(profile["cycles_by_manual"]["usual"] / 320_000)
    assert profile["clock_hz"] == 320_000_000

    for key in ("clock_hz", "milliseconds_by_manual_at_zero_wait_states"):
        del profile[key]
    assert _document("--board", "hifive1b", "--profile") == document
    del document["profile"]
    assert _document("--board", "hifive1b") == document


def test_a_core_without_a_manual_has_no_cycles() -> None:
    profile = _document("--board", "mps3-an547", "--profile", "--clock", "1GHz")["profile"]
    assert profile["manual"] is None
    keys = {"instructions", "macs", "manual", "operators", "kernels", "functions", "flash"}
    assert set(profile) == keys
    text = fine(call(*RUN, "--board", "mps3-an547", "--profile", "--clock", "1GHz"))
    assert text.splitlines()[-2] == (
        "Cycles: not counted, because lowtide has no timing from a manual of this core. "
        "So no run time is given."
    )
    assert " ms " not in text


def test_the_text_labels_every_cycle() -> None:
    plain = fine(call(*RUN, "--board", "mps2-an386"))
    text = fine(call(*RUN, "--board", "mps2-an386", "--profile"))
    assert text.startswith(plain.rstrip("\n"))
    more = text.removeprefix(plain.rstrip("\n"))
    assert "0 CONV_2D" in more
    assert re.search(r"^lt_conv\w* +[0-9,]+ +[0-9.]+% +#+ ", more, re.MULTILINE)
    for line in (line for line in more.splitlines() if not line.startswith("  - ")):
        for match in re.finditer(r"cycles", line):
            assert f"{line[match.end() :]} ".startswith(" by the "), line
    assert re.search(
        r"^[0-9,]+ cycles by the Cortex-M4's manual, zero wait states "
        r"\(at least [0-9,]+, at most [0-9,]+\)\.$",
        more,
        re.MULTILINE,
    )
    assert " ms" not in more


def test_a_time_is_told_for_a_clock_alone() -> None:
    text = fine(call(*RUN, "--board", "mps2-an386", "--profile", "--clock", "120MHz"))
    assert re.search(
        r"^[0-9.]+ ms \([0-9.]+ to [0-9.]+\) at 120 MHz, by the Cortex-M4's manual, "
        r"at zero wait states\.$",
        text,
        re.MULTILINE,
    )


@pytest.mark.parametrize("clock", ["fast", "0MHz", "120mhz", "-1", "99GHz", "1e3"])
def test_what_is_no_clock(clock: str) -> None:
    result = call(*RUN, "--board", "mps2-an386", "--profile", "--clock", clock)
    refused(
        result, 2, f"{clock!r} is not a clock frequency", "give one such as 120MHz or 32.768kHz"
    )


@pytest.mark.parametrize(("option", "value"), [("--clock", "1MHz"), ("--csv", "tables")])
def test_options_of_a_profile_need_one(option: str, value: str, tmp_path: Path) -> None:
    given = str(tmp_path / value) if option == "--csv" else value
    result = call(*RUN, "--board", "mps2-an386", option, given)
    refused(result, 2, f"{option} needs a profile", "add --profile")


def test_tables_as_csv(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    flags = ("--board", "mps2-an386", "--profile", "--csv", str(folder))
    document = _document(*flags)
    tables = {path.name: list(csv.DictReader(path.open())) for path in folder.iterdir()}
    assert set(tables) == {"operators.csv", "kernels.csv", "functions.csv"}
    profile = document["profile"]
    for name, rows in tables.items():
        for of in ("instructions", "cycles_by_manual_zero_wait_states_usual"):
            total = sum(int(row[of]) for row in rows)
            key = profile["instructions"], profile["cycles_by_manual"]["usual"]
            assert total == key[of != "instructions"], name
    assert tables["operators.csv"][0]["type"] == "CONV_2D"


def test_a_file_is_no_folder_for_tables(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    result = call(*RUN, "--board", "mps2-an386", "--profile", "--csv", str(path))
    refused(result, 2, f"cannot make the folder {path}: it is a file", "name a folder")


def test_without_a_plugin_the_rest_is_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expected = _document("--board", "mps2-an386")
    monkeypatch.setattr(qemu, "plugin_for", lambda *_, **__: Unprofiled("there is none"))
    tables = tmp_path / "tables"
    flags = ("--board", "mps2-an386", "--profile", "--csv", str(tables))
    text = fine(call(*RUN, *flags))
    assert text.splitlines()[-1] == "No profile: there is none."
    assert _document(*flags) == expected | {"profile": None, "profile_missing": "there is none"}
    assert not tables.exists()
