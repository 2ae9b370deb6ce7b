"""A block: a depthwise convolution and the pointwise ones around it, as one operator.

Why an operator: so that it is lowered, cut into strips, placed and traced like any other. See
rows/blocks.py for what it is good for; only the compiler makes one.
"""

from __future__ import annotations

from dataclasses import dataclass

from lowtide.ir.graph import Op
from lowtide.ir.window import Window

BLOCK = "LOWTIDE_BLOCK"
"""The type of these operators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockOp(Op):
    """Does what the operators `expand` (a pointwise convolution, a concatenation along channels, or
    None), `core` (a depthwise convolution) and `project` (a pointwise convolution, or None) do, one of
    the two at least. Or `core` is a concatenation, and there is a `project` alone.

    The first `parts` of its inputs are what its first operator reads, the others constants. `window` is
    that of the core. Of what this one reads, `kept` rows are kept between two steps. `expanded_rows` are
    made in all, those that are made again included; `expanded_height` and `expanded_columns` say how
    much of that map the windows reach. `expand_macs` are MACs per pixel that is expanded, `pixel_macs`
    per pixel of the output.
    """

    type: str = BLOCK
    window: Window
    expand: int | None
    core: int
    project: int | None
    kept: int
    expanded_rows: int
    expanded_height: int
    expanded_columns: int
    expand_macs: int
    pixel_macs: int
    parts: int = 1

    def macs(self, rows: int, columns: int, read: int) -> int:
        """MACs of making `rows` rows of `columns` columns from `read` columns that are expanded."""
        return self.expanded_rows * read * self.expand_macs + rows * columns * self.pixel_macs

    @property
    def kept_rows(self) -> tuple[int, ...]:
        """The tensor of the rows that are kept, if there are any."""
        return self.intermediates
