"""CONV_2D and FULLY_CONNECTED: params of kernels/include/lt_conv.h."""

from __future__ import annotations

import numpy as np

from lowtide.emit.lower.common import (
    Context,
    Lowering,
    activation_range,
    image_rows,
    multiplier,
    padding,
    per_tensor,
    quantised,
)
from lowtide.emit.program import Array, Lowered, Node, Params, Port
from lowtide.ir import DType


def _conv_2d(context: Context) -> Lowered:
    source, filters, out = context.input(0), context.input(1), context.output()
    weights = context.constant(1).astype(np.int8)
    out_c, kernel_h, kernel_w, depth = filters.shape
    stride_h, stride_w = context.option("stride_h", 1), context.option("stride_w", 1)
    dilation_h = context.option("dilation_h_factor", 1)
    dilation_w = context.option("dilation_w_factor", 1)
    _, in_h, in_w, in_c = source.shape
    _, pad_top = padding(context, in_h, kernel_h, stride_h, dilation_h)
    _, pad_left = padding(context, in_w, kernel_w, stride_w, dilation_w)
    input_scale, input_zero = per_tensor(context, source)
    output_scale, output_zero = per_tensor(context, out)
    scales = np.broadcast_to(np.array(quantised(context, filters).scale), (out_c,))
    factors = [multiplier(input_scale * s / output_scale) for s in scales.tolist()]
    bias = np.zeros(out_c, np.int64) if context.optional(2) is None else context.constant(2)
    sums = weights.reshape(out_c, -1).astype(np.int64).sum(axis=1)
    low, high = activation_range(context, out, context.option("fused_activation_function"))
    params = Params(
        "lt_conv_s8",
        (
            ("weights", Array("int8_t", weights, weights=True)),
            ("bias", Array("int32_t", (bias - input_zero * sums).astype(np.int32), weights=True)),
            ("multiplier", Array("int32_t", np.array([m for m, _ in factors]))),
            ("shift", Array("int8_t", np.array([s for _, s in factors]))),
            ("in_w", in_w),
            ("in_c", in_c),
            ("out_w", out.shape[2]),
            ("out_c", out_c),
            ("groups", in_c // depth),
            ("kernel_h", kernel_h),
            ("kernel_w", kernel_w),
            ("stride_w", stride_w),
            ("dilation_w", dilation_w),
            ("pad_left", pad_left),
            ("input_zero", input_zero),
            ("output_zero", output_zero),
            ("low", low),
            ("high", high),
        ),
    )
    rows, row_bytes = image_rows(source)
    steps, out_bytes = image_rows(out)
    return Lowered(
        (
            Node(
                op=context.op.id,
                kernel="lt_conv_s8_row",
                header="lt_conv.h",
                params=params,
                inputs=(
                    Port(source.id, rows, row_bytes, -pad_top, stride_h, kernel_h, dilation_h),
                ),
                outputs=(Port(out.id, steps, out_bytes),),
                steps=steps,
                scratch=0 if kernel_h * kernel_w == 1 else kernel_h * kernel_w * in_c,
            ),
        )
    )


LOWERINGS = {"CONV_2D": Lowering(_conv_2d, frozenset({DType.INT8}))}
