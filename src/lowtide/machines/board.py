"""Boards as values: what the real part has, and the emulated machine that stands for it.

Why two memory maps: QEMU knows few boards, but any Cortex-M4 machine can tell whether a program fits
an STM32F412 and how many instructions it takes, if it is linked with the part's lengths. So a board
is a core (how to compile), a machine (what runs it) and the part's own regions (what fits). They come
from boards.toml and from files of the same form that users write; `board_file` reads them.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from lowtide.errors import UsageError

Counter = Literal["systick", "minstret"]

# With `-icount shift=0` one instruction takes one nanosecond of the emulated clock.
_INSTRUCTIONS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Region:
    """`length` bytes of memory from address `origin`."""

    origin: int
    length: int


@dataclass(frozen=True, slots=True)
class Core:
    """How to compile for a processor core."""

    name: str
    toolchain: str
    flags: tuple[str, ...]
    optimise: str


@dataclass(frozen=True, slots=True)
class Machine:
    """What QEMU emulates: where it has memory, and how it counts instructions.

    `vectors` is where the vector table must be, None for the start of flash. `hz` is the clock that
    SysTick counts (0 for minstret). `roomy` names a machine with the same instructions and more
    memory, None if this one has plenty.
    """

    name: str
    emulator: str
    args: tuple[str, ...]
    cores: tuple[str, ...]
    ram: Region
    flash: Region
    counter: Counter
    hz: int = 0
    vectors: int | None = None
    roomy: str | None = None

    @property
    def instructions_per_tick(self) -> Fraction:
        """Instructions that one tick of the machine's counter stands for."""
        return (
            Fraction(_INSTRUCTIONS_PER_SECOND, self.hz)
            if self.counter == "systick"
            else Fraction(1)
        )


@dataclass(frozen=True, slots=True)
class Board:
    """A real part (`ram`, `flash`: its regions as its user sees them) and what stands for it.

    `flags` and `optimise` are complete: the core's with the board's own. `roomy` is the machine that
    runs what does not fit, to tell how much is missing; it may be `machine` itself.
    """

    name: str
    description: str
    core: Core
    machine: Machine
    roomy: Machine
    ram: Region
    flash: Region
    flags: tuple[str, ...]
    optimise: str

    @property
    def with_plenty(self) -> Board:
        """The same with `roomy`, and all its memory."""
        return replace(self, machine=self.roomy, ram=self.roomy.ram, flash=self.roomy.flash)


def load_boards(extra: Path | None = None) -> dict[str, Board]:
    """All boards by name: lowtide's own, then those of the user's file `extra`.

    Raises UsageError if `extra` cannot be read, is not of the form that boards.toml shows, or uses
    a name that is taken.
    """
    from lowtide.machines.board_file import read_boards  # it builds the classes above

    texts = {
        "boards.toml": (resources.files("lowtide.machines") / "boards/boards.toml").read_text(
            encoding="utf-8"
        )
    }
    if extra is not None:
        try:
            texts[str(extra)] = extra.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"cannot read the board file {extra}: {getattr(error, 'strerror', None) or error}",
                "name a readable TOML file",
            ) from None
    return read_boards(texts)


def find_board(name: str, extra: Path | None = None) -> Board:
    """The board called `name`. Raises UsageError, with suggestions, if there is none."""
    boards = load_boards(extra)
    if name not in boards:
        close = difflib.get_close_matches(name, boards, n=3, cutoff=0.5)
        meant = f"did you mean {' or '.join(close)}? " if close else ""
        raise UsageError(
            f"there is no board {name!r}",
            f"{meant}`lowtide boards` lists all; --board-file adds your own",
        )
    return boards[name]


def size_text(length: int) -> str:
    """ "16 KiB", "2 MiB", or "1,000 B"."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if length and length % unit == 0:
            return f"{length // unit:,} {name}"
    return f"{length:,} B"


def boards_document(boards: Mapping[str, Board]) -> dict[str, Any]:
    """What `lowtide boards --json` prints; lengths in bytes."""
    return {
        "schema": "lowtide.boards/1",
        "boards": [
            {
                "name": board.name,
                "description": board.description,
                "core": board.core.name,
                "ram": {"origin": board.ram.origin, "length": board.ram.length},
                "flash": {"origin": board.flash.origin, "length": board.flash.length},
                "machine": board.machine.name,
                "emulator": " ".join((board.machine.emulator, *board.machine.args)),
                "toolchain": board.core.toolchain,
                "flags": [*board.flags, board.optimise],
            }
            for board in boards.values()
        ],
    }


def board_rows(boards: Mapping[str, Board]) -> list[tuple[str, str, str, str, str, str]]:
    """What `lowtide boards` prints: name, core, RAM, flash, emulated machine, description."""
    return [
        (
            board.name,
            board.core.name,
            size_text(board.ram.length),
            size_text(board.flash.length),
            board.machine.name,
            board.description,
        )
        for board in boards.values()
    ]
