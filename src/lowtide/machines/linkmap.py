"""Reading the linker's map: how many bytes of RAM and flash the model takes, harness left out.

Why the map and not `size`: the program that is measured holds start-up code and a harness that a user
would not ship. The map tells, per input section and object file, what was kept and where it went.
Sections of library members count as the model's: the harness is built so that it pulls in none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

_HARNESS: Final = "harness/"
# Of the harness only the model's instance and its state count, as every user of the model has them.
_INSTANCE: Final = ".bss.harness_model"
_STATE: Final = ".bss.harness_state"
_SECTION = re.compile(r"^ (\S+)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)(?: (.*))?$")
_OUTPUT = re.compile(r"^([._a-zA-Z]\S*)(?:\s+0x([0-9a-f]+)\s+0x([0-9a-f]+).*)?$")

Kind = Literal["arena", "state", "data", "bss", "code", "constants", "weights"]

# What padding in front of a section counts as, if not as the section itself.
_PADDED: Final[dict[Kind, Kind]] = {"weights": "constants", "state": "bss"}


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of the linked program that are the model's; `functions` holds (address, bytes, name)."""

    arena: int
    state: int
    data: int
    bss: int
    code: int
    constants: int
    weights: int
    functions: tuple[tuple[int, int, str], ...] = ()

    @property
    def static_ram(self) -> int:
        """RAM in bytes without the stack."""
        return self.arena + self.state + self.data + self.bss

    @property
    def flash(self) -> int:
        """Flash in bytes: code, constants, weights, and the image that .data is copied from."""
        return self.code + self.constants + self.weights + self.data

    def function_at(self, address: int) -> str:
        """The function that holds `address`, or "?"."""
        for begin, size, name in self.functions:
            if begin <= address < begin + size:
                return name
        return "?"


@dataclass(frozen=True, slots=True)
class Section:
    """An input section of the linked program: where it lies, its bytes, and the object it is of."""

    name: str
    address: int
    bytes: int
    owner: str

    @property
    def span(self) -> range:
        """Its addresses."""
        return range(self.address, self.address + self.bytes)


def read_sections(text: str) -> tuple[Section, ...]:
    """What was kept of all input sections, harness included, in the text of a map that GNU ld wrote."""
    return tuple(
        Section(section, address, size, owner)
        for _, section, address, size, _, owner in _sections(text)
    )


def read_map(text: str, name: str) -> Sizes:
    """Sizes from the text of a map that GNU ld wrote; `name` is the model's, which marks weights."""
    weights = re.compile(rf"\.s?rodata\.(lt_weights|{re.escape(name)}_weights)")
    totals: dict[Kind, int] = dict.fromkeys(
        ("arena", "state", "data", "bss", "code", "constants", "weights"), 0
    )
    functions = []
    for output, section, address, size, padding, owner in _sections(text):
        if section.startswith(".text."):
            functions.append((address, size, section.removeprefix(".text.")))
        if owner.startswith(_HARNESS) and output != ".arena" and section not in (_INSTANCE, _STATE):
            continue
        kind = _kind(output, section, weights)
        if kind is not None:
            totals[kind] += size
            totals[_PADDED.get(kind, kind)] += padding
    return Sizes(**totals, functions=tuple(functions))


def _kind(output: str, section: str, weights: re.Pattern[str]) -> Kind | None:
    match output:
        case ".arena":
            return "arena"
        case ".data":
            return "data"
        case ".bss":
            return "state" if section == _STATE else "bss"
        case ".text":
            if weights.match(section):
                return "weights"
            return "constants" if re.match(r"\.s?rodata", section) else "code"
        case ".ARM.extab" | ".ARM.exidx" | ".eh_frame":
            return "constants"
    return None


def _sections(text: str) -> Iterator[tuple[str, str, int, int, int, str]]:
    """Yield (output section, input section, address, bytes, padding bytes, object) of what was kept.

    Padding belongs to the section that it aligns. Names too long for their column stand on a
    line of their own, so such lines are joined with the next first.
    """
    _, _, body = text.partition("Linker script and memory map")
    body = re.sub(r"^( ?[._a-zA-Z]\S*)\n +0x", r"\1 0x", body, flags=re.MULTILINE)
    output, padding = "", 0
    for line in body.splitlines():
        if match := _OUTPUT.match(line):
            output, padding = match[1], 0
        elif match := _SECTION.match(line):
            section, address, size = match[1], int(match[2], 16), int(match[3], 16)
            if section == "*fill*":
                padding += size
            elif match[4] and size > 0:
                yield output, section, address, size, padding, match[4]
                padding = 0
