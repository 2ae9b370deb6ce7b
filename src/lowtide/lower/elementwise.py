"""What operators share that make each output row from one row of each input.

Why checks stand here: the kernels trust their params, so scales, types and sizes that the reference
would reject, or that no kernel has room for, are refused before any number is computed from them.
"""

from __future__ import annotations

import math

from lowtide.ir import DType, Tensor
from lowtide.ir.operands import number, same_type, scale_zero
from lowtide.lower.common import Context
from lowtide.lower.move import row_dims
from lowtide.lower.nodes import Lowered, Params, Port, Value

__all__ = [
    "MOST_ROWS",
    "by_rows",
    "number",
    "row_count",
    "same_type",
    "scale_zero",
    "suffix",
]

MOST_ROWS = 32767

_SUFFIXES = {
    DType.INT8: "s8",
    DType.UINT8: "u8",
    DType.INT16: "s16",
    DType.INT32: "s32",
    DType.INT64: "s64",
}


def suffix(dtype: DType) -> str:
    """How kernels' names end for a type."""
    return _SUFFIXES[dtype]


def row_count(context: Context, tensor: Tensor) -> int:
    """How many rows `tensor` is cut into; it must not be empty."""
    if tensor.elements == 0:
        raise context.unsupported(f"tensor {tensor.id} ({tensor.name}) is empty")
    return math.prod(tensor.shape[: row_dims(tensor.shape)])


def by_rows(
    context: Context, kernel: str, ctype: str, header: str, fields: tuple[tuple[str, Value], ...]
) -> Lowered:
    """One node: each output row from the same row of the only input. `count` is added to `fields`."""
    source, out = context.input(0), context.output()
    if source.elements != out.elements:
        raise context.unsupported("its input and output differ in size")
    rows = row_count(context, out)
    return context.node(
        kernel=kernel,
        header=header,
        params=Params(ctype, (("count", out.elements // rows), *fields)),
        inputs=(Port(source.id, rows, source.bytes // rows),),
        outputs=(Port(out.id, rows, out.bytes // rows),),
        steps=rows,
    )
