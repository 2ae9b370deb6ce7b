"""Boards as values: what the real part has, and the emulated machine that stands for it.

Why two memory maps: QEMU knows few boards, but any Cortex-M4 machine can tell whether a program fits
an STM32F412 and how many instructions it takes, if it is linked with the part's lengths. So a board
is a core (how to compile), a machine (what runs it) and the part's own regions (what fits). They come
from boards.toml and from files of the same form that users write; `board_file` reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from lowtide.machines.flash import Flash, target_of
from lowtide.target import Target

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
    """How to compile for a processor core, and what programs for it may be made of.

    `manual` names the manual by which its cycles are counted, None if there is none to go by.
    """

    name: str
    toolchain: str
    flags: tuple[str, ...]
    optimise: str
    target: Target
    manual: str | None = None


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
    runs what does not fit, to tell how much is missing; it may be `machine` itself. `multiply_cycles` is
    what the part's multiplier takes, where its core is built with one of two; None if that is unknown.
    `reads` is how the part reads its flash, None if that is not described. `ram` and `flash` end where
    the machine's do; `memory` is the part's RAM and flash in bytes where it has more, None if not.
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
    multiply_cycles: int | None = None
    reads: Flash | None = None
    memory: tuple[int, int] | None = None

    @property
    def ram_bytes(self) -> int:
        """RAM of the part, whatever the machine has."""
        return self.ram.length if self.memory is None else self.memory[0]

    @property
    def flash_bytes(self) -> int:
        """Flash of the part, whatever the machine has; where it is external, what is assumed."""
        return self.flash.length if self.memory is None else self.memory[1]

    @property
    def target(self) -> Target:
        """What programs for it are made for."""
        return target_of(self.core.target, self.name, self.reads)

    @property
    def with_plenty(self) -> Board:
        """The same with `roomy`, and all its memory."""
        return replace(self, machine=self.roomy, ram=self.roomy.ram, flash=self.roomy.flash)
