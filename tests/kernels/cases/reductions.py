"""What joins values of one tensor: pools, means, sums, extremes, and where they are.

Sources, in tensorflow/lite/kernels/internal/reference: integer_ops/pooling.h, pooling.h, reduce.h
(QuantizedMeanOrSum), arg_min_max.h; factors by TFLM's reduce_common.cc.
"""

from __future__ import annotations

import math

import numpy as np

from .arithmetic import RANGES, activation_range, quantize_multiplier, scaled, wrapped
from .drawing import Case, Draw, RedrawError
from .products import map_shape, windows

POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")


def pool(draw: Draw) -> Case:
    """AVERAGE_POOL_2D and MAX_POOL_2D."""
    kind = draw.wished("kind", lambda: draw.one(*POOLS))
    dtype = draw.wished("dtype", lambda: draw.often("INT8", "UINT8", "INT16", share=0.5))
    shape = draw.wished("shape", lambda: map_shape(draw, draw.within(1, 40)))
    size = draw.within(1, 9), draw.within(1, 9)
    if draw.chance(0.3):
        size = shape[1], shape[2]
    size = draw.wished("size", lambda: size)
    step = draw.wished("step", lambda: draw.often((1, 1), (2, 2), size, (3, 1), share=0.3))
    same = draw.chance(0.5) and ("size" not in draw.wishes or "step" in draw.wishes)
    scale, zero = draw.scale(), draw.zero(dtype)
    activation = draw.wished("activation", lambda: draw.often(0, 1, 2, 3, share=0.7))
    x, values = draw.input(shape, dtype, scale, zero)
    if "size" not in draw.wishes and math.prod(shape) * math.prod(size) * draw.count > 3_000_000:
        raise RedrawError
    low, high = RANGES[dtype]
    if kind == "MAX_POOL_2D":
        made = windows(values, low, size, step, (1, 1), same).max(axis=(4, 5))
    else:
        sums = windows(values, 0, size, step, (1, 1), same).sum(axis=(4, 5))
        count = windows(np.ones_like(values), 0, size, step, (1, 1), same).sum(axis=(4, 5))
        away = np.where(sums > 0, sums + count // 2, sums - count // 2)
        made = np.sign(away) * (np.abs(away) // count)
        made = np.clip(made, low, high)
    made = np.clip(made, *activation_range(activation, dtype, scale, zero))
    out = draw.tensor(made.shape[1:], dtype, scale, zero)
    options = {
        "padding": 0 if same else 1,
        "stride_h": step[0],
        "stride_w": step[1],
        "filter_height": size[0],
        "filter_width": size[1],
        "fused_activation_function": activation,
    }
    return draw.case(kind, (x,), (out,), (made,), ("Pool2DOptions", options), 2)


def _axes(draw: Draw, rank: int) -> tuple[int, ...]:
    chosen = tuple(i for i in range(rank) if draw.chance(0.5))
    return chosen or (draw.within(0, rank - 1),)


def reduction(draw: Draw) -> Case:
    """MEAN, SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_ALL, REDUCE_ANY."""
    kinds = "MEAN", "MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL", "REDUCE_ANY"
    kind = draw.wished("kind", lambda: draw.one(*kinds))
    dtype = draw.wished("dtype", lambda: draw.often("INT8", "UINT8", "INT16", share=0.5))
    rank = draw.within(1, 4)
    shape = tuple(draw.within(1, 9) for _ in range(rank))
    axes = _axes(draw, rank)
    keep = draw.chance(0.5)
    logical = kind in ("REDUCE_ALL", "REDUCE_ANY")
    if logical:
        dtype = "BOOL"
    in_scale, in_zero = draw.scale(), draw.zero(dtype)
    out_scale, out_zero = in_scale, in_zero
    count = math.prod(shape[i] for i in axes)
    if kind in ("MEAN", "SUM"):
        out_scale = in_scale if draw.chance(0.3) else draw.scale()
        out_scale = out_scale if kind == "MEAN" else float(np.float32(out_scale * count / 2))
        out_scale = in_scale * draw.wished("ratio", lambda: out_scale / in_scale)
        out_scale, out_zero = float(np.float32(out_scale)), draw.zero(dtype)
    x, values = draw.input(shape, dtype, None if logical else in_scale, in_zero)
    at = tuple(i + 1 for i in axes)
    if kind in ("MEAN", "SUM"):
        sums = values.sum(axis=at, keepdims=keep)
        multiplier, shift = quantize_multiplier(in_scale / out_scale)
        if kind == "MEAN":
            bits = min(63 - (64 - count.bit_length()), 32, 31 + shift)
            multiplier, shift = (multiplier << bits) // count, shift - bits
        if shift > 8:
            raise RedrawError
        made = scaled(wrapped(sums - in_zero * count), multiplier, shift) + out_zero
        made = np.clip(made, *RANGES[dtype])
    elif kind in ("REDUCE_MAX", "REDUCE_ANY"):
        made = values.max(axis=at, keepdims=keep)
    else:
        made = values.min(axis=at, keepdims=keep)
    signed = [i - rank if draw.chance(0.3) else i for i in axes]
    axis = draw.constant(np.array(signed), "INT32")
    out = draw.tensor(made.shape[1:], dtype, None if logical else out_scale, out_zero)
    options = ("ReducerOptions", {"keep_dims": keep})
    return draw.case(kind, (x, axis), (out,), (made,), options, 1 if logical else 2)


def place(draw: Draw) -> Case:
    """ARG_MAX and ARG_MIN."""
    kind = draw.wished("kind", lambda: draw.one("ARG_MAX", "ARG_MIN"))
    dtype = draw.wished("dtype", lambda: draw.one("INT8", "UINT8", "INT16", "INT32"))
    rank = draw.within(1, 4)
    shape = tuple(draw.within(1, 9) for _ in range(rank))
    axis = draw.within(0, rank - 1)
    scale, zero = (None, 0) if dtype == "INT32" else (draw.scale(), draw.zero(dtype))
    x, values = draw.input(shape, dtype, scale, zero)
    made = (values.argmax if kind == "ARG_MAX" else values.argmin)(axis=axis + 1)
    wide = draw.chance(0.5)
    at = draw.constant(np.array([axis - rank if draw.chance(0.3) else axis]), "INT32")
    out = draw.tensor(made.shape[1:], "INT64" if wide else "INT32")
    named = "ArgMaxOptions" if kind == "ARG_MAX" else "ArgMinOptions"
    return draw.case(kind, (x, at), (out,), (made,), (named, {"output_type": 4 if wide else 2}), 2)
