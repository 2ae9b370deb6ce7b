"""Counting what one inference executes: the plugin of the emulator, and what its counts mean.

    the plugin's counts --map, disassembly--> instructions by node and function --manual--> cycles

The program that is counted is the one that is measured, without a mark in it: which node runs shows in
the step program's reads of its table of nodes. Whatever this needs and does not find (a compiler for
this computer, an emulator with plugins, objdump) is a result that says so; it never makes a run fail.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final, Literal

from lowtide.errors import MissingToolError
from lowtide.machines.cycles import Manual, manual_of
from lowtide.machines.disassembly import Listing, disassemble
from lowtide.machines.executed import NOTHING, Count, Span
from lowtide.machines.failures import BuildError
from lowtide.machines.finding import find_compiler
from lowtide.machines.flash import Cache, Flash, FlashReads, read_counts
from lowtide.machines.linkmap import Section, read_sections
from lowtide.machines.objects import compile_objects, compiler_said, run_compiler
from lowtide.machines.parts import Board

Role = Literal["kernel", "step program", "caller"]

COUNTS: Final = "profile.txt"
"""The file that the plugin writes, in the folder in which the emulator runs."""

PLUGIN_SOURCES: Final = resources.files("lowtide.machines") / "plugin"
"""The plugin, and the header for QEMU's interface, which others can use."""

_SOURCE: Final = "qemu_profile.c"
_RUNS: Final = re.compile(r"/(lowtide|lt_(hop|slice|stream)(_\w+)?)\.o$")
"""What walks the step program, or calls what does: several of them read the table of nodes."""
_HEADER: Final = "qemu_plugin.h"
_PLUGIN: Final = "qemu_profile.so"
_FIRST_OF_SECOND_INTERFACE: Final = 9  # QEMU 9 refuses plugins of the first version
_FLAGS: Final = ("-std=c99", "-D_POSIX_C_SOURCE=200809L", "-O2", "-fPIC", "-fvisibility=hidden")
_CALLING: Final = "call_invoke"
_NODE_BYTES: Final = 12  # sizeof(lt_node) where pointers have four bytes


@dataclass(frozen=True, slots=True)
class Unprofiled:
    """Why there is no profile."""

    why: str


@dataclass(frozen=True, slots=True)
class Part:
    """What one function executed for one node of the step program, -1 before the first.

    `cycles` are those by the core's manual, None if there is none.
    """

    node: int
    function: str
    role: Role
    instructions: int
    cycles: Span | None


@dataclass(frozen=True, slots=True)
class Profiled:
    """What the inference that took most executed: the sum of `parts` is `instructions`.

    These are counted one by one, without what calling an empty function takes. `manual` gave the cycles.
    `flash` is what was read of it, None if the part's is not described.
    """

    instructions: int
    parts: tuple[Part, ...]
    manual: Manual | None
    flash: FlashReads | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """The sections of a linked program that a profile is about."""

    sections: tuple[Section, ...]
    name: str

    def function(self, name: str) -> range:
        """The addresses of a function of the harness. Raises KeyError."""
        for section in self.code:
            if section.owner.startswith("harness/") and section.name == f".text.{name}":
                return section.span
        raise KeyError(name)

    @property
    def code(self) -> tuple[Section, ...]:
        """All code."""
        return tuple(s for s in self.sections if s.name.split(".")[1:2] == ["text"])

    @property
    def nodes(self) -> range | None:
        """Where the step program's table of nodes lies; None if the program has none."""
        names = tuple(f".{s}rodata.{self.name}_nodes" for s in ("", "s"))
        return next((s.span for s in self.sections if s.name in names), None)

    @property
    def weights(self) -> tuple[Section, ...]:
        """The model's weights."""
        names = re.compile(rf"\.s?rodata\.(lt_weights|{re.escape(self.name)}_weights)")
        return tuple(s for s in self.sections if names.match(s.name))

    def role(self, address: int) -> Role:
        """Whose code lies at an address."""
        owner = next((s.owner for s in self.code if address in s.span), "")
        if owner.startswith("harness/"):
            return "caller"
        if owner.rpartition("/")[2] == f"{self.name}.o" or _RUNS.search(owner):
            return "step program"
        return "kernel"


