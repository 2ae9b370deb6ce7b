"""Running a bundle on an emulated board, and measuring it there.

Instructions are counted under `-icount shift=0`, where one instruction takes one nanosecond of the
machine's clock: SysTick then counts instructions in fixed portions, minstret one by one. They are
repeatable, and they are not cycles. Stack is the high-water mark of painted memory below the harness.

A program that does not fit is linked again for a machine with the same instructions and more memory,
to tell what it would have needed, stack included.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lowtide.run.board import Board, size_text
from lowtide.run.failures import BuildError, DoesNotFitError, ProgramError
from lowtide.run.faults import fault_text
from lowtide.run.glue import join_samples, read_interface, split_outputs
from lowtide.run.linkmap import Sizes
from lowtide.run.toolchain import (
    EMULATORS,
    BoardLayout,
    Executable,
    build_for_board,
    find_program,
)

_FLAGS: Final = (
    *("-icount", "shift=0,sleep=off", "-semihosting-config", "enable=on,target=native"),
    *("-nographic", "-monitor", "none", "-serial", "none"),
)
_REMEDY: Final = "choose a larger board, or a plan that needs less"
_FAULT: Final = "report this as a fault of lowtide"
_SHOWN_LINES: Final = 6


@dataclass(frozen=True, slots=True)
class RamUse:
    """RAM in bytes; `bss_bytes` includes the model's instance, `stack_bytes` is of init and invoke."""

    arena_bytes: int
    data_bytes: int
    bss_bytes: int
    stack_bytes: int

    @property
    def total_bytes(self) -> int:
        """All of it."""
        return self.arena_bytes + self.data_bytes + self.bss_bytes + self.stack_bytes


@dataclass(frozen=True, slots=True)
class FlashUse:
    """Flash in bytes; `data_bytes` is the image from which .data is copied at start-up."""

    code_bytes: int
    constant_bytes: int
    weights_bytes: int
    data_bytes: int

    @property
    def total_bytes(self) -> int:
        """All of it."""
        return self.code_bytes + self.constant_bytes + self.weights_bytes + self.data_bytes


@dataclass(frozen=True, slots=True)
class BoardRun:
    """Outputs of each sample, instructions of each invoke and of init, and the memory used."""

    board: str
    outputs: tuple[tuple[bytes, ...], ...]
    instructions: tuple[int, ...]
    init_instructions: int
    ram: RamUse
    flash: FlashUse
    warnings: str

    @property
    def max_instructions(self) -> int:
        """Instructions of the invoke that took most; 0 without samples."""
        return max(self.instructions, default=0)


@dataclass(frozen=True, slots=True)
class _Call:
    """One measured call: ticks, status, stack used and stack there was, in bytes."""

    ticks: int
    status: int
    stack: int
    room: int


@dataclass(frozen=True, slots=True)
class _Emulation:
    """What the guest reported: calls of an empty function, init, invoke...; and how it ended."""

    calls: tuple[_Call, ...]
    outputs: bytes
    failure: str | None

    @property
    def stack(self) -> int:
        """The deepest stack of init and invoke."""
        return max((call.stack for call in self.calls[1:]), default=0)

    @property
    def stack_is_full(self) -> bool:
        """The stack reached, or passed, what lies below it."""
        return any(call.stack >= call.room for call in self.calls)


