"""Channels that need not be computed: those that never change, and those that nobody reads.

Why in one pass: both are what is left when all that must be stored is known (`needed`). What a constant
channel adds to the sums that read it goes into their biases; a constant that must be stored all the
same is made by weights of 0, so that it needs nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

import numpy as np

from lowtide.ir.graph import Graph, Op
from lowtide.ir.operands import NUMPY_TYPES
from lowtide.passes.rewriting import with_ops
from lowtide.passes.simplify.counts import Price, rounded
from lowtide.passes.simplify.cutting import Constants, cut_linked, cut_tensor
from lowtide.passes.simplify.flow import Dense, Linked, Opaque
from lowtide.passes.simplify.needed import Channels, Kept, Mask, follow, is_needed, needed
from lowtide.passes.simplify.refolding import refolded
from lowtide.passes.simplify.result import (
    Always,
    Dropped,
    Simplified,
    Unread,
    changed,
    unchanged,
)


def drop_channels(
    graph: Graph, *, both_roundings: bool = False, price: Price | None = None
) -> Simplified:
    """Leave out channels that are the same for every input, or that nobody reads.

    With `both_roundings`, what is left gives the same with FULLY_CONNECTED rounded as by TFLM and as by
    LiteRT. What must stay: all channels of inputs and outputs, of variables, and of operators that are
    not understood. With a `price`, some constant channels stay where that takes fewer instructions.
    """
    channels = follow(graph, both_roundings=both_roundings)
    kept = needed(channels)
    return _without(graph, channels, kept if price is None else rounded(channels, kept, price))


def _without(graph: Graph, channels: Channels, kept: Kept) -> Simplified:
    """`graph` with no more than what is kept."""
    live = [op for op in graph.ops if is_needed(channels, op, kept)]
    made = [t for op in graph.ops for t in op.outputs]
    if not live or (len(live) == len(graph.ops) and all(kept[t].all() for t in made)):
        return unchanged(graph)
    constants = Constants(graph)
    ops = [_cut(graph, channels, op, kept, constants) for op in live]
    tensors = [cut_tensor(tensor, kept) for tensor in graph.tensors]
    stored = {t: kept[t] & (not channels.stands(t, kept)) for t in made}
    lost = {t: mask for t, mask in stored.items() if not mask.all()}
    return changed(
        graph,
        with_ops(replace(graph, tensors=(*tensors, *constants.added)), ops),
        kept={t: tuple(np.flatnonzero(mask).tolist()) for t, mask in lost.items()},
        dropped=[claim for t, mask in lost.items() for claim in _claims(channels, t, ~mask)],
        saved=_saved(channels, kept, len(graph.ops) - len(live)),
    )


def _cut(graph: Graph, channels: Channels, op: Op, kept: Kept, constants: Constants) -> Op:
    linked = channels.flows[op.id]
    match linked:
        case Dense(sums):
            return refolded(graph, channels, op, sums, kept, constants)
        case Linked():
            cut = cut_linked(graph, op, kept, constants)
            return _with_constants(graph, channels, cut, kept, constants)
        case Opaque():
            return op
        case _:
            assert_never(linked)


def _with_constants(
    graph: Graph, channels: Channels, op: Op, kept: Kept, constants: Constants
) -> Op:
    """`op` with a constant, of one pixel, for each input that is one by now."""
    inputs = list(op.inputs)
    for position, tensor in enumerate(inputs):
        if tensor in kept and channels.stands(tensor, kept):
            old = graph.tensors[tensor]
            values = channels.known[tensor].low[kept[tensor]]
            stored = values.astype(NUMPY_TYPES[old.dtype]).reshape(
                (1,) * (len(old.shape) - 1) + (-1,)
            )
            inputs[position] = constants.add(old, stored, old.quant)
    return replace(op, inputs=tuple(inputs))


def _claims(channels: Channels, tensor: int, gone: Mask) -> Iterable[Dropped]:
    """What is true of the channels of a tensor that are gone."""
    constant = channels.constant(tensor)
    still, unread = (np.flatnonzero(gone & mask) for mask in (constant, ~constant))
    if still.size:
        values = channels.known[tensor].low[still]
        yield Dropped(tensor, tuple(still.tolist()), Always(tuple(values.tolist())))
    if unread.size:
        yield Dropped(tensor, tuple(unread.tolist()), Unread())


def _saved(channels: Channels, kept: Kept, operators: int) -> dict[str, int]:
    """Channels are counted where weights make them, and nowhere else again."""
    found = {"constant channels": 0, "unread channels": 0, "operators of such channels alone": 0}
    for op, linked in zip(channels.graph.ops, channels.flows, strict=True):
        if isinstance(linked, Dense):
            out = op.outputs[0]
            constant, gone = channels.constant(out), ~kept[out]
            found["constant channels"] += int((gone & constant).sum())
            found["unread channels"] += int((gone & ~constant).sum())
    found["operators of such channels alone"] = operators
    return {what: count for what, count in found.items() if count}
