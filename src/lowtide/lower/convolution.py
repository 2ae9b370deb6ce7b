"""What convolutions and dense layers share: their shapes, weights and requantisation."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from lowtide.ir import DType, Tensor
from lowtide.ir.operands import Factors
from lowtide.ir.products import bias, clamp, factors
from lowtide.lower import images, packed
from lowtide.lower.common import Context, image_rows, per_tensor
from lowtide.lower.families import node_of
from lowtide.lower.layer import MAX_SIZE, Footprint, Layer
from lowtide.lower.nodes import Lowered, Port

TYPES = frozenset({DType.INT8, DType.UINT8, DType.INT16})
_MAX_PADDING = (1 << 15) - 1


def footprint(context: Context) -> Footprint:
    """That of a CONV_2D or DEPTHWISE_CONV_2D."""
    source, out, window = context.input(0), context.output(), context.op.window
    if len(source.shape) != 4 or len(out.shape) != 4:
        raise context.unsupported("its input and output must have four dimensions")
    if source.shape[0] != out.shape[0]:
        raise context.unsupported("its input and output must have the same batch size")
    if 0 in (*source.shape, *context.input(1).shape):
        raise context.unsupported("it has an empty tensor")
    if window is None:
        raise context.unsupported("its strides and dilations must be at least 1")
    rows, columns = window.rows, window.columns
    _, in_h, in_w, in_c = source.shape
    out_h, out_w = rows.made(in_h), columns.made(in_w)
    if (out_h, out_w) != out.shape[1:3]:
        raise context.unsupported(
            f"its output is {out.shape[1]} x {out.shape[2]}, but should be {out_h} x {out_w}"
        )
    strides = rows.kernel, rows.stride, rows.dilation, columns.kernel, columns.stride
    if max(*strides, columns.dilation, in_w, in_c, out.shape[3]) > MAX_SIZE:
        raise context.unsupported(f"its sizes must be at most {MAX_SIZE}")
    if max(rows.before, columns.before) > _MAX_PADDING:
        raise context.unsupported(f"its padding must be at most {_MAX_PADDING}")
    steps, out_bytes = image_rows(out)
    return Footprint(
        images.windows(source, rows, out_h),
        Port(out.id, steps, out_bytes),
        in_w,
        in_c,
        out_w,
        rows.kernel,
        columns.kernel,
        columns.stride,
        columns.dilation,
        columns.before,
        context.in_flip if rows.kernel * columns.kernel > 1 else 0,
    )


def weights(context: Context, rank: int | None = None) -> NDArray[Any]:
    """The constant weights: uint8 for uint8 activations, flipped or not, else int8. Checks also the
    output's type."""
    filters, out = context.input(1), context.output()
    if context.input(0).dtype not in TYPES or out.dtype != context.input(0).dtype:
        raise context.unsupported("its input and output must have the same type")
    wanted = DType.UINT8 if out.dtype == DType.UINT8 or out.flipped else DType.INT8
    if filters.dtype != wanted or filters.is_sparse:
        kind = "sparse" if filters.is_sparse else filters.dtype.name
        raise context.unsupported(f"its weights are {kind}; there are kernels for {wanted.name}")
    if rank is not None and len(filters.shape) != rank:
        raise context.unsupported(f"its weights must have {rank} dimensions")
    return context.constant(1)


def lower_s8(
    context: Context,
    over: Footprint,
    filters: NDArray[Any],
    scaling: Factors | None = None,
    *,
    groups: int = 1,
    multiple: int = 0,
) -> Lowered:
    """A layer of int8 as one node. `filters` is [out_c, products], int8 or, flipped, wider; `scaling`
    the factors, if not those of its scales; a depthwise convolution makes a `multiple` of channels."""
    _, input_zero = per_tensor(context, context.input(0))
    _, output_zero = per_tensor(context, context.output())
    out_c = len(filters)
    scaling = factors(context, out_c) if scaling is None else scaling
    sums, sizes = packed.sums_of(filters), packed.sizes_of(filters)
    folded = bias(context, out_c, DType.INT32) - input_zero * sums
    ends = clamp(context)
    channels = packed.Channels(filters, sums, sizes, folded, scaling, output_zero, *ends)
    layer = Layer(
        over,
        context.target,
        out_c,
        groups=groups,
        filters=multiple,
        of_nibbles=context.input(1).of_nibbles,
        op=context.op.id,
        input_zero=input_zero,
        channels=channels,
    )
    return Lowered((node_of(layer),))


def dense(context: Context, rows: int, depth: int, source: Tensor, out: Tensor) -> Footprint:
    """A dense layer as a 1 x 1 convolution of one pixel per row."""
    if depth > MAX_SIZE or out.shape[-1] > MAX_SIZE:
        raise context.unsupported(f"its sizes must be at most {MAX_SIZE}")
    return Footprint(
        Port(source.id, rows, source.bytes // rows),
        Port(out.id, rows, out.bytes // rows),
        *(1, depth, 1, 1, 1, 1, 1, 0),
    )
