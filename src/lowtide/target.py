"""What a program is made for: a core, and which of the kernels' variants may run there.

Why chosen once: scratch memory, weights and prices depend on which variant of a kernel runs. So a
`Target` is an option of the compiler, and lowering reads it. The cores there are stand in
machines/boards/boards.toml; here is what every stage may ask of one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

PORTABLE, DSP, HELIUM = "portable", "dsp", "helium"
VARIANTS = (PORTABLE, DSP, HELIUM)
"""Variants of kernels: C for any core, Arm's DSP extension, and Arm's vectors (Helium, MVE). Those of a
kernel lt_x are in lt_x.c, which is always there, and in lt_x_VARIANT.c."""


@dataclass(frozen=True, slots=True)
class FlashCache:
    """The cache of a `part`, by name, for code and constants, before slow flash: `bytes` in `ways` of
    lines of `line_bytes`; one that is missed takes `wait_cycles` more than one that is found, in the
    middle of what the part's description says."""

    part: str
    bytes: int
    ways: int
    line_bytes: int
    wait_cycles: int

    def missed(self, size: int) -> float:
        """The part of `size` bytes that is missed if they are read again and again, one after the other:
        those of sets that have more lines than ways."""
        of_way = self.bytes // self.ways
        lines, more = divmod(size / of_way, 1)
        if lines < self.ways:
            return 0.0
        return more * (lines + 1) / (lines + more) if lines == self.ways else 1.0

    def lines(self, read: int) -> int:
        """The lines of so many bytes."""
        return -(-read // self.line_bytes)

    def waits(self, read: int) -> int:
        """Cycles of waiting for so many bytes that are missed."""
        return self.lines(read) * self.wait_cycles


@dataclass(frozen=True, slots=True)
class Target:
    """A `core`, by name, and the `variants` of kernels that may run on it.

    The cost model of the core `priced_as` predicts its instructions. With `shared`, only kernels that
    programs for any core have are used. `flash` is the cache of a part whose flash is slow; plans weigh
    what they read through it. None where that is not known, or where no plan reads less than another.
    """

    core: str
    variants: tuple[str, ...]
    priced_as: str
    shared: bool = False
    flash: FlashCache | None = None

    @property
    def has_dsp(self) -> bool:
        """Whether kernels for the DSP extension alone may be used, and are the best there are."""
        return self.variants == (DSP,) and not self.shared

    @property
    def has_helium(self) -> bool:
        """Whether the core surely has Helium, so that kernels for it alone may be used."""
        return self.variants == (DSP, HELIUM) and not self.shared

    @property
    def is_portable(self) -> bool:
        """Whether the core surely has neither, so that weights may be packed for plain C."""
        return self.variants == (PORTABLE,) and not self.shared

    @property
    def is_short(self) -> bool:
        """Whether most instructions reach eight registers only (LT_SHORT of lt_fixed.h)."""
        return self.priced_as == "cortex-m0"

    @property
    def is_particular(self) -> bool:
        """Whether kernels may be used that not every core has in a quick form."""
        return self.has_dsp or self.has_helium or self.is_portable

    @property
    def within_blocks(self) -> Target:
        """For what operators inside of blocks are lowered: those call kernels that all programs have."""
        return replace(self, shared=True)


def variants_of(best: str) -> tuple[str, ...]:
    """The variants that may run on a core whose best one is `best`: where there is Helium, kernels
    without a form for it use the DSP extension."""
    return (DSP, HELIUM) if best == HELIUM else (best,)


ANY = Target("any", VARIANTS, "cortex-m4")
"""Compiles for every core, which runs the best variant that it can; as large as the largest needs."""
