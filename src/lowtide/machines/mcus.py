"""Microcontrollers by name: what `--mcu` and `lowtide fit` know, from boards/parts.toml.

A part becomes a board by a machine with the same core: it is emulated there with the part's own RAM and
flash, so that "fits" can be measured as well as predicted.
"""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from lowtide.errors import UsageError
from lowtide.machines.board import load_boards, size_text
from lowtide.machines.flash import load_flash, target_of
from lowtide.machines.parts import Board, Region
from lowtide.sizes import bytes_in
from lowtide.target import Target

EXTERNAL_FLASH: Final = 16 << 20
"""Bytes that are assumed where flash is external."""

_BOARDS: Final = {
    "cortex-m0": "mps2-an385",
    "cortex-m3": "mps2-an385",
    "cortex-m4": "mps2-an386",
    "cortex-m7": "mps2-an500",
    "cortex-m33": "mps2-an505",
    "cortex-m55": "mps3-an547",
    "rv32imc": "esp32c3",
    "rv32imac": "rv32-virt",
}
"""By core, the board whose machine stands for its parts."""


@dataclass(frozen=True, slots=True)
class Mcu:
    """A part: its core by name, RAM in one piece and flash in bytes, and the `source` that says so; not
    `confirmed` if nobody has looked there."""

    name: str
    core: str
    ram_bytes: int
    flash_bytes: int
    external: bool
    source: str
    confirmed: bool = True

    @property
    def target(self) -> Target:
        """What programs for it may be made of."""
        return target_of(_target(self.core), self.name, load_flash().get(self.name))

    @property
    def is_emulated(self) -> bool:
        """Whether `board_of` has a machine for its core."""
        return self.core in _BOARDS


@cache
def _target(core: str) -> Target:
    from lowtide.machines.board import find_target

    return find_target(core)


@cache
def load_mcus() -> dict[str, Mcu]:
    """All parts by name, in the order of the file."""
    text = (resources.files("lowtide.machines") / "boards/parts.toml").read_text("utf-8")
    found = {}
    for name, (core, ram, flash, source, *unconfirmed) in tomllib.loads(text).items():
        external = flash == "external"
        size = EXTERNAL_FLASH if external else bytes_in(flash)
        found[name] = Mcu(
            *(name, core, bytes_in(ram) or 0, size or 0, external, source), not unconfirmed
        )
    return found


def find_mcu(name: str) -> Mcu:
    """The part of that name, in any case and with or without dashes; the start of one part's name
    alone is enough, and what follows its name, as the package, is ignored. Raises UsageError, with
    suggestions, if there is none, or more than one begins so."""
    known = {_letters(part): part for part in load_mcus()}
    wanted = _letters(name)
    if wanted in known:
        return load_mcus()[known[wanted]]
    begins = [part for letters, part in known.items() if wanted and letters.startswith(wanted)]
    whole = [letters for letters in known if wanted.startswith(letters)]
    if len(begins) == 1 or whole:
        return load_mcus()[begins[0] if begins else known[max(whole, key=len)]]
    if begins:
        raise UsageError(
            f"{name!r} matches {len(begins)} microcontrollers",
            f"give one full name, such as {' or '.join(begins[:3])}; `lowtide boards --mcus` lists all",
        )
    like = difflib.get_close_matches(wanted, known, n=3, cutoff=0.5)
    close = [known[letters] for letters in like]
    meant = f"did you mean {' or '.join(close)}? " if close else ""
    raise UsageError(
        f"there is no microcontroller {name!r}",
        f"{meant}`lowtide boards --mcus` lists all; a board file can describe any other",
    )


def find_mcus(name: str) -> tuple[Mcu, ...]:
    """All parts that begin so, or the one that `find_mcu` finds. Raises UsageError, as that does."""
    wanted = _letters(name)
    begins = [
        mcu for part, mcu in load_mcus().items() if wanted and _letters(part).startswith(wanted)
    ]
    return tuple(begins) or (find_mcu(name),)


def _letters(name: str) -> str:
    return "".join(c for c in name.upper() if c.isalnum())


def board_of(mcu: Mcu) -> Board:
    """The part as a board: emulated by a machine of its core with the part's memory, as far as the
    machine has that much. Raises UsageError for a part whose core nothing here emulates."""
    if not mcu.is_emulated:
        raise UsageError(
            f"there is no emulator for the core of {mcu.name}",
            "predict its needs with `lowtide fit`; to compile for it, keep the default core (any)",
        )
    like = load_boards()[_BOARDS[mcu.core]]
    ram, flash = like.machine.ram.length, like.machine.flash.length
    beyond = mcu.ram_bytes > ram or mcu.flash_bytes > flash
    core = next(b.core for b in load_boards().values() if b.core.name == mcu.core)
    return Board(
        name=mcu.name,
        description=f"{mcu.core} with {size_text(mcu.ram_bytes)} of RAM",
        core=core,
        machine=like.machine,
        roomy=like.roomy,
        ram=Region(like.ram.origin, min(mcu.ram_bytes, ram)),
        flash=Region(like.flash.origin, min(mcu.flash_bytes, flash)),
        flags=core.flags,
        optimise=core.optimise,
        reads=load_flash().get(mcu.name),
        memory=(mcu.ram_bytes, mcu.flash_bytes) if beyond else None,
    )
