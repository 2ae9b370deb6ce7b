"""TFLite's fixed-point arithmetic in NumPy, written from its C++ and sharing nothing with lowtide.

Why again: a reference that shares code with what it is held against has the same faults.
Sources: tensorflow/lite/kernels/internal/common.h, quantization_util.cc, kernels/kernel_util.cc, and
gemmlowp's fixedpoint.h.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
RANGES = {
    "INT8": (-128, 127),
    "UINT8": (0, 255),
    "INT16": (-32768, 32767),
    "INT32": (-(1 << 31), (1 << 31) - 1),
    "UINT32": (0, (1 << 32) - 1),
    "INT64": (-(1 << 63), (1 << 63) - 1),
    "BOOL": (0, 1),
}
TYPES: dict[str, Any] = {
    "INT8": np.int8,
    "UINT8": np.uint8,
    "INT16": np.int16,
    "INT32": np.int32,
    "UINT32": np.uint32,
    "INT64": np.int64,
    "BOOL": np.bool_,
    "FLOAT32": np.float32,
}


def quantize_multiplier(real: float) -> tuple[int, int]:
    """QuantizeMultiplier: real = multiplier * 2^(shift - 31)."""
    if real == 0:
        return 0, 0
    fraction, shift = math.frexp(real)
    multiplier = math.floor(fraction * (1 << 31) + 0.5)
    if multiplier == 1 << 31:
        multiplier, shift = multiplier // 2, shift + 1
    if shift < -31:
        return 0, 0
    return multiplier, shift


def multipliers(reals: Any) -> tuple[Ints, Ints]:
    """The same of several."""
    pairs = [quantize_multiplier(float(real)) for real in np.atleast_1d(reals)]
    return np.array([m for m, _ in pairs]), np.array([s for _, s in pairs])


def wrapped(x: Any) -> Ints:
    """As int32, modulo 2^32."""
    return np.asarray(x).astype(np.int64).astype(np.int32).astype(np.int64)


def high_mul(a: Any, b: Any) -> Ints:
    """SaturatingRoundingDoublingHighMul: a division, which truncates towards zero."""
    product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    nudged = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    return np.where(nudged >= 0, nudged >> 31, -(-nudged >> 31))


def divide_by_pot(x: Any, exponent: Any) -> Ints:
    """RoundingDivideByPOT."""
    x, exponent = np.asarray(x, np.int64), np.asarray(exponent, np.int64)
    mask = (np.int64(1) << exponent) - 1
    threshold = (mask >> 1) + (x < 0)
    return np.asarray((x >> exponent) + ((x & mask) > threshold))


def scaled(x: Any, multiplier: Any, shift: Any) -> Ints:
    """MultiplyByQuantizedMultiplier of int32."""
    shift = np.asarray(shift, np.int64)
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    return divide_by_pot(high_mul(wrapped(np.asarray(x, np.int64) << left), multiplier), right)


def scaled_wide(x: Any, multiplier: Any, shift: Any) -> Ints:
    """MultiplyByQuantizedMultiplier of int64 sums."""
    multiplier, shift = np.asarray(multiplier, np.int64), np.asarray(shift, np.int64)
    reduced = np.where(multiplier < 0x7FFF0000, (multiplier + (1 << 15)) >> 16, 0x7FFF)
    total = 15 - shift
    return wrapped((np.asarray(x, np.int64) * reduced + (np.int64(1) << (total - 1))) >> total)


def rounded(x: float) -> int:
    """TfLiteRound: halves away from zero."""
    return math.floor(abs(x) + 0.5) * (1 if x >= 0 else -1)


def activation_range(kind: int, dtype: str, scale: float, zero: int) -> tuple[int, int]:
    """CalculateActivationRangeQuantized; kinds are NONE, RELU, RELU_N1_TO_1, RELU6."""
    low, high = RANGES[dtype]
    limits = {0: (None, None), 1: (0.0, None), 2: (-1.0, 1.0), 3: (0.0, 6.0)}[kind]
    at = [
        None if limit is None else zero + rounded(float(np.float32(limit) / np.float32(scale)))
        for limit in limits
    ]
    return (
        low if at[0] is None else max(low, at[0]),
        high if at[1] is None else min(high, at[1]),
    )


def padding(size: int, kernel: int, stride: int, dilation: int, same: bool) -> tuple[int, int]:
    """(outputs, elements of padding before the first), by ComputeOutSize and ComputePadding."""
    window = (kernel - 1) * dilation + 1
    out = -(-size // stride) if same else (size - window + stride) // stride
    return out, max(0, (out - 1) * stride + window - size) // 2
