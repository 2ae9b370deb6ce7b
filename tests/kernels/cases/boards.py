"""The same cases on emulated boards, thousands in one start: the assembly of those cores at work.

Why after the host's run: a network of several nodes needs what the nodes before have made, and the host
has it. So each node is given that, and what it makes is compared. Some buffers lie where a board's RAM
ends or begins, so that what is read beyond them is a fault.
"""

from __future__ import annotations

import hashlib
import struct
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Protocol

import numpy as np

from lowtide.emit.runtime import kernel_files
from lowtide.machines.board import find_board
from lowtide.machines.emulate import find_emulator
from lowtide.machines.finding import find_compiler
from lowtide.machines.linkmap import Section, read_sections

from .memory import Addresses, FullError
from .playing import Played, Stage, staged

_PUT, _FILL, _CALL, _TAKE = 1, 2, 3, 4
_FLAGS = ("-std=gnu99", "-O2", "-g")
_LINK = ("-nostartfiles", "-T", "board.ld", "-Wl,-Map=program.map", "-lm")
_HOST = ("-nographic", "-semihosting-config", "enable=on,target=native")
_GAP = 0x6D


@dataclass(frozen=True, slots=True)
class Place:
    """A board's memory: where the program's is, (origin, bytes), and edges beyond which there is none.

    `room` is the part of RAM for buffers; `ends` are addresses where memory ends, `starts` where it
    begins.
    """

    flash: tuple[int, int]
    ram: tuple[int, int]
    vectors: int | None
    room: tuple[int, int]
    ends: tuple[int, ...]
    starts: tuple[int, ...]


_FLASH, _RAM, _ROOM = (0, 0x400000), (0x20000000, 0x40000), (0x20040000, 0x203F0000)
PLACES: Mapping[str, Place] = {
    "mps2-an386": Place(_FLASH, _RAM, None, _ROOM, (), ()),  # all around its RAM can be read
    "mps2-an500": Place(_FLASH, _RAM, None, _ROOM, (0x61000000,), (0x60000000,)),
    "mps3-an547": Place(
        (0x01000000, 0x200000),
        (0x21000000, 0x40000),
        0,
        (0x21040000, 0x213F0000),
        (0x21400000, 0x20080000),
        (0x20000000,),
    ),
}
CORES: Mapping[str, tuple[str, ...]] = {
    "mps2-an386": ("cortex-m4", "cortex-m4", "any"),
    "mps2-an500": ("cortex-m7", "cortex-m7", "any"),
    "mps3-an547": ("cortex-m55", "cortex-m55", "any"),
}
"""For which cores networks are lowered that run on a board."""


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """The program with all kernels, and where they are."""

    elf: Path
    symbols: Mapping[str, int]
    sections: tuple[Section, ...]

    def near(self, pc: int) -> str:
        """The function that an instruction is of."""
        before = [(at, name) for name, at in self.symbols.items() if at <= pc | 1]
        return max(before)[1] if before else "nowhere"


@cache
def program(name: str) -> Program:
    """The program for a board, built when a kernel has changed."""
    board, boards = find_board(name), resources.files("lowtide.machines") / "boards"
    files = dict(kernel_files())
    for file in ("start_arm.c", "harness.h"):
        files[file] = (boards / file).read_text()
    files["board_program.c"] = Path(__file__).with_name("board_program.c").read_text()
    files["board.ld"] = _script((boards / "board.ld.in").read_text(), PLACES[name])
    compiler = [*find_compiler(board.core.toolchain), *board.flags, *_FLAGS]
    text = "\0".join(
        [*compiler, *_LINK, *(part for item in sorted(files.items()) for part in item)]
    )
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / "lowtide-cases" / digest / "program.elf"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as temporary:
            folder = Path(temporary)
            for file, content in files.items():
                (folder / file).write_text(content)
            sources = sorted(file for file in files if file.endswith(".c"))
            subprocess.run([*compiler, "-I.", "-c", *sources], cwd=folder, check=True)
            objects = [f"{file[:-2]}.o" for file in sources]
            command = [*compiler, *objects, *_LINK, "-o", "program.elf"]
            subprocess.run(command, cwd=folder, check=True)
            (folder / "program.map").replace(path.with_name("program.map"))
            (folder / "program.elf").replace(path)
    said = subprocess.run(
        ["arm-none-eabi-nm", str(path)], capture_output=True, text=True, check=True
    ).stdout
    parts = (line.split() for line in said.splitlines())
    symbols = {p[2]: int(p[0], 16) | 1 for p in parts if len(p) == 3 and p[1] in "TtWw"}
    sections = read_sections(path.with_name("program.map").read_text("utf-8"))
    return Program(path, symbols, sections)


