"""CONV_2D."""

from __future__ import annotations

from lowtide.ir import DType
from lowtide.lower import convolution, legacy, wide
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
        return convolution.lower_s8(context, over, *legacy.without_zero(context, filters))
    if context.activation_type == DType.INT16:
        return wide.lower_s16(context, over, filters, groups=groups)
    return convolution.lower_s8(context, over, filters, groups=groups)


LOWERINGS = {"CONV_2D": Lowering(_conv_2d, convolution.TYPES, of_a_window)}
