"""uint8 convolutions and dense layers, the scheme of before 2019: one scale and zero point per tensor.

Why apart: their weights have a zero point, TFLM knows none of them, and LiteRT's reference, which
decides what is right, scales the sums of dense layers as double.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import ModelError
from lowtide.ir import DType
from lowtide.ir.operands import Factors
from lowtide.ir.products import bias, byte_factor, byte_scale, clamp, scaled_fits
from lowtide.lower import packed
from lowtide.lower.common import Context, floats_of, per_tensor
from lowtide.lower.layer import Footprint
from lowtide.lower.nodes import Array, Lowered, Node, Params, Value


def beyond(context: Context) -> ModelError:
    """The error for a dense layer that LiteRT cannot round."""
    cause = "its sums, scaled to its output, can leave 32 bits, where LiteRT's result is undefined"
    remedy = "export the model again; the scale of this operator's output is far too small"
    return ModelError(context.unsupported(cause).cause, remedy)


def without_zero(context: Context, filters: NDArray[Any]) -> tuple[NDArray[np.int16], Factors]:
    """Weights less their zero point, which take up to nine bits, and the factor of each channel, for
    kernels of int8; `filters` is [channels, products]."""
    _, zero = byte_scale(context, 1)
    return filters.astype(np.int16) - zero, np.array([byte_factor(context)] * len(filters))


def _zeros(context: Context) -> tuple[tuple[str, Value], ...]:
    """The fields for zero points and clamp."""
    low, high = clamp(context)
    return (
        ("input_zero", byte_scale(context, 0)[1]),
        ("weights_zero", byte_scale(context, 1)[1]),
        ("output_zero", per_tensor(context, context.output())[1]),
        ("low", low),
        ("high", high),
    )


def _array(weights: NDArray[Any]) -> tuple[str, Value]:
    return "weights", Array("uint8_t", weights, weights=True)


def _bias(values: NDArray[Any]) -> tuple[str, Value]:
    return "bias", Array("int32_t", packed.int32(values), weights=True)


def refusal(context: Context, *, one_group: bool = True) -> ModelError:
    """Why a convolution of uint8 is not one of int8 (passes/flipping.py). Raises other ModelErrors."""
    if not one_group:
        return context.unsupported("uint8 convolutions must have one group")
    for index in (0, 1):
        byte_scale(context, index)
    per_tensor(context, context.output())
    return context.unsupported("its input and output must not be variables")


def fully_connected(context: Context, over: Footprint, weights: NDArray[Any]) -> Lowered:
    """FULLY_CONNECTED; `weights` is [out_c, depth]."""
    out_c, depth = weights.shape
    output_scale, _ = per_tensor(context, context.output())
    (in_scale, in_zero), (scale, zero) = (byte_scale(context, i) for i in (0, 1))
    real, start = in_scale * scale / output_scale, bias(context, out_c, DType.INT32)
    parts = floats_of(real)
    if not scaled_fits(weights.astype(np.int32) - zero, start, (-in_zero, 255 - in_zero), [real]):
        raise beyond(context)
    fields: tuple[tuple[str, Value], ...] = (
        *(_array(weights), _bias(start)),
        *zip(("scale", "scale_1", "scale_2"), parts, strict=True),
        ("depth", depth),
        ("out_c", out_c),
        *context.flips,
    )
    node = Node(
        op=context.op.id,
        kernel="lt_fully_connected_u8_row",
        header="lt_fully_connected_u8.h",
        params=Params("lt_fully_connected_u8", (*fields, *_zeros(context))),
        inputs=(over.source,),
        outputs=(over.target,),
        steps=over.target.rows,
    )
    return Lowered((node,))
