"""Runs the command line for its tests: in this process, or installed, as a user does.

Why both: a call in this process takes milliseconds; a process of its own shows what only a process
has: streams that are closed or full, signals, and what the interpreter prints as it ends.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import remedies

from lowtide import cli
from lowtide.cli import options
from lowtide.cli.faults import FAULT
from lowtide.commands import kept

COMMAND = (sys.executable, "-m", "lowtide")


@dataclass(frozen=True)
class Result:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str
    typed: tuple[str, ...] = ()
    """What was called in this process, without `lowtide`."""

    @property
    def messages(self) -> str:
        """Standard error without the lines on progress, which a slow machine brings about."""
        return re.sub(r"^lowtide: .* \(\d+ s(; .*)?\)\n", "", self.err, flags=re.MULTILINE)


def call(*arguments: str | Path, fault: bool = False, first_wait: float = 1e6) -> Result:
    """Run `lowtide ARGUMENTS` in this process. An exception that escapes is the test's failure.

    Tests replace parts of lowtide, of which a program that was kept would know nothing. What is going on
    is told after `first_wait` seconds: never, unless it is what is tested.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    code: object = 0
    with (
        mock.patch.object(sys, "argv", ["lowtide", *map(str, arguments)]),
        mock.patch.object(kept, "user_cache", lambda: None),
        mock.patch.object(options, "FIRST_WAIT", first_wait),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            cli.main()
        except SystemExit as end:
            code = end.code
    assert isinstance(code, int)
    typed = tuple(map(str, arguments))
    return _checked(code, _text(out), _text(err), fault=fault, typed=typed)


def run(
    *arguments: str | Path,
    cwd: Path | None = None,
    stdout: int = subprocess.PIPE,
    **environment: str,
) -> Result:
    """Run `lowtide ARGUMENTS` in a process of its own, with `environment` added to ours."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        timeout=600,
        check=False,
    )
    out, err = ((part or b"").decode("utf-8", "replace") for part in (done.stdout, done.stderr))
    return _checked(done.returncode, out, err)


def refused(result: Result, code: int, cause: str, remedy: str | None = None) -> None:
    """Assert that nothing was printed but one message, with `cause` in it and a remedy; whoever follows
    the remedy is not told the same again."""
    assert result.out == ""
    first, second, *more = [*result.messages.splitlines(), "", ""]
    assert first.startswith("lowtide: ")
    assert cause in first
    assert second.startswith("  remedy: ")
    assert remedy is None or remedy in second
    assert not any(more)
    assert result.code == code
    with TemporaryDirectory() as folder:
        for number, line in enumerate(remedies.typed(result.typed, first, second)):
            again = call(*remedies.into(Path(folder, str(number)), line))
            assert first not in again.err, line


def fine(result: Result) -> str:
    """Assert success with nothing on standard error; return what was printed."""
    assert result.messages == ""
    assert result.code == 0
    return result.out


def _text(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


def _checked(
    code: int, out: str, err: str, *, fault: bool = False, typed: tuple[str, ...] = ()
) -> Result:
    """Nothing may slip through: code 5 is a failure, unless a test made the fault itself."""
    assert "Traceback" not in out + err, err
    assert fault == (code == FAULT), err
    return Result(code, out, err, typed)
