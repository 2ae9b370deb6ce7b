"""Convolutions and dense layers as one thing: sums of products per channel, over groups and taps.

Why one form: a depthwise convolution is a grouped one of single channels, a dense layer one of a single
tap. What bounds their sums, and what of them can be left out, is then said once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import products
from lowtide.ir.graph import DType, Op
from lowtide.ir.operands import Operands, per_tensor
from lowtide.ir.roundings import (
    Integers,
    Rounding,
    rounded_once,
    rounded_twice,
    rounded_wide,
)
from lowtide.ir.window import Axis
from lowtide.passes.simplify.interval import Interval, requantised

KINDS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"})

_MOST_CASES, _MOST_WORK = 1 << 22, 1 << 30
"""Of taps inside of windows: more are not looked at, and of such a layer nothing is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Output o is requantised of bias[o] + the sum, over taps t that its window has inside of the map
    and the channels i of its group, of weights[o, t, i] * (x - zero).

    `weights` is [outputs, taps, channels of a group] float64, whole numbers less their zero point, and 0
    for an output whose sums are 0. `patterns`, [n, taps] float64, has a 1 for each tap that is inside, a
    row for each case there is. `roundings` are whose results are wanted, one or two. `source`, `bias_at`
    are positions among the operator's inputs. `bits` are those of a sum.
    """

    source: int
    bias_at: int
    weights: NDArray[np.float64] = field(repr=False)
    bias: Integers = field(repr=False)
    groups: int
    zero: int
    patterns: NDArray[np.float64] = field(repr=False)
    roundings: tuple[Rounding, ...] = field(repr=False)
    output_zero: int
    clamp: tuple[int, int]
    bias_type: DType

    @property
    def reads(self) -> int:
        """How many channels are read."""
        return self.groups * int(self.weights.shape[2])

    @property
    def whole_windows(self) -> bool:
        """Whether no tap is ever outside."""
        return bool(self.patterns.all())

    def shares(self, source: Interval) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The least and the most that each tap adds to each output, [outputs, taps]."""
        outputs, taps, depth = self.weights.shape
        low, high = (
            (end - self.zero).astype(np.float64).reshape(self.groups, depth, 1)
            for end in (source.low, source.high)
        )
        weights = self.weights.reshape(self.groups, -1, depth)
        raising = np.maximum(weights, 0.0)
        lowering = weights - raising
        least = raising @ low + lowering @ high
        most = raising @ high + lowering @ low
        return least.reshape(outputs, taps), most.reshape(outputs, taps)

    def accumulated(self, source: Interval) -> Interval:
        """What the sums can be, biases included; exact, as all of it stays below 2^53."""
        least, most = self.shares(source)
        low = (least @ self.patterns.T).min(axis=1).astype(np.int64) + self.bias
        high = (most @ self.patterns.T).max(axis=1).astype(np.int64) + self.bias
        return Interval(low, high)

    def outputs(self, sums: Interval) -> Interval:
        """What becomes of such sums, by every rounding that is wanted."""
        found = [
            requantised(sums, rounding, self.output_zero, self.clamp) for rounding in self.roundings
        ]
        return found[0] if len(found) == 1 else found[0].joined(found[1])


def sums_of(operands: Operands, *, both_roundings: bool = False) -> Sums | None:
    """The sums of an operator; None if it is none of products with constant weights, or not as it
    should be. With `both_roundings`, a dense layer has TFLM's and LiteRT's. Raises ModelError."""
    op = operands.op
    if op.type not in KINDS or not op.outputs:
        return None
    at = 2 if op.type == "TRANSPOSE_CONV" else 0
    source, filters, out = operands.input(at), operands.input(1), operands.output()
    wanted = DType.UINT8 if source.dtype is DType.UINT8 else DType.INT8
    if source.dtype not in (DType.INT8, DType.UINT8, DType.INT16) or out.dtype is not source.dtype:
        return None
    if op.type == "TRANSPOSE_CONV" and source.dtype is DType.INT16:
        return None  # its sums have 64 bits, and a scaling of their own
    if filters.dtype is not wanted or filters.is_sparse or not filters.elements:
        return None
    weights = operands.constant(1).astype(np.float64)
    if source.dtype is DType.UINT8:
        weights -= products.byte_scale(operands, 1)[1]
    patterns: NDArray[np.float64] | None = np.ones((1, 1))
    if op.type == "FULLY_CONNECTED":
        if len(weights.shape) < 2 or operands.option("weights_format"):
            return None
        if weights.size != weights.shape[-2] * weights.shape[-1]:
            return None
        weights = weights.reshape(weights.shape[-2], 1, weights.shape[-1])
        if source.elements * weights.shape[0] != out.elements * weights.shape[2]:
            return None
    else:
        if not len(weights.shape) == len(source.shape) == len(out.shape) == 4 or not op.window:
            return None
        if op.type == "DEPTHWISE_CONV_2D":
            weights = weights.transpose(3, 1, 2, 0)
        weights = weights.reshape(weights.shape[0], -1, weights.shape[3])
        patterns = _patterns(op, source.shape, out.shape, len(weights))
    outputs, _, depth = weights.shape
    groups = 1 if op.type == "FULLY_CONNECTED" else source.shape[-1] // depth
    fits = op.type == "FULLY_CONNECTED" or groups * depth == source.shape[-1]
    if not fits or not out.elements or out.shape[-1:] != (outputs,) or outputs % max(1, groups):
        return None
    if patterns is None or patterns.shape[1] != weights.shape[1]:
        return None
    _, in_zero = per_tensor(operands, source)
    _, out_zero = per_tensor(operands, out)
    if source.dtype is DType.INT16 and op.type != "FULLY_CONNECTED":
        in_zero = out_zero = 0  # the reference does not look at them
    bias, bias_at, bias_type = _bias(operands, outputs)
    return Sums(
        source=at,
        bias_at=bias_at,
        weights=weights,
        bias=bias,
        groups=groups,
        zero=in_zero,
        patterns=patterns,
        roundings=_roundings(operands, outputs, bias_type, both_roundings),
        output_zero=out_zero,
        clamp=products.clamp(operands),
        bias_type=bias_type,
    )


