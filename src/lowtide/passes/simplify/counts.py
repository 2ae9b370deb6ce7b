"""How many channels to have: constant ones that stay because kernels like the number.

Why by price: a multiple of four is what the quick kernels take best, but a channel more is read by the
next operator as well, and whether that pays depends on the core and on the sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from lowtide.ir.graph import Graph, Op
from lowtide.passes.simplify.flow import Dense, Opaque
from lowtide.passes.simplify.needed import Channels, Kept, closed, is_needed, touched_by

Price = Callable[[Graph, Op, int | None, int], float]
"""What an operator costs on a core if it reads and makes so many channels; None where it makes each
channel of one."""

_BLOCK = 4

_CLEARLY = 0.01
"""Cheaper is what saves this part of what the operators touched cost: prices are off by as much."""


def rounded(channels: Channels, kept: Kept, price: Price) -> Kept:
    """`kept`, and in each map with weights before it up to three constant channels more, if cheaper."""
    touching = touched_by(channels.graph)
    costs = _Costs(channels, price)
    for op, flow in zip(channels.graph.ops, channels.flows, strict=True):
        if not isinstance(flow, Dense) or not is_needed(channels, op, kept):
            continue
        out = op.outputs[0]
        spare = np.flatnonzero(~kept[out] & channels.constant(out))
        lacking = -int(kept[out].sum()) % _BLOCK
        best, least = kept, -_CLEARLY * costs.of(touching[out], kept)
        for count in range(1, min(lacking, len(spare)) + 1):
            more = kept[out].copy()
            more[spare[:count]] = True
            tried = closed(channels, {**kept, out: more}, {*touching[out]})
            grown = costs.difference(kept, tried, touching)
            if grown < least:
                best, least = tried, grown
        kept = best
    return kept


class _Costs:
    """Costs of operators, each found once."""

    def __init__(self, channels: Channels, price: Price) -> None:
        self._channels = channels
        self._price = price
        self._known: dict[tuple[int, int | None, int], float] = {}

    def difference(self, before: Kept, after: Kept, touching: Mapping[int, list[int]]) -> float:
        """What `after` costs more than `before`."""
        changed = {
            number
            for tensor, mask in after.items()
            if (mask != before[tensor]).any()
            for number in touching.get(tensor, [])
        }
        return self.of(changed, after) - self.of(changed, before)

    def of(self, ops: Iterable[int], kept: Kept) -> float:
        """What some operators cost."""
        return sum(self._one(number, kept) for number in sorted(ops))

    def _one(self, number: int, kept: Kept) -> float:
        channels = self._channels
        op, flow = channels.graph.ops[number], channels.flows[number]
        if isinstance(flow, Opaque) or not is_needed(channels, op, kept):
            return 0.0
        read = None
        if isinstance(flow, Dense):
            mask = kept.get(op.inputs[flow.sums.source])
            read = flow.sums.reads
            if mask is not None:
                read = read // len(mask) * int(mask.sum())
        made = int(kept[op.outputs[0]].sum())
        key = number, read, made
        if key not in self._known:
            self._known[key] = self._price(channels.graph, op, read, made)
        return self._known[key]
