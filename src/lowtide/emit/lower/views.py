"""Operators that only rename memory: RESHAPE, SQUEEZE, EXPAND_DIMS. They become no code at all."""

from __future__ import annotations

from lowtide.emit.lower.common import Context, Lowering
from lowtide.emit.program import Lowered
from lowtide.ir import DType


def _view(context: Context) -> Lowered:
    return Lowered(views=((context.output().id, context.input(0).id),))


_TYPES = frozenset({DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.FLOAT32})
LOWERINGS = {name: Lowering(_view, _TYPES) for name in ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")}
