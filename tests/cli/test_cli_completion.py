"""Completion in the shells themselves: what stands on the line after a press of TAB, or would.

Why not only what lowtide answers: a shell that does not take what `lowtide completion` prints shows
nothing, and says nothing.
"""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CASES = [
    ("lowtide rep", "report"),
    ("lowtide compile zoo:bran", "zoo:branchy-cell"),
    ("lowtide run x --board microb", "microbit"),
    ("lowtide run x --mcu RP20", "RP2040"),
    ("lowtide verify x --mcu RP20", "RP2040"),
    ("lowtide sweep x --mcu RP20", "RP2040"),
    ("lowtide compile x --core cortex-m5", "cortex-m55"),
    ("lowtide plan x --input s", "streamed"),
    ("lowtide plan x --max-o", "--max-overhead"),
]

_PATIENCE = 600
"""Seconds after which a shell that says nothing more is given up."""


def shell(name: str) -> str:
    """Where the shell is; tools/setup.sh installs those that are missing."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """`lowtide` on the path: this checkout's, run by this Python."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "lowtide"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lowtide "$@"\n')
    script.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(folder), "TERM": "dumb"}


@pytest.mark.parametrize(("line", "wanted"), CASES)
def test_fish(line: str, wanted: str, environment: dict[str, str]) -> None:
    script = f"lowtide completion fish | source; complete -C '{line}'"
    done = _run([shell("fish"), "--no-config", "-c", script], environment)
    assert wanted in [found.split("\t")[0] for found in done.splitlines()]


_ZSHRC = """\
autoload -U compinit; compinit -u -D
eval "$(lowtide completion zsh)"
PS1='ready> '
"""
_BASHRC = """\
bind 'set bell-style none'; bind 'set enable-bracketed-paste off'
eval "$(lowtide completion bash)"
PS1='ready> '
"""


@pytest.mark.parametrize("name", ["bash", "zsh"])
@pytest.mark.parametrize(("line", "wanted"), CASES)
def test_typed_with_a_tab_behind_it(
    name: str, line: str, wanted: str, environment: dict[str, str], tmp_path: Path
) -> None:
    """bash parts words at ":", zsh does not; either way the line is completed."""
    (tmp_path / ".zshrc").write_text(_ZSHRC)
    (tmp_path / "bashrc").write_text(_BASHRC)
    program = shell(name)
    flags = ["--noprofile", "--rcfile", str(tmp_path / "bashrc")] if name == "bash" else []
    child, terminal = pty.fork()
    if child == 0:
        where = {**environment, "ZDOTDIR": str(tmp_path), "COLUMNS": "200"}
        os.execve(program, [program, *flags, "-i"], where)
    try:
        _until(terminal, "ready> ")
        os.write(terminal, f"{line}\t".encode())
        _until(terminal, f"{line.rpartition(' ')[0]} {wanted}")
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


def _run(words: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=_PATIENCE, check=False
    )
    assert done.stderr == ""
    return done.stdout


def _until(terminal: int, wanted: str) -> str:
    """What the shell prints until it has printed `wanted`."""
    shown = ""
    while wanted not in shown:
        ready, _, _ = select.select([terminal], [], [], _PATIENCE)
        assert ready, f"nothing more than {shown!r}"
        shown += os.read(terminal, 4096).decode(errors="replace")
    return shown
