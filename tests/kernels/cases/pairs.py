"""Functions of two operands, with broadcast: sums, products, extremes, comparisons.

Sources, in tensorflow/lite/kernels/internal/reference: integer_ops/add.h, add.h, sub.h, mul.h,
maximum_minimum.h, prelu.h, comparisons.h; kernels/squared_difference.cc; factors by TFLM's *_common.cc.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import RANGES, Ints, activation_range, quantize_multiplier, scaled, wrapped
from .drawing import Case, Draw, RedrawError

_LIMITS = {0: RANGES["INT32"], 1: (0, RANGES["INT32"][1]), 2: (-1, 1), 3: (0, 6)}


def shapes(draw: Draw) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes of two operands: mostly equal, else one repeats along some dimensions."""
    if "shapes" in draw.wishes:
        a, b = draw.wishes["shapes"]
        return a, b
    rank = draw.within(1, 4)
    shape = tuple(draw.within(1, 12) for _ in range(rank))
    if draw.chance(0.5):
        return shape, shape
    fewer = tuple(1 if draw.chance(0.5) else size for size in shape)
    if draw.chance(0.3):
        fewer = fewer[draw.within(0, rank - 1) :]
    both = shape, fewer
    if draw.chance(0.25) and len(fewer) == rank:
        both = tuple(1 if draw.chance(0.3) else n for n in shape), fewer
    return both if draw.chance(0.5) else (both[1], both[0])


def _broadcast(a: Ints, b: Ints) -> tuple[Ints, Ints]:
    """Both with as many dimensions, the samples first."""
    rank = max(a.ndim, b.ndim)
    wide = [x.reshape(x.shape[0], *(1,) * (rank - x.ndim), *x.shape[1:]) for x in (a, b)]
    return wide[0], wide[1]


def _scales(draw: Draw) -> tuple[float, float, float]:
    if "scales" in draw.wishes:
        first, second, third = (float(np.float32(scale)) for scale in draw.wishes["scales"])
        return first, second, third
    a, b = draw.scale(), draw.scale()
    if draw.chance(0.2):
        b = a
    return a, b, draw.scale()


def _operand(
    draw: Draw, shape: tuple[int, ...], dtype: str, scale: float | None, zero: int, fixed: bool
) -> tuple[int, Ints]:
    """An operand: an input, or a constant."""
    if fixed:
        values = draw.wished("constant", lambda: draw.values)(shape, dtype, zero)
        made = draw.constant(values, dtype, scale, zero=zero)
        return made, values.astype(np.int64)[None]
    return draw.input(shape, dtype, scale, zero)


def _two(draw: Draw, dtype: str, scales: Any, zeros: Any) -> tuple[list[int], Ints, Ints]:
    kinds = ((False, False), (True, False), (False, True))
    fixed = draw.wished("fixed", lambda: draw.often(*kinds, share=0.8))
    made, values = [], []
    for shape, scale, zero, own in zip(shapes(draw), scales, zeros, fixed, strict=False):
        tensor, held = _operand(draw, shape, dtype, scale, zero, own)
        made.append(tensor)
        values.append(held)
    return made, *_broadcast(*values)


def _finished(
    draw: Draw,
    kind: str,
    inputs: list[int],
    wanted: Ints,
    dtype: str,
    scale: float | None,
    zero: int,
    options: tuple[str, dict[str, int]],
    version: int = 2,
) -> Case:
    out = draw.tensor(wanted.shape[1:], dtype, scale, zero)
    return draw.case(kind, inputs, (out,), (wanted,), options, version)


def _dtype(draw: Draw, usual: str, *others: str) -> str:
    return draw.wished("dtype", lambda: draw.often(usual, *others, share=0.5))


