"""Fixed-point functions of TFLite's kernels, in Python, for tables made at compile time.

Why: an int8 function of one variable has 256 values, and a table of them is smaller and faster than
the arithmetic. Every value must be the one that the reference computes, rounding step by rounding
step. Sources: gemmlowp's fixedpoint.h; common.h and common.cc of tensorflow/lite/kernels/internal.
"""

from __future__ import annotations

INT32_MAX = (1 << 31) - 1

# exp(-2^k) in Q0.31 for k = -2 ... 4.
_EXP_POWERS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)


def wrap(x: int, bits: int = 32) -> int:
    """`x` as a two's complement integer of `bits` bits."""
    return ((x + (1 << (bits - 1))) & ((1 << bits) - 1)) - (1 << (bits - 1))


def saturate(x: int, bits: int = 32) -> int:
    """`x` limited to a signed integer of `bits` bits."""
    return max(-(1 << (bits - 1)), min((1 << (bits - 1)) - 1, x))


def high_mul(a: int, b: int) -> int:
    """SaturatingRoundingDoublingHighMul: round(a * b / 2^31), halves up."""
    return saturate((a * b + (1 << 30)) >> 31)


def divide_by_pot(x: int, exponent: int) -> int:
    """RoundingDivideByPOT: round(x / 2^exponent), halves away from zero."""
    mask = (1 << exponent) - 1
    return (x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0))


def scale(x: int, multiplier: int, shift: int) -> int:
    """MultiplyByQuantizedMultiplier, rounded twice; the left shift wraps."""
    return divide_by_pot(high_mul(wrap(x << max(shift, 0)), multiplier), max(-shift, 0))


def exp_on_negative(a: int, integer_bits: int) -> int:
    """exp(a) in Q0.31 of a <= 0 with `integer_bits` integer bits (4 or 5)."""
    if a == 0:
        return INT32_MAX
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    rest = (a & (quarter - 1)) - quarter
    result = _exp_above_minus_quarter(rest << integer_bits)
    remainder = rest - a
    for power, factor in enumerate(_EXP_POWERS, start=-2):
        if integer_bits > power and remainder & (1 << (fraction_bits + power)):
            result = high_mul(result, factor)
    return result


def _exp_above_minus_quarter(a: int) -> int:
    """exp(a) for a in [-1/4, 0), Q0.31: four terms of the series around -1/8."""
    middle, third = 1895147668, 715827883  # exp(-1/8), 1/3
    x = a + (1 << 28)
    x2 = high_mul(x, x)
    x3 = high_mul(x2, x)
    x4 = high_mul(x2, x2)
    tail = divide_by_pot(high_mul(divide_by_pot(x4, 2) + x3, third) + x2, 1)
    return middle + high_mul(middle, x + tail)


def _reciprocal_of_half(a: int) -> tuple[int, int]:
    """(x, 1.0 in its format Q2.29) with x close to 2 / (1 + a), a in [0, 1] in Q0.31."""
    half = (a + INT32_MAX + 1) // 2
    one = 1 << 29
    x = 1515870810 + high_mul(half, -1010580540)  # 48/17 - 32/17 * half
    for _ in range(3):  # Newton's iteration
        x += saturate(high_mul(x, one - high_mul(half, x)) << 2)
    return x, one


def one_over_one_plus(a: int) -> int:
    """1 / (1 + a), Q0.31 in and out, a in [0, 1]."""
    return saturate(_reciprocal_of_half(a)[0] << 1)


def one_minus_over_one_plus(a: int) -> int:
    """(1 - a) / (1 + a), Q0.31 in and out, a in [0, 1]."""
    x, one = _reciprocal_of_half(a)
    return saturate((x - one) << 2)


def logistic(a: int) -> int:
    """The logistic function of a in Q4.27, as Q0.31."""
    if a == 0:
        return 1 << 30
    positive = one_over_one_plus(exp_on_negative(-abs(a), 4))
    return positive if a > 0 else INT32_MAX - positive


def tanh(a: int) -> int:
    """tanh of a in Q4.27, as Q0.31."""
    if a == 0:
        return 0
    negative = -one_minus_over_one_plus(exp_on_negative(-abs(a), 5))
    return negative if a < 0 else -negative


def inverse_sqrt(value: int) -> tuple[int, int]:
    """(multiplier, shift) of 1 / sqrt(value): GetInvSqrtQuantizedMultiplierExp."""
    if value <= 1:
        return INT32_MAX, 0
    right = 11
    while value >= 1 << 29:
        value //= 4
        right += 1
    pairs = (31 - value.bit_length()) // 2 - 1
    right -= pairs
    half = divide_by_pot((value << (2 * pairs)) >> 1, 1)  # Q3.28
    x = 1 << 28
    for _ in range(5):  # Newton's iteration; products of Q3 are Q6 or Q9, brought back to Q3
        cube = saturate(high_mul(high_mul(x, x), x) << 6)
        # 1.5 x - 0.5 v x^3, both products in Q6
        x = saturate((high_mul((1 << 28) + (1 << 27), x) - high_mul(half, cube)) << 3)
    x = high_mul(x, 1518500250)  # sqrt(2) / 2
    if right < 0:
        return wrap(x << -right), 0
    return x, -right
