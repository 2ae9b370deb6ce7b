"""Integer arithmetic of the operators, for calibration while a network is built.

Why in floating point: BLAS is fast only there. All accumulators are integers below 2^24 in float32
or 2^53 in float64, so every sum is exact and no result depends on the machine or on the BLAS.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Reals = NDArray[np.floating[Any]]
Pair = tuple[int, int]

_FLOAT32_EXACT = 1 << 24
_OFFSET_MAX = 255  # largest |q - zero_point| of int8
_EXP_ONE = 1 << 30  # fixed-point 1.0 of the softmax table


def accumulator_type(depth: int) -> type[np.floating[Any]]:
    """The narrowest float type in which sums of `depth` products of int8 offsets are exact."""
    exact = depth * _OFFSET_MAX * _OFFSET_MAX <= _FLOAT32_EXACT
    return np.float32 if exact else np.float64


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int, int]:
    """(output size, elements padded before, after) of TFLite's SAME along one axis."""
    out = -(-size // stride)
    total = max((out - 1) * stride + kernel - size, 0)
    return out, total // 2, total - total // 2


def _pad(x: Reals, kernel: Pair, stride: Pair, same: bool, value: float = 0.0) -> Reals:
    if not same or kernel == (1, 1):
        return x
    _, top, bottom = same_padding(x.shape[1], kernel[0], stride[0])
    _, left, right = same_padding(x.shape[2], kernel[1], stride[1])
    widths = ((0, 0), (top, bottom), (left, right), (0, 0))
    return np.pad(x, widths, constant_values=value)


def _taps(x: Reals, kernel: Pair, stride: Pair) -> list[list[Reals]]:
    """Per kernel position, the strided view of (padded) `x` that meets it: each (n, oh, ow, c)."""
    rows = (x.shape[1] - kernel[0]) // stride[0] + 1
    cols = (x.shape[2] - kernel[1]) // stride[1] + 1
    down, right = (rows - 1) * stride[0] + 1, (cols - 1) * stride[1] + 1
    return [
        [x[:, i : i + down : stride[0], j : j + right : stride[1], :] for j in range(kernel[1])]
        for i in range(kernel[0])
    ]


def conv(x: Reals, w: NDArray[np.int8], stride: Pair, same: bool) -> Reals:
    """Accumulators (n, oh, ow, o) of input offsets `x` (n, h, w, c) with weights (o, kh, kw, c)."""
    out_channels, kh, kw, _ = w.shape
    dtype = accumulator_type(w[0].size)
    padded = _pad(x, (kh, kw), stride, same).astype(dtype, copy=False)
    matrix = w.reshape(out_channels, -1).T.astype(dtype)
    if (kh, kw) == (1, 1):
        return padded[:, :: stride[0], :: stride[1], :] @ matrix
    windows = sliding_window_view(padded, (kh, kw), axis=(1, 2))
    windows = windows[:, :: stride[0], :: stride[1]].transpose(0, 1, 2, 4, 5, 3)
    return windows.reshape(*windows.shape[:3], -1) @ matrix


def depthwise(x: Reals, w: NDArray[np.int8], stride: Pair, same: bool) -> Reals:
    """Accumulators (n, oh, ow, c) of input offsets `x` (n, h, w, c) with weights (1, kh, kw, c)."""
    kernel = (w.shape[1], w.shape[2])
    dtype = accumulator_type(kernel[0] * kernel[1])
    padded = _pad(x, kernel, stride, same).astype(dtype, copy=False)
    wide = w.astype(dtype)
    taps = _taps(padded, kernel, stride)
    acc = np.zeros(taps[0][0].shape, dtype)
    product = np.empty_like(acc)
    for i, row in enumerate(taps):
        for j, tap in enumerate(row):
            np.multiply(tap, wide[0, i, j], out=product)
            acc += product
    return acc


def average_pool(x: Reals, kernel: Pair, stride: Pair, same: bool) -> Reals:
    """Means of windows, padding not counted, rounded to nearest."""
    dtype = accumulator_type(kernel[0] * kernel[1])
    ones = np.ones((1, *x.shape[1:3], 1), dtype)
    total = _sum_taps(_pad(x.astype(dtype), kernel, stride, same), kernel, stride)
    count = _sum_taps(_pad(ones, kernel, stride, same), kernel, stride)
    return np.rint(total / count)


def _sum_taps(x: Reals, kernel: Pair, stride: Pair) -> Reals:
    """Sums of the windows of a padded (n, h, w, c)."""
    taps = _taps(x, kernel, stride)
    acc = np.zeros(taps[0][0].shape, x.dtype)
    for row in taps:
        for tap in row:
            acc += tap
    return acc


def max_pool(x: Reals, kernel: Pair, stride: Pair, same: bool) -> Reals:
    """Maxima of windows, padding not counted."""
    taps = _taps(_pad(x, kernel, stride, same, -np.inf), kernel, stride)
    best = taps[0][0].copy()
    for row in taps:
        for tap in row:
            np.maximum(best, tap, out=best)
    return best


def softmax(x: NDArray[np.int8], scale: float) -> NDArray[np.float64]:
    """Softmax along the last axis of int8 `x` whose steps are `scale` apart, as reals in [0, 1].

    The exponentials come from a fixed-point table made with multiplications only, as the C library's
    exp differs between machines.
    """
    term = base = 1.0
    for n in range(1, 40):
        term *= -scale / n
        base += term
    powers = np.multiply.accumulate(np.concatenate(([1.0], np.full(255, base))))
    table = np.rint(powers * _EXP_ONE).astype(np.int64)
    below = x.max(axis=-1, keepdims=True).astype(np.int16) - x
    exponentials = table[below]
    shares: NDArray[np.float64] = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return shares