def _bias(operands: Operands, outputs: int) -> tuple[Integers, int, DType]:
    """(biases, their position among the inputs, the type that they have or would have)."""
    if operands.op.type == "TRANSPOSE_CONV":
        return products.bias(operands, outputs, DType.INT32, at=3), 3, DType.INT32
    kind = DType.INT32
    if operands.input(0).dtype is DType.INT16:
        depthwise = operands.op.type == "DEPTHWISE_CONV_2D"
        kind = DType.INT64 if depthwise or not products.is_narrow(operands) else DType.INT32
    return products.bias(operands, outputs, kind), 2, kind


def _roundings(
    operands: Operands, outputs: int, bias_type: DType, both: bool
) -> tuple[Rounding, ...]:
    op, kind = operands.op, operands.activation_type
    dense = op.type == "FULLY_CONNECTED"
    if kind is DType.UINT8:
        if dense:
            (in_scale, _), (scale, _) = (products.byte_scale(operands, i) for i in (0, 1))
            return (rounded_once([in_scale * scale / per_tensor(operands, operands.output())[0]]),)
        return (rounded_twice([products.byte_factor(operands)]),)
    if op.type == "TRANSPOSE_CONV":
        return (rounded_twice(products.factors(operands, outputs, 2)),)
    factors = products.factors(operands, outputs)
    narrow = bias_type is DType.INT32
    twice = rounded_twice(factors) if narrow else rounded_wide(factors)
    if not dense or not (both or op.as_litert):
        return (twice,)
    # A sum of 64 bits is made a double first, which must hold it.
    real = products.real_factors(operands, outputs)
    once = rounded_once(real, bits=32 if narrow else 53)
    return (once, twice) if both else (once,)


def _patterns(
    op: Op, source: Sequence[int], out: Sequence[int], outputs: int
) -> NDArray[np.float64] | None:
    """Which taps of a window are inside, in each case that there is: [n, taps]; None if there are more
    than are worth looking at for so many `outputs`."""
    assert op.window is not None
    axes = (op.window.rows, op.window.columns)
    rows, columns = (
        _transposed(axis, source[i], out[i])
        if op.type == "TRANSPOSE_CONV"
        else _inside(axis, source[i], out[i])
        for i, axis in enumerate(axes, start=1)
    )
    if rows is None or columns is None:
        return None
    cases, taps = len(rows) * len(columns), rows.shape[1] * columns.shape[1]
    if not cases or cases * max(taps, outputs) > _MOST_CASES or cases * taps * outputs > _MOST_WORK:
        return None
    both = rows[:, None, :, None] & columns[None, :, None, :]
    return both.reshape(cases, taps).astype(np.float64)


def _inside(axis: Axis, length: int, made: int) -> NDArray[np.bool_] | None:
    at = _ends(np.arange(made) * axis.stride - axis.before, axis, length)
    if len(at) * axis.kernel > _MOST_CASES:
        return None
    at = at[:, None] + np.arange(axis.kernel) * axis.dilation
    return _each_once((at >= 0) & (at < length))


def _each_once(cases: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The rows in order, equal ones once: of few that is quicker than by `np.unique`."""
    found = sorted(set(map(tuple, cases.tolist())))
    return np.array(found, np.bool_).reshape(-1, cases.shape[1])


def _ends(at: Integers, axis: Axis, length: int) -> Integers:
    """Of windows that begin `at`, those that reach beyond an end, and one that does not."""
    inner = (at >= 0) & (at + axis.size <= length)
    return np.concatenate([at[~inner], at[inner][:1]])


def _transposed(axis: Axis, length: int, made: int) -> NDArray[np.bool_] | None:
    """Of a TRANSPOSE_CONV: input x adds to the outputs x * stride - before + k."""
    at = np.arange(made) + axis.before
    inner = (at >= axis.kernel - 1) & (at < length * axis.stride)
    _, first = np.unique(at[inner] % axis.stride, return_index=True)
    at = np.concatenate([at[~inner], at[inner][first]])
    if len(at) * axis.kernel > _MOST_CASES:
        return None
    at = at[:, None] - np.arange(axis.kernel)
    inside = (at % axis.stride == 0) & (at >= 0) & (at < length * axis.stride)
    return _each_once(inside)
