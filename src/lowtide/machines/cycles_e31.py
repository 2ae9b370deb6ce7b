"""Cycles by SiFive's manual of the E31, the core of the FE310.

It issues an instruction a cycle, in order, and waits where a result is not there yet; it predicts
branches, and a wrong prediction costs three cycles. The manual tells latencies and that penalty, but not
which branches are predicted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lowtide.machines.disassembly import Instruction, Listing
from lowtide.machines.executed import Count, Span

_MISPREDICTED: Final = 3  # "Mispredicted control-flow instructions incur a three-cycle penalty."
_DIVISION: Final = Span(2, 18, 33)  # "between a 2-cycle and 33-cycle result latency"
_LATENCY: Final[Mapping[str, int]] = {
    "lw": 2,  # "LW has a two-cycle result latency"
    **dict.fromkeys(("lh", "lhu", "lb", "lbu"), 3),  # "have a three-cycle result latency"
    **dict.fromkeys(("csrr", "csrrs", "csrrw", "rdinstret"), 3),
    **dict.fromkeys(("mul", "mulh", "mulhu", "mulhsu"), 5),  # "have a 5-cycle result latency"
}
_MULTIPLIES: Final = frozenset(("mul", "mulh", "mulhu", "mulhsu"))
_DIVIDES: Final = frozenset(("div", "divu", "rem", "remu"))
_READERS: Final = frozenset(("sw", "sh", "sb", "jr", "jalr"))
_REGISTER: Final = re.compile(r"\b(?:zero|ra|sp|gp|tp|t[0-6]|s1[01]|s[0-9]|a[0-7])\b")
_UNIT: Final = "the multiplier"


@dataclass(frozen=True, slots=True)
class _Decoded:
    """What an instruction writes and reads, and after how many cycles its result is there."""

    name: str
    makes: str
    reads: frozenset[str]
    latency: int


def _decode(instruction: Instruction) -> _Decoded:
    name = instruction.mnemonic.removeprefix("c.")
    registers = _REGISTER.findall(instruction.operands)
    makes = ""
    if registers and name not in _READERS and not name.startswith("b"):
        makes, registers = registers[0], registers[1:]
    if name in ("jal", "j", "ret", "call", "tail"):
        makes, registers = "", []
    reads = frozenset(registers) | ({_UNIT} if name in _MULTIPLIES else set())
    return _Decoded(name, makes, reads - {"zero"}, _LATENCY.get(name, 1))


def sifive_e31(listing: Listing, counts: Mapping[int, Count]) -> dict[int, Span]:
    """Cycles of the executed instructions, by their index.

    What an instruction waits for a result is found in straight runs; it is as often as all between the
    two ran one after the other.
    """
    costs: dict[int, Span] = {}
    ready: dict[str, tuple[int, int]] = {}  # register: (when it is there, index that made it)
    now = 0
    for index in sorted(counts):
        op, count = _decode(listing.instructions[index]), counts[index]
        if listing.before(index) not in counts or count.entered == count.executed:
            ready = {}
        waits, since = max(
            ((ready[r][0] - now, ready[r][1]) for r in op.reads if r in ready), default=(0, index)
        )
        waits = max(0, waits)
        times = min(
            (counts[i].executed - counts[i].entered for i in range(since + 1, index + 1)), default=0
        )
        costs[index] = Span.of(count.executed + waits * times) + _control(op, count)
        if op.name in _DIVIDES:
            costs[index] += Span(_DIVISION.least - 1, _DIVISION.usual - 1, _DIVISION.most - 1) * (
                count.executed
            )
        now += waits
        if op.makes:
            ready[op.makes] = (now + op.latency, index)
        if op.name in _MULTIPLIES:  # "will block until the previous operation completes"
            ready[_UNIT] = (now + op.latency, index)
        now += 1
    return costs


def _control(op: _Decoded, count: Count) -> Span:
    """What wrong predictions cost."""
    executed = count.executed
    if op.name.startswith("b"):
        rare = min(count.left, executed - count.left)
        return Span(0, rare, min(2 * rare, executed)) * _MISPREDICTED
    if op.name == "ret":
        return Span(0, 0, executed) * _MISPREDICTED
    if op.name in ("jr", "jalr"):
        return Span(0, executed, executed) * _MISPREDICTED
    return Span.of(0)
