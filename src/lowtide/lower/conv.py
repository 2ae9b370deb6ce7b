"""CONV_2D: kernels/include/lt_conv_packed.h, lt_conv.h, lt_w9.h, lt_conv_s16.h."""

from __future__ import annotations

from lowtide.ir import DType
from lowtide.lower import convolution, legacy, w9, wide
from lowtide.lower.columns import of_a_window
from lowtide.lower.common import Context, Lowering
from lowtide.lower.nodes import Lowered


def _groups(context: Context, out_c: int, depth: int) -> int:
    """How many groups the channels fall into; a filter reads `depth` channels."""
    in_c = context.input(0).shape[-1]
    if depth < 1 or in_c % depth or out_c % (in_c // depth) or out_c != context.output().shape[-1]:
        raise context.unsupported(
            f"its weights, {out_c} filters of {depth} channels, do not match its input and output"
        )
    return in_c // depth


def _conv_2d(context: Context) -> Lowered:
    filters = convolution.weights(context, 4)
    out_c, _, _, depth = filters.shape
    over = convolution.footprint(context)
    groups = _groups(context, out_c, depth)
    filters = filters.reshape(out_c, -1)
    if context.output().dtype is DType.UINT8:
        raise legacy.refusal(context, one_group=groups == 1)
    if context.input(1).dtype is DType.UINT8:
        channels = convolution.channels_s8(context, *legacy.without_zero(context, filters))
        return w9.lowered(
            context, over, channels, lambda few: convolution.lower_s8(context, over, few, 1)
        )
    factors = convolution.factors(context, out_c)
    if context.activation_type == DType.INT16:
        return wide.conv(context, over, filters, factors, groups)
    channels = convolution.channels_s8(context, filters, factors)
    return convolution.lower_s8(context, over, channels, groups)


LOWERINGS = {"CONV_2D": Lowering(_conv_2d, convolution.TYPES, of_a_window)}