def run_on_board(
    board: Board,
    bundle: Mapping[str, bytes],
    name: str,
    samples: Sequence[Sequence[bytes]],
    timeout: float = 300.0,
) -> BoardRun:
    """Build the model `name` for `board`, run it on all `samples` and measure it.

    `samples` holds each sample's inputs; `timeout` is in seconds of this computer, for all of them.
    Raises MissingToolError without compiler or emulator, DoesNotFitError if RAM (stack included) or
    flash is too small, ProgramError if the program crashes, hangs or returns a status other than 0,
    BuildError if the C is faulty.
    """
    with tempfile.TemporaryDirectory(prefix="lowtide-") as folder:
        program = _build(board, bundle, name, Path(folder))
        if program.flash_overflow:
            raise _flash_error(board, program)
        if program.ram_overflow:
            raise _ram_error(board, bundle, name, samples, timeout, program)
        run = _emulate(board, bundle, name, Path(folder), samples, program, timeout)
    if run.stack_is_full:
        raise _ram_error(board, bundle, name, samples, timeout, program)
    if run.failure is not None:
        # A stack that runs into other data may also show as a crash.
        needed = _needed_ram(board, bundle, name, samples, timeout)
        if needed is not None and sum(needed) > board.ram.length:
            raise _ram_error(board, bundle, name, samples, timeout, program)
        raise ProgramError(f"on {board.name}, {run.failure}", _FAULT)
    return _result(board, bundle, name, len(samples), program, run)


def _build(board: Board, bundle: Mapping[str, bytes], name: str, folder: Path) -> Executable:
    find_program(board.machine.emulator, EMULATORS[board.machine.emulator])
    layout = BoardLayout(
        board.machine.ram.origin,
        board.ram.length,
        board.machine.flash.origin,
        board.flash.length,
        board.machine.vectors,
    )
    flags = (*board.flags, board.optimise)
    return build_for_board(bundle, name, folder, board.core.toolchain, flags, layout)


