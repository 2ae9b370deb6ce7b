"""How long RISC-V instructions wait for each other on a core that issues one a cycle, in order.

What an instruction waits for a result is found in straight runs; it is as often as all between the two
ran one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from lowtide.machines.disassembly import Instruction, Listing
from lowtide.machines.executed import Count

LOADS: Final = frozenset(("lw", "lh", "lhu", "lb", "lbu"))
STORES: Final = frozenset(("sw", "sh", "sb"))
MULTIPLIES: Final = frozenset(("mul", "mulh", "mulhu", "mulhsu"))
DIVIDES: Final = frozenset(("div", "divu", "rem", "remu"))
JUMPS: Final = frozenset(("jal", "j", "call", "tail"))
"""Those whose target stands in them; "ret", "jr" and "jalr" take it from a register."""

_READERS: Final = STORES | {"jr", "jalr"}
_REGISTER: Final = re.compile(r"\b(?:zero|ra|sp|gp|tp|t[0-6]|s1[01]|s[0-9]|a[0-7])\b")


@dataclass(frozen=True, slots=True)
class Decoded:
    """What an instruction writes ("" for nothing) and reads."""

    name: str
    makes: str
    reads: frozenset[str]
    operands: str

    @property
    def is_branch(self) -> bool:
        """Whether it jumps under a condition."""
        return self.name.startswith("b")


@dataclass(frozen=True, slots=True)
class Timing:
    """Of an instruction: after how many cycles its result is there, for how many of them no other one
    is issued, and the `unit` that it needs and holds for `held` cycles ("" for none)."""

    latency: int = 1
    busy: int = 1
    unit: str = ""
    held: int = 0


@dataclass(frozen=True, slots=True)
class Issued:
    """An instruction that ran: its index in the listing, how often, and its cycles in all."""

    index: int
    op: Decoded
    count: Count
    cycles: int


def decode(instruction: Instruction) -> Decoded:
    """An instruction as objdump writes it, compressed or not."""
    name = instruction.mnemonic.removeprefix("c.")
    registers = _REGISTER.findall(instruction.operands)
    makes = ""
    if registers and name not in _READERS and not name.startswith("b"):
        makes, registers = registers[0], registers[1:]
    if name == "ret" or name in JUMPS:
        makes, registers = "", []
    return Decoded(name, makes, frozenset(registers) - {"zero"}, instruction.operands)


def issued(
    listing: Listing, counts: Mapping[int, Count], timing_of: Callable[[Decoded], Timing]
) -> Iterator[Issued]:
    """The executed instructions by their index; what jumps cost is not in it."""
    ready: dict[str, tuple[int, int]] = {}  # register, unit: (when it is there, who took it)
    now = 0
    for index in sorted(counts):
        op, count = decode(listing.instructions[index]), counts[index]
        timing = timing_of(op)
        if listing.before(index) not in counts or count.entered == count.executed:
            ready = {}
        needs = op.reads | ({timing.unit} if timing.unit else set())
        waits, since = max(
            ((ready[r][0] - now, ready[r][1]) for r in needs if r in ready), default=(0, index)
        )
        waits = max(0, waits)
        times = min(
            (counts[i].executed - counts[i].entered for i in range(since + 1, index + 1)), default=0
        )
        yield Issued(index, op, count, timing.busy * count.executed + waits * times)
        now += waits
        if op.makes:
            ready[op.makes] = (now + timing.latency, index)
        if timing.unit:
            ready[timing.unit] = (now + timing.held, index)
        now += timing.busy
