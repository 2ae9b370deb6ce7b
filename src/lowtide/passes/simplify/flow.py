"""How an operator's channels hang together: what must be stored if something else is.

Why in three kinds: what reads all channels to make each (a convolution) lets go of any of them; what
makes one channel of one (a pool, a sum, a view) has a channel on all sides or on none; what is not
understood has all of its channels, or is not there at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from lowtide.errors import ModelError
from lowtide.ir.graph import Graph, Op
from lowtide.ir.operands import Operands, axis_of
from lowtide.ir.reductions import reduced_axes
from lowtide.ir.roundings import Integers
from lowtide.ir.slices import sliced
from lowtide.ir.soundness import CONTROL_FLOW
from lowtide.ir.state import writes_variables
from lowtide.passes.simplify.bounding import channels_of
from lowtide.passes.simplify.sums import Sums, sums_of

_EFFECTS = CONTROL_FLOW | {"VAR_HANDLE", "CALL_ONCE"}


def has_effects(op: Op) -> bool:
    """Whether `op` does more than to make its outputs."""
    return op.type in _EFFECTS or writes_variables(op)


@dataclass(frozen=True, slots=True)
class Dense:
    """Every output channel of a group reads every input channel of it, by weights."""

    sums: Sums


@dataclass(frozen=True, slots=True)
class Linked:
    """Channels of one class are stored all or none.

    `members` has the class of each channel of a tensor that takes part, -1 for none. Tensors of `whole`
    are needed if the operator is.
    """

    members: tuple[tuple[int, Integers], ...] = field(repr=False)
    whole: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Opaque:
    """All channels of all tensors are needed, if the operator is."""


Flow = Dense | Linked | Opaque


def flow(graph: Graph, op: Op, *, both_roundings: bool = False) -> Flow:
    """How the channels of `op`, which has its window, hang together."""
    operands = Operands(graph, op)
    if has_effects(op) or any(graph.tensors[t].is_variable for t in op.outputs):
        return Opaque()
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            sums = sums_of(operands, both_roundings=both_roundings)
            if sums is not None:
                return Dense(sums)
            rule = _RULES.get(op.type)
            return Opaque() if rule is None else rule(operands)
    except ModelError:  # there is no kernel for it
        return Opaque()


def _classes(operands: Operands, tensor: int) -> tuple[int, Integers]:
    """A tensor each of whose channels is of its own class."""
    return tensor, np.arange(channels_of(operands.graph.tensors[tensor]))


def _elementwise(operands: Operands) -> Flow:
    """The same channel of everything; what has one channel for all is needed."""
    out = operands.op.outputs[0]
    count = channels_of(operands.output())
    tensors = [t for t in operands.op.inputs if t >= 0]
    widths = {t: channels_of(operands.graph.tensors[t]) for t in tensors}
    if any(width not in (1, count) for width in widths.values()):
        return Opaque()
    linked = dict.fromkeys([out, *(t for t in tensors if widths[t] == count)])
    members = tuple(_classes(operands, t) for t in linked)
    return Linked(members, tuple(t for t in tensors if widths[t] != count))


def _first(operands: Operands) -> Flow:
    """The same channel of the first input and of every output; other inputs say what is done."""
    count = channels_of(operands.input(0))
    ends = (operands.op.inputs[0], *operands.op.outputs)
    if any(channels_of(operands.graph.tensors[t]) != count for t in ends):
        return Opaque()
    return Linked(tuple(_classes(operands, t) for t in ends))


def _reduced(operands: Operands) -> Flow:
    if len(operands.input(0).shape) - 1 in reduced_axes(operands):
        return Opaque()
    return _first(operands)


def _viewed(operands: Operands) -> Flow:
    """Element e is of channel e % c on either side, so classes are rests by the common divisor."""
    ends = (operands.input(0), operands.output())
    if ends[0].elements != ends[1].elements or not ends[0].elements:
        return Opaque()
    common = math.gcd(*(channels_of(end) for end in ends))
    return Linked(tuple((end.id, np.arange(channels_of(end)) % common) for end in ends))


def _transposed(operands: Operands) -> Flow:
    order = operands.integers(1).reshape(-1).tolist()
    rank = len(operands.input(0).shape)
    if len(order) != rank or not rank or order[-1] not in (rank - 1, -1):
        return Opaque()
    return _first(operands)


def _concatenated(operands: Operands) -> Flow:
    out, inputs = operands.output(), operands.op.inputs
    if min(inputs) < 0:
        return Opaque()
    if axis_of(operands, operands.option("axis"), len(out.shape)) != len(out.shape) - 1:
        widths = {channels_of(operands.graph.tensors[t]) for t in (*inputs, out.id)}
        linked = tuple(_classes(operands, t) for t in dict.fromkeys((*inputs, out.id)))
        return Linked(linked) if len(widths) == 1 else Opaque()
    members, at = [_classes(operands, out.id)], 0
    for tensor in inputs:
        _, own = _classes(operands, tensor)
        members.append((tensor, own + at))
        at += len(own)
    return Linked(tuple(members)) if at == channels_of(out) else Opaque()


def _split(operands: Operands) -> Flow:
    at, named = (0, 2) if operands.op.type == "SPLIT_V" else (1, 0)
    source, axis = operands.input(at), operands.integers(named).reshape(-1)
    outs = operands.op.outputs
    if axis.size != 1:
        return Opaque()
    rank = len(source.shape)
    if axis_of(operands, int(axis[0]), rank) != rank - 1:
        widths = {channels_of(operands.graph.tensors[t]) for t in (*outs, source.id)}
        linked = tuple(_classes(operands, t) for t in (source.id, *outs))
        return Linked(linked) if len(widths) == 1 else Opaque()
    members, begin = [_classes(operands, source.id)], 0
    for tensor in outs:
        _, own = _classes(operands, tensor)
        members.append((tensor, own + begin))
        begin += len(own)
    return Linked(tuple(members)) if begin == channels_of(source) else Opaque()


def _sliced(operands: Operands) -> Flow:
    source, out = operands.input(0), operands.output()
    taken = sliced(operands)
    if len(out.shape) != len(taken) or not out.elements or taken[-1].step != 1:
        return Opaque()
    own = np.arange(channels_of(out)) + taken[-1].start
    return Linked((_classes(operands, source.id), (out.id, own)))


def _padded(operands: Operands) -> Flow:
    """Channels of padding are of classes of their own."""
    source, out, sides = operands.input(0), operands.output(), operands.integers(1)
    if sides.shape != (len(source.shape), 2) or not sides.size or sides.min() < 0:
        return Opaque()
    before, count = int(sides[-1, 0]), channels_of(source)
    if channels_of(out) != int(sides[-1].sum()) + count:
        return Opaque()
    return Linked((_classes(operands, out.id), (source.id, np.arange(count) + before)))


def _gathered(operands: Operands) -> Flow:
    source, index, out = operands.input(0), operands.integers(1), operands.output()
    rank = len(source.shape)
    axis = axis_of(operands, operands.option("axis"), rank)
    if axis != rank - 1:
        return _first(operands)
    one = len(index.shape) == 1 and not operands.option("batch_dims") and index.size
    if not one or index.min() < 0 or index.max() >= channels_of(source):
        return Opaque()
    return Linked((_classes(operands, source.id), (out.id, index.astype(np.int64))))


_RULES: Mapping[str, Callable[[Operands], Flow]] = MappingProxyType(
    {
        **dict.fromkeys(("ADD", "SUB", "MUL", "MINIMUM", "MAXIMUM", "PRELU"), _elementwise),
        **dict.fromkeys(
            (
                *("RELU", "RELU6", "LEAKY_RELU", "HARD_SWISH", "LOGISTIC", "TANH", "ABS", "ELU"),
                *("RSQRT", "TABLE", "QUANTIZE", "DEQUANTIZE", "AVERAGE_POOL_2D", "MAX_POOL_2D"),
                *("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"),
            ),
            _first,
        ),
        **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"), _reduced),
        **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), _viewed),
        **dict.fromkeys(("SLICE", "STRIDED_SLICE"), _sliced),
        **dict.fromkeys(("SPLIT", "SPLIT_V"), _split),
        **dict.fromkeys(("PAD", "PADV2"), _padded),
        "CONCATENATION": _concatenated,
        "TRANSPOSE": _transposed,
        "GATHER": _gathered,
    }
)
"""What is linked, by type; all others are opaque."""
