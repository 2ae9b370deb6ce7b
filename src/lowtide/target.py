"""What a program is made for: a core, and which of the kernels' variants may run there.

Why chosen once: scratch memory, weights and prices depend on which variant of a kernel runs. So a
`Target` is an option of the compiler, and lowering reads it. The cores there are stand in
machines/boards/boards.toml; here is what every stage may ask of one.
"""

from __future__ import annotations

from dataclasses import dataclass

PORTABLE, DSP = "portable", "dsp"
VARIANTS = (PORTABLE, DSP)
"""Variants of kernels: C for any core, and Arm's DSP extension. Those of a kernel lt_x are in lt_x.c,
which is always there, and in lt_x_VARIANT.c."""


@dataclass(frozen=True, slots=True)
class Target:
    """A `core`, by name, and the `variants` of kernels that may run on it.

    The cost model of the core `priced_as` predicts its instructions.
    """

    core: str
    variants: tuple[str, ...]
    priced_as: str

    @property
    def has_dsp(self) -> bool:
        """Whether the core surely has the DSP extension, so that kernels for it alone may be used."""
        return self.variants == (DSP,)


ANY = Target("any", VARIANTS, "cortex-m4")
"""Compiles for every core, which runs the best variant that it can; as large as the largest needs."""
