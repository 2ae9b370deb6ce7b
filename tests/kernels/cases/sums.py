"""More sums of products: TRANSPOSE_CONV, BATCH_MATMUL, L2_NORMALIZATION, RESIZE_BILINEAR.

Sources, in tensorflow/lite/kernels/internal/reference: integer_ops/transpose_conv.h, batch_matmul.h,
integer_ops/l2normalization.h, resize_bilinear.h; GetInvSqrtQuantizedMultiplierExp of common.h.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arithmetic import RANGES, Ints, high_mul, quantize_multiplier, scaled, scaled_wide
from .drawing import Case, Draw, RedrawError
from .products import _layer, map_shape

Floats = NDArray[np.float32]


def transpose_conv(draw: Draw) -> Case:
    """TRANSPOSE_CONV of int8 and int16."""
    dtype = draw.wished("dtype", lambda: draw.often("INT8", "INT16"))
    in_c = draw.wished("channels", lambda: draw.within(1, 20))
    out_c = draw.within(1, 12)
    batch, height, width, _ = map_shape(draw, in_c)
    if in_c > 100:
        batch, height, width, out_c = 1, 1, draw.within(1, 2), draw.within(1, 5)
    width = draw.wished("width", lambda: width)
    size = draw.within(1, 5), draw.within(1, 5)
    step = draw.one((1, 1), (2, 2), (2, 1), (1, 3), (3, 3))
    same = draw.chance(0.5)
    if min(k - s for k, s in zip(size, step, strict=True)) < 0 and not same:
        size = max(size[0], step[0]), max(size[1], step[1])
    outs, before, less = [], [], draw.wished("less", lambda: 0)
    for n, k, s in zip((height, width), size, step, strict=True):
        outs.append(n * s - min(less, s - 1) if same else (n - 1) * s + k)
        before.append(max(0, (n - 1) * s + k - outs[-1]) // 2 if same else 0)
    layer, weights, bias = _layer(
        draw, dtype, (out_c, *size, in_c), 0, math.prod(size) * in_c, four_bits=False
    )
    x, values = draw.input((batch, height, width, in_c), dtype, layer.in_scale, layer.in_zero)
    if math.prod(outs) * batch * out_c > 40_000:
        raise RedrawError
    centred = values - layer.in_zero
    full = [(n - 1) * s + k for n, k, s in zip((height, width), size, step, strict=True)]
    wide = [max(f, o + b) for f, o, b in zip(full, outs, before, strict=True)]
    sums = np.zeros((draw.count, batch, *wide, out_c), np.int64)
    for ky in range(size[0]):
        for kx in range(size[1]):
            rows = slice(ky, ky + (height - 1) * step[0] + 1, step[0])
            columns = slice(kx, kx + (width - 1) * step[1] + 1, step[1])
            sums[:, :, rows, columns] += centred @ layer.weights[:, ky, kx].T
    top, left = before
    made = layer.finish(sums[:, :, top : top + outs[0], left : left + outs[1]])
    shape = draw.constant(np.array(made.shape[1:]), "INT32")
    out = draw.tensor(made.shape[1:], dtype, layer.out_scale, layer.out_zero)
    options = {"padding": 0 if same else 1, "stride_h": step[0], "stride_w": step[1]}
    options["fused_activation_function"] = layer.activation
    inputs = (shape, weights, x) if bias < 0 else (shape, weights, x, bias)
    named = ("TransposeConvOptions", options)
    return draw.case("TRANSPOSE_CONV", inputs, (out,), (made,), named, 3)


def batch_matmul(draw: Draw) -> Case:
    """BATCH_MATMUL of int8 and int16."""
    dtype = draw.often("INT8", "INT16")
    rows, depth, columns = draw.within(1, 12), draw.within(1, 40), draw.within(1, 12)
    lead = tuple(draw.within(1, 3) for _ in range(draw.within(0, 2)))
    adj_x, adj_y = draw.chance(0.3), draw.chance(0.3)
    scales = draw.scale(), draw.scale()
    zeros = [draw.zero(dtype) for _ in range(3)]
    typical = (9000.0 if dtype == "INT16" else 70.0) ** 2 * math.sqrt(depth)
    real = (9000 if dtype == "INT16" else 50) / typical * draw.often(1.0, 0.1, 20.0, 3000.0)
    if draw.chance(0.1):  # a multiplier just below a power of two
        real = 2.0 ** round(math.log2(real)) * (1 - 1e-5)
    out_scale = float(np.float32(scales[0] * scales[1] / real))
    x, a = draw.input(
        (*lead, *((depth, rows) if adj_x else (rows, depth))), dtype, scales[0], zeros[0]
    )
    y, b = draw.input(
        (*lead, *((columns, depth) if adj_y else (depth, columns))), dtype, scales[1], zeros[1]
    )
    a = np.swapaxes(a, -1, -2) if adj_x else a
    b = np.swapaxes(b, -1, -2) if adj_y else b
    by = quantize_multiplier(scales[0] * scales[1] / out_scale)
    sums = (a - zeros[0]) @ (b - zeros[1])
    made = (scaled_wide if dtype == "INT16" else scaled)(sums, *by) + zeros[2]
    made = np.clip(made, *RANGES[dtype])
    out = draw.tensor(made.shape[1:], dtype, out_scale, zeros[2])
    options = ("BatchMatMulOptions", {"adj_x": adj_x, "adj_y": adj_y})
    return draw.case("BATCH_MATMUL", (x, y), (out,), (made,), options, 3)


def _saturating(x: Ints) -> Ints:
    return np.clip(x, -(1 << 31), (1 << 31) - 1)


def _inverse_root(square: int) -> tuple[int, int]:
    """GetInvSqrtQuantizedMultiplierExp, by Newton's method with three integer bits."""
    if square <= 1:
        return (1 << 31) - 1, 0
    shift = 11
    while square >= 1 << 29:
        square, shift = square // 4, shift + 1
    pairs = (32 - square.bit_length() - 1) // 2 - 1
    shift -= pairs
    square <<= 2 * pairs
    half = np.array(square >> 1)
    half = (half + 1) >> 1
    x = np.array(1 << 28)
    for _ in range(5):
        cube = _saturating(high_mul(high_mul(x, x), x) << 6)
        x = _saturating((high_mul((1 << 28) + (1 << 27), x) - high_mul(half, cube)) << 3)
    root = int(high_mul(x, 1518500250))
    if shift < 0:
        root, shift = root << -shift, 0
    return root, -shift


