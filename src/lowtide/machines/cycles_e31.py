"""Cycles by SiFive's manual of the E31, the core of the FE310.

It issues an instruction a cycle, in order, and waits where a result is not there yet; it predicts
branches, and a wrong prediction costs three cycles. The manual tells latencies and that penalty, but not
which branches are predicted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lowtide.machines.cycles_riscv import DIVIDES, MULTIPLIES, Decoded, Timing, issued
from lowtide.machines.disassembly import Listing
from lowtide.machines.executed import Count, Span

_MISPREDICTED: Final = 3  # "Mispredicted control-flow instructions incur a three-cycle penalty."
_DIVISION: Final = Span(2, 18, 33)  # "between a 2-cycle and 33-cycle result latency"
_LATER: Final = Span(_DIVISION.least - 1, _DIVISION.usual - 1, _DIVISION.most - 1)
_MULTIPLICATION: Final = 5  # "have a 5-cycle result latency"
_LATENCY: Final[Mapping[str, int]] = {
    "lw": 2,  # "LW has a two-cycle result latency"
    **dict.fromkeys(("lh", "lhu", "lb", "lbu"), 3),  # "have a three-cycle result latency"
    **dict.fromkeys(("csrr", "csrrs", "csrrw", "rdinstret"), 3),
}


def _timing(op: Decoded) -> Timing:
    if op.name in MULTIPLIES:  # "will block until the previous operation completes"
        return Timing(_MULTIPLICATION, unit="the multiplier", held=_MULTIPLICATION)
    return Timing(_LATENCY.get(op.name, 1))


def sifive_e31(listing: Listing, counts: Mapping[int, Count]) -> dict[int, Span]:
    """Cycles of the executed instructions, by their index."""
    costs: dict[int, Span] = {}
    for one in issued(listing, counts, _timing):
        costs[one.index] = Span.of(one.cycles) + _control(one.op, one.count)
        if one.op.name in DIVIDES:
            costs[one.index] += _LATER * one.count.executed
    return costs


def _control(op: Decoded, count: Count) -> Span:
    """What wrong predictions cost."""
    executed = count.executed
    if op.is_branch:
        rare = min(count.left, executed - count.left)
        return Span(0, rare, min(2 * rare, executed)) * _MISPREDICTED
    if op.name == "ret":
        return Span(0, 0, executed) * _MISPREDICTED
    if op.name in ("jr", "jalr"):
        return Span(0, executed, executed) * _MISPREDICTED
    return Span.of(0)
