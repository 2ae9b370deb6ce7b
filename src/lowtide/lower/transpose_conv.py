"""TRANSPOSE_CONV: params of lt_transpose_conv.h, ..._s16.h and ..._2x2.h in kernels/include.

Its input 0, the output's shape, is not read: the output has one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import DType
from lowtide.ir.operands import Factors, multipliers
from lowtide.ir.window import Axis
from lowtide.lower import images, wide
from lowtide.lower.common import (
    Context,
    Lowering,
    activation_range,
    image_rows,
    per_tensor,
    quantised,
)
from lowtide.lower.counts import Counted
from lowtide.lower.elementwise import same_type, suffix
from lowtide.lower.families.conv_2x2 import ordered, shifted_factors
from lowtide.lower.layer import Fields
from lowtide.lower.nodes import Array, Lowered, Params, Port
from lowtide.lower.packed import factors as factors_of
from lowtide.lower.packed import int32, sizes_of

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
    is_wide = source.dtype is DType.INT16
    zeros: Fields = (
        ("input_zero", per_tensor(context, source)[1]),
        ("output_zero", per_tensor(context, out)[1]),
    )
    if is_wide and any(zero for _, zero in zeros):
        raise context.unsupported("an int16 tensor has a zero point other than 0")
    quick = _2x2(context, weights, (stride_h, stride_w)) if is_wide else None
    family = f"lt_transpose_conv_{'2x2_s16' if quick is not None else suffix(source.dtype)}"
    params = Params(
        family,
        (
            *(quick or _each(context, weights, is_wide)),
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
            *(() if is_wide else zeros),
            ("low", low),
            ("high", high),
        ),
    )
    reads = images.windows_from(source, first, window)
    met = sum(_met(taps.rows, y, source.shape[1]) for y in range(out.shape[1])) * source.shape[0]
    seen = [_met(taps.columns, x, source.shape[2]) for x in range(out.shape[2])]
    over = _Over(
        *(steps, met, tuple(seen), in_c, out_c, stride_w),
        clamps=(low, high) != (-32768, 32767),
        portable=context.target.is_portable,
    )
    return context.node(
        kernel=f"{family}_row",
        header=f"{family if is_wide and quick is None else family.rpartition('_')[0]}.h",
        params=params,
        inputs=(reads,),
        outputs=(Port(out.id, steps, out_bytes),),
        steps=steps,
        work=over.work(suffix(source.dtype), -(-kernel_w // stride_w), short=quick is not None),
    )


def _met(axis: Axis, at: int, size: int) -> int:
    """How many rows, or columns, of the input meet an output's."""
    reach = at + axis.before
    taps = range(reach % axis.stride, axis.kernel, axis.stride)
    return sum(0 <= (reach - tap) // axis.stride < size for tap in taps)


@dataclass(frozen=True, slots=True)
class _Over:
    """What a transposed convolution goes over: in `steps` rows so many rows of the input, `rows`, and
    for each column so many of its columns."""

    steps: int
    rows: int
    columns: tuple[int, ...]
    in_c: int
    out_c: int
    stride: int
    clamps: bool
    portable: bool

    @property
    def few(self) -> str:
        """How what is done for all products is named if a single channel, or two, are not made more
        than once (lt_conv_2x2)."""
        return {1: "_of_one", 2: "_of_two"}.get(self.out_c, "") if self.portable else ""

    def work(self, dtype: str, most: int, *, short: bool) -> Counted:
        """What is done by the kernel for the type, and for sums of 32 bits or not."""
        if dtype == "s8":
            return self.plain()
        return self.by_pairs(most) if short else self.by_fours()

    def by_fours(self) -> Counted:
        """What lt_transpose_conv_s16 does: four channels of one pixel after the other."""
        many, fours = len(self.columns), -(-self.out_c // 4)
        taps = self.rows * sum(self.columns) * fours
        each = {
            f"single_fours{self.few}": taps * (self.in_c // 4),
            f"single_rests{self.few}": taps * (self.in_c % 4 > 0),
        }
        return Counted.of(
            many,
            **each,
            pixels=self.steps * many,
            singles=self.steps * many * fours,
            single_rows=self.rows * many * fours,
            single_taps=taps,
            elements=self.steps * many * self.out_c,
        )

    def plain(self) -> Counted:
        """What the kernels do that make one channel of one pixel after the other."""
        many, taps = len(self.columns), self.rows * self.out_c * sum(self.columns)
        return Counted.of(
            many,
            pixels=self.steps * many,
            written=self.steps * many * self.out_c,
            rows=self.rows * many * self.out_c,
            taps=taps,
            work=taps * self.in_c,
            fours=taps * (self.in_c // 4),
            rests=taps * (self.in_c % 4),
        )

    def by_pairs(self, most: int) -> Counted:
        """What lt_transpose_conv_2x2 does: pairs of pixels that are a stride apart, both of which meet
        as many columns as there can be; others alone, four channels at once."""
        pairs = alone = pair_taps = alone_taps = 0
        for phase in range(min(self.stride, len(self.columns))):
            mine = self.columns[phase :: self.stride]
            at = 0
            while at < len(mine):
                whole = mine[at : at + 2] == (max(mine),) * 2
                if whole and max(mine) <= most:
                    pairs, pair_taps, at = pairs + 1, pair_taps + mine[at], at + 2
                else:
                    alone, alone_taps, at = alone + 1, alone_taps + mine[at], at + 1
        twos = -(-self.out_c // 2)
        fours = -(-self.out_c // 4)
        met = self.rows * alone_taps * fours
        lone = self.few if self.out_c == 1 else ""
        each = {
            f"pair_fours{lone}": self.rows * pair_taps * twos * -(-self.in_c // 4),
            f"single_fours{self.few}": met * (self.in_c // 4),
            f"single_rests{self.few}": met * (self.in_c % 4 > 0),
        }
        return Counted.of(
            len(self.columns),
            **each,
            pixels=self.steps * len(self.columns),
            pairs=self.steps * pairs * twos,
            pair_rows=self.rows * pairs * twos,
            pair_taps=self.rows * pair_taps * twos,
            singles=self.steps * alone * fours,
            single_rows=self.rows * alone * fours,
            single_taps=met,
            clamped=self.steps * len(self.columns) * self.out_c * self.clamps,
        )


def _check(context: Context) -> None:
    source, filters, out = context.input(_INPUT), context.input(_WEIGHTS), context.output()
    tensors = (source, filters, out)
    same_type(context, source, out)
    if filters.dtype is not DType.INT8:
        raise context.unsupported(f"its weights are of type {filters.dtype.name}")
    if any(len(t.shape) != 4 or t.bytes == 0 for t in tensors):
        raise context.unsupported("its input, weights and output do not all have four dimensions")
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


def _2x2(context: Context, weights: NDArray[np.int8], strides: tuple[int, int]) -> Fields | None:
    """The params of lt_transpose_conv_2x2.h with weights and scales, or None without its conditions.
    `weights` is [out_c, kernel_h, kernel_w, in_c]; a result sums those that are `strides` apart."""
    channels, kernel_h, kernel_w, _ = weights.shape
    bias, factors = _requantisation(context, channels, True)
    flat = weights.reshape(channels, -1)
    down, along = strides
    summed = [
        sizes_of(weights[:, y::down, x::along].reshape(channels, -1))
        for y in range(min(down, kernel_h))
        for x in range(min(along, kernel_w))
    ]
    left, quick = shifted_factors(np.max(summed, axis=0), bias, factors)
    if quick is None:
        return None
    return (
        ("weights", ordered(flat, kernel_h * kernel_w)),
        ("start", Array("int32_t", int32(bias), weights=True)),
        ("factor", Array("int32_t", quick)),
        ("left", left),
    )


def _each(context: Context, weights: NDArray[np.int8], is_wide: bool) -> Fields:
    """The params of the other kernels with weights and scales."""
    bias, factors = _requantisation(context, len(weights), is_wide)
    sums = Array("int64_t", bias, weights=True) if is_wide else None
    taps, flat = weights.shape[1] * weights.shape[2], weights.reshape(len(weights), -1)
    return (
        ("weights", ordered(flat, taps) if is_wide else Array("int8_t", weights, weights=True)),
        ("bias", sums or Array("int32_t", int32(bias), weights=True)),
        *factors_of(factors),
    )


def _requantisation(
    context: Context, channels: int, is_wide: bool
) -> tuple[NDArray[np.int64], Factors]:
    """Bias and factors per channel: PopulateConvolutionQuantizationParams, kernel_util.cc."""
    input_scale, _ = per_tensor(context, context.input(_INPUT))
    output_scale, _ = per_tensor(context, context.output())
    scales = quantised(context, context.input(_WEIGHTS)).scale
    scales = scales * channels if len(scales) == 1 else scales
    bias = np.zeros(channels, np.int64)
    given = context.optional(_BIAS)
    if given is not None:
        if is_wide and given.dtype not in (DType.INT16, DType.INT64):
            raise context.unsupported(f"its bias is of type {given.dtype.name}")
        bias = context.constant(_BIAS).astype(np.int64).reshape(-1)
    if len(scales) != channels or len(bias) != channels:
        raise context.unsupported(
            f"its scales or biases are not {channels} values, one for each channel"
        )
    factors = multipliers(context, input_scale * np.array(scales) / output_scale)
    if is_wide:
        wide.check(context, factors[:, 1])
    return bias, factors


LOWERINGS = {
    "TRANSPOSE_CONV": Lowering(
        _transpose_conv, frozenset({DType.INT8, DType.INT16}), typed_by=_INPUT
    )
}
