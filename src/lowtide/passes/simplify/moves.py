"""Intervals of what is only moved: views, parts, joins, turns. No arithmetic, so no rounding.

Each function takes a `Bounding` and returns one interval per output. Which channels meet is said by
`flow`: a channel that is made holds what the channels of its class hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from types import MappingProxyType

import numpy as np

from lowtide.ir.byte_tables import rescaled
from lowtide.ir.graph import DType
from lowtide.ir.operands import axis_of, per_tensor
from lowtide.ir.slices import pad_value
from lowtide.passes.simplify.bounding import Bounding, channels_of
from lowtide.passes.simplify.elementwise import looked_up
from lowtide.passes.simplify.flow import Linked, linked
from lowtide.passes.simplify.interval import Interval

Found = tuple[Interval, ...]


def _moved(op: Bounding) -> Found:
    """By classes; where channels do not stay apart, what is made holds what anything read does."""
    read = _read(op)
    outs = [op.output(i) for i in range(len(op.op.outputs))]
    flow = linked(op)
    if not isinstance(flow, Linked):
        around = reduce(Interval.joined, (each.anywhere(1) for each in read.values()))
        return tuple(around.anywhere(channels_of(out)) for out in outs)
    classes = 1 + max(int(own.max()) for _, own in flow.members if own.size)
    low, high = np.full(classes, np.iinfo(np.int64).max), np.full(classes, np.iinfo(np.int64).min)
    for tensor, own in flow.members:
        if tensor in read:
            np.minimum.at(low, own, read[tensor].low)
            np.maximum.at(high, own, read[tensor].high)
    if op.op.type in ("PAD", "PADV2"):
        value = pad_value(op)
        if value is None:
            raise op.unsupported("what it pads with is not known")
        padded = (low > high) | bool(op.integers(1)[:-1].any())
        low, high = (
            np.where(padded, choose(end, value), end)
            for choose, end in ((np.minimum, low), (np.maximum, high))
        )
    own_of = dict(flow.members)
    return tuple(Interval(low[own_of[out.id]], high[own_of[out.id]]) for out in outs)


def _read(op: Bounding) -> dict[int, Interval]:
    """What is moved can be: tensor -> interval, in the output's scale."""
    if op.op.type == "CONCATENATION":
        filled = [i for i in range(len(op.op.inputs)) if op.input(i).elements]
        return {op.op.inputs[i]: _brought(op, i) for i in filled}
    at = 1 if op.op.type == "SPLIT" else 0
    return {op.op.inputs[at]: op.source(at)}


def _brought(op: Bounding, index: int) -> Interval:
    """An input of a CONCATENATION in the output's scale."""
    source, out = op.input(index), op.output()
    if out.dtype is not DType.UINT8 or source.quant == out.quant:
        return op.source(index)
    given, wanted = per_tensor(op, source), per_tensor(op, out)
    if given == wanted:
        return op.source(index)
    return looked_up(rescaled(op, given, wanted), op.source(index), 0)


def _packed(op: Bounding) -> Found:
    out = op.output()
    axis = axis_of(op, op.option("axis"), len(out.shape))
    parts = [op.source(i) for i in range(len(op.op.inputs))]
    if axis == len(out.shape) - 1:
        ends = [part.anywhere(1) for part in parts]
        low = np.concatenate([end.low for end in ends])
        return (Interval(low, np.concatenate([end.high for end in ends])),)
    if len({part.channels for part in parts}) != 1:
        raise op.unsupported("its inputs differ in their channels")
    return (reduce(Interval.joined, parts),)


def _unpacked(op: Bounding) -> Found:
    source, rank = op.source(0), len(op.input(0).shape)
    outs = [op.output(i) for i in range(len(op.op.outputs))]
    if axis_of(op, op.option("axis"), rank) != rank - 1:
        return (source,) * len(outs)
    return tuple(
        source.taken(slice(i, i + 1)).anywhere(channels_of(out)) for i, out in enumerate(outs)
    )


RULES: Mapping[str, Callable[[Bounding], Found]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                *(
                    "RESHAPE",
                    "SQUEEZE",
                    "EXPAND_DIMS",
                    "SLICE",
                    "STRIDED_SLICE",
                    "SPLIT",
                    "SPLIT_V",
                ),
                *("PAD", "PADV2", "TRANSPOSE", "CONCATENATION", "GATHER"),
                *("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"),
            ),
            _moved,
        ),
        "PACK": _packed,
        "UNPACK": _unpacked,
    }
)
