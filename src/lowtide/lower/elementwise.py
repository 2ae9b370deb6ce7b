"""What operators share that make each output row from one row of each input.

Why checks stand here: the kernels trust their params, so scales, types and sizes that the reference
would reject, or that no kernel has room for, are refused before any number is computed from them.
"""

from __future__ import annotations

import math

from lowtide.ir import DType, Tensor
from lowtide.lower.common import Context, per_tensor, quantised
from lowtide.lower.move import row_dims
from lowtide.lower.nodes import Lowered, Node, Params, Port, Value

MOST_ROWS = 32767

_SUFFIXES = {
    DType.INT8: "s8",
    DType.UINT8: "u8",
    DType.INT16: "s16",
    DType.INT32: "s32",
    DType.INT64: "s64",
}


def scale_zero(context: Context, tensor: Tensor) -> tuple[float, int]:
    """(scale, zero point) of a tensor quantised as a whole, both sound."""
    quant = quantised(context, tensor)
    if len(quant.scale) != 1 or len(quant.zero_point) != 1:
        raise context.unsupported(f"tensor {tensor.id} ({tensor.name}) is quantised per channel")
    return per_tensor(context, tensor)


def number(context: Context, name: str, default: float) -> float:
    """A float option; `default` where the file leaves it out."""
    value = context.op.options.get(name, default)
    return float(value) if isinstance(value, int | float) else default


def same_type(context: Context, *tensors: Tensor) -> DType:
    """The one type of all `tensors`."""
    kinds = {tensor.dtype for tensor in tensors}
    if len(kinds) > 1:
        names = ", ".join(tensor.dtype.name for tensor in tensors)
        raise context.unsupported(f"its tensors are of different types ({names})")
    return tensors[0].dtype


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
        raise context.unsupported("its output is of another size than its input")
    rows = row_count(context, out)
    node = Node(
        op=context.op.id,
        kernel=kernel,
        header=header,
        params=Params(ctype, (("count", out.elements // rows), *fields)),
        inputs=(Port(source.id, rows, source.bytes // rows),),
        outputs=(Port(out.id, rows, out.bytes // rows),),
        steps=rows,
    )
    return Lowered((node,))
