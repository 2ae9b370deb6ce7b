"""Functions of one variable: QUANTIZE, DEQUANTIZE, RELU and its like, LOGISTIC, TANH, SOFTMAX.

Sources, in tensorflow/lite/kernels/internal: reference/quantize.h, requantize.h, dequantize.h,
leaky_relu.h, integer_ops/logistic.h, integer_ops/tanh.h, softmax.h; and gemmlowp's fixedpoint.h.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .arithmetic import (
    RANGES,
    Ints,
    activation_range,
    divide_by_pot,
    high_mul,
    quantize_multiplier,
    scaled,
    wrapped,
)
from .drawing import Case, Draw, RedrawError

Singles = NDArray[np.float32]


def _shape(draw: Draw) -> tuple[int, ...]:
    return tuple(draw.within(1, 14) for _ in range(draw.within(1, 4)))


def quantize(draw: Draw) -> Case:
    """QUANTIZE from integers to integers."""
    kinds = ("INT8", "UINT8", "INT16", "INT32")
    source, target = draw.wished("types", lambda: (draw.one(*kinds), draw.one(*kinds)))
    if {source, target} == {"UINT8", "INT8"} and draw.chance(0.5):
        target = source
    scales = draw.wished("scales", lambda: (draw.scale(), draw.scale()))
    in_scale, out_scale = (float(np.float32(scale)) for scale in scales)
    in_zero, out_zero = draw.zero(source), draw.zero(target)
    by = quantize_multiplier(in_scale / out_scale)
    x, values = draw.input(_shape(draw), source, in_scale, in_zero)
    if by[1] > 0 and np.abs(values - in_zero).max() >= 1 << (31 - by[1]):
        raise RedrawError
    made = scaled(values - in_zero, *by) + out_zero
    made = np.clip(made, *RANGES[target])
    out = draw.tensor(made.shape[1:], target, out_scale, out_zero)
    return draw.case("QUANTIZE", (x,), (out,), (made,), ("QuantizeOptions", {}), 2)


def dequantize(draw: Draw) -> Case:
    """DEQUANTIZE, and QUANTIZE of floats."""
    dtype = draw.wished("dtype", lambda: draw.one("INT8", "UINT8", "INT16"))
    scale, zero = draw.scale(), draw.zero(dtype)
    shape = _shape(draw)
    if "odd" not in draw.wishes and draw.chance(0.5):
        x, values = draw.input(shape, dtype, scale, zero)
        reals = (np.float64(scale) * (values - zero)).astype(np.float32)
        out = draw.tensor(shape, "FLOAT32")
        return draw.case("DEQUANTIZE", (x,), (out,), (reals,), ("DequantizeOptions", {}), 2)
    x = draw.tensor(shape, "FLOAT32")
    low, high = RANGES[dtype]
    small = draw.wished("small", lambda: draw.chance(0.2))  # results near the zero point
    ends = (-5, 6) if small else (2 * low, 2 * high)
    halves = draw.rng.integers(*ends, (draw.count, *shape)) / 2
    plain = draw.rng.normal(0, scale * (high - low), (draw.count, *shape))
    reals = (halves * scale if small or draw.chance(0.4) else plain).astype(np.float32)
    if (
        draw.wished("odd", lambda: draw.chance(0.2)) and not draw.fresh
    ):  # interpreters cast what no integer can hold: undefined
        odd = draw.rng.random(reals.shape)
        reals[odd < 0.1] = draw.one(np.inf, -np.inf, np.nan)
    draw.inputs.append(x)
    draw.samples[x] = reals
    exact = (reals / np.float32(scale)).astype(np.float64)
    made = np.sign(exact) * np.floor(np.abs(exact) + 0.5) + zero
    made = np.clip(np.where(np.isnan(made), low, made), low, high).astype(np.int64)
    out = draw.tensor(shape, dtype, scale, zero)
    return draw.case("QUANTIZE", (x,), (out,), (made,), ("QuantizeOptions", {}), 2)


def rectify(draw: Draw) -> Case:
    """RELU, LEAKY_RELU and ABS."""
    kind = draw.one("RELU", "LEAKY_RELU", "ABS", "RELU6")
    dtype = draw.often("INT8", "UINT8", "INT16", "INT16", share=0.4)
    if kind == "RELU6":
        return _relu6(draw, "INT8" if dtype == "UINT8" else dtype)
    if kind == "ABS" and dtype == "UINT8":
        dtype = "INT8"
    in_scale, out_scale = draw.scale(), draw.scale()
    if draw.chance(0.2):
        out_scale = in_scale
    in_zero, out_zero = draw.zero(dtype), draw.zero(dtype)
    above = quantize_multiplier(in_scale / out_scale)
    if above[1] > 8:
        raise RedrawError
    x, values = draw.input(_shape(draw), dtype, in_scale, in_zero)
    values = values - in_zero
    options: dict[str, float] = {}
    if kind == "RELU":
        made = np.maximum(out_zero, scaled(values, *above) + out_zero)
        named = "NegOptions"
    elif kind == "ABS":
        made = np.abs(values) if in_scale == out_scale else scaled(np.abs(values), *above)
        made = made + out_zero
        named = "AbsOptions"
    else:
        alpha = float(np.float32(draw.one(0.1, 0.25, 0.5, 1.0, draw.rng.uniform(-1, 1))))
        below = quantize_multiplier(in_scale * alpha / out_scale)
        made = np.where(values >= 0, scaled(values, *above), scaled(values, *below)) + out_zero
        named, options = "LeakyReluOptions", {"alpha": alpha}
    made = np.clip(made, *RANGES[dtype])
    out = draw.tensor(made.shape[1:], dtype, out_scale, out_zero)
    return draw.case(kind, (x,), (out,), (made,), (named, options), 2)


def _relu6(draw: Draw, dtype: str) -> Case:
    """RELU6 of the input's own scale."""
    scale, zero = draw.scale(), draw.zero(dtype)
    x, values = draw.input(_shape(draw), dtype, scale, zero)
    low, high = activation_range(3, dtype, scale, zero)
    out = draw.tensor(values.shape[1:], dtype, scale, zero)
    return draw.case("RELU6", (x,), (out,), (np.clip(values, low, high),), ("NegOptions", {}), 2)


