"""Intervals of what is computed element by element, or of all elements of a channel together.

Each function takes a `Bounding` and returns the interval of its operator's output, with the reference's
rounding. All are least and greatest where their operands are, or at a bend that is looked at as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import additions
from lowtide.ir.byte_tables import byte_table, leaky_relu_slopes, quants, relu6_limits
from lowtide.ir.graph import DType
from lowtide.ir.operands import (
    activation_range,
    multiplier,
    same_type,
    scale_zero,
    type_range,
)
from lowtide.ir.reductions import reduced_axes, total_factor
from lowtide.passes.simplify.bounding import Bounding, channels_of
from lowtide.passes.simplify.interval import (
    Integers,
    Interval,
    corners,
    requantised,
    rounded_twice,
)

Pair = tuple[Integers, NDArray[np.bool_]]


_QUANTISED = frozenset({DType.INT8, DType.UINT8, DType.INT16})


def _clamp(op: Bounding) -> tuple[int, int]:
    return activation_range(op, op.output(), op.option("fused_activation_function"))


def _operands(op: Bounding) -> tuple[Interval, Interval]:
    """Both operands, as wide as the output."""
    same_type(op, op.input(0), op.input(1), op.output())
    count = channels_of(op.output())
    if op.output().dtype not in _QUANTISED and op.op.type not in ("MINIMUM", "MAXIMUM"):
        raise op.unsupported("nothing is known of it")
    found = op.source(0), op.source(1)
    if any(interval.channels not in (1, count) for interval in found):
        raise op.unsupported("its operands do not broadcast to its output")
    return found[0].spread(count), found[1].spread(count)


def _ends(interval: Interval) -> tuple[Integers, Integers]:
    return interval.low, interval.high


def _added(op: Bounding, *, subtract: bool) -> Interval:
    a, b = _operands(op)
    by = additions.factors(op)
    _, out_zero = scale_zero(op, op.output())
    second, total = rounded_twice([by.second]), rounded_twice([by.total])

    def function(x: Integers, y: Integers) -> Pair:
        shares = [x - by.zeros[0], y - by.zeros[1]]
        shares[by.first] = shares[by.first] << (by.left - 1)
        scaled, fine = second(shares[1 - by.first] << by.left)
        shares[1 - by.first] = scaled
        sums = shares[0] - shares[1] if subtract else shares[0] + shares[1]
        result, also_fine = total(sums)
        return result + out_zero, fine & also_fine

    return corners(function, _ends(a), _ends(b), _clamp(op))


def _multiplied(op: Bounding) -> Interval:
    a, b = _operands(op)
    (a_scale, a_zero), (b_scale, b_zero) = scale_zero(op, op.input(0)), scale_zero(op, op.input(1))
    out_scale, out_zero = scale_zero(op, op.output())
    rounding = rounded_twice([multiplier(op, a_scale * b_scale / out_scale)])

    def function(x: Integers, y: Integers) -> Pair:
        result, fine = rounding((x - a_zero) * (y - b_zero))
        return result + out_zero, fine

    return corners(function, _ends(a), _ends(b), _clamp(op))


def _prelu(op: Bounding) -> Interval:
    a, b = _operands(op)
    (in_scale, in_zero), (slope_scale, slope_zero) = (
        scale_zero(op, op.input(0)),
        scale_zero(op, op.input(1)),
    )
    out_scale, out_zero = scale_zero(op, op.output())
    above = rounded_twice([multiplier(op, in_scale / out_scale)])
    below = rounded_twice([multiplier(op, in_scale * slope_scale / out_scale)])

    def function(x: Integers, y: Integers) -> Pair:
        x = x - in_zero
        (positive, fine), (negative, also_fine) = above(x), below(x * (y - slope_zero))
        return np.where(x >= 0, positive, negative) + out_zero, np.where(x >= 0, fine, also_fine)

    return corners(function, _bent(a, in_zero), _ends(b), type_range(op.output().dtype))


def _bent(interval: Interval, zero: int) -> tuple[Integers, ...]:
    """Both ends, the last value below `zero`, and the first that is not, if inside."""
    bends = (np.clip(at, interval.low, interval.high) for at in (zero - 1, zero))
    return (*_ends(interval), *bends)


def _extreme(op: Bounding, *, greatest: bool) -> Interval:
    a, b = _operands(op)
    choose = np.maximum if greatest else np.minimum
    return Interval(choose(a.low, b.low), choose(a.high, b.high))


def _unary(op: Bounding) -> Interval:
    """A function of one variable: a table of bytes, or a few int16 ones."""
    source = op.source(0)
    if op.op.type == "TABLE":  # by the input's bits
        stored = op.constant(1).reshape(-1)
        signed = op.input(0).dtype is DType.INT8
        values = stored.view(np.int8 if op.output().dtype is DType.INT8 else np.uint8)
        values = np.roll(values, 128) if signed else values
        return looked_up(values.astype(np.int64), source, type_range(op.input(0).dtype)[0])
    found = byte_table(op)
    if found is not None:
        return looked_up(found, source, type_range(op.input(0).dtype)[0])
    types = op.input(0).dtype, op.output().dtype
    clamp = type_range(op.output().dtype)
    if op.op.type == "QUANTIZE" and DType.INT16 in types:
        (in_scale, in_zero), (out_scale, out_zero) = (
            scale_zero(op, op.input(0)),
            scale_zero(op, op.output()),
        )
        rounding = rounded_twice([multiplier(op, in_scale / out_scale)])
        less_zero = Interval(source.low - in_zero, source.high - in_zero)
        return requantised(less_zero, rounding, out_zero, clamp)
    if types != (DType.INT16, DType.INT16) or op.op.type not in ("RELU", "RELU6", "LEAKY_RELU"):
        raise op.unsupported("nothing is known of it")
    if op.op.type == "RELU6":
        return source.clamped(*relu6_limits(op))
    in_scale, in_zero, out_scale, out_zero = quants(op)
    positive, negative, negate = multiplier(op, in_scale / out_scale), (0, 0), False
    if op.op.type == "LEAKY_RELU":
        positive, negative, negate = leaky_relu_slopes(op)
    above, below = rounded_twice([positive]), rounded_twice([negative])

    def function(x: Integers, _: Integers) -> Pair:
        x = x - in_zero
        (up, fine), (down, also_fine) = above(x), below(x)
        down = -down if negate else down
        return np.where(x >= 0, up, down) + out_zero, np.where(x >= 0, fine, also_fine)

    return corners(function, _bent(source, in_zero), [source.low], clamp)


def looked_up(table: Integers, source: Interval, least: int) -> Interval:
    """The least and greatest entries of a table, whose first is of `least`, over each interval."""
    at = np.arange(len(table)) + least
    within = (at >= source.low[:, None]) & (at <= source.high[:, None])
    low = np.where(within, table, np.iinfo(np.int64).max).min(axis=1)
    high = np.where(within, table, np.iinfo(np.int64).min).max(axis=1)
    return Interval(low, high)


def _pooled(op: Bounding) -> Interval:
    """Neither a mean, rounded, nor a maximum leaves the interval of what it is of."""
    same_type(op, op.input(0), op.output())
    return op.source(0).clamped(*_clamp(op))


def _reduced(op: Bounding) -> Interval:
    """MEAN and SUM, and the extremes, along some axes."""
    source, out = op.input(0), op.output()
    same_type(op, source, out)
    axes = reduced_axes(op)
    last = len(source.shape) - 1
    found = op.source(0)
    if last in axes or channels_of(out) != found.channels:
        found = found.anywhere(channels_of(out))
    if op.op.type.startswith("REDUCE"):
        return found
    count = source.elements // max(1, out.elements)
    start, factor = total_factor(op, count, mean=op.op.type == "MEAN")
    _, out_zero = scale_zero(op, out)
    totals = Interval(found.low * count + start, found.high * count + start)
    return requantised(totals, rounded_twice([factor]), out_zero, type_range(out.dtype))


RULES: Mapping[str, Callable[[Bounding], Interval]] = MappingProxyType(
    {
        "ADD": partial(_added, subtract=False),
        "SUB": partial(_added, subtract=True),
        "MUL": _multiplied,
        "PRELU": _prelu,
        "MINIMUM": partial(_extreme, greatest=False),
        "MAXIMUM": partial(_extreme, greatest=True),
        "AVERAGE_POOL_2D": _pooled,
        "MAX_POOL_2D": _pooled,
        **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"), _reduced),
        **dict.fromkeys(
            (
                *("RELU", "RELU6", "LEAKY_RELU", "HARD_SWISH", "LOGISTIC"),
                *("TANH", "ABS", "ELU", "RSQRT", "QUANTIZE", "TABLE"),
            ),
            _unary,
        ),
    }
)