def addition(draw: Draw) -> Case:
    """ADD and SUB."""
    kind = draw.one("ADD", "ADD", "SUB")
    dtype = _dtype(draw, "INT8", "UINT8", "INT16", "INT32")
    named = "AddOptions" if kind == "ADD" else "SubOptions"
    activation = draw.wished("activation", lambda: draw.often(0, 1, 2, 3, share=0.6))
    if dtype == "INT32":
        return _integers(draw, kind, named, activation if kind == "SUB" else 0)
    scales = _scales(draw)
    zeros = [draw.zero(dtype) for _ in range(3)]
    inputs, a, b = _two(draw, dtype, scales, zeros)
    left = 15 if dtype == "INT16" else 20
    twice = 2.0 * max(scales[0], scales[1])
    sums = [
        scaled((x - zero) << left, *quantize_multiplier(scale / twice))
        for x, zero, scale in zip((a, b), zeros, scales, strict=False)
    ]
    total = sums[0] + sums[1] if kind == "ADD" else sums[0] - sums[1]
    factor = quantize_multiplier(twice / ((1 << left) * scales[2]))
    if factor[1] > 0:
        raise RedrawError
    made = scaled(total, *factor) + zeros[2]
    low, high = activation_range(activation, dtype, scales[2], zeros[2])
    options = (named, {"fused_activation_function": activation})
    if dtype == "INT16":
        options[1]["pot_scale_int16"] = 0
    made = np.clip(made, low, high)
    return _finished(draw, kind, inputs, made, dtype, scales[2], zeros[2], options)


def _integers(draw: Draw, kind: str, named: str, activation: int) -> Case:
    """The operator of int32, which wraps."""
    inputs, a, b = _two(draw, "INT32", (None, None), (0, 0))
    made = {"ADD": a + b, "SUB": a - b, "MUL": a * b}[kind]
    if kind == "MUL" or np.abs(made).max() >= 1 << 31:
        made = wrapped(made)
    made = np.clip(made, *_LIMITS[activation])
    options = (named, {"fused_activation_function": activation})
    return _finished(draw, kind, inputs, made, "INT32", None, 0, options)


def product(draw: Draw) -> Case:
    """MUL, PRELU and SQUARED_DIFFERENCE."""
    kind = draw.one("MUL", "MUL", "PRELU", "SQUARED_DIFFERENCE")
    dtype = _dtype(draw, "INT8", "UINT8", "INT16", "INT32")
    if kind == "MUL" and dtype == "INT32":
        return _integers(draw, "MUL", "MulOptions", draw.often(0, 1, 2, 3))
    if (kind, dtype) == ("PRELU", "INT32"):
        dtype = "INT8"
    if kind == "SQUARED_DIFFERENCE" and dtype == "UINT8":
        dtype = "INT8"
    if kind == "SQUARED_DIFFERENCE" and dtype == "INT32":
        inputs, a, b = _two(draw, dtype, (None, None), (0, 0))
        made = wrapped(wrapped(a - b) ** 2)
        return _finished(draw, kind, inputs, made, dtype, None, 0, ("SquaredDifferenceOptions", {}))
    scales = _scales(draw)
    zeros = [draw.zero(dtype) for _ in range(3)]
    activation = draw.wished("activation", lambda: draw.often(0, 1, 2, 3)) if kind == "MUL" else 0
    if kind == "PRELU":
        return _prelu(draw, dtype, scales, zeros)
    inputs, a, b = _two(draw, dtype, scales, zeros)
    if kind == "MUL":
        by = quantize_multiplier(scales[0] * scales[1] / scales[2])
        made = scaled((a - zeros[0]) * (b - zeros[1]), *by) + zeros[2]
        named = ("MulOptions", {"fused_activation_function": activation})
    else:
        left = 0 if dtype == "INT16" else 7
        twice = 2.0 * max(scales[0], scales[1])
        x, y = (
            scaled((v - z) << left, *quantize_multiplier(s / twice))
            for v, z, s in zip((a, b), zeros, scales, strict=False)
        )
        by = quantize_multiplier(twice * twice / ((1 << 2 * left) * scales[2]))
        if dtype == "INT16" and np.abs(x - y).max() > 46340:
            raise RedrawError
        made = scaled((x - y) * (x - y), *by) + zeros[2]
        named = ("SquaredDifferenceOptions", {})
    if by[1] > 8:
        raise RedrawError
    made = np.clip(made, *activation_range(activation, dtype, scales[2], zeros[2]))
    return _finished(draw, kind, inputs, made, dtype, scales[2], zeros[2], named)


def _prelu(draw: Draw, dtype: str, scales: Any, zeros: list[int]) -> Case:
    shape = tuple(draw.within(1, 9) for _ in range(draw.within(2, 4)))
    x, a = draw.input(shape, dtype, scales[0], zeros[0])
    fewer = tuple(1 if draw.chance(0.5) else size for size in shape[1:])
    own = "INT8" if dtype == "INT16" else dtype
    alpha, b = _operand(draw, fewer, own, scales[1], zeros[1], True)
    a, b = _broadcast(a, b)
    a, b = a - zeros[0], b - zeros[1]
    above = quantize_multiplier(scales[0] / scales[2])
    below = quantize_multiplier(scales[0] * scales[1] / scales[2])
    if max(above[1], below[1]) > 8:
        raise RedrawError
    made = np.where(a >= 0, scaled(a, *above), scaled(a * b, *below)) + zeros[2]
    made = np.clip(made, *RANGES[dtype])
    return _finished(
        draw, "PRELU", [x, alpha], made, dtype, scales[2], zeros[2], ("NegOptions", {}), 1
    )


