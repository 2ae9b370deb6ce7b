"""ADD_N and CUMSUM: params of kernels/include/lt_sums.h."""

from __future__ import annotations

import math

from lowtide.ir import DType
from lowtide.lower.columns import of_all
from lowtide.lower.common import Context, Lowering, multiplier, whole
from lowtide.lower.counts import Counted
from lowtide.lower.elementwise import row_count, same_type, scale_zero
from lowtide.lower.move import axis_of, columns_of, row_dims
from lowtide.lower.nodes import Lowered, Params, Port, Value

_MOST_ADDED = 15
"""Elements are up to 255 * 2^19 each, and their sum is an int32."""


def _scaling(context: Context) -> tuple[tuple[str, Value], ...]:
    """Members of both structs: from sums in 2^-19 of the input's scale to the output."""
    (in_scale, zero), (out_scale, out_zero) = (
        scale_zero(context, context.input(0)),
        scale_zero(context, context.output()),
    )
    by, shift = multiplier(context, 2 * in_scale / ((1 << 20) * out_scale))
    if shift > 0:
        raise context.unsupported("its output's scale is too small for its input's")
    return ("multiplier", by), ("shift", shift), ("zero", zero), ("output_zero", out_zero)


def _add_n(context: Context) -> Lowered:
    count = len(context.op.inputs)
    tensors = [context.input(i) for i in range(count)]
    out = context.output()
    same_type(context, *tensors, out)
    if not 2 <= count <= _MOST_ADDED:
        raise context.unsupported(
            f"it adds {count} tensors, but only 2 to {_MOST_ADDED} are supported"
        )
    quants = {scale_zero(context, tensor) for tensor in tensors}
    if len(quants) > 1 or any(tensor.shape != out.shape for tensor in tensors):
        raise context.unsupported("its inputs differ in shape, scale or zero point")
    rows = row_count(context, out)
    fields = (("count", out.elements // rows), ("inputs", count), *_scaling(context))
    return context.node(
        kernel="lt_add_n_s8_row",
        header="lt_sums.h",
        params=Params("lt_add_n", fields),
        inputs=tuple(Port(tensor.id, rows, tensor.bytes // rows) for tensor in tensors),
        outputs=(Port(out.id, rows, out.bytes // rows),),
        steps=rows,
        work=Counted.of(columns_of(out), written=out.elements, work=out.elements * count),
    )


def _cumsum(context: Context) -> Lowered:
    """Along a dimension that numbers the rows, all of the tensor is one row."""
    source, out = context.input(0), context.output()
    same_type(context, source, out)
    axes = context.integers(1).reshape(-1).tolist()
    if len(axes) != 1 or source.shape != out.shape:
        raise context.unsupported("it has more than one axis, or its input and output differ")
    axis = axis_of(context, axes[0], len(source.shape))
    rows, lead = row_count(context, source), row_dims(source.shape)
    both = Port(source.id, rows, source.bytes // rows), Port(out.id, rows, out.bytes // rows)
    if axis < lead:
        rows, lead, both = 1, 0, (whole(source), whole(out))
    fields = (
        ("outer", math.prod(source.shape[lead:axis])),
        ("count", source.shape[axis]),
        ("inner", math.prod(source.shape[axis + 1 :])),
        ("exclusive", context.option("exclusive")),
        ("backwards", context.option("reverse")),
        *_scaling(context),
    )
    params = Params("lt_cumsum", fields)
    runs = source.elements // source.shape[axis]
    work = Counted.of(columns_of(out), written=out.elements, runs=runs)
    return context.node(
        "lt_cumsum_s8_row", "lt_sums.h", params, both[:1], both[1:], rows, work=work
    )


_INT8 = frozenset({DType.INT8})
LOWERINGS = {
    "ADD_N": Lowering(_add_n, _INT8, of_all, rereads=False),
    "CUMSUM": Lowering(_cumsum, _INT8),
}
