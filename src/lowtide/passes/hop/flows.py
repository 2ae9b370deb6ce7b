"""How operators work along time: which rows of what they read one row of what they make is made of.

Why by operator: time is one axis of a tensor, as rows of a spectrogram are, and all axes before it have
one element, so that its rows lie one after the other. An operator that treats all rows alike has a
`Flow`. One without reads its whole window anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from lowtide.errors import ModelError
from lowtide.ir.elementwise import BYTE_FUNCTIONS
from lowtide.ir.graph import Graph, Op, Tensor
from lowtide.ir.operands import Operands, integers_of
from lowtide.ir.slices import sliced
from lowtide.ir.window import Axis

Times = Mapping[int, int]
"""Tensor -> which of its axes is time."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Axis `axis` of an operator's one output is time. Each of `reads` is (which input, how): row r of
    the output is made of those rows of it that the window `Axis` says; what is no row is padding."""

    axis: int
    reads: tuple[tuple[int, Axis], ...]


@dataclass(frozen=True, slots=True)
class _Along:
    """An operator, the first of its inputs that moves, `source`, and along which axis, `at`."""

    graph: Graph
    op: Op
    times: Times
    source: Tensor
    at: int

    @property
    def out(self) -> Tensor:
        """What it makes."""
        return self.graph.tensors[self.op.outputs[0]]

    @property
    def rows(self) -> int:
        """How many rows the source has."""
        return self.source.shape[self.at]

    def same(self) -> Flow | None:
        """Row r is made of row r of each input that moves; what does not is the same for all rows."""
        if len(self.out.shape) != len(self.source.shape) or self.out.shape[self.at] != self.rows:
            return None
        reads = []
        for index, tensor in enumerate(self.op.inputs):
            of = self.graph.tensors[tensor] if tensor >= 0 else None
            if tensor in self.times:
                shape = self.graph.tensors[tensor].shape
                alike = len(shape) == len(self.out.shape) and self.times[tensor] == self.at
                if not alike or shape[self.at] != self.rows:
                    return None
                reads.append((index, Axis()))
            elif of is not None:
                behind = self.at - (len(self.out.shape) - len(of.shape))
                if behind >= 0 and of.shape[behind] != 1:
                    return None
        return Flow(self.at, tuple(reads))

    def alone(self, axis: int, window: Axis | None = None) -> Flow | None:
        """Rows of input 0 alone become rows along `axis` of the output."""
        moving = [t for t in self.op.inputs if t in self.times]
        if moving != [self.op.inputs[0]] or not 0 <= axis < len(self.out.shape):
            return None
        window = window or Axis()
        fits = self.out.shape[axis] == window.made(self.rows)
        return Flow(axis, ((0, window),)) if fits else None


def _window(of: _Along) -> Flow | None:
    window = of.op.window
    if window is None or len(of.source.shape) != 4 or of.at not in (1, 2):
        return None
    return of.alone(of.at, window.rows if of.at == 1 else window.columns)


def _first(of: _Along) -> Flow | None:
    """Functions of one variable, whatever else they are given."""
    return of.alone(of.at) if of.out.shape == of.source.shape else None


def _joined(of: _Along) -> Flow | None:
    axis = of.op.options.get("axis", 0)
    if not isinstance(axis, int) or axis % len(of.out.shape) == of.at:
        return None
    return of.same() if all(t in of.times for t in of.op.inputs) else None


def _renamed(of: _Along) -> Flow | None:
    """A RESHAPE that leaves the rows as they are."""
    shape = of.out.shape
    fits = (a for a, n in enumerate(shape) if n == of.rows and math.prod(shape[:a]) == 1)
    return of.alone(next(fits, -1)) if of.rows > 1 else None


def _dense(of: _Along) -> Flow | None:
    weights = of.graph.tensor(of.op, 1)
    last = len(of.source.shape) - 1
    by_rows = weights is not None and len(weights.shape) == 2 and of.at < last
    if not by_rows or weights is None or weights.shape[1] != of.source.shape[-1]:
        return None
    kept = of.out.shape[:-1] == of.source.shape[:-1]
    return of.alone(of.at) if kept else None


def _last_axis(of: _Along) -> Flow | None:
    return _first(of) if of.at < len(of.source.shape) - 1 else None


def _reduced(of: _Along) -> Flow | None:
    axes, rank = of.graph.tensor(of.op, 1), len(of.source.shape)
    given = None if axes is None else integers_of(axes)
    if given is None:
        return None
    gone = {axis % rank for axis in given}
    if of.at in gone:
        return None
    if of.op.options.get("keep_dims"):
        return of.alone(of.at)
    return of.alone(of.at - sum(axis < of.at for axis in gone))


def _taken(of: _Along) -> Flow | None:
    if len(of.out.shape) != len(of.source.shape):
        return None
    try:
        taken = sliced(Operands(of.graph, of.op))
    except ModelError:
        return None
    if not all(along and along.step > 0 for along in taken):
        return None
    rows = taken[of.at]
    return of.alone(of.at, Axis(1, rows.step, 1, -rows.start, rows[-1] + 1 - of.rows))


def _padded(of: _Along) -> Flow | None:
    given = of.graph.tensor(of.op, 1)
    sides = None if given is None else integers_of(given)
    if sides is None or len(sides) != 2 * len(of.source.shape) or min(sides) < 0:
        return None
    return None if any(sides[2 * of.at : 2 * of.at + 2]) else of.alone(of.at)


PAIRS: Final = (
    *("ADD", "SUB", "MUL", "DIV", "MINIMUM", "MAXIMUM", "SQUARED_DIFFERENCE", "PRELU"),
    *("FLOOR_DIV", "FLOOR_MOD"),
    *("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"),
)
"""Operators of two tensors, element by element."""

ONES: Final = (
    *(*BYTE_FUNCTIONS, "FLIP", "TABLE", "DEQUANTIZE"),
    *("RELU_N1_TO_1", "NEG", "SQUARE", "SQRT", "FLOOR", "CEIL", "ROUND"),
)
"""Operators of one tensor, element by element."""

_FLOWS: Final[Mapping[str, Callable[[_Along], Flow | None]]] = {
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D"), _window),
    **dict.fromkeys(PAIRS, _Along.same),
    **dict.fromkeys(ONES, _first),
    "CONCATENATION": _joined,
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), _renamed),
    "FULLY_CONNECTED": _dense,
    **dict.fromkeys(("SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION"), _last_axis),
    **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"), _reduced),
    **dict.fromkeys(("SLICE", "STRIDED_SLICE"), _taken),
    **dict.fromkeys(("PAD", "PADV2"), _padded),
}


def flow_of(graph: Graph, op: Op, times: Times) -> Flow | None:
    """How `op` works along time; None if it does not treat all rows alike."""
    rule, first = _FLOWS.get(op.type), next((t for t in op.inputs if t in times), None)
    if rule is None or first is None or len(op.outputs) != 1:
        return None
    if not all(graph.tensors[t].is_constant for t in op.inputs if t >= 0 and t not in times):
        return None
    flow = rule(_Along(graph, op, times, graph.tensors[first], times[first]))
    out = graph.tensors[op.outputs[0]]
    if flow is None or not out.bytes or math.prod(out.shape[: flow.axis]) != 1:
        return None
    for index, axis in flow.reads:  # a row that is made of padding alone is nobody's
        rows = graph.tensors[op.inputs[index]].shape[times[op.inputs[index]]]
        ends = 0, out.shape[flow.axis] - 1
        if not all(axis.reads(range(r, r + 1), rows) for r in ends):
            return None
    return flow
