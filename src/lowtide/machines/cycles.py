"""Cycles by a core's manual, from how often each instruction ran and each branch was taken.

Why by the manual: no emulator here knows a pipeline, and instructions alone flatter code that loads
much. What a manual says of an instruction is applied to counts that were measured; what it leaves open
makes a range. Memory answers at once (zero wait states), which no flash at full clock does: so these
are never a time on a part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from lowtide.machines.cycles_cortex import cortex_m0, cortex_m3, cortex_m4
from lowtide.machines.cycles_e31 import sifive_e31
from lowtide.machines.cycles_vexriscv import vexriscv, vexriscv_min
from lowtide.machines.disassembly import Listing
from lowtide.machines.executed import Count, Span

Costs = Callable[[Listing, Mapping[int, Count]], dict[int, Span]]
"""What the executed instructions of a listing took, both by their index in it."""


@dataclass(frozen=True, slots=True)
class Manual:
    """A core's manual: its `title`, what it leaves open (`assumptions`), and how it counts."""

    core: str
    title: str
    assumptions: tuple[str, ...]
    costs: Costs


_REFILL: Final = "a pipeline refill takes 1, 2 or 3 cycles"
_DIVISION: Final = "a division takes 2, 7 or 12"
_PIPELINED: Final = (
    "a load behind a store is pipelined, pipelined, or not",
    "an address made by the instruction before costs 0, 0 or 1 more",
    "an IT takes 0, 1 or 1",
    "a conditional instruction is skipped, runs, or runs",
)


def manual_of(name: str, multiply_cycles: int | None = None) -> Manual:
    """The manual called `name`; `multiply_cycles` is of the part's multiplier, where there are two."""
    return MANUALS[name](multiply_cycles)


def _m0(multiply_cycles: int | None) -> Manual:
    if multiply_cycles is None:
        multiplies, said = Span(1, 1, 32), "a multiplication takes 1, 1 or 32 cycles"
    else:
        multiplies = Span.of(multiply_cycles)
        said = f"the part's multiplier takes {multiply_cycles} cycle{'s' * (multiply_cycles > 1)}"
    return Manual("Cortex-M0", "Cortex-M0 r0p0 TRM", (said,), cortex_m0(multiplies))


def _m3(_: int | None) -> Manual:
    long = "a long multiplication takes 3, 4 or 5, with accumulation 4, 6 or 7"
    open_ = (_REFILL, long, _DIVISION, *_PIPELINED)
    return Manual("Cortex-M3", "Cortex-M3 r2p1 TRM", open_, cortex_m3)


def _m4(_: int | None) -> Manual:
    return Manual("Cortex-M4", "Cortex-M4 r0p1 TRM", (_REFILL, _DIVISION, *_PIPELINED), cortex_m4)


def _e31(_: int | None) -> Manual:
    open_ = (
        "of a branch's less frequent outcomes none, each, or each and the next one is mispredicted",
        "a return is predicted, predicted, or not; other indirect jumps are, are not, or are not",
        "a division takes 2, 18 or 33",
        "results are waited for within straight runs of instructions only",
    )
    return Manual("SiFive E31", "SiFive FE310 manual, E31 core", open_, sifive_e31)


def _vexriscv(_: int | None) -> Manual:
    open_ = ("results are waited for within straight runs of instructions only",)
    return Manual("VexRiscv", "VexRiscv README and RTL, GenCoreDefault", open_, vexriscv)


def _vexriscv_min(_: int | None) -> Manual:
    open_ = (
        "a shift by a register takes 1, 8 or 32 cycles",
        "results are waited for within straight runs of instructions only",
    )
    title = "VexRiscv README and RTL, GenCoreDefault at its smallest"
    return Manual("VexRiscv", title, open_, vexriscv_min)


MANUALS: Final[Mapping[str, Callable[[int | None], Manual]]] = MappingProxyType(
    {
        "cortex-m0": _m0,
        "cortex-m3": _m3,
        "cortex-m4": _m4,
        "sifive-e31": _e31,
        "vexriscv": _vexriscv,
        "vexriscv-min": _vexriscv_min,
    }
)
"""The manuals there are, by the name that a core of boards.toml gives."""
