"""Sums over all rows of a window, as totals that outlive a run: what leaves is subtracted.

Why: of a map with many rows, most of what a MEAN does is to add again what it added before. Where all
rows come again, none tied to an edge, the sum of a window is that of the one before, with its new rows
and without its oldest: exactly, since sums of integers are. Totals begin as those of the rows that the
state begins with, which are zero points: 0 if each element is taken minus that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lowtide.errors import ModelError
from lowtide.ir.graph import DType, Graph, Op, Tensor
from lowtide.ir.operands import Operands
from lowtide.ir.reductions import reduced_axes
from lowtide.passes.hop.cones import Cones, Rows

_BESIDE: Final = 2
"""What totals cost beside their rows is not more than this many rows of a sum do."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums of an operator over tensor `source`, of `count` elements, each taken minus `zero`: `new`
    are the rows to add, `oldest` those to subtract."""

    source: int
    count: int
    zero: int
    new: range
    oldest: range


def totals_of(
    graph: Graph, cones: Cones, work: Mapping[int, Rows], op: Op, hop: int
) -> Totals | None:
    """The totals of `op`; None if it is no sum over all rows, or if that is not cheaper."""
    source = op.inputs[0] if op.inputs else -1
    if source not in cones.moving or not work[source].kept:
        return None
    of, moving, rows = graph.tensors[source], cones.moving[source], work[source]
    again, shift = moving.again(hop), moving.shift(hop)
    if moving.axis != 1 or moving.period(hop) != 1 or rows.kept != again:
        return None
    if len(moving.free) < moving.rows or 2 * shift + _BESIDE > moving.rows:
        return None
    made = graph.tensors[op.outputs[0]]
    types = of.dtype in (DType.INT8, DType.INT16) and made.dtype is of.dtype
    if not types or made.elements != of.shape[-1] or not _sums(graph, op, of):
        return None
    zero = of.quant.zero_point[0] if of.quant and of.dtype is DType.INT8 else 0
    new, oldest = range(again.stop, moving.rows), range(shift)
    return Totals(source, of.elements // of.shape[-1], zero, new, oldest)


def _sums(graph: Graph, op: Op, of: Tensor) -> bool:
    """Whether it sums all elements of each channel."""
    if op.type in ("MEAN", "SUM"):
        try:
            axes = reduced_axes(Operands(graph, op))
        except ModelError:
            return False
        last = len(of.shape) - 1
        return last not in axes and all(a in axes for a in range(last) if of.shape[a] > 1)
    if op.type != "AVERAGE_POOL_2D" or op.window is None:
        return False
    return all(
        axis.kernel == size and not axis.before and not axis.after
        for axis, size in ((op.window.rows, of.shape[1]), (op.window.columns, of.shape[2]))
    )
