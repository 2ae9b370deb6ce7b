"""The instructions of a linked program, as the toolchain's objdump reads them.

Why from there: what an instruction costs depends on what it is, and a second decoder of two instruction
sets would be one more thing to be wrong.
"""

from __future__ import annotations

import re
import subprocess
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_LABEL: Final = re.compile(r"^([0-9a-f]+) <(.+)>:$")
_LINE: Final = re.compile(r"^\s*([0-9a-f]+):\t([0-9a-f]+(?: [0-9a-f]+)*) *\t+(\S+)\s*(.*)$")
_COMMENT: Final = re.compile(r"\s*(?:[;@]| <|# [0-9a-f]+ ).*$")
_IT: Final = re.compile(r"^it[te]{0,3}$")


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction of `size` bytes at `address`, as objdump writes it, in `function`.

    `maybe` says that it may be skipped: it stands in an IT block.
    """

    address: int
    size: int
    mnemonic: str
    operands: str
    function: str
    maybe: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """Instructions by rising address."""

    instructions: tuple[Instruction, ...]

    def straight(self, first: int, count: int) -> range:
        """The indices of `count` instructions that follow each other from the address `first`.

        Raises ValueError if there are not so many.
        """
        begin = bisect_left(self.instructions, first, key=lambda i: i.address)
        found = self.instructions[begin : begin + count]
        size = sum(i.size for i in found[:-1])
        if len(found) < count or (found[0].address, found[-1].address) != (first, first + size):
            raise ValueError(f"there are no {count} instructions at {first:#x}")
        return range(begin, begin + count)

    def before(self, index: int) -> int | None:
        """The index of the instruction that ends where this one begins, in the same function."""
        if index == 0:
            return None
        here, before = self.instructions[index], self.instructions[index - 1]
        if before.address + before.size != here.address or before.function != here.function:
            return None
        return index - 1


def disassemble(objdump: str, elf: Path, spans: Sequence[range]) -> Listing:
    """The instructions of `elf` in the address ranges `spans`, which do not overlap.

    Raises OSError if objdump cannot be run, CalledProcessError if it cannot read the file.
    """
    found: list[Instruction] = []
    for span in sorted(spans, key=lambda span: span.start):
        done = subprocess.run(
            [
                *(objdump, "-d", "-w", f"--start-address={span.start:#x}"),
                *(f"--stop-address={span.stop:#x}", str(elf)),
            ],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=True,
        )
        found += read_listing(done.stdout).instructions
    return Listing(tuple(found))


def read_listing(text: str) -> Listing:
    """The instructions in the text that objdump -d prints; data between them are left out."""
    found: list[Instruction] = []
    function, conditional = "?", 0
    for line in text.splitlines():
        if match := _LABEL.match(line):
            function = match[2]
        elif (match := _LINE.match(line)) and not match[3].startswith("."):
            size = len(match[2].replace(" ", "")) // 2
            operands = _COMMENT.sub("", match[4]).strip()
            found.append(
                Instruction(int(match[1], 16), size, match[3], operands, function, conditional > 0)
            )
            conditional = max(0, conditional - 1)
            if _IT.match(match[3]):
                conditional = len(match[3]) - 1
    return Listing(tuple(found))
