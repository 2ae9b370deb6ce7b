"""uint8 convolutions and dense layers, the scheme of before 2019: one scale and zero point per tensor.

Why apart: their weights have a zero point, TFLM knows none of them, and LiteRT's reference, which
decides what is right, scales the sums of dense layers as double.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import DType
from lowtide.ir.products import byte_factor, byte_scale
from lowtide.lower import convolution, packed
from lowtide.lower.common import Context, floats_of, per_tensor
from lowtide.lower.nodes import Array, Lowered, Node, Params, Value


def _zeros(context: Context) -> tuple[tuple[str, Value], ...]:
    """The fields for zero points and clamp."""
    low, high = convolution.clamp(context)
    return (
        ("input_zero", byte_scale(context, 0)[1]),
        ("weights_zero", byte_scale(context, 1)[1]),
        ("output_zero", per_tensor(context, context.output())[1]),
        ("low", low),
        ("high", high),
    )


def _node(
    context: Context,
    over: convolution.Footprint,
    family: str,
    fields: tuple[tuple[str, Value], ...],
    scratch: int = 0,
) -> Lowered:
    node = Node(
        op=context.op.id,
        kernel=f"{family}_row",
        header=f"{family}.h",
        params=Params(family, (*fields, *_zeros(context))),
        inputs=(over.source,),
        outputs=(over.target,),
        steps=over.target.rows,
        scratch=scratch,
    )
    return Lowered((node,))


def _scaling(context: Context) -> tuple[tuple[str, Value], ...]:
    factor, shift = byte_factor(context)
    return ("multiplier", factor), ("shift", shift)


def _array(weights: NDArray[Any]) -> tuple[str, Value]:
    return "weights", Array("uint8_t", weights, weights=True)


def _bias(values: NDArray[Any]) -> tuple[str, Value]:
    return "bias", Array("int32_t", packed.int32(values), weights=True)


def conv(context: Context, over: convolution.Footprint, weights: NDArray[Any]) -> Lowered:
    """CONV_2D; `weights` is [out_c, kernel_h, kernel_w, in_c]."""
    out_c = len(weights)
    if weights.shape[3] != over.in_c:
        raise context.unsupported("uint8 convolutions must have one group")
    _, zero = byte_scale(context, 1)
    sums = (weights.reshape(out_c, -1).astype(np.int64) - zero).sum(axis=1)
    bias = convolution.bias(context, out_c, DType.INT32) - byte_scale(context, 0)[1] * sums
    fields = (_array(weights), _bias(bias), *_scaling(context), ("out_c", out_c), *over.fields)
    scratch = 0 if over.taps == 1 else over.taps * over.in_c
    return _node(context, over, "lt_conv_u8", fields, scratch)


def depthwise(
    context: Context, over: convolution.Footprint, weights: NDArray[Any], multiple: int
) -> Lowered:
    """DEPTHWISE_CONV_2D; `weights` is [1, kernel_h, kernel_w, out_c]."""
    bias = convolution.bias(context, weights.shape[3], DType.INT32)
    fields = (
        *(_array(weights), _bias(bias), *_scaling(context)),
        *(("filters", multiple), *over.fields),
    )
    return _node(context, over, "lt_depthwise_u8", fields)


def fully_connected(
    context: Context, over: convolution.Footprint, weights: NDArray[Any]
) -> Lowered:
    """FULLY_CONNECTED; `weights` is [out_c, depth]."""
    out_c, depth = weights.shape
    output_scale, _ = per_tensor(context, context.output())
    parts = floats_of(byte_scale(context, 0)[0] * byte_scale(context, 1)[0] / output_scale)
    fields: tuple[tuple[str, Value], ...] = (
        *(_array(weights), _bias(convolution.bias(context, out_c, DType.INT32))),
        *zip(("scale", "scale_1", "scale_2"), parts, strict=True),
        ("depth", depth),
        ("out_c", out_c),
    )
    return _node(context, over, "lt_fully_connected_u8", fields)
