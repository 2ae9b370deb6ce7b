"""The boards and cores that there are: lowtide's own, from boards.toml, and those of users' files."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from lowtide.errors import UsageError
from lowtide.machines.board_file import read_boards, read_cores
from lowtide.machines.parts import Board
from lowtide.target import ANY, Target


def load_boards(extra: Path | None = None) -> dict[str, Board]:
    """All boards by name: lowtide's own, then those of the user's file `extra`.

    Raises UsageError if `extra` cannot be read, is not of the form that boards.toml shows, or uses
    a name that is taken.
    """
    texts = {"boards.toml": _own_text()}
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


def find_target(core: str) -> Target:
    """The target of that core of boards.toml, or of any core. Raises UsageError if there is none."""
    known = targets()
    if core not in known:
        close = difflib.get_close_matches(core, known, n=2, cutoff=0.6)
        meant = f"did you mean {' or '.join(close)}? " if close else ""
        raise UsageError(f"there is no core {core!r}", f"{meant}use one of: {', '.join(known)}")
    return known[core]


def targets() -> dict[str, Target]:
    """Core -> its target: those of boards.toml, and any core."""
    cores = read_cores({"boards.toml": _own_text()})
    return {ANY.core: ANY, **{name: found.target for name, found in cores.items()}}


def _own_text() -> str:
    return (resources.files("lowtide.machines") / "boards/boards.toml").read_text("utf-8")


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