def read_program(folder: Path, name: str) -> Program:
    """The program of the model `name` that was linked in `folder`."""
    text = (folder / "program.map").read_text(encoding="utf-8", errors="replace")
    return Program(read_sections(text), name)


def plugin_for(
    emulator: str,
    board: Board,
    program: Program,
    folder: Path,
    *,
    aside: Iterable[int] = (),
    cached: bool,
) -> str | Unprofiled:
    """The plugin, built in `folder` for `emulator`, with what `program` on `board` needs. Calls with the
    numbers `aside` are not what is profiled."""
    built = folder / _PLUGIN
    try:
        compiler = find_compiler("host")
        for name in (_SOURCE, _HEADER):
            (folder / name).write_bytes((PLUGIN_SOURCES / name).read_bytes())
        version = f"-DQEMU_PLUGIN_VERSION={plugin_version(emulator)}"
        objects, _ = compile_objects(
            [*compiler, *_FLAGS, version], [_SOURCE], folder, cached=cached
        )
        link = run_compiler([*compiler, "-shared", *objects, "-o", _PLUGIN], folder)
        compiler_said(link, "link")
    except MissingToolError as error:
        return Unprofiled(f"the emulator's plugin cannot be built: {error.cause} ({error.remedy})")
    except BuildError:
        return Unprofiled(f"{compiler[0]} does not build the emulator's plugin")
    try:
        arguments = [
            f"out={COUNTS}",
            f"empty={program.function('call_nothing').start:x}",
            f"call={program.function(_CALLING).start:x}",
            f"caller={_span(program.function('measure'))}",
            *(f"aside={number:x}" for number in sorted(aside)),
        ]
    except KeyError as error:
        return Unprofiled(f"the linker's map does not show where {error.args[0]} is")
    if program.nodes is not None:
        arguments.append(f"nodes={_span(program.nodes)}/{_NODE_BYTES:x}")
        arguments += [f"reader={_span(s.span)}" for s in program.code if _RUNS.search(s.owner)]
    return ",".join((f"./{built.name}", *arguments, *_flash_arguments(board, program)))


def _flash_arguments(board: Board, program: Program) -> list[str]:
    """What the plugin needs to count reads of flash; nothing for a part whose flash is not described."""
    reads = board.reads
    if reads is None:
        return []
    flash = range(board.flash.origin, board.flash.origin + board.flash.length)
    return [
        f"flash={_span(flash)}",
        f"cache={_size(reads.cache)}",
        *(f"data={_size(cache)}" for cache in (reads.data_cache,) if cache is not None),
        *(["prefetch=1"] if reads.prefetch else []),
        *(f"weights={_span(span)}" for span in _spans(program.weights)),
        *(f"code={_span(span)}" for span in _spans(program.code)),
    ]


def _size(cache: Cache) -> str:
    return f"{cache.bytes:x}/{cache.ways:x}/{cache.line_bytes:x}"


def _span(span: range) -> str:
    return f"{span.start:x}-{span.stop:x}"


