"""FLIP, of passes/flipping.py: kernels/include/lt_flip.h."""

from __future__ import annotations

from lowtide.ir.byte_tables import BYTES
from lowtide.lower.columns import of_each
from lowtide.lower.common import Context, Lowering
from lowtide.lower.elementwise import by_rows
from lowtide.lower.nodes import Lowered


def _flip(context: Context) -> Lowered:
    return by_rows(context, "lt_flip_row", "lt_flip", "lt_flip.h", ())


MADE = {"FLIP": Lowering(_flip, BYTES, of_each, rereads=False)}
"""What no file has."""