def _script(text: str, place: Place) -> str:
    vectors = place.vectors is not None
    values = {
        "FLASH_ORIGIN": f"{place.flash[0]:#x}",
        "FLASH_LENGTH": str(place.flash[1]),
        "RAM_ORIGIN": f"{place.ram[0]:#x}",
        "RAM_LENGTH": str(place.ram[1]),
        "VECTORS_MEMORY": f"    VECTORS (rx) : ORIGIN = {place.vectors or 0:#x}, LENGTH = 1K"
        if vectors
        else "",
        "VECTORS_REGION": "VECTORS" if vectors else "FLASH",
    }
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


class Room:
    """A board's memory for one node: buffers at odd addresses, with gaps, some at the edges."""

    def __init__(self, place: Place, rng: np.random.Generator) -> None:
        self.place_of = place
        self.rng = rng
        self.low, self.high = place.room
        self.at = self.low
        self.ends, self.starts = list(place.ends), list(place.starts)
        self.puts: list[tuple[int, bytes]] = []

    def rows(self, size: int, count: int, align: int) -> Addresses:
        """Addresses of `count` buffers of `size` bytes."""
        found = [self._one(size, align) for _ in range(count)]
        return np.array(found, np.uint64)

    def _one(self, size: int, align: int) -> int:
        if self.ends and self.rng.random() < 0.3:
            return (self.ends.pop() - size) // align * align
        if self.starts and self.rng.random() < 0.3:
            return self.starts.pop()
        at = self.at + int(self.rng.integers(1, 8))
        at = -(-at // align) * align
        self.at = at + size
        if self.at >= self.high:
            raise FullError(f"{size} bytes")
        return at

    def place(self, data: bytes, align: int) -> int:
        """A buffer that holds `data`."""
        address = int(self.rows(len(data), 1, align)[0])
        self.puts.append((address, data))
        return address


@dataclass(frozen=True, slots=True)
class Taken:
    """Bytes that the board gives back: of which operator and kernel, and what they should be; `free`
    are ranges that may hold anything."""

    number: int
    kernel: str
    wanted: bytes
    what: str
    free: tuple[tuple[int, int], ...] = ()


class Watch(Protocol):
    """Who looks at what a board's program does."""

    def arguments(self) -> Sequence[str]:
        """What the emulator is started with."""

    def look(self, folder: Path) -> None:
        """Look at what a run has left in its folder."""


class Batch:
    """Commands for one start of a board, which `watch` may look at."""

    def __init__(self, board: str, rng: np.random.Generator, watch: Watch | None = None) -> None:
        self.board = board
        self.watch = watch
        self.program = program(board)
        self.rng = rng
        self.commands: list[tuple[int, bytes]] = []
        self.takes: list[Taken] = []
        self.cases: dict[int, int] = {}

    def add(self, number: int, played: Played) -> None:
        """A node of operator `number`, on all its samples."""
        node, room = played.node, Room(PLACES[self.board], self.rng)
        stage = staged(played.net, node, room, 4, self.program.symbols.__getitem__)
        ins, outs = (room.place(t.astype("<u4").tobytes(), 4) for t in stage.tables)
        commands = [self._command(_FILL, room.low, room.at + 8 - room.low, _GAP)]
        commands += [self._put(at, data) for at, data in room.puts]
        takes = []
        for sample in range(played.count):
            commands += self._sample(stage, played, sample, ins, outs)
            for key in played.made:
                size = key[1]
                data = played.after[key[0]][sample].tobytes()
                for row, at in enumerate(stage.rows[key].tolist()):
                    commands.append(self._command(_TAKE, at, size))
                    wanted = data[row * size : (row + 1) * size]
                    takes.append(Taken(number, node.works.name, wanted, f"row {row} of {sample}"))
        image = self._image(room, stage, played)
        commands.append(self._command(_TAKE, room.low, room.at + 8 - room.low))
        # Scratch memory; and kernels of batches make pointers to rows of other images null.
        free = (stage.scratch, node.scratch), (ins, 4 * stage.tables[0].size)
        inside = tuple((at - room.low, n) for at, n in free if room.low <= at < room.at)
        takes.append(Taken(number, node.works.name, image, "memory around", inside))
        self.commands.append((number, b"".join(commands)))
        self.takes += takes
        self.cases[number] = self.cases.get(number, 0) + node.steps * played.count

    def _sample(
        self, stage: Stage, played: Played, sample: int, ins: int, outs: int
    ) -> list[bytes]:
        node, commands = stage.node, []
        for key in played.read | played.made:
            size, data = key[1], played.before[key[0]][sample].tobytes()
            for row, at in enumerate(stage.rows[key].tolist()):
                commands.append(self._put(at, data[row * size : (row + 1) * size]))
        kernel = self.program.symbols[node.kernel]
        for step in range(node.steps):
            if step == 0 or not node.scratch_lasts:
                commands.append(self._command(_FILL, stage.scratch, node.scratch, 0xC3))
            at = [4 * step * table.shape[1] for table in stage.tables]
            pointers = ins + at[0], outs + at[1], stage.scratch, step
            commands.append(self._command(_CALL, kernel, 0, stage.params, *pointers))
        return commands

    def _image(self, room: Room, stage: Stage, played: Played) -> bytes:
        """All of the room as it should be."""
        image = bytearray([_GAP]) * (room.at + 8 - room.low)
        for at, data in room.puts:
            if room.low <= at < room.at:
                image[at - room.low : at - room.low + len(data)] = data
        for key in played.read | played.made:
            held = (played.after if key in played.made else played.before)[key[0]][-1].tobytes()
            for row, at in enumerate(stage.rows[key].tolist()):
                if room.low <= at < room.at:
                    first = at - room.low
                    image[first : first + key[1]] = held[row * key[1] : (row + 1) * key[1]]
        return bytes(image)

    def _put(self, address: int, data: bytes) -> bytes:
        return self._command(_PUT, address, len(data)) + data

    def _command(self, *words: int) -> bytes:
        return struct.pack("<8I", *words, *(0,) * (8 - len(words)))

    def run(self) -> list[tuple[int, str, str]]:
        """Run it all; (operator, kernel, what) of each find. A fault ends its operator alone."""
        finds: list[tuple[int, str, str]] = []
        left, takes = list(self.commands), list(self.takes)
        while left:
            got, said = self._start([data for _, data in left])
            at, failed = 0, None
            for taken in takes:
                size = len(taken.wanted)
                if at + size > len(got):
                    failed = taken
                    break
                found = _wrong(taken, got[at : at + size])
                if found:
                    finds.append((taken.number, taken.kernel, found))
                at += size
            if failed is None:
                break
            where = self.program.near(int(said.split()[2], 16)) if "fault" in said else "no end"
            finds.append((failed.number, failed.kernel, f"{said.strip()} in {where}"))
            left = [(n, data) for n, data in left if n > failed.number]
            takes = [taken for taken in takes if taken.number > failed.number]
        return finds

    def faults_at(self, address: int) -> bool:
        """Whether a byte of the board cannot be read."""
        return not self._start([self._command(_TAKE, address, 1)])[0]

    def _start(self, commands: Sequence[bytes]) -> tuple[bytes, str]:
        board, watch = find_board(self.board), self.watch
        more = () if watch is None else watch.arguments()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "cases").write_bytes(b"".join(commands))
            ran = subprocess.run(
                [
                    *(find_emulator(board), *board.machine.args, *_HOST, *more),
                    *("-kernel", str(self.program.elf)),
                ],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            if watch is not None:
                watch.look(folder)
            results = folder / "results"
            return (results.read_bytes() if results.exists() else b""), ran.stderr + ran.stdout


def _wrong(taken: Taken, got: bytes) -> str | None:
    """What differs, in words."""
    wanted = taken.wanted
    for first, size in taken.free:
        got = got[:first] + wanted[first : first + size] + got[first + size :]
    if got == wanted:
        return None
    bad = [i for i, (a, b) in enumerate(zip(got, wanted, strict=True)) if a != b]
    return f"{taken.what}: {len(bad)} of {len(got)} bytes, first {bad[0]}"