def logistic(draw: Draw) -> Case:
    """LOGISTIC and TANH of int8, by gemmlowp's fixed point."""
    kind = draw.one("LOGISTIC", "TANH")
    in_scale = float(np.float32(2.0 ** draw.rng.uniform(-8, -1)))
    in_zero = draw.zero("INT8")
    multiplier, shift = quantize_multiplier(in_scale * (1 << 27))
    radius = math.floor(15.0 * (1 << 27) / (1 << shift)) if shift > 0 else 1 << 30
    x, values = draw.input(_shape(draw), "INT8", in_scale, in_zero)
    centred = values - in_zero
    inside = np.clip(centred, -radius, radius)
    real = scaled(inside, multiplier, shift)
    tanh = kind == "TANH"
    made = divide_by_pot(_tanh(real), 24) if tanh else divide_by_pot(_logistic(real), 23) - 128
    made = np.where(made == 128, 127, made)
    made = np.where(centred <= -radius, -128, np.where(centred >= radius, 127, made))
    scale, zero = (1 / 256, -128) if kind == "LOGISTIC" else (1 / 128, 0)
    out = draw.tensor(made.shape[1:], "INT8", scale, zero)
    return draw.case(kind, (x,), (out,), (made,), ("NegOptions", {}), 2)


_ONE = (1 << 31) - 1


def _saturating(x: Ints) -> Ints:
    return np.clip(x, -(1 << 31), _ONE)


def _shifted(x: Ints, by: int) -> Ints:
    """SaturatingRoundingMultiplyByPOT."""
    return _saturating(x << by) if by >= 0 else divide_by_pot(x, -by)


