"""FULLY_CONNECTED: a 1 x 1 convolution of one pixel per row; uint8 has a kernel of its own."""

from __future__ import annotations

from lowtide.ir import DType
from lowtide.lower import convolution, legacy, wide
from lowtide.lower.common import Context, Lowering, quantised
from lowtide.lower.nodes import Lowered


def _window(context: Context, out_c: int, depth: int) -> convolution.Footprint:
    source, out = context.input(0), context.output()
    if context.option("weights_format") != 0:
        raise context.unsupported("its weights are shuffled")
    if not out.shape or out.shape[-1] != out_c or 0 in (depth, out.elements):
        raise context.unsupported(f"its output does not match its {out_c} filters")
    rows = out.elements // out_c
    if source.elements != rows * depth:
        raise context.unsupported(f"its input is not {rows} times {depth} values")
    return convolution.dense(context, rows, depth, source, out)


def _fully_connected(context: Context) -> Lowered:
    filters = convolution.weights(context)
    if len(filters.shape) < 2:
        raise context.unsupported("its weights must have two dimensions")
    out_c, depth = filters.shape[-2:]
    over = _window(context, out_c, depth)
    filters = filters.reshape(out_c, depth)
    if context.activation_type == DType.UINT8:
        return legacy.fully_connected(context, over, filters)
    if any(quantised(context, context.input(1)).zero_point):
        raise context.unsupported("the zero point of its weights must be 0")
    # The product of the scales is a double, as the released TFLM has it (older sources: float32).
    factors = convolution.factors(context, out_c)
    if context.activation_type == DType.INT16:
        return wide.fully_connected(context, over, filters, factors)
    channels = convolution.channels_s8(context, filters, factors)
    return convolution.lower_s8(context, over, channels, 1)


LOWERINGS = {"FULLY_CONNECTED": Lowering(_fully_connected, convolution.TYPES)}
