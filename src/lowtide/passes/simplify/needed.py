"""Which channels have to be stored: the least set that every operator agrees with.

Why a least fixed point: what is needed only makes more needed, and starts with what the caller is given
and gives. Everything else is either the same for every input, and folded into the biases of what reads
it, or read by nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from lowtide.ir.graph import DType, Graph, Op
from lowtide.ir.roundings import Integers
from lowtide.passes.rewriting import readers_of
from lowtide.passes.simplify.bounding import channels_of
from lowtide.passes.simplify.flow import Dense, Flow, Linked, Opaque, flow, has_effects
from lowtide.passes.simplify.interval import Interval
from lowtide.passes.simplify.ranges import ranges
from lowtide.passes.simplify.sums import Sums

Mask = NDArray[np.bool_]

_MOST_SUM = (1 << 31) - 1
_REACH = {DType.INT8: 1 << 9, DType.UINT8: 1 << 9, DType.INT16: 1 << 16}
"""No kernel adds more than this per unit of weight, whichever way it does away with zero points."""


@dataclass(frozen=True, slots=True)
class Channels:
    """A graph whose channels are followed: what they can be, and how operators link them.

    Tensors that are `replaceable` are read only where a constant may be read as well. `unfoldable` has,
    for each operator that is `Dense`, [outputs, channels of a group]: where a channel that is not stored
    would be missed.
    """

    graph: Graph = field(repr=False)
    known: Mapping[int, Interval] = field(repr=False)
    flows: Sequence[Flow] = field(repr=False)
    replaceable: frozenset[int] = field(repr=False)
    unfoldable: Sequence[Mask | None] = field(repr=False)

    def constant(self, tensor: int) -> Mask:
        """Which channels are the same for every input."""
        interval = self.known.get(tensor)
        if interval is None:
            return np.zeros(channels_of(self.graph.tensors[tensor]), np.bool_)
        return interval.constant

    def stands(self, tensor: int, kept: Kept) -> bool:
        """Whether all that is stored of a tensor is constant, and its readers can have a constant."""
        return tensor in self.replaceable and not (kept[tensor] & ~self.constant(tensor)).any()

    def followed(self, tensor: int) -> bool:
        """Whether there is a choice: constants are cut to whatever is needed."""
        return tensor >= 0 and not self.graph.tensors[tensor].is_constant


_PADS = frozenset({"PAD", "PADV2"})
_PAIRS = frozenset({"ADD", "SUB", "MUL", "MINIMUM", "MAXIMUM"})

Kept = Mapping[int, Mask]
"""Tensor -> which of its channels are stored."""


def follow(graph: Graph, *, both_roundings: bool = False) -> Channels:
    """The channels of `graph`, whose operators have their windows."""
    known = ranges(graph, both_roundings=both_roundings)
    flows = tuple(flow(graph, op, both_roundings=both_roundings) for op in graph.ops)
    plain = Channels(graph, known, flows, _replaceable(graph, flows), ())
    unfoldable = (
        _unfoldable(plain, op, linked.sums)
        if isinstance(linked, Dense) and plain.followed(op.inputs[linked.sums.source])
        else None
        for op, linked in zip(graph.ops, flows, strict=True)
    )
    return replace(plain, unfoldable=tuple(unfoldable))


def _replaceable(graph: Graph, flows: Sequence[Flow]) -> frozenset[int]:
    """Tensors that only such operators read as take a constant beside another operand.

    Of two operands one is left, lest an operator has none to work on.
    """
    made = {
        t for op in graph.ops if not has_effects(op) and len(op.outputs) == 1 for t in op.outputs
    }
    readers = readers_of(graph)
    found: set[int] = set()
    for tensor in sorted(made - set(graph.outputs)):
        others = [
            other
            for op in readers.get(tensor, [])
            for other in (set(op.inputs) - {tensor} if _takes_constants(op, flows[op.id]) else ())
        ]
        free = all(o in made | set(graph.inputs) and o not in found for o in others)
        if others and len(others) == len(readers[tensor]) and free:
            found.add(tensor)
    return frozenset(found)


def _takes_constants(op: Op, flow: Flow) -> bool:
    return op.type in _PAIRS and isinstance(flow, Linked)


def needed(channels: Channels) -> Kept:
    """The channels that must be stored of every tensor that is no constant."""
    graph = channels.graph
    ends = {*graph.inputs, *graph.outputs}
    start = {
        t.id: np.full(channels_of(t), t.is_variable or t.id in ends, np.bool_)
        for t in graph.tensors
        if channels.followed(t.id)
    }
    return closed(channels, start, {op.id for op in graph.ops})


def closed(channels: Channels, start: Kept, waiting: set[int]) -> Kept:
    """`start`, and all that is needed for it. Operators that are not `waiting` are content with it."""
    graph = channels.graph
    kept = {tensor: mask.copy() for tensor, mask in start.items()}
    touching = touched_by(graph)
    waiting = set(waiting)
    while waiting:
        number = max(waiting)  # from the end, as needs run backwards
        waiting.remove(number)
        for tensor, mask in _asked(channels, graph.ops[number], kept).items():
            if (mask & ~kept[tensor]).any():
                kept[tensor] |= mask
                waiting.update(touching[tensor])
    return kept


def touched_by(graph: Graph) -> Mapping[int, list[int]]:
    """Tensor -> the operators that make or read it."""
    touching: dict[int, list[int]] = {}
    for op in graph.ops:
        for tensor in {*op.inputs, *op.outputs}:
            touching.setdefault(tensor, []).append(op.id)
    return touching


def is_needed(channels: Channels, op: Op, kept: Kept) -> bool:
    """Whether anything of what an operator does is needed, other than as a constant."""
    if has_effects(op):
        return True
    return any(kept[t].any() and not channels.stands(t, kept) for t in op.outputs)


def _asked(channels: Channels, op: Op, kept: Kept) -> dict[int, Mask]:
    """What `op` needs to be stored, given what is."""
    if not is_needed(channels, op, kept):
        return {}
    linked = channels.flows[op.id]
    match linked:
        case Dense(sums):
            return _of_sums(channels, op, sums, kept)
        case Linked(members, whole):
            members = tuple(member for member in members if channels.followed(member[0]))
            stored = np.zeros(1 + max(int(own.max()) for _, own in members if own.size), np.bool_)
            for tensor, own in members:
                stored[own[kept[tensor]]] = True
            padded = op.inputs[0]
            if op.type in _PADS and channels.followed(padded) and not kept[padded].any():
                stored[members[1][1][0]] = True  # what it pads must not be empty
            asked: dict[int, Mask] = {}
            for tensor, own in members:
                asked[tensor] = asked.get(tensor, np.False_) | stored[own]
            return asked | _all(channels, whole)
        case Opaque():
            return _all(channels, (*op.inputs, *op.outputs))
        case _:
            assert_never(linked)


def _all(channels: Channels, tensors: Sequence[int]) -> dict[int, Mask]:
    return {
        t: np.ones(channels_of(channels.graph.tensors[t]), np.bool_)
        for t in tensors
        if channels.followed(t)
    }


def _of_sums(channels: Channels, op: Op, sums: Sums, kept: Kept) -> dict[int, Mask]:
    source, out = op.inputs[sums.source], op.outputs[0]
    if not channels.followed(source):
        return {}
    outputs, _, depth = sums.weights.shape
    filters = outputs // sums.groups
    made = kept[out].reshape(sums.groups, filters)
    given = kept[source]
    width = len(given)
    repeats, rest = divmod(sums.reads, width)
    if rest:
        return _all(channels, (source, out))
    read = np.tile(given, repeats).reshape(sums.groups, depth)
    live = (kept[out] & ~channels.constant(out)).reshape(sums.groups, filters, 1)
    unfoldable = channels.unfoldable[op.id]
    assert unfoldable is not None
    wanted = unfoldable.reshape(sums.groups, filters, depth)
    read = np.logical_or(read, np.logical_or.reduce(wanted & live, axis=1))
    # What is left is groups of one size: some of them, and of each the same channels.
    has: Mask = np.logical_or.reduce(read, axis=1) | np.logical_or.reduce(made, axis=1)
    groups = has[:, None]
    columns: Mask = np.logical_or.reduce(read)
    if not columns.any():
        columns[0] = True
    asked_out: Mask = groups & made.any(axis=0)
    asked_in: Mask = np.logical_or.reduce((groups & columns).reshape(repeats, width))
    return {source: asked_in, out: asked_out.reshape(-1)}


def folded(channels: Channels, op: Op, sums: Sums) -> tuple[Mask, Integers]:
    """(which channels read are constant, their values less the zero point; 0 for others)."""
    source = op.inputs[sums.source]
    interval = channels.known.get(source)
    if interval is None:
        return np.zeros(sums.reads, np.bool_), np.zeros(sums.reads, np.int64)
    repeats = sums.reads // interval.channels
    constant = np.tile(interval.constant, repeats)
    return constant, np.where(constant, np.tile(interval.low, repeats) - sums.zero, 0)


def _unfoldable(channels: Channels, op: Op, sums: Sums) -> Mask:
    """[outputs, channels of a group]: where a channel has weights that no bias can stand for.

    A constant goes into the bias if as much of it is added everywhere, also where windows hang over the
    border, and if no order of adding up can leave 32 bits.
    """
    outputs, _, depth = sums.weights.shape
    weights = sums.weights.reshape(sums.groups, outputs // sums.groups, -1, depth)
    used: Mask = (weights != 0).any(axis=2)
    constant, values = (each.reshape(sums.groups, 1, depth) for each in folded(channels, op, sums))
    everywhere = constant | np.zeros_like(used)
    if not sums.whole_windows and (constant & (values != 0)).any():
        added = np.einsum("pt,gftd->pgfd", sums.patterns, weights, optimize=True)
        everywhere = constant & ((values == 0) | (added == added[0]).all(axis=0))
    reach = _REACH[channels.graph.tensors[op.inputs[sums.source]].dtype]
    most = np.abs(sums.weights).sum(axis=(1, 2)) * reach + np.abs(sums.bias)
    safe = (most <= _MOST_SUM) | (sums.bias_type is DType.INT64)
    unfoldable: Mask = used & ~(everywhere & safe.reshape(sums.groups, -1, 1))
    return unfoldable.reshape(outputs, depth)