def _exp_between(x: Ints) -> Ints:
    """exp_on_interval_between_negative_one_quarter_and_0_excl, of Q0.31."""
    eighth = 1895147668
    a = x + (1 << 28)
    a2 = high_mul(a, a)
    a3, a4 = high_mul(a2, a), high_mul(a2, a2)
    over4 = divide_by_pot(a4, 2)
    rest = divide_by_pot(wrapped(high_mul(over4 + a3, 715827883) + a2), 1)
    return eighth + high_mul(eighth, a + rest)


def exp_on_negative(x: Ints, integer_bits: int) -> Ints:
    """exp_on_negative_values, of x <= 0 with so many integer bits."""
    fraction = 31 - integer_bits
    quarter = 1 << (fraction - 2)
    rest = (x & (quarter - 1)) - quarter
    result = _exp_between(_shifted(rest, integer_bits))
    remainder = rest - x
    for exponent, factor in zip(
        range(-2, 5),
        (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242),
        strict=True,
    ):
        if integer_bits > exponent:
            bit = 1 << (fraction + exponent)
            result = np.where(remainder & bit, high_mul(result, factor), result)
    if integer_bits > 5:
        result = np.where(x < -(1 << (fraction + 5)), 0, result)
    return np.where(x == 0, _ONE, result)


def _reciprocal(a: Ints) -> Ints:
    """Of (1 + a) / 2 by Newton's division: x in Q2.29, of which the callers take what they need."""
    half = _halved(a + _ONE)
    x = 1515870810 + high_mul(half, -1010580540)
    for _ in range(3):
        product = high_mul(half, x)
        rest = (1 << 29) - product
        x = wrapped(x + _shifted(high_mul(x, rest), 2))
    return x


