"""Cycles of two cores of VexRiscv, a RISC-V core for FPGAs, by what its makers publish.

Both are configurations of `GenCoreDefault`, as LiteX uses them, and issue an instruction a cycle, in
order. Memory answers at once: what caches miss is not in these cycles. What the README leaves open (how
many stages lie between two instructions) is as the RTL does it; bench/cycles runs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lowtide.machines.cycles_riscv import (
    DIVIDES,
    JUMPS,
    LOADS,
    MULTIPLIES,
    STORES,
    Decoded,
    Timing,
    issued,
)
from lowtide.machines.disassembly import Listing
from lowtide.machines.executed import Count, Span

_SHIFTS: Final = frozenset(("slli", "srli", "srai", "sll", "srl", "sra"))
_DIVISION: Final = 35  # "always takes 34 cycles", and that of the instruction
_LATE: Final = 3  # "inserted into the writeback stage", two behind the one that computes
_FLUSHED: Final = 3  # a jump is taken in the memory stage: fetch, decode and execute begin anew
_PREDICTED: Final = 1  # a jump that is predicted leaves the decode stage
_UNBYPASSED: Final = 5  # from an instruction to one that finds its result in the register file
_BUS: Final = 2  # the bus of the smallest core takes an access every second cycle


def _cached_timing(op: Decoded) -> Timing:
    if op.name in LOADS or op.name in MULTIPLIES:
        return Timing(_LATE)
    if op.name in DIVIDES:
        return Timing(_DIVISION, _DIVISION)
    return Timing(2 if op.name in _SHIFTS else 1)


def vexriscv(listing: Listing, counts: Mapping[int, Count]) -> dict[int, Span]:
    """Cycles of the executed instructions, by their index, on the core with caches.

    It predicts that backward branches are taken and forward ones are not.
    """
    return {
        one.index: Span.of(
            one.cycles + _predicted(one.op, one.count, listing.instructions[one.index].address)
        )
        for one in issued(listing, counts, _cached_timing)
    }


def _predicted(op: Decoded, count: Count, address: int) -> int:
    """The cycles that jumps cost."""
    if op.name in JUMPS:
        return _PREDICTED * count.executed
    if not op.is_branch:
        return _returned(op, count)
    if int(op.operands.rpartition(",")[2], 16) > address:
        return _FLUSHED * count.left
    return _PREDICTED * count.left + _FLUSHED * (count.executed - count.left)


def _shift(op: Decoded) -> Span:
    """How many bits an instruction shifts by."""
    by = op.operands.rpartition(",")[2]
    return Span.of(max(1, int(by, 0))) if by[:1].isdigit() else Span(1, 8, 32)


def _min_timing(op: Decoded) -> Timing:
    if op.name in LOADS or op.name in STORES:
        return Timing(_UNBYPASSED, unit="the bus", held=_BUS)
    busy = _shift(op).least if op.name in _SHIFTS else 1
    return Timing(busy - 1 + _UNBYPASSED, busy)


def vexriscv_min(listing: Listing, counts: Mapping[int, Count]) -> dict[int, Span]:
    """Cycles of the executed instructions, by their index, on the smallest core: without caches,
    bypasses, predictions and multiplier; its shifter takes a cycle a bit."""
    costs: dict[int, Span] = {}
    for one in issued(listing, counts, _min_timing):
        jumps = one.op.is_branch or one.op.name in JUMPS
        costs[one.index] = Span.of(
            one.cycles + (_FLUSHED * one.count.left if jumps else _returned(one.op, one.count))
        )
        if one.op.name in _SHIFTS:
            by = _shift(one.op)
            more = Span(0, by.usual - by.least, by.most - by.least)
            costs[one.index] += more * one.count.executed
    return costs


def _returned(op: Decoded, count: Count) -> int:
    """What jumps to the address in a register cost."""
    return _FLUSHED * count.executed if op.name in ("ret", "jr", "jalr") else 0
