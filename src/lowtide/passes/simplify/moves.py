"""Intervals of what is only moved: views, parts, joins, turns. No arithmetic, so no rounding.

Each function takes a `Bounding` and returns one interval per output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from types import MappingProxyType

import numpy as np

from lowtide.ir.byte_tables import rescaled
from lowtide.ir.graph import DType
from lowtide.ir.operands import axis_of, per_tensor
from lowtide.ir.slices import pad_value, sliced
from lowtide.passes.simplify.bounding import Bounding, channels_of
from lowtide.passes.simplify.elementwise import looked_up
from lowtide.passes.simplify.interval import Interval, whole

Found = tuple[Interval, ...]


def _viewed(op: Bounding) -> Found:
    if op.input(0).elements != op.output().elements:
        raise op.unsupported("it is no view")
    return (op.source(0).viewed(channels_of(op.output())),)


def _transposed(op: Bounding) -> Found:
    order = op.integers(1).reshape(-1).tolist()
    rank, source = len(op.input(0).shape), op.source(0)
    if len(order) == rank and rank and order[-1] in (rank - 1, -1):
        return (source,)
    return (source.anywhere(channels_of(op.output())),)


def _same_channels(op: Bounding) -> Found:
    """Rows or pixels are moved, interpolated or repeated: channels stay apart."""
    return (op.source(0),)


def _joined(op: Bounding) -> Found:
    out = op.output()
    axis = axis_of(op, op.option("axis"), len(out.shape))
    parts = [_brought(op, i) for i in range(len(op.op.inputs)) if op.input(i).elements]
    if axis == len(out.shape) - 1:
        return (
            Interval(
                np.concatenate([part.low for part in parts]),
                np.concatenate([part.high for part in parts]),
            ),
        )
    return (_around(op, parts),)


def _brought(op: Bounding, index: int) -> Interval:
    """An input of a CONCATENATION in the output's scale."""
    source, out = op.input(index), op.output()
    if out.dtype is not DType.UINT8 or source.quant == out.quant:
        return op.source(index)
    given, wanted = per_tensor(op, source), per_tensor(op, out)
    if given == wanted:
        return op.source(index)
    return looked_up(rescaled(op, given, wanted), op.source(index), 0)


def _around(op: Bounding, parts: list[Interval]) -> Interval:
    """One interval around several of the same channels."""
    if len({part.channels for part in parts}) != 1:
        raise op.unsupported("its inputs differ in their channels")
    return reduce(Interval.joined, parts)


def _packed(op: Bounding) -> Found:
    out = op.output()
    axis = axis_of(op, op.option("axis"), len(out.shape))
    parts = [op.source(i) for i in range(len(op.op.inputs))]
    if axis == len(out.shape) - 1:
        ends = [part.anywhere(1) for part in parts]
        low = np.concatenate([end.low for end in ends])
        return (Interval(low, np.concatenate([end.high for end in ends])),)
    return (_around(op, parts),)


def _split(op: Bounding) -> Found:
    at, named = (0, 2) if op.op.type == "SPLIT_V" else (1, 0)
    source = op.source(at)
    axis = op.integers(named).reshape(-1)
    if axis.size != 1:
        raise op.unsupported("its axis is not one number")
    rank = len(op.input(at).shape)
    outs = [op.output(i) for i in range(len(op.op.outputs))]
    if axis_of(op, int(axis[0]), rank) != rank - 1:
        return (source,) * len(outs)
    found, begin = [], 0
    for out in outs:
        found.append(source.taken(slice(begin, begin + channels_of(out))))
        begin += channels_of(out)
    return tuple(found)


def _unpacked(op: Bounding) -> Found:
    source, rank = op.source(0), len(op.input(0).shape)
    outs = [op.output(i) for i in range(len(op.op.outputs))]
    if axis_of(op, op.option("axis"), rank) != rank - 1:
        return (source,) * len(outs)
    return tuple(
        source.taken(slice(i, i + 1)).anywhere(channels_of(out)) for i, out in enumerate(outs)
    )


def _sliced(op: Bounding) -> Found:
    source, out = op.source(0), op.output()
    taken = sliced(op)
    if not taken or not out.elements:
        raise op.unsupported("nothing is known of it")
    last = taken[-1]
    found = source.taken(np.arange(last.start, last.stop, last.step))
    if channels_of(out) == len(last):
        return (found,)
    return (found.anywhere(channels_of(out)),)


def _gathered(op: Bounding) -> Found:
    source, rank = op.source(0), len(op.input(0).shape)
    index, out = op.integers(1), op.output()
    axis = axis_of(op, op.option("axis"), rank)
    if axis != rank - 1:
        if channels_of(out) != source.channels:
            raise op.unsupported("it moves channels to another axis")
        return (source,)
    if not index.size or index.min() < 0 or index.max() >= source.channels:
        raise op.unsupported("an index does not exist")
    if len(index.shape) == 1 and not op.option("batch_dims"):
        return (source.taken(index.astype(np.int64)),)
    return (source.taken(index.reshape(-1).astype(np.int64)).anywhere(channels_of(out)),)


def _padded(op: Bounding) -> Found:
    source, sides = op.source(0), op.integers(1)
    if sides.shape != (len(op.input(0).shape), 2) or not sides.size or sides.min() < 0:
        raise op.unsupported("its paddings are not a pair per dimension")
    value = pad_value(op)
    if value is None:
        raise op.unsupported("what it pads with is not known")
    padding = whole(value, value, source.channels)
    found = source.joined(padding) if sides[:-1].any() else source
    before, after = (whole(value, value, int(n)) for n in sides[-1])
    low = np.concatenate([before.low, found.low, after.low])
    return (Interval(low, np.concatenate([before.high, found.high, after.high])),)


RULES: Mapping[str, Callable[[Bounding], Found]] = MappingProxyType(
    {
        **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), _viewed),
        **dict.fromkeys(("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"), _same_channels),
        **dict.fromkeys(("SLICE", "STRIDED_SLICE"), _sliced),
        **dict.fromkeys(("SPLIT", "SPLIT_V"), _split),
        **dict.fromkeys(("PAD", "PADV2"), _padded),
        "TRANSPOSE": _transposed,
        "CONCATENATION": _joined,
        "PACK": _packed,
        "UNPACK": _unpacked,
        "GATHER": _gathered,
    }
)