def _halved(total: Ints) -> Ints:
    """RoundingHalfSum: towards zero after adding the sign."""
    nudged = total + np.where(total >= 0, 1, -1)
    halved: Ints = np.sign(nudged) * (np.abs(nudged) // 2)
    return halved


def _logistic(x: Ints) -> Ints:
    """logistic of Q4.27, as Q0.31."""
    positive = _shifted(_reciprocal(exp_on_negative(-np.abs(x), 4)), 1)
    made = np.where(x > 0, positive, _ONE - positive)
    return np.where(x == 0, 1 << 30, made)


def _tanh(x: Ints) -> Ints:
    """tanh of Q4.27, as Q0.31: of exp(-2 |x|)."""
    exps = exp_on_negative(-np.abs(x), 5)  # the same bits with one integer bit more are 2 x
    reciprocal = _reciprocal(exps)
    made = _shifted(reciprocal - (1 << 29), 2)
    return np.where(x == 0, 0, np.where(x < 0, -made, made))


def softmax(draw: Draw) -> Case:
    """SOFTMAX."""
    if draw.chance(0.3):
        return _softmax_16(draw)
    dtype, to = draw.one(("INT8", "INT8"), ("INT8", "INT16"), ("UINT8", "UINT8"))
    scale, zero = float(np.float32(2.0 ** draw.rng.uniform(-9, 1))), draw.zero(dtype)
    beta = float(np.float32(draw.often(1.0, 0.5, 2.0, 0.1, share=0.7)))
    shape = (*(draw.within(1, 9) for _ in range(draw.within(0, 3))), draw.within(1, 60))
    real = min(float(np.float64(beta) * scale * (1 << 26)), 2.0**31 - 1)
    multiplier, shift = quantize_multiplier(real)
    if shift > 31:
        raise RedrawError
    least = -math.floor(31.0 * (1 << 26) / (1 << shift))
    x, values = draw.input(shape, dtype, scale, zero)
    below = values - values.max(axis=-1, keepdims=True)
    inside = below >= least
    exps = exp_on_negative(scaled_up(np.where(inside, below, 0), multiplier, shift), 5)
    sums = np.where(inside, divide_by_pot(exps, 12), 0).sum(axis=-1, keepdims=True)
    zeros = np.vectorize(lambda s: 32 - int(s).bit_length())(sums)
    shifted = ((sums << zeros) & 0xFFFFFFFF) - (1 << 31)
    factor = _shifted_one(shifted)
    bits = 16 if to == "INT16" else 8
    made = divide_by_pot(high_mul(factor, exps), (12 - zeros) + 31 - bits)
    low, high = RANGES[to]
    out_zero = {"INT8": -128, "INT16": -32768, "UINT8": 0}[to]
    made = np.where(inside, np.clip(made + out_zero, low, high), low)
    out = draw.tensor(shape, to, 1 / (1 << bits), out_zero)
    options = ("SoftmaxOptions", {"beta": beta})
    return draw.case("SOFTMAX", (x,), (out,), (made,), options, 2)


def _softmax_16(draw: Draw) -> Case:
    """SoftmaxInt16: exponentials and a reciprocal from tables."""
    scale = float(np.float32(2.0 ** draw.rng.uniform(-18, -6)))
    beta = float(np.float32(draw.often(1.0, 0.5, 2.0, 0.1, share=0.7)))
    shape = (*(draw.within(1, 9) for _ in range(draw.within(0, 3))), draw.within(1, 60))
    factor = quantize_multiplier(float(np.float32(scale) * np.float32(beta)) / (10.0 / 65535.0))
    x, values = draw.input(shape, "INT16", scale)
    ends = RANGES["INT16"]
    below = values - values.max(axis=-1, keepdims=True)
    exps = _look_up(_table(10, ends[1], np.exp), np.clip(scaled(below, *factor) + ends[1], *ends))
    sums = exps.sum(axis=-1, keepdims=True)
    zeros = np.vectorize(lambda s: 32 - int(s).bit_length())(sums)
    of = (((sums << (zeros - 1)) + (1 << 13)) >> 14) - (1 << 15) - (1 << 16)
    reciprocal = _look_up(_table(1, ends[0], _of_one_and_more), np.clip(of, *ends))
    made = np.clip((exps * reciprocal + (1 << (30 - zeros))) >> (31 - zeros), 0, ends[1])
    out = draw.tensor(shape, "INT16", 1 / (1 << 15))
    return draw.case("SOFTMAX", (x,), (out,), (made,), ("SoftmaxOptions", {"beta": beta}), 2)


def _table(most: int, zero: int, function: Callable[[Singles], Singles]) -> Ints:
    """LUTPopulateInt16: a function of 0 to `most`, or of minus that to 0, at 513 places."""
    scale = np.float32(most) / np.float32(65535)
    low, high = scale * np.float32(-32768 - zero), scale * np.float32(32767 - zero)
    step = (high - low) / np.float32(512)
    inverse = np.float32(65536) / (np.float32(2) / np.float32(65535) * np.float32(65535))
    at = low + np.arange(513, dtype=np.float32) * step
    at[512] = high
    after = function(low + np.arange(1, 514, dtype=np.float32) * step) * inverse
    here = _to_nearest(function(at) * inverse)
    between = _to_nearest(function(at + step / np.float32(2)) * inverse)
    error = _to_nearest((after + here) / np.float32(2)) - between
    bias = _to_nearest(error / np.float32(2))
    bias[512] = 0
    table: Ints = np.clip(here - bias, *RANGES["INT16"]).astype(np.int64)
    return table


def _of_one_and_more(x: Singles) -> Singles:
    """1 / (1 + x)."""
    made: Singles = np.reciprocal(x + np.float32(1))
    return made


def _to_nearest(x: Singles) -> Singles:
    """round(): halves away from zero."""
    return np.copysign(np.floor(np.abs(x) + np.float32(0.5)), x)


def _look_up(table: Ints, x: Ints) -> Ints:
    """LUTLookup: between two places of the table."""
    at = 256 + (x >> 7)
    found: Ints = table[at] + (((table[at + 1] - table[at]) * (x & 127) + 64) >> 7)
    return found


def scaled_up(x: Ints, multiplier: int, shift: int) -> Ints:
    """MultiplyByQuantizedMultiplierGreaterThanOne."""
    return high_mul(wrapped(x << shift), multiplier)


def _shifted_one(shifted: Ints) -> Ints:
    """one_over_one_plus_x_for_x_in_0_1."""
    return _shifted(_reciprocal(shifted), 1)
