"""Functions of one 8-bit variable, value by value as the reference kernels compute them.

Why here: a function of 256 inputs is known in full when the network is compiled. The lowering makes a
table of it, and a pass can ask which values it takes, or whether it does anything at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import fixed_point as fixed
from lowtide.ir.graph import DType
from lowtide.ir.operands import (
    NUMPY_TYPES,
    Operands,
    activation_range,
    number,
    same_type,
    scale_zero,
    type_range,
)
from lowtide.ir.operands import multiplier as factor

Function = Callable[[int], int]
"""From a stored input to a stored output, which may still lie outside the type."""

Quants = tuple[float, int, float, int]

Factor = tuple[int, int]
"""(multiplier, shift)."""

ONE = (1 << 30, 1)
"""(multiplier, shift) of the factor 1."""

_RELU6 = 3  # of the schema's fused activations

BYTES = frozenset({DType.INT8, DType.UINT8})
_INT8_ALONE = frozenset({"ABS", "ELU", "RSQRT"})


def byte_table(operands: Operands) -> NDArray[np.int64] | None:
    """The stored output of each stored input, from the least to the greatest; None if the operator is
    no function of one 8-bit variable that gives 8 bits. Raises ModelError where it has no kernel.
    """
    make, kind = BYTE_FUNCTIONS.get(operands.op.type), operands.op.type
    if kind != "TABLE" and (make is None or len(operands.op.inputs) != 1):
        return None
    source, out = operands.input(0), operands.output()
    if source.dtype not in BYTES or out.dtype not in BYTES:
        return None
    if make is None:  # a table that simplification made, by the input's bits
        stored = operands.constant(1).reshape(-1).view(NUMPY_TYPES[out.dtype])
        return np.roll(stored, 128 if source.dtype is DType.INT8 else 0).astype(np.int64)
    if kind in _INT8_ALONE and source.dtype is not DType.INT8:
        raise operands.unsupported(f"there is no kernel for {source.dtype.name}")
    with np.errstate(over="ignore", invalid="ignore"):
        return table(operands, make(operands))


def table(operands: Operands, function: Function) -> NDArray[np.int64]:
    """`function` of every value of the input's 8-bit type, saturated to the output's."""
    least, greatest = type_range(operands.input(0).dtype)
    low, high = type_range(operands.output().dtype)
    values = [max(low, min(high, function(x))) for x in range(least, greatest + 1)]
    return np.array(values, np.int64)


def quants(operands: Operands) -> Quants:
    """(scale, zero point) of the input and of the output, which are of one type."""
    source, out = operands.input(0), operands.output()
    same_type(operands, source, out)
    return (*scale_zero(operands, source), *scale_zero(operands, out))


def _relu(operands: Operands) -> Function:
    in_scale, in_zero, out_scale, out_zero = quants(operands)
    multiplier, shift = factor(operands, in_scale / out_scale)

    def function(x: int) -> int:
        return max(out_zero, out_zero + fixed.scale(x - in_zero, multiplier, shift))

    return function


def _relu6(operands: Operands) -> Function:
    """Limits in the input's quantisation; the output's is not looked at, as in TFLM."""
    if operands.input(0).dtype is DType.UINT8 or operands.op.as_litert:  # LiteRT's does look at it
        in_scale, zero, out_scale, out_zero = quants(operands)
        least, most = activation_range(operands, operands.output(), _RELU6)
        scaled = factor(operands, in_scale / out_scale)
        return lambda x: max(least, min(most, out_zero + fixed.scale(x - zero, *scaled)))
    low, high = relu6_limits(operands)
    return lambda x: min(high, max(low, x))


def relu6_limits(operands: Operands) -> tuple[int, int]:
    """What RELU6 clamps to, for 8 and 16 bits."""
    in_scale, zero, _, _ = quants(operands)
    low, high = type_range(operands.input(0).dtype)
    with np.errstate(over="ignore"):
        real = float(np.float32(6) / np.float32(in_scale))  # single precision, here alone
    return zero, max(low, min(high, round_away(min(real, 65536.0)) + zero))


def round_away(x: float) -> int:
    """To the nearest integer, halves away from zero: std::round."""
    return int(math.copysign(math.floor(abs(x) + 0.5), x))


def _leaky_relu(operands: Operands) -> Function:
    _, in_zero, _, out_zero = quants(operands)
    positive, negative, negate = leaky_relu_slopes(operands)

    def function(x: int) -> int:
        if x >= in_zero:
            return out_zero + fixed.scale(x - in_zero, *positive)
        scaled = fixed.scale(x - in_zero, *negative)
        return out_zero + (-scaled if negate else scaled)

    return function


def leaky_relu_slopes(operands: Operands) -> tuple[Factor, Factor, bool]:
    """(factor above the zero point, below it, whether what is below is negated), 8 and 16 bits."""
    in_scale, _, out_scale, _ = quants(operands)
    slope = in_scale * number(operands, "alpha", 0.0) / out_scale
    return factor(operands, in_scale / out_scale), factor(operands, abs(slope)), slope < 0


def _hard_swish(operands: Operands) -> Function:
    """hard_swish.h: fixed point of 16 bits, saturating."""
    in_scale, in_zero, out_scale, out_zero = quants(operands)
    fine = in_scale / 128
    out_factor, out_shift = factor(operands, fine / out_scale)
    relu_factor, relu_shift = factor(operands, fine / (3 / 32768))
    if out_shift > 0:
        raise operands.unsupported("its output's scale is too small for its input's")

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

    return function


def _narrow(multiplier: int) -> int:
    """A multiplier of 16 bits: DownScaleInt32ToInt16Multiplier."""
    return 0x7FFF if multiplier >= fixed.INT32_MAX - (1 << 15) else (multiplier + (1 << 15)) >> 16


def _high_mul_16(a: int, b: int) -> int:
    return fixed.saturate((a * b + (1 << 14)) >> 15, 16)


def _divide_16(x: int, exponent: int) -> int:
    """RoundingDivideByPOT in int16: the mask has only 16 bits."""
    mask = fixed.wrap((1 << exponent) - 1, 16)
    return fixed.wrap((x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0)), 16)


def _sigmoid(operands: Operands, *, tanh: bool) -> Function:
    if operands.input(0).dtype is DType.UINT8:
        return _sigmoid_by_floats(operands, tanh)
    in_scale, in_zero, _, out_zero = quants(operands)
    if not tanh and out_zero != -128:
        raise operands.unsupported(f"its output's zero point should be -128, and is {out_zero}")
    mantissa, shift = math.frexp(in_scale * (1 << 27))  # to Q4.27
    multiplier = round_away(mantissa * (1 << 31))
    if shift < 0:
        raise operands.unsupported(f"its input's scale, {in_scale:g}, is too small")
    radius = math.floor(15.0 * (1 << 27) / 2.0**shift)

    def function(x: int) -> int:
        x -= in_zero
        if abs(x) >= radius:
            return -128 if x <= -radius else 127
        scaled = fixed.scale(x, multiplier, shift)
        if tanh:
            return fixed.divide_by_pot(fixed.tanh(scaled), 24)
        return fixed.divide_by_pot(fixed.logistic(scaled), 23) - 128

    return function


def _sigmoid_by_floats(operands: Operands, tanh: bool) -> Function:
    """uint8, as LiteRT has it: LUTPopulate of common.h, in single precision."""
    in_scale, in_zero, out_scale, out_zero = quants(operands)
    f32 = np.float32
    inverse = f32(1) / f32(out_scale)

    def function(x: int) -> int:
        real = float(f32(in_scale) * f32(x - in_zero))
        other = f32(1) / (f32(1) + f32(math.exp(min(-real, 88.0))))
        value = f32(math.tanh(real)) if tanh else other
        return round_away(float(value * inverse)) + out_zero

    return function


def _abs(operands: Operands) -> Function:
    in_scale, in_zero, out_scale, out_zero = quants(operands)
    real = in_scale / out_scale
    multiplier, shift = factor(operands, real) if in_scale != out_scale else ONE
    return lambda x: fixed.scale(abs(x - in_zero), multiplier, shift) + out_zero


def _elu(operands: Operands) -> Function:
    """elu.cc: a table of floats."""
    in_scale, in_zero, out_scale, out_zero = quants(operands)

    def function(x: int) -> int:
        with np.errstate(over="ignore"):
            inverse = np.float32(1) / np.float32(out_scale)
            real = np.float32(in_scale) * np.float32(x - in_zero)
            if real < 0:
                real = np.float32(math.exp(float(real))) - np.float32(1)
            scaled = float(real * inverse)
        return round_away(max(-1e6, min(1e6, scaled))) + out_zero

    return function


def _rsqrt(operands: Operands) -> Function:
    """elementwise.cc. Inputs below 0, which the reference rejects at run time, give the most."""
    in_scale, in_zero, out_scale, out_zero = quants(operands)
    root = math.sqrt(in_scale) * out_scale
    multiplier, shift = factor(operands, 1.0 / root)
    digits = 20
    if shift - digits < -31:
        raise operands.unsupported("its scales are too large")

    def function(x: int) -> int:
        if x <= in_zero:
            return 127
        inverse, inverse_shift = fixed.inverse_sqrt(x - in_zero)
        value = fixed.scale(1, inverse, inverse_shift + digits)
        return fixed.scale(value, multiplier, shift - digits) + out_zero

    return function


def _quantize(operands: Operands) -> Function:
    (in_scale, in_zero), (out_scale, out_zero) = (
        scale_zero(operands, operands.input(0)),
        scale_zero(operands, operands.output()),
    )
    multiplier, shift = factor(operands, in_scale / out_scale)
    return lambda x: fixed.scale(x - in_zero, multiplier, shift) + out_zero


def rescaled(
    operands: Operands, given: tuple[float, int], wanted: tuple[float, int]
) -> NDArray[np.int64]:
    """CONCATENATION of uint8: all 256 values through ConcatenationWithScaling's float32 arithmetic."""
    inverse = np.float32(1.0) / np.float32(wanted[0])
    scale = np.float32(given[0]) * inverse
    bias = np.float32(-given[1]) * scale
    real = (np.arange(256, dtype=np.float32) * scale + bias).astype(np.float64)
    if not np.isfinite(real).all():
        raise operands.unsupported(f"its scales differ by a factor of {given[0] / wanted[0]:g}")
    rounded = np.copysign(np.floor(np.abs(real) + 0.5), real)  # halves away from zero
    values: NDArray[np.int64] = np.clip(rounded + wanted[1], 0, 255).astype(np.int64)
    return values


BYTE_FUNCTIONS: Mapping[str, Callable[[Operands], Function]] = MappingProxyType(
    {
        "RELU": _relu,
        "RELU6": _relu6,
        "LEAKY_RELU": _leaky_relu,
        "HARD_SWISH": _hard_swish,
        "LOGISTIC": partial(_sigmoid, tanh=False),
        "TANH": partial(_sigmoid, tanh=True),
        "ABS": _abs,
        "ELU": _elu,
        "RSQRT": _rsqrt,
        "QUANTIZE": _quantize,
    }
)
"""Operators that are functions of one variable, where input and output have 8 bits."""
