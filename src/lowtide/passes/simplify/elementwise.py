"""Intervals of what is computed element by element, or of all elements of a channel together.

Each function takes a `Bounding` and returns the interval of its operator's output, with the reference's
rounding. All are least and greatest where their operands are, or at a bend that is looked at as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from lowtide.ir.byte_tables import byte_table
from lowtide.ir.elementwise import elementwise, sources
from lowtide.ir.operands import activation_range, same_type, scale_zero, type_range
from lowtide.ir.reductions import reduced_axes, total_factor
from lowtide.ir.roundings import Integers, rounded_twice
from lowtide.passes.simplify.bounding import Bounding, channels_of
from lowtide.passes.simplify.interval import Interval, corners, requantised


def _mapped(op: Bounding) -> Interval:
    """An elementwise operator: a table of bytes, or least and greatest at the ends of its operands, or
    where the first one bends."""
    table = byte_table(op)
    if table is not None:
        return looked_up(table, op.source(0), type_range(op.input(0).dtype)[0])
    found = _operands(op)
    made = elementwise(op)
    ends = [[interval.low, interval.high] for interval in found]
    if made.bend is not None:  # the last value below it, and the first that is not, if inside
        low, high = ends[0]
        ends[0] += [np.clip(at, low, high) for at in (made.bend - 1, made.bend)]
    return corners(made.function, ends, made.clamp)


def _operands(op: Bounding) -> list[Interval]:
    """What the operands can be, as wide as the output."""
    count = channels_of(op.output())
    found = [op.source(at) for at in range(len(sources(op.op)))]
    if len(found) > 1:
        same_type(op, op.input(0), op.input(1), op.output())
    if any(interval.channels not in (1, count) for interval in found):
        raise op.unsupported("its operands do not broadcast to its output")
    return [interval.spread(count) for interval in found]


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
    fused = op.option("fused_activation_function")
    return op.source(0).clamped(*activation_range(op, op.output(), fused))


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
        **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), _pooled),
        **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"), _reduced),
        **dict.fromkeys(
            (
                *("RELU", "RELU6", "LEAKY_RELU", "HARD_SWISH", "LOGISTIC", "TANH", "ABS", "ELU"),
                *("RSQRT", "QUANTIZE", "TABLE"),
                *("ADD", "SUB", "MUL", "PRELU", "MINIMUM", "MAXIMUM"),
            ),
            _mapped,
        ),
    }
)
