"""TRANSPOSE_CONV: params of lt_transpose_conv.h, ..._s16.h and ..._2x2.h in kernels/include.

Its input 0, the output's shape, is not read: the output has one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import DType
from lowtide.lower import conv_2x2, images
from lowtide.lower.common import (
    Context,
    Lowering,
    activation_range,
    image_rows,
    multiplier,
    per_tensor,
    quantised,
)
from lowtide.lower.elementwise import same_type, suffix
from lowtide.lower.nodes import Array, Lowered, Node, Params, Port, Value
from lowtide.lower.packed import column, int32
from lowtide.lower.wide import MAX_SHIFT

_WEIGHTS, _INPUT, _BIAS = 1, 2, 3
_MOST = 65535


def _transpose_conv(context: Context) -> Lowered:
    source, filters, out = context.input(_INPUT), context.input(_WEIGHTS), context.output()
    _check(context)
    weights = context.constant(_WEIGHTS)
    out_c, kernel_h, kernel_w, in_c = filters.shape
    taps = context.op.window  # that of the convolution this one is the transpose of
    assert taps is not None
    stride_h, pad_top = taps.rows.stride, taps.rows.before
    stride_w, pad_left = taps.columns.stride, taps.columns.before
    wanted_h, wanted_w = taps.rows.made(out.shape[1]), taps.columns.made(out.shape[2])
    if (wanted_h, wanted_w) != source.shape[1:3]:
        raise context.unsupported(
            f"its input is {source.shape[1]} x {source.shape[2]}, but should be "
            f"{wanted_h} x {wanted_w}"
        )
    steps, out_bytes = image_rows(out)
    window = -(-kernel_h // stride_h)
    first = [(y + pad_top) // stride_h - window + 1 for y in range(out.shape[1])]
    low, high = activation_range(context, out, context.option("fused_activation_function"))
    wide = source.dtype is DType.INT16
    zeros: tuple[tuple[str, Value], ...] = (
        ("input_zero", per_tensor(context, source)[1]),
        ("output_zero", per_tensor(context, out)[1]),
    )
    if wide and any(zero for _, zero in zeros):
        raise context.unsupported("an int16 tensor has a zero point other than 0")
    twos = _by_twos(context, weights) if wide else None
    family = f"lt_transpose_conv_{'2x2_s16' if twos is not None else suffix(source.dtype)}"
    params = Params(
        family,
        (
            *(twos or _each(context, weights, wide)),
            ("in_w", source.shape[2]),
            ("in_c", in_c),
            ("out_w", out.shape[2]),
            ("out_c", out_c),
            ("kernel_h", kernel_h),
            ("kernel_w", kernel_w),
            ("stride_h", stride_h),
            ("stride_w", stride_w),
            ("pad_top", pad_top),
            ("pad_left", pad_left),
            ("rows", window),
            *(() if wide else zeros),
            ("low", low),
            ("high", high),
        ),
    )
    node = Node(
        op=context.op.id,
        kernel=f"{family}_row",
        header=f"{family if wide and twos is None else family.rpartition('_')[0]}.h",
        params=params,
        inputs=(images.windows_from(source, first, window),),
        outputs=(Port(out.id, steps, out_bytes),),
        steps=steps,
    )
    return Lowered((node,))


def _check(context: Context) -> None:
    source, filters, out = context.input(_INPUT), context.input(_WEIGHTS), context.output()
    tensors = (source, filters, out)
    same_type(context, source, out)
    if filters.dtype is not DType.INT8:
        raise context.unsupported(f"its weights are of type {filters.dtype.name}")
    if any(len(t.shape) != 4 or t.bytes == 0 for t in tensors):
        raise context.unsupported("its input, weights and output are not of four dimensions")
    if source.shape[0] != out.shape[0]:
        raise context.unsupported("its input and output must have the same batch size")
    if (out.shape[3], source.shape[3]) != (filters.shape[0], filters.shape[3]):
        raise context.unsupported("its weights do not match its input's and output's channels")
    taps = context.op.window
    strides = (0,) if taps is None else (taps.rows.stride, taps.columns.stride)
    sizes = (*source.shape, *filters.shape, *out.shape, *strides)
    if min(strides) < 1 or max(sizes) > _MOST or max(source.shape[1], out.shape[1]) > 32767:
        raise context.unsupported("a size or stride is out of range")
    if quantised(context, filters).zero_point[0] != 0:
        raise context.unsupported("its weights have a zero point other than 0")


def _by_twos(context: Context, weights: NDArray[np.int8]) -> tuple[tuple[str, Value], ...] | None:
    """The params of lt_transpose_conv_2x2.h with weights and scales, or None without its conditions.
    `weights` is [out_c, kernel_h, kernel_w, in_c]."""
    channels, _, _, in_c = weights.shape
    bias, factors = _requantisation(context, channels, True)
    flat = weights.reshape(channels, -1)
    quick = conv_2x2.short(flat, bias, factors) if in_c % 4 == 0 else None
    if quick is None:
        return None
    return (
        ("weights", Array("int8_t", conv_2x2.ordered(flat, 1), weights=True)),
        ("start", Array("int32_t", int32(bias), weights=True)),
        ("factor", Array("int32_t", quick)),
    )


def _each(context: Context, weights: NDArray[np.int8], wide: bool) -> tuple[tuple[str, Value], ...]:
    """The params of the other kernels with weights and scales."""
    bias, factors = _requantisation(context, len(weights), wide)
    sums = Array("int64_t", bias, weights=True) if wide else None
    return (
        ("weights", Array("int8_t", weights, weights=True)),
        ("bias", sums or Array("int32_t", int32(bias), weights=True)),
        ("multiplier", Array("int32_t", column(factors, 0))),
        ("shift", Array("int8_t", column(factors, 1))),
    )


def _requantisation(
    context: Context, channels: int, wide: bool
) -> tuple[NDArray[np.int64], conv_2x2.Factors]:
    """Bias and factors per channel: PopulateConvolutionQuantizationParams, kernel_util.cc."""
    input_scale, _ = per_tensor(context, context.input(_INPUT))
    output_scale, _ = per_tensor(context, context.output())
    scales = quantised(context, context.input(_WEIGHTS)).scale
    scales = scales * channels if len(scales) == 1 else scales
    bias = np.zeros(channels, np.int64)
    given = context.optional(_BIAS)
    if given is not None:
        if wide and given.dtype not in (DType.INT16, DType.INT64):
            raise context.unsupported(f"its bias is of type {given.dtype.name}")
        bias = context.constant(_BIAS).astype(np.int64).reshape(-1)
    if len(scales) != channels or len(bias) != channels:
        raise context.unsupported(f"its scales or bias are not one for each of {channels} channels")
    factors = tuple(multiplier(context, input_scale * scale / output_scale) for scale in scales)
    if wide and any(shift > MAX_SHIFT for _, shift in factors):
        raise context.unsupported(f"a factor of its sums is {1 << MAX_SHIFT} or more")
    return bias, factors


LOWERINGS = {
    "TRANSPOSE_CONV": Lowering(
        _transpose_conv, frozenset({DType.INT8, DType.INT16}), typed_by=_INPUT
    )
}
