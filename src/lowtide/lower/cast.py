"""CAST: params of kernels/include/lt_cast.h."""

from __future__ import annotations

from lowtide.ir import DType
from lowtide.lower.columns import of_each
from lowtide.lower.common import Context, Lowering
from lowtide.lower.elementwise import by_rows
from lowtide.lower.move import view_or_copy
from lowtide.lower.nodes import Lowered

_TYPES = {  # as in lt_cast.h
    DType.INT8: 0,
    DType.UINT8: 1,
    DType.INT16: 2,
    DType.INT32: 3,
    DType.UINT32: 4,
    DType.INT64: 5,
    DType.FLOAT32: 6,
    DType.BOOL: 7,
}


def _cast(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    if out.dtype not in _TYPES or (source.dtype is DType.FLOAT32 and out.dtype is DType.BOOL):
        raise context.unsupported(
            f"there is no kernel from {source.dtype.name} to {out.dtype.name}"
        )
    if source.dtype is out.dtype:
        return view_or_copy(context, source, out)
    fields = (("from", _TYPES[source.dtype]), ("to", _TYPES[out.dtype]))
    return by_rows(context, "lt_cast_row", "lt_cast", "lt_cast.h", fields)


LOWERINGS = {"CAST": Lowering(_cast, frozenset(_TYPES), of_each)}
