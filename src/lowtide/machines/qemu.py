"""Building a bundle for a board, running it there, and measuring it.

Instructions are those of init and invoke alone, from SysTick (which counts in fixed portions) or
minstret (one by one); they are not cycles. Stack is the high-water mark of painted memory below the
harness.

A program that does not fit is linked again for a machine with the same instructions and more memory,
to tell what it would have needed, stack included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lowtide.machines.board import size_text
from lowtide.machines.emulate import Emulation, emulate, find_emulator
from lowtide.machines.failures import DoesNotFitError, Memory, ProgramError
from lowtide.machines.glue import Interface, join_samples, read_interface, split_outputs
from lowtide.machines.parts import Board
from lowtide.machines.profiled import Profiled, Unprofiled, plugin_for, read_profile, read_program
from lowtide.machines.toolchain import BoardLayout, Executable, build_for_board
from lowtide.temporary import temporary_folder

_REMEDY: Final = "choose a larger board, or a plan that needs less"
_FAULT: Final = "this is an internal error of lowtide; report it, with the model"
# Stack in bytes without which the harness itself could not work; it needs less than half of it.
_LEAST_STACK: Final = 256


@dataclass(frozen=True, slots=True)
class RamUse:
    """RAM in bytes; `bss_bytes` includes the model's instance, `stack_bytes` is of init and invoke.

    `state_bytes` are the caller's, too: what the model keeps from one invocation to the next.
    """

    arena_bytes: int
    state_bytes: int
    data_bytes: int
    bss_bytes: int
    stack_bytes: int

    @property
    def total_bytes(self) -> int:
        """All of it."""
        return (
            self.arena_bytes
            + self.state_bytes
            + self.data_bytes
            + self.bss_bytes
            + self.stack_bytes
        )


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
    """Outputs of each sample, instructions of each invoke and of init, and the memory used.

    `warnings` is what the compiler said, "" if nothing. `profile` is None if none was asked for.
    `whole` are the samples for which a program whose window slides was given all of it; of the rows of
    all samples, the one that took most instructions took `row_instructions`.
    """

    board: str
    outputs: tuple[tuple[bytes, ...], ...]
    instructions: tuple[int, ...]
    init_instructions: int
    ram: RamUse
    flash: FlashUse
    warnings: str
    profile: Profiled | Unprofiled | None = None
    whole: frozenset[int] = frozenset()
    row_instructions: int = 0

    @property
    def max_instructions(self) -> int:
        """Instructions of the invoke that took most, of those of whole windows aside; 0 without any."""
        rest = (n for i, n in enumerate(self.instructions) if i not in self.whole)
        return max(rest, default=0)

    @property
    def first_instructions(self) -> int:
        """Instructions of a whole window, of a program whose window slides; else 0."""
        return max((self.instructions[i] for i in self.whole), default=0)


@dataclass(frozen=True, slots=True)
class _Job:
    """What is to be run, wherever it runs; `timeout` is in seconds."""

    bundle: Mapping[str, bytes]
    interface: Interface
    samples: Sequence[Sequence[bytes]]
    restart: int
    timeout: float
    cached: bool
    whole: frozenset[int] = frozenset()

    def build(self, board: Board, folder: Path) -> Executable:
        find_emulator(board)  # to say what is missing before, not after, long work
        machine = board.machine
        layout = BoardLayout(
            *(machine.ram.origin, board.ram.length),
            *(machine.flash.origin, board.flash.length),
            machine.vectors,
        )
        return build_for_board(
            *(self.bundle, self.interface.name, folder, board.core.toolchain),
            *((*board.flags, board.optimise), layout),
            cached=self.cached,
        )

    def emulate(
        self, board: Board, program: Executable, folder: Path, plugin: str | None = None
    ) -> Emulation:
        inputs = join_samples(self.interface, self.samples, "little", self.restart)
        return emulate(board, program, inputs, folder, self.timeout, plugin=plugin)


@dataclass(frozen=True, slots=True)
class _Need:
    """RAM in bytes that a program needs: static, stack, and on top what the harness takes."""

    static: int
    stack: int
    harness: int

    @property
    def total(self) -> int:
        return self.static + self.stack


def run_on_board(
    board: Board,
    bundle: Mapping[str, bytes],
    name: str,
    samples: Sequence[Sequence[bytes]],
    timeout: float = 300.0,
    *,
    restart: int = 0,
    cached: bool = True,
    profile: bool = False,
    whole: frozenset[int] = frozenset(),
) -> BoardRun:
    """Build the model `name` for `board`, run it on all `samples` and measure it.

    `samples` holds each sample's inputs; `timeout` is in seconds of this computer, for all of them.
    One instance of the model runs them in their order; before sample `restart`, if it is not the first,
    that instance is reset, which is not measured.
    With `cached`, objects of sources that did not change are those of an earlier build.
    With `profile`, what was executed is counted in that same run, by node and function: in the longest
    call, of those of `whole` windows aside.
    Raises MissingToolError without compiler or emulator, DoesNotFitError if RAM (stack included) or
    flash is too small, ProgramError if the program crashes, hangs or returns a status other than 0,
    BuildError if the C is faulty.
    """
    job = _Job(bundle, read_interface(bundle, name), samples, restart, timeout, cached, whole)
    with temporary_folder() as folder:
        program = job.build(board, folder)
        ram = None
        if program.ram_overflow or program.sizes.static_ram + _LEAST_STACK > board.ram.length:
            ram = _ram_error(board, program, _measure_need(board, job))
        if program.flash_overflow:
            raise _flash_error(board, program, ram)
        if ram is not None:
            raise ram
        run, counted = _run(board, job, program, folder, profile)
    if run.stack_is_full:
        raise _ram_error(board, program, _measure_need(board, job))
    if run.failure is not None:
        # A stack that runs into other data may also show as a crash.
        need = _measure_need(board, job)
        if need is not None and need.total + need.harness > board.ram.length:
            raise _ram_error(board, program, need)
        raise ProgramError(f"on {board.name}, {run.failure}", _FAULT)
    return replace(_result(board, job, program, run), profile=counted)


def _run(
    board: Board, job: _Job, program: Executable, folder: Path, profile: bool
) -> tuple[Emulation, Profiled | Unprofiled | None]:
    """Run the program; where it cannot be profiled, without."""
    if not profile:
        return job.emulate(board, program, folder), None
    parts = read_program(folder, job.interface.name)
    every = job.whole.issuperset(range(len(job.samples)))  # then the first window is all there is
    aside = frozenset[int]() if every else job.whole
    emulator = find_emulator(board)
    plugin = plugin_for(emulator, board, parts, folder, aside=aside, cached=job.cached)
    if isinstance(plugin, Unprofiled):
        return job.emulate(board, program, folder), plugin
    run = job.emulate(board, program, folder, plugin)
    counted = read_profile(board, program.elf, parts, run.said)
    if run.failure is not None and not run.calls:  # the emulator did not even begin
        run = job.emulate(board, program, folder)
    return run, counted


def _result(board: Board, job: _Job, program: Executable, run: Emulation) -> BoardRun:
    per_tick = board.machine.instructions_per_tick
    empty = run.calls[0].ticks
    counts = [max(0, round((call.ticks - empty) * per_tick)) for call in run.calls[1:]]
    sizes = program.sizes
    return BoardRun(
        board=board.name,
        outputs=split_outputs(job.interface, run.outputs, len(job.samples)),
        instructions=tuple(counts[1:]),
        init_instructions=counts[0],
        ram=RamUse(sizes.arena, sizes.state, sizes.data, sizes.bss, run.stack),
        flash=FlashUse(sizes.code, sizes.constants, sizes.weights, sizes.data),
        warnings=program.warnings,
        whole=job.whole,
        row_instructions=round(run.row_ticks * per_tick),
    )


def _measure_need(board: Board, job: _Job) -> _Need | None:
    """What the program needs, measured where there is plenty; None if it does not run there either."""
    roomy = board.with_plenty
    job = replace(job, samples=job.samples[:1], restart=0)
    with temporary_folder() as folder:
        program = job.build(roomy, folder)
        if program.ram_overflow or program.flash_overflow:
            return None
        run = job.emulate(roomy, program, folder)
    if run.failure is not None or run.stack_is_full:
        return None
    static = program.sizes.static_ram
    above = roomy.ram.length - static - run.calls[0].room
    return _Need(static, run.stack, max(above, _LEAST_STACK - run.stack))


def _ram_error(board: Board, program: Executable, need: _Need | None) -> DoesNotFitError:
    sizes, length = program.sizes, board.ram.length
    state = f"state {sizes.state:,} B, " if sizes.state else ""
    parts = f"arena {sizes.arena:,} B, {state}data {sizes.data:,} B, bss {sizes.bss:,} B"
    if need is None:
        needed = sizes.static_ram
        missing = max(program.ram_overflow, needed - length, 1)
        parts += ", stack not measured"
    else:
        needed = need.total
        missing = needed - length
        parts += f", stack {need.stack:,} B"
        if missing <= 0:
            missing = max(missing + need.harness, 1)
            parts += f", and {need.harness:,} B for the code that measures it"
    return _does_not_fit(board, "RAM", missing, needed, length, parts)


def _flash_error(board: Board, program: Executable, ram: DoesNotFitError | None) -> DoesNotFitError:
    """Too little flash, and of `ram` too, if that says so."""
    sizes, length = program.sizes, board.flash.length
    missing = sizes.flash - length
    parts = (
        f"code {sizes.code:,} B, constants {sizes.constants:,} B, weights {sizes.weights:,} B, "
        f"data {sizes.data:,} B"
    )
    if missing <= 0:
        missing = program.flash_overflow
        parts += ", and the code that starts and measures it"
    found = _does_not_fit(board, "flash", missing, sizes.flash, length, parts)
    if ram is not None:
        found = DoesNotFitError(
            f"{found.cause}; {ram.cause.partition(': ')[2]}",
            found.remedy,
            memory="flash",
            missing_bytes=missing,
            needed_bytes=sizes.flash,
        )
    return found


def _does_not_fit(
    board: Board, memory: Memory, missing: int, needed: int, length: int, parts: str
) -> DoesNotFitError:
    there, remedy = f"the {size_text(length)} there are", _REMEDY
    has = board.ram_bytes if memory == "RAM" else board.flash_bytes
    if length < has:
        there = f"the {size_text(length)} of its emulator"
        remedy = f"for the {size_text(has)} of {board.name}, predict it: `lowtide fit MODEL`"
    return DoesNotFitError(
        f"the program does not fit {board.name}: it needs {missing:,} B more {memory} than {there} "
        f"({parts})",
        remedy,
        memory=memory,
        missing_bytes=missing,
        needed_bytes=needed,
    )