def _emulate(
    board: Board,
    bundle: Mapping[str, bytes],
    name: str,
    folder: Path,
    samples: Sequence[Sequence[bytes]],
    program: Executable,
    timeout: float,
) -> _Emulation:
    emulator = find_program(board.machine.emulator, EMULATORS[board.machine.emulator])
    interface = read_interface(bundle, name)
    (folder / "inputs.bin").write_bytes(join_samples(interface, samples, "little"))
    outputs = folder / "outputs.bin"
    try:
        done = subprocess.run(
            [emulator, *board.machine.args, *_FLAGS, "-kernel", program.elf],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ProgramError(
            f"on {board.name}, the program did not end within {timeout:g} s",
            "allow it more time, or run fewer samples",
        ) from None
    failure = None
    reports = re.findall(r"^lowtide: (\w+) ([0-9a-f]+)$", done.stderr, re.MULTILINE)
    calls = _calls(reports)
    if done.returncode != 0:
        failure = _failure(board, calls, reports, program.sizes, done.stderr)
    return _Emulation(calls, outputs.read_bytes() if outputs.exists() else b"", failure)


def _calls(reports: Sequence[tuple[str, str]]) -> tuple[_Call, ...]:
    """The measured calls: the harness reports ticks, stack, room and status of each, in this order."""
    values = [(key, int(value, 16)) for key, value in reports]
    calls = []
    for at, (key, ticks) in enumerate(values):
        if key == "ticks" and len(values) >= at + 4:
            stack, room, status = (_signed(value) for _, value in values[at + 1 : at + 4])
            calls.append(_Call(ticks, status, stack, room))
    return tuple(calls)


def _signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value


def _failure(
    board: Board,
    calls: Sequence[_Call],
    reports: Sequence[tuple[str, str]],
    sizes: Sizes,
    stderr: str,
) -> str:
    """Why the emulation ended badly."""
    found = {key: int(value, 16) for key, value in reports}
    if "fault" in found:
        where = "init" if len(calls) < 2 else f"invoke of sample {len(calls) - 2}"
        is_arm = board.core.toolchain.startswith("arm")
        return f"{where} crashed: {fault_text(is_arm, found, sizes)}"
    if calls and calls[-1].status != 0:
        where = "init" if len(calls) == 2 else f"invoke of sample {len(calls) - 3}"
        return f"{where} returned {calls[-1].status}"
    if "notransfer" in found:
        return "the model gave no buffer for an input or output"
    lines = [line for line in stderr.splitlines() if not line.startswith("lowtide: ")]
    return "the emulator stopped:\n" + "\n".join(f"    {line}" for line in lines[:_SHOWN_LINES])


def _result(
    board: Board,
    bundle: Mapping[str, bytes],
    name: str,
    samples: int,
    program: Executable,
    run: _Emulation,
) -> BoardRun:
    per_tick = board.machine.instructions_per_tick
    empty = run.calls[0].ticks
    counts = [max(0, round((call.ticks - empty) * per_tick)) for call in run.calls[1:]]
    if len(counts) != samples + 1:
        raise BuildError(f"{len(counts)} measurements of {samples} samples", _FAULT)
    sizes = program.sizes
    return BoardRun(
        board=board.name,
        outputs=split_outputs(read_interface(bundle, name), run.outputs, samples),
        instructions=tuple(counts[1:]),
        init_instructions=counts[0],
        ram=RamUse(sizes.arena, sizes.data, sizes.bss, run.stack),
        flash=FlashUse(sizes.code, sizes.constants, sizes.weights, sizes.data),
        warnings=program.warnings,
    )


def _needed_ram(
    board: Board,
    bundle: Mapping[str, bytes],
    name: str,
    samples: Sequence[Sequence[bytes]],
    timeout: float,
) -> tuple[int, int, int] | None:
    """Static bytes, stack bytes and the harness's own, measured where there is plenty of RAM.

    None if the program does not run there either.
    """
    roomy = replace(board, machine=board.roomy, ram=board.roomy.ram, flash=board.roomy.flash)
    with tempfile.TemporaryDirectory(prefix="lowtide-") as folder:
        program = _build(roomy, bundle, name, Path(folder))
        if program.ram_overflow or program.flash_overflow:
            return None
        run = _emulate(roomy, bundle, name, Path(folder), samples, program, timeout)
    if run.failure is not None or run.stack_is_full:
        return None
    static = program.sizes.static_ram
    return static, run.stack, roomy.ram.length - static - run.calls[0].room


def _ram_error(
    board: Board,
    bundle: Mapping[str, bytes],
    name: str,
    samples: Sequence[Sequence[bytes]],
    timeout: float,
    program: Executable,
) -> DoesNotFitError:
    sizes, length = program.sizes, board.ram.length
    parts = f"arena {sizes.arena:,} B, data {sizes.data:,} B, bss {sizes.bss:,} B"
    measured = _needed_ram(board, bundle, name, samples[:1], timeout)
    if measured is None:
        needed = sizes.static_ram
        missing = max(program.ram_overflow, needed - length, 1)
        parts += ", stack not measured"
    else:
        static, stack, harness = measured
        needed = static + stack
        missing = needed - length
        parts += f", stack {stack:,} B"
        if missing <= 0:
            missing = max(missing + harness, 1)
            parts += f", and {harness:,} B for the code that measures it"
    return DoesNotFitError(
        f"the program does not fit {board.name}: it needs {missing:,} B more RAM than the "
        f"{size_text(length)} there are ({parts})",
        _REMEDY,
        memory="RAM",
        missing_bytes=missing,
        needed_bytes=needed,
    )


def _flash_error(board: Board, program: Executable) -> DoesNotFitError:
    sizes, length = program.sizes, board.flash.length
    missing = sizes.flash - length
    parts = (
        f"code {sizes.code:,} B, constants {sizes.constants:,} B, weights {sizes.weights:,} B, "
        f"data {sizes.data:,} B"
    )
    if missing <= 0:
        missing = program.flash_overflow
        parts += ", and the code that measures it"
    return DoesNotFitError(
        f"the program does not fit {board.name}: it needs {missing:,} B more flash than the "
        f"{size_text(length)} there are ({parts})",
        _REMEDY,
        memory="flash",
        missing_bytes=missing,
        needed_bytes=sizes.flash,
    )
