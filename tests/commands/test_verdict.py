"""Verdicts: figures against limits and baselines, what they are called, and how they are written."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

import pytest

from lowtide.cli.advice import remedy_of_check
from lowtide.commands import verdict
from lowtide.commands.options import Options
from lowtide.commands.verdict import Figures, Limits, Verdict, check
from lowtide.errors import MissingToolError, UsageError
from lowtide.machines.board import find_board, find_target
from lowtide.report.verdict import failures, verdict_document, verdict_junit, verdict_text
from networks import compiled

BOARD = find_board("mps2-an386")


@pytest.mark.parametrize("network", ["figure1", "ds-cnn-kws"])
def test_what_is_predicted_is_near_what_is_measured(network: str) -> None:
    """RAM and flash are a little too much rather than too little: stack and code are assumed."""
    program = compiled(network, Options(target=BOARD.core.target))
    measured = check(program, BOARD, Limits()).figures
    guess = verdict.predicted(program)
    assert measured.measured and measured.bit_exact and not guess.measured
    assert 0 <= guess.ram_bytes - measured.ram_bytes < 1024
    assert 0 <= guess.flash_bytes / measured.flash_bytes - 1 < 0.35
    assert measured.instructions is not None and guess.instructions is not None
    assert abs(guess.instructions / measured.instructions - 1) < 0.25


def test_the_limit_itself_fits_and_a_byte_less_does_not() -> None:
    program = compiled("figure1")
    figures = verdict.predicted(program)
    assert figures.instructions is not None
    exact = Limits(figures.ram_bytes, figures.flash_bytes, figures.instructions)
    assert check(program, None, exact).passed
    for name in verdict.NAMES:
        less = exact.of(name)
        assert less is not None
        found = check(program, None, replace(exact, **{name: less - 1}))
        assert not found.passed
        assert [f.name for f in found.findings if f.over > 0] == [name]
        assert [f.over for f in found.findings if f.over > 0] == [1]


def test_a_boards_memory_is_a_limit() -> None:
    program = compiled("figure1", Options(target=BOARD.core.target))
    small = replace(BOARD, ram=replace(BOARD.ram, length=1024))
    found = check(program, small, Limits(ram_bytes=1 << 20))
    assert [(f.name, f.most) for f in found.findings if f.over > 0] == [("ram_bytes", 1024)]


def test_without_its_tools_a_board_is_predicted_and_called_so() -> None:
    program = compiled("figure1", Options(target=BOARD.core.target))
    missing = MissingToolError("qemu-system-arm is not installed", "install it")
    with mock.patch.object(verdict, "run", side_effect=missing):
        found = check(program, BOARD, Limits())
    assert not found.figures.measured
    assert "predicted for mps2-an386, not measured: qemu-system-arm is not installed" in (
        verdict_text(found)
    )
    assert verdict_document(found)["why_predicted"] == "qemu-system-arm is not installed"


def test_wrong_outputs_fail() -> None:
    figures = Figures(1, 1, 1, "b", measured=True, bit_exact=False)
    found = Verdict(compiled("figure1"), figures, Limits(), None, ())
    assert not found.passed
    assert failures(found) == "the outputs differ from the reference kernels'"
    assert "The outputs differ" in verdict_text(found)
    (case,) = ElementTree.fromstring(verdict_junit(found)).iter("testcase")
    assert case.get("name") == "outputs" and case.find("failure") is not None


def _stored(folder: Path, **changes: object) -> Path:
    document = verdict_document(check(compiled("figure1"), None, Limits()))
    path = folder / "baseline.json"
    path.write_text(json.dumps({**document, **changes}))
    return path


@pytest.mark.parametrize(
    ("before", "tolerance", "passes"),
    [
        (100, "0", True),
        (99, "0", False),
        (99, "1/99", True),
        (98, "2/100", False),
        (99, "2/100", True),
    ],
)
def test_a_baseline_and_its_tolerance(
    before: int, tolerance: str, passes: bool, tmp_path: Path
) -> None:
    path = _stored(tmp_path, ram_bytes=before, flash_bytes=10**9, instructions=None)
    figures = replace(verdict.predicted(compiled("figure1")), ram_bytes=100)
    with mock.patch.object(verdict, "predicted", return_value=figures):
        found = check(compiled("figure1"), None, Limits(), (path, Fraction(tolerance)))
    assert found.passed == passes
    assert [f.by for f in found.findings] == ["baseline", "baseline"]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (None, "cannot read the baseline {}: No such file or directory"),
        ("{", "the baseline {} is not a JSON document"),
        ("[" * 100_000, "the baseline {} is not a JSON document"),
        ("[]", "`lowtide check` did not write the baseline {}"),
        ('{"schema": "lowtide.run/1"}', "`lowtide check` did not write the baseline {}"),
        ('{"schema": "lowtide.check/1", "ram_bytes": true}', "the baseline {} lacks figures"),
    ],
)
def test_baselines_that_cannot_be_read(text: str | None, cause: str, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError) as caught:
        check(compiled("figure1"), None, Limits(), (path, Fraction(0)))
    assert caught.value.cause == cause.format(path)
    assert caught.value.remedy == "make one: `lowtide check MODEL -o FILE`"


@pytest.mark.parametrize("changes", [{"measured": True}, {"where": "cortex-m0"}])
def test_measured_and_predicted_are_not_compared(
    changes: dict[str, object], tmp_path: Path
) -> None:
    path = _stored(tmp_path, **changes)
    how = "measured on cortex-m4" if "measured" in changes else "predicted for cortex-m0"
    with pytest.raises(UsageError) as caught:
        check(compiled("figure1"), None, Limits(), (path, Fraction(0)))
    assert caught.value.cause == (
        f"the baseline {path} was {how}, but this check is predicted for cortex-m4 (no board is given)"
    )


@pytest.mark.parametrize("options", [None, "none"])
def test_a_baseline_that_does_not_say_its_options(options: object, tmp_path: Path) -> None:
    """As those of earlier versions."""
    path = _stored(tmp_path, options=options)
    with pytest.raises(UsageError, match="does not say with which options it was made") as caught:
        check(compiled("figure1"), None, Limits(), (path, Fraction(0)))
    assert caught.value.remedy.startswith("make a new baseline in the same way: ")


@pytest.mark.parametrize("folder", ["/elsewhere/", "C:\\nets\\", ""])
def test_a_baseline_is_of_the_same_network_wherever_its_file_lies(
    folder: str, tmp_path: Path
) -> None:
    program = compiled("figure1")
    moved = replace(program, model=replace(program.model, path="here/net.tflite"))
    path = _stored(tmp_path, model=f"{folder}net.tflite")
    assert check(moved, None, Limits(), (path, Fraction(0))).passed
    other = _stored(tmp_path, model=f"{folder}net2.tflite")
    with pytest.raises(UsageError, match="but this check is of here"):
        check(moved, None, Limits(), (other, Fraction(0)))


def test_what_limits_settle_is_not_compared() -> None:
    """Of how many tensors a window keeps rows may change with the network."""
    limited = replace(compiled("figure1"), options=Options(hop=1, keep=2, max_ram="9K"))
    assert verdict.options_of(limited) == ["--input", "streamed", "--hop", "1", "--max-ram", "9216"]
    free = replace(limited, options=Options(hop=1, keep=2, name="net"))
    assert verdict.options_of(free) == ["--input", "streamed", "--hop", "1", "--keep", "2"]


def test_wrong_outputs_have_a_remedy_of_their_own() -> None:
    figures = Figures(1, 1, 1, "b", measured=True, bit_exact=False)
    found = Verdict(compiled("figure1"), figures, Limits(), None, ())
    assert remedy_of_check(found, "") == (
        "find the first operator that differs with `lowtide verify`"
    )


def test_nothing_is_planned_for_a_core_without_a_model() -> None:
    unknown = replace(find_target("cortex-m4"), core="z80", priced_as="z80")
    with pytest.raises(UsageError, match="there is no cost model of the core 'z80'"):
        compiled("figure1", Options(target=unknown))


def test_junit_is_of_the_form_that_servers_read() -> None:
    """What Jenkins' schema (junit-10.xsd) asks for: names, counts that are right, failures inside."""
    found = check(compiled("figure1"), None, Limits(1, 1 << 30, 1))
    root = ElementTree.fromstring(verdict_junit(found))
    assert root.tag == "testsuites"
    (suite,) = root
    cases = suite.findall("testcase")
    failed = suite.findall("testcase/failure")
    assert {key: suite.get(key) for key in ("name", "tests", "failures", "errors")} == {
        "name": "lowtide check",
        "tests": str(len(cases)),
        "failures": str(len(failed)),
        "errors": "0",
    }
    assert [case.get("name") for case in cases] == [
        "RAM in all, limit",
        "flash in all, limit",
        "instructions of one inference, limit",
    ]
    assert [case.get("classname") for case in cases] == ["figure1"] * 3
    assert len(failed) == 2
    message = failed[0].get("message") or ""
    assert message.startswith("RAM in all: ") and message.endswith(" B too much")
    assert {p.get("name") for p in suite.iter("property")} == {"predicted for", *verdict.NAMES}
