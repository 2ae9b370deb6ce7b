"""Functions of one variable: params of kernels/include/lt_lut.h (int8) and lt_unary.h (int16).

Why tables: an int8 function has 256 values. Each is computed here as the reference computes it at run
time, and one kernel serves them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from lowtide.ir import DType
from lowtide.lower import fixed_point as fixed
from lowtide.lower.columns import of_each
from lowtide.lower.common import Context, Lowering, activation_range, type_range
from lowtide.lower.common import multiplier as factor
from lowtide.lower.elementwise import by_rows, number, same_type, scale_zero
from lowtide.lower.nodes import Array, Lowered

Function = Callable[[int], int]
"""From a stored input to a stored output, which may still lie outside the type."""

Quants = tuple[float, int, float, int]

_RELU6 = 3  # of the schema's fused activations

_ONE = (1 << 30, 1)
"""(multiplier, shift) of the factor 1."""

# Bit i is set where the reference's table of the logistic function is 1 above the rounded function.
_LOGISTIC_EXCESS = 0x800000000000000000000000000000800011009020440005C0467BAEFA7BD110


def table(context: Context, function: Function) -> Lowered:
    """The operator as a table of `function`, saturated; from any 8-bit type to any."""
    signed = context.input(0).dtype is DType.INT8
    low, high = type_range(context.output().dtype)
    values = [
        max(low, min(high, function(fixed.wrap(i, 8) if signed else i))) & 0xFF for i in range(256)
    ]
    array = Array("uint8_t", np.array(values, np.uint8))
    return by_rows(context, "lt_lut_8_row", "lt_lut", "lt_lut.h", (("table", array),))


def _quants(context: Context) -> Quants:
    """(scale, zero point) of the input and of the output, which are of one type."""
    source, out = context.input(0), context.output()
    same_type(context, source, out)
    return (*scale_zero(context, source), *scale_zero(context, out))


def _relu(context: Context) -> Lowered:
    in_scale, in_zero, out_scale, out_zero = _quants(context)
    multiplier, shift = factor(context, in_scale / out_scale)
    if context.input(0).dtype is DType.INT16:
        if in_zero or out_zero:
            raise context.unsupported("an int16 tensor has a zero point other than 0")
        return _two_slopes(context, (multiplier, shift), (0, 0), False)

    def function(x: int) -> int:
        return max(out_zero, out_zero + fixed.scale(x - in_zero, multiplier, shift))

    return table(context, function)


def _relu6(context: Context) -> Lowered:
    """Limits in the input's quantisation; the output's is not looked at, as in the reference."""
    in_scale, zero, out_scale, out_zero = _quants(context)
    if context.input(0).dtype is DType.UINT8:  # LiteRT's does look at it
        least, most = activation_range(context, context.output(), _RELU6)
        multiplier, shift = factor(context, in_scale / out_scale)

        def function(x: int) -> int:
            return max(least, min(most, out_zero + fixed.scale(x - zero, multiplier, shift)))

        return table(context, function)
    low, high = type_range(context.input(0).dtype)
    with np.errstate(over="ignore"):
        real = float(np.float32(6) / np.float32(in_scale))  # single precision, here alone
    six = max(low, min(high, round_away(min(real, 65536.0)) + zero))
    if context.input(0).dtype is DType.INT16:
        limits = (("low", zero), ("high", six))
        return by_rows(context, "lt_clip_s16_row", "lt_clip_s16", "lt_unary.h", limits)
    return table(context, lambda x: min(six, max(zero, x)))


def round_away(x: float) -> int:
    """To the nearest integer, halves away from zero: std::round."""
    return int(math.copysign(math.floor(abs(x) + 0.5), x))


def _leaky_relu(context: Context) -> Lowered:
    in_scale, in_zero, out_scale, out_zero = _quants(context)
    slope = in_scale * number(context, "alpha", 0.0) / out_scale
    positive = factor(context, in_scale / out_scale)
    negative = factor(context, abs(slope))
    if context.input(0).dtype is DType.INT16:
        return _two_slopes(context, positive, negative, slope < 0)

    def function(x: int) -> int:
        if x >= in_zero:
            return out_zero + fixed.scale(x - in_zero, *positive)
        scaled = fixed.scale(x - in_zero, *negative)
        return out_zero + (-scaled if slope < 0 else scaled)

    return table(context, function)


def _two_slopes(
    context: Context, positive: tuple[int, int], negative: tuple[int, int], negate: bool
) -> Lowered:
    """The int16 kernel of RELU and LEAKY_RELU, from the factors (multiplier, shift) of its lines."""
    _, in_zero, _, out_zero = _quants(context)
    fields = (
        ("positive_multiplier", positive[0]),
        ("negative_multiplier", negative[0]),
        ("positive_shift", positive[1]),
        ("negative_shift", negative[1]),
        ("negate", int(negate)),
        ("input_zero", in_zero),
        ("output_zero", out_zero),
    )
    return by_rows(context, "lt_leaky_relu_s16_row", "lt_leaky_relu_s16", "lt_unary.h", fields)


def _hard_swish(context: Context) -> Lowered:
    """hard_swish.h: fixed point of 16 bits, saturating."""
    in_scale, in_zero, out_scale, out_zero = _quants(context)
    fine = in_scale / 128
    out_factor, out_shift = factor(context, fine / out_scale)
    relu_factor, relu_shift = factor(context, fine / (3 / 32768))
    if out_shift > 0:
        raise context.unsupported("its output's scale is too small for its input's")

    def function(x: int) -> int:
        value = (x - in_zero) * 128
        product = _high_mul_16(value, _narrow(out_factor))
        gate = value
        if relu_shift > 0:
            gate = fixed.saturate(gate << (relu_shift - 1), 16)
        gate = _high_mul_16(gate, _narrow(relu_factor))
        if relu_shift > 0:
            gate = fixed.saturate(gate << 1, 16)
        elif relu_shift < 0:
            gate = _divide_16(gate, -relu_shift)
        gate = (gate + (1 << 15)) >> 1
        doubled = abs(gate * product) >> 15  # towards zero
        result = _divide_16(doubled if gate * product >= 0 else -doubled, -out_shift)
        return fixed.wrap(result + out_zero, 16)

    return table(context, function)


def _narrow(multiplier: int) -> int:
    """A multiplier of 16 bits: DownScaleInt32ToInt16Multiplier."""
    return 0x7FFF if multiplier >= fixed.INT32_MAX - (1 << 15) else (multiplier + (1 << 15)) >> 16


def _high_mul_16(a: int, b: int) -> int:
    return fixed.saturate((a * b + (1 << 14)) >> 15, 16)


def _divide_16(x: int, exponent: int) -> int:
    """RoundingDivideByPOT in int16: the mask has only 16 bits."""
    mask = fixed.wrap((1 << exponent) - 1, 16)
    return fixed.wrap((x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0)), 16)


def _sigmoid(context: Context, *, tanh: bool) -> Lowered:
    if context.input(0).dtype is DType.INT16:
        return _sigmoid_16(context, tanh)
    if context.input(0).dtype is DType.UINT8:
        return _sigmoid_by_floats(context, tanh)
    in_scale, in_zero, _, out_zero = _quants(context)
    if not tanh and out_zero != -128:
        raise context.unsupported(f"its output's zero point should be -128, and is {out_zero}")
    mantissa, shift = math.frexp(in_scale * (1 << 27))  # to Q4.27
    multiplier = round_away(mantissa * (1 << 31))
    if shift < 0:
        raise context.unsupported(f"its input's scale, {in_scale:g}, is too small")
    radius = math.floor(15.0 * (1 << 27) / 2.0**shift)

    def function(x: int) -> int:
        x -= in_zero
        if abs(x) >= radius:
            return -128 if x <= -radius else 127
        scaled = fixed.scale(x, multiplier, shift)
        if tanh:
            return fixed.divide_by_pot(fixed.tanh(scaled), 24)
        return fixed.divide_by_pot(fixed.logistic(scaled), 23) - 128

    return table(context, function)


def _sigmoid_by_floats(context: Context, tanh: bool) -> Lowered:
    """uint8, as LiteRT has it: LUTPopulate of common.h, in single precision."""
    in_scale, in_zero, out_scale, out_zero = _quants(context)
    f32 = np.float32
    inverse = f32(1) / f32(out_scale)

    def function(x: int) -> int:
        real = float(f32(in_scale) * f32(x - in_zero))
        other = f32(1) / (f32(1) + f32(math.exp(min(-real, 88.0))))
        value = f32(math.tanh(real)) if tanh else other
        return round_away(float(value * inverse)) + out_zero

    return table(context, function)


def _sigmoid_16(context: Context, tanh: bool) -> Lowered:
    in_scale, in_zero, out_scale, out_zero = _quants(context)
    if in_zero or out_zero:
        raise context.unsupported("an int16 tensor has a zero point other than 0")
    exponent, exact = log2(out_scale)
    if exponent != -15 or not exact:
        raise context.unsupported(f"its output's scale should be 1/32768, and is {out_scale:g}")
    exponent, exact = log2(in_scale)
    if exact and exponent in ((-12, -11) if tanh else (-12,)):
        multiplier, shift = 3 << (exponent + 12), 0
    else:
        real, shift = in_scale * 4096.0 * 3.0, 0
        while real <= 32767.0 / 2.0 and shift <= 30:
            shift += 1
            real *= 2.0
        multiplier = int(real)
    if multiplier > 32767:
        raise context.unsupported(f"its input's scale, {in_scale:g}, is too large")
    array = Array("uint16_t", np.array(logistic_table(), np.uint16))
    fields = (("table", array), ("multiplier", multiplier), ("shift", shift))
    kernel = f"lt_{'tanh' if tanh else 'logistic'}_s16_row"
    return by_rows(context, kernel, "lt_logistic_s16", "lt_unary.h", fields)


def log2(scale: float) -> tuple[int, bool]:
    """(log2 rounded, whether it is almost exact): CheckedLog2, in single precision."""
    one = np.float32(1)
    exponent = np.float32(math.log(scale)) * (one / np.float32(math.log(np.float32(2))))
    rounded = round_away(float(exponent))
    return rounded, bool(abs(exponent - np.float32(rounded)) < np.float32(1e-3))


def logistic_table() -> list[int]:
    """sigmoid_table_uint16 of common.h: the logistic function of i / 24, in 1 / 65536."""
    rounded = [math.floor(65536 / (1 + math.exp(-i / 24)) + 0.5) for i in range(256)]
    return [min(0xFFFF, x + (_LOGISTIC_EXCESS >> i & 1)) for i, x in enumerate(rounded)]


def _abs(context: Context) -> Lowered:
    source = context.input(0)
    in_scale, in_zero, out_scale, out_zero = _quants(context)
    real = in_scale / out_scale
    multiplier, shift = factor(context, real) if in_scale != out_scale else _ONE
    if source.dtype is DType.INT16:
        if in_zero or out_zero:
            raise context.unsupported("an int16 tensor has a zero point other than 0")
        return _two_slopes(context, (multiplier, shift), (multiplier, shift), True)
    return table(context, lambda x: fixed.scale(abs(x - in_zero), multiplier, shift) + out_zero)


def _elu(context: Context) -> Lowered:
    """elu.cc: a table of floats."""
    in_scale, in_zero, out_scale, out_zero = _quants(context)

    def function(x: int) -> int:
        with np.errstate(over="ignore"):
            inverse = np.float32(1) / np.float32(out_scale)
            real = np.float32(in_scale) * np.float32(x - in_zero)
            if real < 0:
                real = np.float32(math.exp(float(real))) - np.float32(1)
            scaled = float(real * inverse)
        return round_away(max(-1e6, min(1e6, scaled))) + out_zero

    return table(context, function)


def _rsqrt(context: Context) -> Lowered:
    """elementwise.cc. Inputs below 0, which the reference rejects at run time, give the most."""
    in_scale, in_zero, out_scale, out_zero = _quants(context)
    root = math.sqrt(in_scale) * out_scale
    multiplier, shift = factor(context, 1.0 / root)
    digits = 20
    if shift - digits < -31:
        raise context.unsupported("its scales are too large")

    def function(x: int) -> int:
        if x <= in_zero:
            return 127
        inverse, inverse_shift = fixed.inverse_sqrt(x - in_zero)
        value = fixed.scale(1, inverse, inverse_shift + digits)
        return fixed.scale(value, multiplier, shift - digits) + out_zero

    return table(context, function)


_INT8 = frozenset({DType.INT8})
_BOTH = frozenset({DType.INT8, DType.INT16})
_ALL = _BOTH | {DType.UINT8}
_BYTES = _INT8 | {DType.UINT8}
LOWERINGS = {
    "RELU": Lowering(_relu, _ALL, of_each),
    "RELU6": Lowering(_relu6, _ALL, of_each),
    "LEAKY_RELU": Lowering(_leaky_relu, _ALL, of_each),
    "HARD_SWISH": Lowering(_hard_swish, _BYTES, of_each),
    "LOGISTIC": Lowering(partial(_sigmoid, tanh=False), _ALL, of_each),
    "TANH": Lowering(partial(_sigmoid, tanh=True), _ALL, of_each),
    "ABS": Lowering(_abs, _BOTH, of_each),
    "ELU": Lowering(_elu, _INT8, of_each),
    "RSQRT": Lowering(_rsqrt, _INT8, of_each),
}
