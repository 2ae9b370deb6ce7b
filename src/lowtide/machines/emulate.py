"""Running a linked program under QEMU and reading what its harness reports.

`-icount shift=0` makes one instruction take one nanosecond of the machine's clock, so that counts are
repeatable; files go through semihosting, relative to the folder that the emulator runs in.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lowtide.machines.failures import ProgramError
from lowtide.machines.faults import fault_text
from lowtide.machines.finding import EMULATORS, find_program
from lowtide.machines.linkmap import Sizes
from lowtide.machines.parts import Board
from lowtide.machines.toolchain import Executable

_FLAGS: Final = (
    *("-icount", "shift=0,sleep=off", "-semihosting-config", "enable=on,target=native"),
    *("-nographic", "-monitor", "none", "-serial", "none"),
)
_SHOWN_LINES: Final = 6


@dataclass(frozen=True, slots=True)
class Call:
    """One measured call: ticks, status, stack used and stack there was, in bytes."""

    ticks: int
    status: int
    stack: int
    room: int


@dataclass(frozen=True, slots=True)
class Emulation:
    """What the guest reported: calls of an empty function, init, invoke...; and how it failed.

    `outputs` is the content of the file that the harness writes, `said` what the emulator itself said;
    `row_ticks` of a window that slides is the most from one row to the next, or to what it makes.
    """

    calls: tuple[Call, ...]
    outputs: bytes
    failure: str | None
    said: tuple[str, ...] = ()
    row_ticks: int = 0

    @property
    def stack(self) -> int:
        """The deepest stack of init and invoke, in bytes."""
        return max((call.stack for call in self.calls[1:]), default=0)

    @property
    def stack_is_full(self) -> bool:
        """Whether the stack reached, or passed, what lies below it."""
        return any(call.stack >= call.room for call in self.calls)


def find_emulator(board: Board) -> str:
    """The path of the board's emulator. Raises MissingToolError, saying how to install it."""
    return find_program(board.machine.emulator, EMULATORS[board.machine.emulator])


def emulate(
    board: Board,
    program: Executable,
    inputs: bytes,
    folder: Path,
    timeout: float,
    *,
    plugin: str | None = None,
) -> Emulation:
    """Run `program` in `folder` with the input file `inputs`; `timeout` is in seconds.

    A `plugin` of the emulator, with its arguments, is loaded. A program that fails is a result; raises
    ProgramError only if it does not end in time.
    """
    more = () if plugin is None else ("-plugin", plugin)
    (folder / "inputs.bin").write_bytes(inputs)
    outputs = folder / "outputs.bin"
    try:
        done = subprocess.run(
            [find_emulator(board), *board.machine.args, *_FLAGS, *more, "-kernel", program.elf],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ProgramError(
            f"on {board.name}, the program did not end within {timeout:g} s",
            "allow more time, or run fewer samples",
        ) from None
    failure = None
    reports = re.findall(r"^lowtide: (\w+) ([0-9a-f]+)$", done.stderr, re.MULTILINE)
    calls = _calls(reports)
    if done.returncode != 0:
        failure = _failure(board, calls, reports, program.sizes, done.stderr)
    said = tuple(_others(done.stderr))
    row_ticks = next((int(value, 16) for key, value in reports if key == "row"), 0)
    made = outputs.read_bytes() if outputs.exists() else b""
    return Emulation(calls, made, failure, said, row_ticks)


def _calls(reports: Sequence[tuple[str, str]]) -> tuple[Call, ...]:
    """The measured calls: the harness reports ticks, stack, room and status of each, in this order."""
    values = [(key, int(value, 16)) for key, value in reports]
    calls = []
    for at, (key, ticks) in enumerate(values):
        if key == "ticks" and len(values) >= at + 4:
            stack, room, status = (_signed(value) for _, value in values[at + 1 : at + 4])
            calls.append(Call(ticks, status, stack, room))
    return tuple(calls)


def _signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value


def _failure(
    board: Board,
    calls: Sequence[Call],
    reports: Sequence[tuple[str, str]],
    sizes: Sizes,
    stderr: str,
) -> str:
    """Why the emulation ended badly; calls[0] is of the empty function, calls[1] of init."""
    found = {key: int(value, 16) for key, value in reports}
    if "fault" in found:
        is_arm = board.core.toolchain.startswith("arm")
        return f"{_what(len(calls))} crashed: {fault_text(is_arm, found, sizes)}"
    if calls and calls[-1].status != 0:
        return f"{_what(len(calls) - 1)} returned {calls[-1].status}"
    if "notransfer" in found:
        return "the model gave no buffer for an input or output"
    shown = "".join(f"\n    {line}" for line in _others(stderr)[:_SHOWN_LINES])
    return f"{_what(len(calls))} stopped the emulator:{shown}"


def _others(stderr: str) -> list[str]:
    """What stands there beside the harness's reports."""
    return [line for line in stderr.splitlines() if not line.startswith("lowtide: ")]


def _what(call: int) -> str:
    return "init" if call < 2 else f"invoke of sample {call - 2}"
