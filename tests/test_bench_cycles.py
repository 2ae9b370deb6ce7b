"""The bench of real cycles, without the RTL: its image, its counts, its models, and what it needs."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from bench.cycles import __main__ as bench
from bench.cycles.emulated import Linked, Modelled, behind_caches, link, modelled, read_counts
from bench.cycles.image import image
from bench.cycles.measured import Measured, row_of
from bench.cycles.rtl import Call, find_rtl, read_calls
from bench.cycles.variants import CACHED, GROUPS, MIN, XIP, CacheShape, Case
from bench.shared.outside import ROOT
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.errors import MissingToolError, UsageError
from lowtide.machines.executed import Span
from lowtide.machines.finding import find_compiler
from lowtide.machines.profiled import PLUGIN_SOURCES
from lowtide.machines.toolchain import WARNINGS
from lowtide.oracle.samples import sample_inputs
from lowtide.zoo.loading import load

ORIGIN = 0x2000_0000
HARNESS = (
    *(0x01F01013, 0x00100073, 0x40705013, 0x00008067),  # the marked ebreak, and ret
    *(0xB82027F3, 0xB0202773, 0xB82026F3),  # csrr of minstreth, minstret, minstreth
)
OTHERS = (0xB0202773, 0x12345678)  # a counter that the harness does not read, and data


def _words(*words: int) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)


def test_the_image_asks_by_memory() -> None:
    flash = _words(*OTHERS, *HARNESS)
    begin = ORIGIN + 4 * len(OTHERS)
    made = image(flash, ORIGIN, [range(begin, begin + 4 * len(HARNESS))], flushes=True)
    words = [int.from_bytes(made[at : at + 4], "little") for at in range(0, len(made), 4)]
    assert len(made) == 128  # what is added begins on a line of its own
    assert words[:2] == list(OTHERS)
    assert words[2] == 0x0380006F  # j by 0x38: from 0x08 to 0x40
    assert words[3:6] == list(HARNESS[1:4])
    # lw a5, -12(x0); lw a4, -16(x0); lw a3, -12(x0)
    assert words[6:9] == [0xFF402783, 0xFF002703, 0xFF402683]
    assert words[16:21] == [0xFEB02C23, 0xFEA02E23, 0xFFC02503, 0x0000500F, 0x00008067]
    other = image(flash, ORIGIN, [range(begin, begin + 4 * len(HARNESS))], flushes=False)
    assert (other[:76], other[80:]) == (made[:76], made[80:])
    assert other[76:80] == _words(0x0FF0000F)  # fence: nothing is to be emptied


@pytest.mark.parametrize(
    ("harness", "why"),
    [
        (HARNESS[1:], "0 calls of the host and 3 counters"),
        (HARNESS[:4] * 2, "2 calls of the host and 0 counters"),
        (HARNESS[:4], "1 calls of the host and 0 counters"),
    ],
)
def test_a_harness_of_another_form(harness: tuple[int, ...], why: str) -> None:
    flash = _words(*harness)
    with pytest.raises(ValueError, match=why):
        image(flash, ORIGIN, [range(ORIGIN, ORIGIN + len(flash))], flushes=True)


def test_what_the_simulation_says() -> None:
    assert read_calls(["call 46 16 8 0 0 0 0", "call 90 32 16 5 3 0 2"]) == (
        Call(46, 16, 8, 0, 0, 0, 0),
        Call(90, 32, 16, 5, 3, 0, 2),
    )
    assert read_calls(["call 90 32 16 5 3 0 2"])[0].misses == 19
    with pytest.raises(ValueError, match="the simulation said"):
        read_calls(["call 46 16"])


def test_what_the_plugin_says() -> None:
    assert read_counts("call 1 2 30 4 50 6\n") == (3, 10)
    with pytest.raises(ValueError, match="the plugin wrote"):
        read_counts("call 1 2 30 4 50 6\ncall 1 2 30 4 50 6\n")


def test_cycles_with_this_flash() -> None:
    counted = Modelled(Span(90, 100, 120), refills=3, misses=5)
    assert counted.cycles(CACHED, 2) == Span(90 + 46, 100 + 46, 120 + 46)
    assert counted.cycles(MIN, 8) == Span(90 + 40, 100 + 40, 120 + 40)


def _measured(cycles: int, misses: int = 100, *, exact: bool = True) -> Measured:
    calls = tuple(Call(n + 46, 0, misses, 0, 0, 0, 0) for n in (cycles, cycles + 10))
    counted = (Modelled(Span.of(1000), 0, 100), Modelled(Span.of(1010), 0, 100))
    return Measured(Case("zoo:x", CACHED, 0), calls, 46, counted, exact)


def test_rows_are_judged() -> None:
    good = _measured(1000)
    assert (good.error, good.miss_error) == (0, 0)
    assert good.between_inputs == pytest.approx(0.01)
    assert row_of(good).status == "OK"
    assert row_of(good).record is not None
    assert row_of(_measured(960)).status == "OK"
    assert row_of(_measured(940)).status == "MISSED"
    assert row_of(_measured(1060)).status == "MISSED"
    assert row_of(_measured(1000, misses=107)).status == "MISSED"
    wrong = row_of(_measured(1000, exact=False))
    assert (wrong.status, wrong.record) == ("MISSED", None)


def test_all_cases_are_in_one_group_each() -> None:
    cases = [case for of_group in GROUPS.values() for case in of_group]
    assert len(set(cases)) == len(cases) == (2 * 3 + 2) * 3


def test_both_plugins_model_the_same_cache(tmp_path: Path) -> None:
    """Without caches of its own, all that the core reads reaches the flash's."""
    linked, sample = _tiny(tmp_path)
    counted = modelled(linked, sample)
    assert behind_caches(linked, sample) == (0, counted.misses)
    assert counted.misses > 0


