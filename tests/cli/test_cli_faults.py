"""What slips through ends in one message, exit code 5 and a report; models that made it do so before."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from command import call, refused

from lowtide.cli import faults
from lowtide.errors import FaultError
from lowtide.zoo import loading


def _broken(_: object, **__: object) -> None:
    raise KeyError("something\nin two lines")


def test_a_fault_is_one_message_and_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "load", _broken)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = call("compile", "a model.tflite", "-o", tmp_path / "out", fault=True)
    refused(result, faults.FAULT, "internal error: KeyError: 'something", str(tmp_path))
    [report] = tmp_path.iterdir()
    assert result.messages.endswith(f"report it, with the model and the file {report}\n")
    text = report.read_text()
    assert re.match(
        r"lowtide \S+, Python \S+, numpy \S+, .+\nlowtide compile 'a model.tflite' -o", text
    )
    assert "Traceback (most recent call last)" in text
    assert "in _broken" in text


def test_a_fault_that_lowtide_finds_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def contradictory(_: object, **__: object) -> None:
        raise FaultError("node 0 of the program reads row 1 before it is made")

    monkeypatch.setattr(loading, "load", contradictory)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = call("compile", "a model.tflite", "-o", tmp_path / "out", fault=True)
    [report] = tmp_path.iterdir()
    assert (result.code, result.out) == (5, "")
    assert result.messages == (
        "lowtide: internal error: node 0 of the program reads row 1 before it is made\n"
        f"  remedy: report it, with the model and the file {report}\n"
    )
    assert "in contradictory" in report.read_text()


def test_a_fault_without_a_place_for_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(loading, "load", _broken)
    monkeypatch.setattr(tempfile, "mkstemp", full)
    result = call("analyze", "model.tflite", fault=True)
    refused(result, faults.FAULT, "KeyError", "it is at test_cli_faults.py, line ")
