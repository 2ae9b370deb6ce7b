"""FLIP, of passes/flipping.py: kernels/include/lt_flip.h."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lowtide.ir.byte_tables import BYTES
from lowtide.lower.columns import of_each
from lowtide.lower.common import Context, Lowering
from lowtide.lower.counts import Features, NoWindows
from lowtide.lower.elementwise import by_rows
from lowtide.lower.move import columns_of
from lowtide.lower.nodes import Lowered


@dataclass(frozen=True, slots=True)
class Flips(NoWindows):
    """So many rows of `size` bytes, which are `columns` columns: flipped by sixteens, where a core has
    instructions for that, and what is left of a row one by one."""

    columns: int
    rows: int
    size: int
    is_linear = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to flip `columns` columns."""
        del padded
        size = self.size // self.columns * columns
        sixteens, rests = divmod(size, 16)
        return {"sixteens": self.rows * sixteens, "rests": self.rows * rests}


def _flip(context: Context) -> Lowered:
    lowered = by_rows(context, "lt_flip_row", "lt_flip", "lt_flip.h", ())
    (node,), out = lowered.nodes, context.output()
    work = Flips(columns_of(out), node.steps, out.bytes // node.steps)
    return replace(lowered, nodes=(replace(node, work=work),))


MADE = {"FLIP": Lowering(_flip, BYTES, of_each, rereads=False)}
"""What no file has."""