def extreme(draw: Draw) -> Case:
    """MINIMUM, MAXIMUM, LOGICAL_AND, LOGICAL_OR, DIV, FLOOR_DIV, FLOOR_MOD."""
    extremes = ("MINIMUM", "MAXIMUM") * 3
    kinds = *extremes, "LOGICAL_AND", "LOGICAL_OR", "DIV", "FLOOR_DIV", "FLOOR_MOD"
    kind = draw.wished("kind", lambda: draw.one(*kinds))
    if kind in ("DIV", "FLOOR_DIV", "FLOOR_MOD"):
        inputs, a, b = _two(draw, "INT32", (None, None), (0, 0))
        if (b == 0).any() or ((a == RANGES["INT32"][0]) & (b == -1)).any():
            raise RedrawError
        if kind == "DIV":
            made = np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))
            activation = draw.wished("activation", lambda: 0)
            made = np.clip(made, *_LIMITS[activation])
            by: Any = ("DivOptions", {"fused_activation_function": activation})
            return _finished(draw, kind, inputs, made, "INT32", None, 0, by)
        made = a // b if kind == "FLOOR_DIV" else a % b  # Python's, which are floored
        by = (f"Floor{kind[6:].title()}Options", {})
        return _finished(draw, kind, inputs, made, "INT32", None, 0, by, 1)
    if kind.startswith("LOGICAL"):
        inputs, a, b = _two(draw, "BOOL", (None, None), (0, 0))
        made = a & b if kind == "LOGICAL_AND" else a | b
        named = "LogicalAndOptions" if kind == "LOGICAL_AND" else "LogicalOrOptions"
        return _finished(draw, kind, inputs, made, "BOOL", None, 0, (named, {}), 1)
    dtype = draw.wished("dtype", lambda: draw.one("INT8", "UINT8", "INT16", "INT32", "INT64"))
    scale = None if dtype in ("INT32", "INT64") else draw.scale()
    zero = 0 if scale is None else draw.zero(dtype)
    inputs, a, b = _two(draw, dtype, (scale, scale), (zero, zero))
    made = np.minimum(a, b) if kind == "MINIMUM" else np.maximum(a, b)
    options = ("MaximumMinimumOptions", dict[str, int]())
    return _finished(draw, kind, inputs, made, dtype, scale, zero, options, 1)


_COMPARISONS: dict[str, tuple[str, Any]] = {
    "EQUAL": ("EqualOptions", np.equal),
    "NOT_EQUAL": ("NotEqualOptions", np.not_equal),
    "GREATER": ("GreaterOptions", np.greater),
    "GREATER_EQUAL": ("GreaterEqualOptions", np.greater_equal),
    "LESS": ("LessOptions", np.less),
    "LESS_EQUAL": ("LessEqualOptions", np.less_equal),
}


def comparison(draw: Draw) -> Case:
    """EQUAL and its like."""
    kind = draw.one(*_COMPARISONS)
    dtype = draw.wished("dtype", lambda: draw.one("INT8", "UINT8", "INT32", "INT64", "BOOL"))
    if dtype == "BOOL" and kind not in ("EQUAL", "NOT_EQUAL"):
        dtype = "INT8"
    scales: Any = (None, None)
    zeros = [0, 0]
    if dtype in ("INT8", "UINT8"):
        scales = tuple(min(s, 0.9) for s in _scales(draw)[:2])
        zeros = [draw.zero(dtype) for _ in range(2)]
    inputs, a, b = _two(draw, dtype, scales, zeros)
    if scales[0] is not None:
        a, b = (
            scaled((v - z) << 8, *quantize_multiplier(float(np.float32(s))))
            for v, z, s in zip((a, b), zeros, scales, strict=True)
        )
    of, compare = _COMPARISONS[kind]
    made = compare(a, b).astype(np.int64)
    assert math.prod(made.shape)
    return _finished(draw, kind, inputs, made, "BOOL", None, 0, (of, {}), 1)