def test_the_plugin_compiles_without_warnings() -> None:
    done = subprocess.run(
        [
            *find_compiler("host"),
            *("-std=c99", "-D_POSIX_C_SOURCE=200809L", "-fsyntax-only", *WARNINGS, "-Werror"),
            f"-I{PLUGIN_SOURCES}",
            ROOT / "bench" / "cycles" / "caches.c",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_a_core_caches_is_read_once(tmp_path: Path) -> None:
    """Its caches hold all: each line of theirs in flash comes once, in four lines of the flash's."""
    linked, sample = _tiny(tmp_path)
    large = replace(linked, variant=replace(MIN, own=CacheShape(1 << 20, 1, 4 * XIP.line_bytes)))
    refills, misses = behind_caches(large, sample)
    assert misses % 4 == 0
    assert 0 < misses // 4 < refills  # the others are of RAM


def _tiny(folder: Path) -> tuple[Linked, list[bytes]]:
    """A program for the smallest core, and an input."""
    compiled = compile_model(load("zoo:streaming-voice-activity"), Options(target=MIN.board.target))
    (given,) = sample_inputs(compiled.model, 1)
    return link(compiled, MIN, folder), [given[t].tobytes() for t in compiled.graph.inputs]


def test_what_is_missing_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert bench.main(["--only", "cached"]) == 4
    assert capsys.readouterr().err == (
        "bench/run cycles: Verilator and the Python package pythondata-cpu-vexriscv are not installed\n"
        "  remedy: sudo apt-get install verilator; pip install pythondata-cpu-vexriscv "
        "(for another Python, say where it is with --rtl)\n"
    )


def test_one_of_both_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(
        MissingToolError, match=r"^the Python package pythondata-cpu-vexriscv is not"
    ):
        find_rtl(None)
    with pytest.raises(UsageError, match=r"^there is no VexRiscv\.v in"):
        find_rtl(tmp_path)
    (tmp_path / "VexRiscv.v").touch()
    assert find_rtl(tmp_path) == tmp_path
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(MissingToolError, match=r"^Verilator is not installed"):
        find_rtl(tmp_path)
