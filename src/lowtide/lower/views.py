"""Operators that only rename memory: RESHAPE, SQUEEZE, EXPAND_DIMS. They mostly become no code."""

from __future__ import annotations

from lowtide.lower.common import Context, Lowering
from lowtide.lower.move import MOVABLE, view_or_copy
from lowtide.lower.nodes import Lowered


def _view(context: Context) -> Lowered:
    return view_or_copy(context, context.input(0), context.output())


LOWERINGS = {name: Lowering(_view, MOVABLE) for name in ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")}
