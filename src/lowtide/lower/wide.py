"""int16 convolutions and dense layers with int8 weights: params of lt_conv_2x2.h, lt_conv_s16.h and
lt_depthwise_s16.h.

Why apart: sums have 64 bits and are scaled with 16 bits of the multiplier, unless the bias is int32.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import DType
from lowtide.ir.products import is_narrow
from lowtide.lower import conv_2x2, convolution, packed
from lowtide.lower.common import Context, per_tensor, type_range
from lowtide.lower.conv_2x2_work import ConvolutionTwos, DepthwiseWide
from lowtide.lower.nodes import Array, Lowered, Node, Params, Value

MAX_SHIFT = 14  # of lt_scale_wide
Factors = conv_2x2.Factors
_TWOS = "lt_conv_2x2_s16"


def _check(context: Context, factors: Factors) -> None:
    if any(shift > MAX_SHIFT for _, shift in factors):
        raise context.unsupported(f"a factor of its sums is {1 << MAX_SHIFT} or more")


def _scaling(factors: Factors) -> tuple[tuple[str, Value], ...]:
    return (
        ("multiplier", Array("int32_t", packed.column(factors, 0))),
        ("shift", Array("int8_t", packed.column(factors, 1))),
    )


def _node(
    context: Context,
    over: convolution.Footprint,
    family: str,
    fields: tuple[tuple[str, Value], ...],
    scratch: int,
    work: ConvolutionTwos | DepthwiseWide | None = None,
) -> Lowered:
    low, high = convolution.clamp(context)
    fields += ("low", low), ("high", high)
    node = Node(
        op=context.op.id,
        kernel=f"{family}_row",
        header=f"{family.removesuffix('_s16')}.h" if family == _TWOS else f"{family}.h",
        params=Params(family, (*fields, *over.fields)),
        inputs=(over.source,),
        outputs=(over.target,),
        steps=over.target.rows,
        scratch=scratch,
        work=work,
    )
    return Lowered((node,))


def _work(
    context: Context, over: convolution.Footprint, out_c: int, *, short: bool
) -> ConvolutionTwos:
    """What lt_conv_2x2 does; its sums are of 32 bits and scaled in one step if they are `short`."""
    return ConvolutionTwos(
        steps=over.target.rows,
        rows=over.source.touched(over.target.rows)[0],
        axis=over.axis,
        in_w=over.in_w,
        in_c=over.in_c,
        columns=over.out_w,
        out_c=out_c,
        short=short,
        clamps=convolution.clamp(context) != type_range(DType.INT16),
    )


def conv(
    context: Context,
    over: convolution.Footprint,
    weights: NDArray[np.int8],
    factors: Factors,
    groups: int,
) -> Lowered:
    """CONV_2D; `weights` is [out_c, products]. Its zero points are not used, in the reference either."""
    bias = convolution.bias(context, len(weights), DType.INT32, DType.INT64)
    return _conv(context, over, weights, factors, bias, 0, groups)


def fully_connected(
    context: Context, over: convolution.Footprint, weights: NDArray[np.int8], factors: Factors
) -> Lowered:
    """FULLY_CONNECTED; `weights` is [out_c, depth]."""
    _, input_zero = per_tensor(context, context.input(0))
    _, output_zero = per_tensor(context, context.output())
    bias = convolution.bias(context, len(weights), DType.INT32, DType.INT64)
    bias = bias - input_zero * weights.astype(np.int64).sum(axis=1)
    return _conv(context, over, weights, factors, bias, output_zero, 1)


def _conv(
    context: Context,
    over: convolution.Footprint,
    weights: NDArray[np.int8],
    factors: Factors,
    bias: NDArray[np.int64],
    zero: int,
    groups: int,
) -> Lowered:
    narrow = is_narrow(context)
    if not narrow:
        _check(context, factors)
    sizes = ("out_c", len(weights)), ("output_zero", zero)
    if groups == 1 and conv_2x2.is_worth(weights.shape[1], over.kernel_h):
        scaling = conv_2x2.scaling(weights, bias, factors, narrow)
        return _node(
            context,
            over,
            _TWOS,
            (
                (
                    "weights",
                    Array("int8_t", conv_2x2.ordered(weights, over.kernel_h), weights=True),
                ),
                *scaling,
                *sizes,
            ),
            0,
            _work(context, over, len(weights), short=dict(scaling)["shift"] is None),
        )
    fields: tuple[tuple[str, Value], ...] = (
        ("weights", Array("int8_t", weights, weights=True)),
        ("bias", None if narrow else Array("int64_t", bias, weights=True)),
        ("bias_32", Array("int32_t", packed.int32(bias), weights=True) if narrow else None),
        *_scaling(factors),
        ("groups", groups),
        *sizes,
    )
    scratch = 0 if over.taps == 1 else 2 * over.taps * over.in_c
    return _node(context, over, "lt_conv_s16", fields, scratch)


def depthwise(
    context: Context,
    over: convolution.Footprint,
    weights: NDArray[np.int8],
    factors: Factors,
    multiple: int,
) -> Lowered:
    """DEPTHWISE_CONV_2D; `weights` is [1, kernel_h, kernel_w, out_c]. The bias has 64 bits."""
    bias = convolution.bias(context, weights.shape[3], DType.INT64)
    _check(context, factors)
    fields: tuple[tuple[str, Value], ...] = (
        ("weights", Array("int8_t", weights, weights=True)),
        *conv_2x2.scaling(weights.reshape(-1, len(bias)).T, bias, factors, False),
        ("filters", multiple),
    )
    work = DepthwiseWide(
        steps=over.target.rows,
        rows=over.source.touched(over.target.rows)[0],
        axis=over.axis,
        in_w=over.in_w,
        columns=over.out_w,
        in_c=over.in_c,
        filters=multiple,
    )
    return _node(context, over, "lt_depthwise_s16", fields, 0, work)
