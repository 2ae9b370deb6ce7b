"""Which rows of a sliding window's tensors are those of the window before, and which are made anew.

A row is made of rows of the input, its cone. When the window moves on by some rows, row r is what row
r + shift was before, if its cone lies inside of both windows and meets no padding at their edges. Behind
strides that do not divide the hop, rows come again only every second window, or third: in phases.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from lowtide.ir.graph import Graph
from lowtide.passes.hop.flows import Flow, flow_of

MOST_PHASES: Final = 4
"""Rows that come again after more windows are computed anew: each phase takes memory of its own."""

_AT_A_TIME: Final = 8
"""Rows that an operator reads at a time, or less, of most networks."""

EATING: Final = ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN")
"""Operators that read all rows, one after the other."""


@dataclass(frozen=True, slots=True)
class Moving:
    """A tensor with `rows` rows along `axis`, which is time; the cones of those that are `free` meet no
    padding. While the window moves on by `pace` rows of the input, it does by one of these; None if
    its inputs move at different paces."""

    axis: int
    rows: int
    pace: Fraction | None
    free: range

    def period(self, hop: int) -> int:
        """After how many windows rows come again; 0 if they do not, or too late to be kept so long."""
        period = 0 if self.pace is None else (hop / self.pace).denominator
        return period if period <= MOST_PHASES else 0

    def shift(self, hop: int) -> int:
        """How many rows it has moved on by then."""
        return 0 if self.pace is None else int(self.period(hop) * hop / self.pace)

    def again(self, hop: int) -> range:
        """The rows that are rows of the window a period before."""
        shift = self.shift(hop)
        return range(self.free.start, max(self.free.start, self.free.stop - shift) if shift else 0)


@dataclass(frozen=True, slots=True)
class Cones:
    """The tensors of a graph that move with its one input, and how the operators that make them do."""

    moving: Mapping[int, Moving]
    flows: Mapping[int, Flow]


def cones_of(graph: Graph, axis: int) -> Cones:
    """Those of `graph`, whose input 0 has time along `axis`."""
    given = graph.inputs[0]
    rows = graph.tensors[given].shape[axis]
    moving = {given: Moving(axis, rows, Fraction(1), range(rows))}
    flows: dict[int, Flow] = {}
    for op in graph.ops:
        flow = flow_of(graph, op, {t: of.axis for t, of in moving.items()})
        if flow is not None:
            flows[op.id] = flow
            made = op.outputs[0]
            rows = graph.tensors[made].shape[flow.axis]
            moving[made] = _made(rows, moving, flow, op.inputs)
    return Cones(moving, flows)


def _made(rows: int, moving: Mapping[int, Moving], flow: Flow, inputs: tuple[int, ...]) -> Moving:
    paces, start, stop = set(), 0, rows
    for index, axis in flow.reads:
        of = moving[inputs[index]]
        paces.add(None if of.pace is None else of.pace * axis.stride)
        start = max(start, -(-(of.free.start + axis.before) // axis.stride))
        stop = min(stop, (of.free.stop + axis.before - axis.size) // axis.stride + 1)
    pace = paces.pop() if len(paces) == 1 else None
    return Moving(flow.axis, rows, pace, range(start, max(start, stop)))


@dataclass(frozen=True, slots=True)
class Rows:
    """What becomes of a tensor's rows in an invocation: `kept` are there from the one a period before,
    `made` are computed, run by run. Of them, `stored` outlive it: those that are kept, and the new ones
    that will be; in one piece of memory with what else is beside them, or `apart`."""

    kept: range
    made: tuple[range, ...]
    stored: range
    apart: bool = False

    @property
    def there(self) -> tuple[range, ...]:
        """Runs of rows that somebody reads or keeps."""
        return runs({*self.kept, *(row for run in self.made for row in run)})

    @property
    def around(self) -> range:
        """The run with those that are kept, or, if there are none, with the last that are made."""
        inside = self.kept.start if self.kept else self.made[-1].start
        return next(run for run in self.there if inside in run)

    def slots(self, period: int, shift: int) -> int:
        """Rows of the memory that outlives it. Apart, it has the new ones of as many invocations as it
        takes, one after the other, in each of the last `period` of which `shift` were new."""
        if not self.apart:
            return len(self.around)
        spare = -len(self.kept) % shift
        return period * (len(self.kept) + spare) + shift - spare


def rows_of(graph: Graph, cones: Cones, hop: int, kept: Collection[int]) -> dict[int, Rows]:
    """What becomes of the rows of each tensor that moves, if rows are kept of those in `kept` as far as
    anybody reads them, and of the input."""
    wanted: dict[int, set[int]] = {t: set() for t in cones.moving}
    for tensor in graph.outputs:
        if tensor in wanted:
            wanted[tensor] |= {*range(cones.moving[tensor].rows)}
    found: dict[int, Rows] = {}
    for op in reversed(graph.ops):
        flow = cones.flows.get(op.id)
        if flow is None:
            for tensor in op.inputs:
                if tensor in wanted:
                    wanted[tensor] |= {*range(cones.moving[tensor].rows)}
            continue
        made = op.outputs[0]
        found[made] = _settled(cones.moving[made], wanted[made], hop if made in kept else 0)
        for index, axis in flow.reads:
            source = op.inputs[index]
            for run in found[made].made:
                wanted[source] |= {*axis.reads(run, cones.moving[source].rows)}
    given = graph.inputs[0]
    settled = _settled(cones.moving[given], wanted[given], hop)
    rows = cones.moving[given].rows
    found[given] = replace(settled, made=(range(rows - hop, rows),))
    return _parted(graph, cones, found, hop)


def _settled(of: Moving, wanted: set[int], hop: int) -> Rows:
    """The rows that are kept, and those that are made, so that all that are `wanted` are there."""
    again = of.again(hop) if hop else range(0)
    kept = range(min((r for r in wanted if r in again), default=again.stop), again.stop)
    new = range(again.stop, of.free.stop) if kept else range(0)
    stored = range(kept.start, new.stop) if kept else range(0)
    return Rows(kept, runs((wanted - {*kept}) | {*new}), stored)


def _parted(graph: Graph, cones: Cones, found: dict[int, Rows], hop: int) -> dict[int, Rows]:
    """The same, with rows kept apart from those at the window's edges where that takes less memory:
    where these matter to one invocation alone, and are more than what is read of them at a time. What
    comes again in phases is always apart."""
    whole = {
        tensor
        for op in graph.ops
        if op.id not in cones.flows and op.type not in EATING
        for tensor in op.inputs
    }
    row_bytes = {t: graph.tensors[t].bytes // of.rows for t, of in cones.moving.items()}
    phases = {t for t, of in found.items() if of.kept and cones.moving[t].period(hop) > 1}
    edges = {
        t: row_bytes[t] * (len(of.around) - len(of.stored))
        for t, of in found.items()
        if of.kept and t not in whole and len(of.around) > len(of.stored)
    }
    worth = sum(edges.values()) > _AT_A_TIME * max((row_bytes[t] for t in edges), default=0)
    apart = phases | (edges.keys() if worth else set())
    return {t: replace(of, apart=t in apart) for t, of in found.items()}


def runs(rows: Collection[int]) -> tuple[range, ...]:
    """`rows` as runs of consecutive ones."""
    found: list[range] = []
    for row in sorted(rows):
        if found and found[-1].stop == row:
            found[-1] = range(found[-1].start, row + 1)
        else:
            found.append(range(row, row + 1))
    return tuple(found)