def plugin_version(emulator: str) -> int:
    """The version of the plugin interface that this emulator takes."""
    said = subprocess.run([emulator, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"version (\d+)", said.stdout)
    return 2 if found and int(found[1]) >= _FIRST_OF_SECOND_INTERFACE else 1


def read_profile(
    board: Board, elf: Path, program: Program, said: Sequence[str]
) -> Profiled | Unprofiled:
    """What the plugin counted of `elf`, in whose folder it wrote; `said` is the emulator's own words."""
    counts = elf.with_name(COUNTS)
    if not counts.exists():
        why = next((line for line in said if "plugin" in line), "it wrote no counts")
        return Unprofiled(f"the emulator did not run the plugin: {_brief(why)}")
    objdump = _objdump(board)
    if objdump is None:
        return Unprofiled(f"there is no objdump beside the compiler of {board.core.toolchain}")
    try:
        listing = disassemble(objdump, elf, _spans(program.code))
    except (OSError, subprocess.CalledProcessError) as error:
        return Unprofiled(f"objdump cannot read the program: {error}")
    manual = None
    if board.core.manual is not None:
        manual = manual_of(board.core.manual, board.multiply_cycles)
    try:
        return profiled(counts.read_text("ascii"), listing, program, manual, board.reads)
    except (ValueError, KeyError) as error:
        return Unprofiled(f"the plugin's counts do not match the program: {error}")


def _brief(line: str) -> str:
    return re.sub(r"^\S*qemu-system-\w+(\.exe)?: ", "", line)


def _objdump(board: Board) -> str | None:
    compiler = Path(find_compiler(board.core.toolchain)[0])
    name = re.sub(r"gcc(?=(\.exe)?$)", "objdump", compiler.name)
    return shutil.which(str(compiler.with_name(name)))


def _spans(code: Iterable[Section]) -> list[range]:
    """The address ranges of code; what lies between functions for alignment is let in."""
    spans: list[range] = []
    for span in sorted((s.span for s in code), key=lambda span: span.start):
        if spans and span.start - spans[-1].stop < 16:
            spans[-1] = range(spans[-1].start, span.stop)
        else:
            spans.append(span)
    return spans


def profiled(
    text: str,
    listing: Listing,
    program: Program,
    manual: Manual | None,
    reads: Flash | None = None,
) -> Profiled:
    """What the plugin's `text` says of the program's instructions.

    Raises ValueError if it is of another form or another program, KeyError likewise.
    """
    lines = text.splitlines()
    if lines[:1] != ["lowtide-profile 1"]:
        raise ValueError("they are of another form")
    empty, call = (int(line.split()[1]) for line in lines[1:3])
    by_node: dict[int, dict[int, Count]] = defaultdict(dict)
    counted = [line for line in lines[3:] if line.startswith("flash ")]
    for line in lines[3 + len(counted) :]:
        node, first, *numbers = line.split()
        instructions, executed, entered, left = map(int, numbers)
        found = listing.straight(int(first, 16), instructions)
        counts = by_node[int(node)]
        for index in found:
            here = Count(
                executed,
                entered if index == found.start else 0,
                left if index == found.stop - 1 else 0,
            )
            counts[index] = counts[index] + here if index in counts else here
    found_parts = [
        part
        for node, counts in sorted(by_node.items())
        for part in _parts(node, counts, listing, program, manual)
    ]
    # The harness calls what is measured from a function of its own, as it does the empty one.
    own = sum(part.instructions for part in found_parts if part.function == _CALLING) - empty
    calling = Part(-1, _CALLING, "caller", own, None if manual is None else NOTHING)
    parts = (calling, *(part for part in found_parts if part.function != _CALLING))
    if sum(part.instructions for part in parts) != call - empty:
        raise ValueError("they do not add up")
    flash = None if reads is None else read_counts(counted, reads)
    return Profiled(call - empty, parts, manual, flash)


def _parts(
    node: int,
    counts: Mapping[int, Count],
    listing: Listing,
    program: Program,
    manual: Manual | None,
) -> list[Part]:
    """The functions that ran for a node."""
    costs = {} if manual is None else manual.costs(listing, counts)
    functions: dict[str, list[int]] = defaultdict(list)
    for index in counts:
        functions[listing.instructions[index].function].append(index)
    return [
        Part(
            node,
            function,
            program.role(listing.instructions[indices[0]].address),
            sum(counts[i].executed for i in indices),
            None if manual is None else sum((costs[i] for i in indices), NOTHING),
        )
        for function, indices in functions.items()
    ]
