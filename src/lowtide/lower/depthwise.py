"""DEPTHWISE_CONV_2D. With a single input channel it is an ordinary convolution, and lowered as one."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from lowtide.ir import DType
from lowtide.lower import convolution, legacy, wide
from lowtide.lower.columns import of_a_window
from lowtide.lower.common import Context, Lowering
from lowtide.lower.nodes import Lowered


def _multiple(context: Context, filters: NDArray[Any]) -> int:
    """Output channels per input channel."""
    in_c, out_c = context.input(0).shape[-1], filters.shape[3]
    if filters.shape[0] != 1 or in_c < 1 or out_c % in_c or out_c != context.output().shape[-1]:
        raise context.unsupported("its weights do not match its input and output")
    said = context.option("depth_multiplier")
    if said not in (0, out_c // in_c):
        raise context.unsupported(
            f"its depth_multiplier is {said}, but it makes {out_c} channels from {in_c}"
        )
    return int(out_c // in_c)


def _depthwise(context: Context) -> Lowered:
    filters = convolution.weights(context, 4)
    out_c = filters.shape[3]
    over = convolution.footprint(context)
    multiple = _multiple(context, filters)
    if context.output().dtype is DType.UINT8:
        raise legacy.refusal(context)
    products = filters.reshape(-1, out_c).T
    if context.input(1).dtype is DType.UINT8:
        flipped = legacy.without_zero(context, products)
        return convolution.lower_s8(context, over, *flipped, multiple=multiple)
    if context.activation_type == DType.INT16:
        return wide.lower_s16(context, over, products, multiple=multiple)
    return convolution.lower_s8(context, over, products, multiple=multiple)


LOWERINGS = {"DEPTHWISE_CONV_2D": Lowering(_depthwise, convolution.TYPES, of_a_window)}
