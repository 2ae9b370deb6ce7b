"""Functions of one variable: params of kernels/include/lt_lut.h (int8) and lt_unary.h (int16).

Why tables: an int8 function has 256 values. Each is computed as the reference computes it at run time
(ir/byte_tables.py), and one kernel serves them all.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from lowtide.ir import DType
from lowtide.ir.byte_tables import (
    ONE,
    leaky_relu_slopes,
    quants,
    relu6_limits,
    round_away,
)
from lowtide.ir.elementwise import byte_table
from lowtide.lower.columns import of_each
from lowtide.lower.common import Context, Lowering
from lowtide.lower.common import multiplier as factor
from lowtide.lower.elementwise import by_rows, same_type
from lowtide.lower.nodes import Array, Lowered

# Bit i is set where the reference's table of the logistic function is 1 above the rounded function.
_LOGISTIC_EXCESS = 0x800000000000000000000000000000800011009020440005C0467BAEFA7BD110


def by_table(context: Context) -> Lowered:
    """The operator as a table; from any 8-bit type to any."""
    values = byte_table(context)
    if values is None:
        same_type(context, context.input(0), context.output())
        raise context.unsupported("it is not a function of one variable")
    if context.input(0).dtype is DType.INT8:
        values = np.roll(values, 128)  # a byte is its own index
    array = Array("uint8_t", (values & 0xFF).astype(np.uint8))
    return by_rows(context, "lt_lut_8_row", "lt_lut", "lt_lut.h", (("table", array),))


def _given_table(context: Context) -> Lowered:
    """A table that simplification made: input 1, 256 bytes by the input's bits."""
    array = Array("uint8_t", context.constant(1))
    return by_rows(context, "lt_lut_8_row", "lt_lut", "lt_lut.h", (("table", array),))


def _relu(context: Context) -> Lowered:
    if context.input(0).dtype is not DType.INT16:
        return by_table(context)
    in_scale, in_zero, out_scale, out_zero = quants(context)
    if in_zero or out_zero:
        raise context.unsupported("an int16 tensor has a zero point other than 0")
    return _two_slopes(context, factor(context, in_scale / out_scale), (0, 0), False)


def _relu6(context: Context) -> Lowered:
    if context.input(0).dtype is not DType.INT16:
        return by_table(context)
    low, high = relu6_limits(context)
    limits = (("low", low), ("high", high))
    return by_rows(context, "lt_clip_s16_row", "lt_clip_s16", "lt_unary.h", limits)


def _leaky_relu(context: Context) -> Lowered:
    if context.input(0).dtype is not DType.INT16:
        return by_table(context)
    return _two_slopes(context, *leaky_relu_slopes(context))


def _two_slopes(
    context: Context, positive: tuple[int, int], negative: tuple[int, int], negate: bool
) -> Lowered:
    """The int16 kernel of RELU and LEAKY_RELU, from the factors (multiplier, shift) of its lines."""
    _, in_zero, _, out_zero = quants(context)
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


def _abs(context: Context) -> Lowered:
    if context.input(0).dtype is not DType.INT16:
        return by_table(context)
    in_scale, in_zero, out_scale, out_zero = quants(context)
    if in_zero or out_zero:
        raise context.unsupported("an int16 tensor has a zero point other than 0")
    scaled = factor(context, in_scale / out_scale) if in_scale != out_scale else ONE
    return _two_slopes(context, scaled, scaled, True)


def _sigmoid(context: Context, *, tanh: bool) -> Lowered:
    return (
        _sigmoid_16(context, tanh) if context.input(0).dtype is DType.INT16 else by_table(context)
    )


def _sigmoid_16(context: Context, tanh: bool) -> Lowered:
    in_scale, in_zero, out_scale, out_zero = quants(context)
    if in_zero or out_zero:
        raise context.unsupported("an int16 tensor has a zero point other than 0")
    exponent, exact = log2(out_scale)
    if exponent != -15 or not exact:
        raise context.unsupported(f"its output's scale should be 1/32768, but is {out_scale:g}")
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


_INT8 = frozenset({DType.INT8})
_BOTH = frozenset({DType.INT8, DType.INT16})
_ALL = _BOTH | {DType.UINT8}
_BYTES = _INT8 | {DType.UINT8}
LOWERINGS = {
    "RELU": Lowering(_relu, _ALL, of_each),
    "RELU6": Lowering(_relu6, _ALL, of_each),
    "LEAKY_RELU": Lowering(_leaky_relu, _ALL, of_each),
    "HARD_SWISH": Lowering(by_table, _BYTES, of_each),
    "LOGISTIC": Lowering(partial(_sigmoid, tanh=False), _ALL, of_each),
    "TANH": Lowering(partial(_sigmoid, tanh=True), _ALL, of_each),
    "ABS": Lowering(_abs, _BOTH, of_each),
    "ELU": Lowering(by_table, _INT8, of_each),
    "RSQRT": Lowering(by_table, _INT8, of_each),
}
MADE = {"TABLE": Lowering(_given_table, _BYTES, of_each)}
"""What no file has: of passes/simplify/tables.py."""
