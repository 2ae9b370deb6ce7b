"""FULLY_CONNECTED: a 1 x 1 convolution of one pixel per row; uint8 has a kernel of its own.

Why two roundings: TFLM and LiteRT's reference differ. TFLM's results are the rule; a graph that
`passes.rounding` has marked gives LiteRT's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import DType
from lowtide.ir.products import bias, clamp, is_narrow, real_factors, says_narrow, scaled_fits
from lowtide.lower import convolution, legacy, packed, wide
from lowtide.lower.common import Context, Lowering, floats_of, per_tensor, quantised, type_range
from lowtide.lower.layer import Footprint
from lowtide.lower.nodes import Array, Lowered, Node, Params


def _window(context: Context, out_c: int, depth: int) -> Footprint:
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
    if context.op.as_litert:
        return _rounded_once(context, over, filters)
    if context.activation_type == DType.INT16:
        return wide.lower_s16(context, over, filters, zeros=True)
    return convolution.lower_s8(context, over, filters)


def _rounded_once(context: Context, over: Footprint, filters: NDArray[np.int8]) -> Lowered:
    """As LiteRT has it; `filters` is [out_c, depth]."""
    out_c, depth = filters.shape
    is_wide = context.activation_type == DType.INT16
    sums = bias(context, out_c, DType.INT32, *([DType.INT64] if is_wide else []))
    narrow = not is_wide or is_narrow(context)
    if is_wide and narrow != says_narrow(context):
        raise context.unsupported("LiteRT needs quantized_bias_type to be the type of its bias")
    _, input_zero = per_tensor(context, context.input(0))
    _, output_zero = per_tensor(context, context.output())
    sums = sums - input_zero * packed.sums_of(filters)
    low, high = clamp(context)
    reals = real_factors(context, out_c)
    if not scaled_fits(filters, sums, type_range(context.activation_type), reals):
        raise legacy.beyond(context)
    scales = [floats_of(real) for real in reals]
    family = "lt_fully_connected_once"
    node = Node(
        op=context.op.id,
        kernel=f"{family}_{'s16' if is_wide else 's8'}_row",
        header=f"{family}.h",
        params=Params(
            family,
            (
                ("weights", Array("int8_t", filters, weights=True)),
                ("bias", Array("int64_t", sums, weights=True)),
                ("scale", Array("float", np.array(scales, np.float32))),
                ("depth", depth),
                ("out_c", out_c),
                ("output_zero", output_zero),
                ("low", low),
                ("high", high),
                ("narrow", int(narrow)),
            ),
        ),
        inputs=(over.source,),
        outputs=(over.target,),
        steps=over.target.rows,
    )
    return Lowered((node,))


LOWERINGS = {"FULLY_CONNECTED": Lowering(_fully_connected, convolution.TYPES)}
