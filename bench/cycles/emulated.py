"""The same program under QEMU: cycles by the core's manual, and what models of its caches miss."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bench.cycles.image import image
from bench.cycles.variants import XIP, Variant
from lowtide.commands.compiling import Compiled
from lowtide.machines.emulate import Emulation, emulate, find_emulator
from lowtide.machines.executed import NOTHING, Span
from lowtide.machines.failures import ProgramError
from lowtide.machines.finding import find_compiler
from lowtide.machines.flash import Cache, Flash
from lowtide.machines.glue import Interface, join_samples, read_interface
from lowtide.machines.parts import Board
from lowtide.machines.profiled import (
    PLUGIN_SOURCES,
    Program,
    Unprofiled,
    plugin_for,
    plugin_version,
    read_profile,
    read_program,
)
from lowtide.machines.toolchain import BoardLayout, Executable, build_for_board

_SOURCE: Final = Path(__file__).with_name("caches.c")
_COUNTS: Final = "caches.txt"
_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Modelled:
    """What is counted of one inference: cycles by the manual, without what is missed; lines that the
    core's own caches miss; lines that the XIP cache misses."""

    manual: Span
    refills: int
    misses: int

    def cycles(self, variant: Variant, waits: int) -> Span:
        """Cycles by the manual, with this flash."""
        return self.manual + Span.of(self.refills * variant.refill_cycles + self.misses * waits)


@dataclass(frozen=True, slots=True)
class Linked:
    """A program of a network that is linked for a core, in its folder."""

    variant: Variant
    interface: Interface
    executable: Executable
    program: Program
    folder: Path

    @property
    def image(self) -> bytes:
        """What the core's flash holds. Raises CalledProcessError if objcopy fails."""
        copy = self.folder / "flash.bin"
        compiler = find_compiler(self.variant.board.core.toolchain)[0]
        objcopy = re.sub(r"gcc$", "objcopy", compiler)
        subprocess.run([objcopy, "-O", "binary", self.executable.elf, copy], check=True)
        harness = [s.span for s in self.program.code if s.owner.startswith("harness/")]
        origin = self.variant.board.flash.origin
        return image(copy.read_bytes(), origin, harness, flushes=self.variant.own is not None)

    def inputs(self, samples: Sequence[Sequence[bytes]]) -> bytes:
        """The file of inputs that the program reads."""
        return join_samples(self.interface, samples, "little", 0)

    def emulate(self, sample: Sequence[bytes], board: Board, plugin: str) -> Emulation:
        """Run it on a sample. Raises ProgramError if it fails."""
        given = self.inputs([sample])
        run = emulate(board, self.executable, given, self.folder, _SECONDS, plugin=plugin)
        if run.failure is not None:
            raise ProgramError(f"on the emulated board, {run.failure}", "see `lowtide run`")
        return run


def link(compiled: Compiled, variant: Variant, folder: Path) -> Linked:
    """Build a program for a core in the empty `folder`. Raises as `build_for_board`."""
    board = variant.board
    interface = read_interface(compiled.files, compiled.name)
    regions = (board.ram.origin, board.ram.length, board.flash.origin, board.flash.length)
    executable = build_for_board(
        *(compiled.files, compiled.name, folder, board.core.toolchain),
        *((*board.flags, board.optimise), BoardLayout(*regions)),
    )
    program = read_program(folder, compiled.name)
    return Linked(variant, interface, executable, program, folder)


def modelled(linked: Linked, sample: Sequence[bytes]) -> Modelled:
    """What is counted of one inference under QEMU. Raises ProgramError, MissingToolError, ValueError."""
    variant = linked.variant
    cache = Cache(XIP.bytes, XIP.ways, XIP.line_bytes)
    described = Flash(cache, None, False, 1, (1, 1), "this bench", "nothing")
    board = replace(variant.board, reads=described if variant.own is None else None)
    emulator = find_emulator(board)
    plugin = plugin_for(emulator, board, linked.program, linked.folder, cached=True)
    if isinstance(plugin, Unprofiled):
        raise ValueError(plugin.why)
    run = linked.emulate(sample, board, plugin)
    counted = read_profile(board, linked.executable.elf, linked.program, run.said)
    if isinstance(counted, Unprofiled):
        raise ValueError(counted.why)
    manual = sum((part.cycles for part in counted.parts if part.cycles is not None), NOTHING)
    if counted.flash is not None:  # all accesses reach it, so that the profile has what they miss
        return Modelled(manual, 0, sum(counted.flash.misses))
    refills, misses = behind_caches(linked, sample)
    return Modelled(manual, refills, misses)


def behind_caches(linked: Linked, sample: Sequence[bytes]) -> tuple[int, int]:
    """Lines that the core's own caches miss in one inference, and that the XIP cache misses then."""
    folder, board = linked.folder, linked.variant.board
    compiler = find_compiler("host")
    version = f"-DQEMU_PLUGIN_VERSION={plugin_version(find_emulator(board))}"
    flags = ("-std=c99", "-D_POSIX_C_SOURCE=200809L", "-O2", "-fPIC", "-shared", version)
    headers = f"-I{PLUGIN_SOURCES}"
    plugin = folder / "caches.so"
    subprocess.run([*compiler, *flags, headers, _SOURCE, "-o", plugin], check=True)
    call, caller = (linked.program.function(name) for name in ("call_invoke", "measure"))
    flash = (board.flash.origin, board.flash.origin + board.flash.length)
    arguments = [
        f"out={_COUNTS}",
        f"call={call.start:x}",
        f"caller={caller.start:x}-{caller.stop:x}",
        f"flash={flash[0]:x}-{flash[1]:x}",
        f"xip={XIP.argument}",
    ]
    own = linked.variant.own
    if own is not None:
        arguments += [f"icache={own.argument}", f"dcache={own.argument}"]
    counts = folder / _COUNTS
    counts.unlink(missing_ok=True)
    linked.emulate(sample, board, ",".join((f"./{plugin.name}", *arguments)))
    return read_counts(counts.read_text("ascii"))


def read_counts(text: str) -> tuple[int, int]:
    """Refills and misses of the one call that the plugin caches.c counted. Raises ValueError."""
    match = re.fullmatch(r"call((?: \d+){6})\n", text)
    if match is None:
        raise ValueError(f"the plugin wrote {text!r}")
    fetch_refills, data_refills, _, fetch_misses, _, read_misses = map(int, match[1].split())
    return fetch_refills + data_refills, fetch_misses + read_misses
