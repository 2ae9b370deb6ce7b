"""Standard output, standard error and signals: data on the one, all else on the other, no traceback.

Why processes: what happens to a closed pipe or a full disk shows only when the interpreter ends.
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command import COMMAND, call, fine, refused, run

from lowtide.cli import options
from lowtide.commands import reordering
from lowtide.effort import Budget, watched
from networks import contents

LOUD = [
    ("--version",),
    ("-h",),
    ("zoo",),
    ("zoo", "--json"),
    ("analyze", "zoo:figure1"),
    ("analyze", "zoo:figure1", "--json"),
    ("analyze", "zoo:mbv2-w0.35-144", "--json"),
]
loud = pytest.mark.parametrize("arguments", LOUD, ids=" ".join)


@loud
def test_a_closed_pipe_is_no_error(arguments: tuple[str, ...]) -> None:
    """As in `lowtide zoo | head -1`, where head has seen enough."""
    read, write = os.pipe()
    os.close(read)
    try:
        result = run(*arguments, stdout=write)
    finally:
        os.close(write)
    assert (result.code, result.messages) == (0, "")


def test_a_pipe_closed_after_the_first_line() -> None:
    with subprocess.Popen(
        [*COMMAND, "analyze", "zoo:mbv2-w0.35-144"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "Steps in the file's order\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


@pytest.mark.parametrize("arguments", LOUD[:5], ids=" ".join)
def test_a_full_disk_behind_standard_output(arguments: tuple[str, ...]) -> None:
    """What was asked for did not come out: that is an error, and no traceback."""
    with Path("/dev/full").open("wb") as full:
        refused(run(*arguments, stdout=full.fileno()), 2, "No space left on device")


def test_messages_go_to_standard_error_alone() -> None:
    refused(run("analyze", "zoo:figur1"), 2, "no network named 'figur1'", "figure1")
    refused(run("analyze", "none.tflite", "--json"), 3, "cannot read none.tflite")


def test_progress_goes_to_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is going on is said while it goes on: the command waits until it was."""
    quick = reordering.analyze

    def slow(*arguments: Any, **more: Any) -> Any:
        assert isinstance(sys.stderr, io.TextIOWrapper)
        assert isinstance(sys.stderr.buffer, io.BytesIO)
        while not sys.stderr.buffer.getvalue().endswith(b"\n"):
            time.sleep(0.01)
        return quick(*arguments, **more)

    monkeypatch.setattr(reordering, "analyze", slow)
    monkeypatch.setattr(options, "NEXT_WAIT", 1e6)
    result = call("analyze", "zoo:figure1", "--json", first_wait=0.01)
    assert json.loads(result.out)["peak_bytes"] == 5216
    assert re.fullmatch(r"lowtide: searching for the best order \(\d+ s\)\n", result.err)
    assert result.code == 0


class _Terminal(io.StringIO):
    """A standard error that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_stands_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line takes the place of the one before, and nothing is left of the last."""
    shown = _Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(options, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(options, "IN_PLACE_WAIT", 0.01)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    with options.progress("planning") as tell:
        search = Budget(100)
        search.spend(25)
        tell("looking at all stages, of which there are more than fit a line")
        while "all stages" not in shown.getvalue():
            time.sleep(0.01)
    first, *lines = shown.getvalue().split("\r\x1b[K")
    assert first == lines[-1] == ""
    assert all(line.startswith("lowtide: planning") and len(line) < 60 for line in lines[:-1])
    assert "\n" not in shown.getvalue()


def test_a_dumb_terminal_is_told_as_a_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = _Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(options, "FIRST_WAIT", 0.002)
    monkeypatch.setenv("TERM", "dumb")
    with options.progress("planning"):
        while not shown.getvalue():
            time.sleep(0.01)
    assert re.fullmatch(r"lowtide: planning \(\d+ s\)\n", shown.getvalue())


def test_what_is_left_is_estimated_by_the_effort_that_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    far = options.Far()
    assert far.text() == ""
    with watched(far.begun):
        search = Budget(1000)
        now[0] += 10
        assert far.text() == ""
        search.spend(250)
        assert far.text() == "; 25% of this search's effort, at most 30 s more"
        search.spend(900)
        assert far.text() == ""
        Budget(500).spend(250)
        now[0] += 2
        assert far.text() == "; 50% of this search's effort, at most 2 s more"
    Budget(10).spend(1)
    assert "50%" in far.text()


def test_an_interrupt(tmp_path: Path) -> None:
    """The model is a pipe that nothing is written to, so that the command waits for it.

    A shell starts what runs in its background with interrupts ignored, and so would this process the
    command; it gets them back first.
    """
    model = tmp_path / "model"
    os.mkfifo(model)
    with (
        subprocess.Popen(
            [*COMMAND, "analyze", str(model)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process,
        model.open("wb"),
    ):  # opens when the command does
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=600)
    assert (process.returncode, out, err.strip()) == (130, "", "lowtide: interrupted")


@pytest.mark.parametrize("flags", [(), ("--json",)])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
@pytest.mark.parametrize("name", ["m\u00e9\u4e2d.tflite".encode(), b"m\xff.tflite"])
def test_a_name_the_terminal_cannot_show(
    name: bytes, encoding: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))).write_bytes(contents("figure1"))
    result = run("analyze", os.fsdecode(name), *flags, cwd=tmp_path, PYTHONIOENCODING=encoding)
    text = fine(result)
    assert "7 operators" in text or json.loads(text)["peak_bytes"] == 5216


def test_the_console_script_is_the_module() -> None:
    script = Path(sys.executable).with_name("lowtide")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == fine(call("--version"))


@pytest.mark.parametrize("arguments", [("analyze", "none.tflite"), ("zoo",), ("ops", "--bogus")])
def test_where_messages_go_does_not_change_the_exit_code(arguments: tuple[str, ...]) -> None:
    """Standard error closed before lowtide starts, full, or a pipe that nobody reads."""
    usual = run(*arguments)
    read, write = os.pipe()
    os.close(read)
    with Path("/dev/full").open("wb") as full:
        for messages in (None, full.fileno(), write):
            done = subprocess.run(
                [*COMMAND, *arguments],
                stdout=subprocess.PIPE,
                stderr=messages,
                preexec_fn=(lambda: os.close(2)) if messages is None else None,
                env=dict(os.environ),  # without what a library may have set: COLUMNS
                check=False,
                timeout=600,
            )
            assert (done.returncode, done.stdout.decode()) == (usual.code, usual.out)
    os.close(write)


def test_a_standard_output_that_was_closed() -> None:
    """An error, as on a full disk; and the first file that is opened is not taken for it."""
    done = subprocess.run(
        [*COMMAND, "analyze", "zoo:figure1"],
        stderr=subprocess.PIPE,
        preexec_fn=lambda: os.close(1),
        check=False,
        timeout=600,
    )
    expected = b"lowtide: cannot write the result: Bad file descriptor\n"
    assert (done.returncode, done.stderr.startswith(expected)) == (2, True)