def normalise(draw: Draw) -> Case:
    """L2_NORMALIZATION."""
    shape = (*(draw.within(1, 9) for _ in range(draw.within(1, 3))), draw.within(1, 60))
    shape, zero = draw.wished("shape", lambda: shape), draw.zero("INT8")
    x, values = draw.input(shape, "INT8", draw.scale(), zero)
    centred = values - zero
    flat = (centred * centred).sum(axis=-1).reshape(-1).tolist()
    roots = np.array([_inverse_root(square) for square in flat]).reshape(*centred.shape[:-1], 2)
    made = scaled(centred, roots[..., :1], roots[..., 1:] + 7)
    made = np.clip(made, *RANGES["INT8"])
    out = draw.tensor(shape, "INT8", 1 / 128)
    options = ("L2NormOptions", {"fused_activation_function": 0})
    return draw.case("L2_NORMALIZATION", (x,), (out,), (made,), options, 2)


def _places(made: int, given: int, corners: bool, half: bool) -> tuple[Ints, Ints, Ints]:
    """(place in 1/1024, the element before it, the one after) of each output."""
    scale = ((1 << 10) * given + made // 2) // made
    if corners and made > 1:
        scale = ((1 << 10) * (given - 1) + (made - 1) // 2) // (made - 1)
    at = np.arange(made) * scale + (scale // 2 - (1 << 9) if half else 0)
    low = np.maximum(np.trunc(at / 1024).astype(np.int64), 0)
    up = np.minimum(np.trunc((at + 1023) / 1024).astype(np.int64), given - 1)
    return at, low, up


def _singles(into: int, size: int, corners: bool, half: bool) -> tuple[Ints, Ints, Floats]:
    """Of each row or column, those it lies between, and the second's weight, in single precision."""
    f = np.float32
    scale = f(size - 1) / f(into - 1) if corners and into > 1 else f(size) / f(into)
    at = np.arange(into, dtype=f)
    at = (at + f(0.5)) * scale - f(0.5) if half else at * scale
    first = np.maximum(np.floor(at), f(0))
    second = np.minimum(np.ceil(at), f(size - 1))
    return first.astype(np.int64), second.astype(np.int64), at - first


def _resized_u8(values: Ints, rows: Sequence[Any], columns: Sequence[Any]) -> Ints:
    one = np.float32(1)
    lower, right = rows[2][:, None, None], columns[2][None, :, None]
    made = np.zeros((), np.float32)
    for x, across in ((columns[0], one - right), (columns[1], right)):
        for y, down in ((rows[0], one - lower), (rows[1], lower)):
            made = made + values[:, :, y][:, :, :, x].astype(np.float32) * down * across
    return np.asarray((made + np.float32(0.5)).astype(np.int64))


def resize(draw: Draw) -> Case:
    """RESIZE_BILINEAR of int8 and of uint8, which the reference computes in single precision."""
    if draw.chance(0.3):
        return _resize_u8(draw)
    shape = map_shape(draw, draw.within(1, 12))
    size = draw.within(1, 18), draw.within(1, 18)
    corners, half = draw.one((False, False), (True, False), (False, True))
    scale, zero = draw.scale(), draw.zero("INT8")
    x, values = draw.input(shape, "INT8", scale, zero)
    rows = _places(size[0], shape[1], corners, half)
    columns = _places(size[1], shape[2], corners, half)
    made = np.zeros((draw.count, shape[0], *size, shape[3]), np.int64)
    for at_y, weight_y in (
        (rows[1], 1024 - (rows[0] - 1024 * rows[1])),
        (rows[2], rows[0] - 1024 * rows[1]),
    ):
        for at_x, weight_x in (
            (columns[1], 1024 - (columns[0] - 1024 * columns[1])),
            (columns[2], columns[0] - 1024 * columns[1]),
        ):
            weight = (weight_y[:, None] * weight_x)[None, None, ..., None]
            made += values[:, :, at_y][:, :, :, at_x] * weight
    nudged = made + np.where(made > 0, 1 << 19, -(1 << 19))
    made = np.sign(nudged) * (np.abs(nudged) >> 20)
    out = draw.tensor(made.shape[1:], "INT8", scale, zero)
    at = draw.constant(np.array(size), "INT32")
    options = {"align_corners": corners, "half_pixel_centers": half}
    named = ("ResizeBilinearOptions", options)
    return draw.case("RESIZE_BILINEAR", (x, at), (out,), (made,), named, 3)


def _resize_u8(draw: Draw) -> Case:
    shape = map_shape(draw, draw.within(1, 12))
    size = draw.within(1, 18), draw.within(1, 18)
    corners, half = draw.one((False, False), (True, False), (False, True))
    scale, zero = draw.scale(), draw.zero("UINT8")
    x, values = draw.input(shape, "UINT8", scale, zero)
    places = [_singles(n, of, corners, half) for n, of in zip(size, shape[1:3], strict=True)]
    made = _resized_u8(values, *places)
    out = draw.tensor(made.shape[1:], "UINT8", scale, zero)
    at = draw.constant(np.array(size), "INT32")
    named = ("ResizeBilinearOptions", {"align_corners": corners, "half_pixel_centers": half})
    return draw.case("RESIZE_BILINEAR", (x, at), (out,), (made,), named, 3)
