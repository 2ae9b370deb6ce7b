"""GATHER with constant indices: rows through a port's table, or params of lt_gather.h. With indices made
at run time, GATHER, GATHER_ND and EMBEDDING_LOOKUP: params of lt_lookup.h.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import DType, Tensor
from lowtide.lower.common import Context, Lowering, whole
from lowtide.lower.copies import copied, pitched
from lowtide.lower.counts import Counted
from lowtide.lower.elementwise import MOST_ROWS
from lowtide.lower.move import MOVABLE, axis_of, columns_of, copy_node, elements, port, row_dims
from lowtide.lower.nodes import Array, Lowered, Node, Params


def _gather(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    size = elements(context, source, out)
    shape = source.shape
    if context.input(1).data is None:
        return _looked_up(context, source, context.input(1), size)
    index = context.integers(1)
    axis = axis_of(context, context.option("axis"), len(shape))
    batch = context.option("batch_dims")
    batch += len(index.shape) if batch < 0 else 0
    if not 0 <= batch <= min(axis, len(index.shape)) or index.shape[:batch] != shape[:batch]:
        raise context.unsupported(f"its {batch} batch dimensions do not fit its operands")
    if (*shape[:axis], *index.shape[batch:], *shape[axis + 1 :]) != out.shape:
        raise context.unsupported(f"it cannot make {list(out.shape)} from {list(shape)}")
    if out.bytes == 0:
        return Lowered()
    if (index < 0).any() or (index >= shape[axis]).any():
        raise context.unsupported(
            f"an index is out of range for axis {axis}, whose size is {shape[axis]}"
        )
    dims = max(row_dims(shape), batch)
    lists = index.reshape(math.prod(shape[:batch]), -1).astype(np.int64)
    if axis < dims:
        return Lowered((_rows(context, lists, axis, dims),))
    rows = math.prod(shape[:dims])
    run = size * math.prod(shape[axis + 1 :])
    params = Params(
        "lt_gather",
        (
            ("index", Array("uint16_t", _short(context, lists))),
            ("count", lists.shape[1]),
            ("runs", math.prod(shape[dims:axis])),
            ("pitch", run * shape[axis]),
            ("bytes", run),
            ("steps", rows // lists.shape[0]),
        ),
    )
    both = port(source, rows, range(rows)), port(out, rows, range(rows))
    many = lists.shape[1] * math.prod(shape[dims:axis])
    work = copies(out, rows * many, run, lists[0].tolist())
    return context.node("lt_gather_row", "lt_gather.h", params, both[:1], both[1:], rows, work=work)


def copies(out: Tensor, runs: int, size: int, index: Sequence[int]) -> Counted:
    """What is done to copy so many runs of `size` bytes, those with such numbers side by side."""
    columns = out.shape[2] if len(out.shape) == 4 else 1
    aligned = size % 4 == 0  # so that words can be copied
    each = {"runs": 1, "words" if aligned else "bytes": size // 4 if aligned else size}
    done = {name: float(runs * count) for name, count in each.items()}
    source = size * np.array(index, np.int64)
    done |= copied(runs, size, size * np.arange(len(source)), source)
    return Counted.of(columns, **done)


def _looked_up(context: Context, source: Tensor, index: Tensor, size: int) -> Lowered:
    """By indices that are not known. Where nothing is before the axis, a step is one index."""
    shape = source.shape
    axis = axis_of(context, context.option("axis"), len(shape))
    if context.option("batch_dims"):
        raise context.unsupported("its indices are made at run time, and it has batch dimensions")
    if index.dtype is not DType.INT32:
        raise context.unsupported(f"its indices are of type {index.dtype.name}")
    made = (*shape[:axis], *index.shape, *shape[axis + 1 :])
    return _lookup(context, source, index, axis, 1, size, made)


def looked_up_nd(context: Context, source: Tensor, index: Tensor, size: int) -> Lowered:
    """GATHER_ND by indices that are not known: a step is one index, of as many numbers as it has."""
    if index.dtype is not DType.INT32:
        raise context.unsupported(f"its indices are of type {index.dtype.name}")
    parts = index.shape[-1] if index.shape else 0
    if not 1 <= parts <= len(source.shape):
        raise context.unsupported(f"its indices have {parts} parts")
    made = (*index.shape[:-1], *source.shape[parts:])
    return _lookup(context, source, index, 0, parts, size, made)


def _embedding_lookup(context: Context) -> Lowered:
    index, source, out = context.input(0), context.input(1), context.output()
    if index.dtype is not DType.INT32 or len(index.shape) != 1:
        raise context.unsupported("its indices are not a vector of INT32")
    size = elements(context, source, out)
    return _lookup(context, source, index, 0, 1, size, (*index.shape, *source.shape[1:]))


def _lookup(
    context: Context,
    source: Tensor,
    index: Tensor,
    axis: int,
    parts: int,
    size: int,
    made: tuple[int, ...],
) -> Lowered:
    """Pieces of the shape `made`, each by `parts` numbers for the dimensions from `axis` on."""
    out, shape = context.output(), source.shape
    if made != out.shape or source.bytes == 0:
        raise context.unsupported(f"it cannot make {list(out.shape)} from {list(shape)}")
    if out.bytes == 0:
        return Lowered()
    outer = math.prod(shape[:axis])
    many = index.elements // parts
    steps, count = (many, 1) if outer == 1 else (outer, many)
    if steps > MOST_ROWS:
        raise context.unsupported(f"it would take more than {MOST_ROWS} steps")
    params = Params(
        "lt_lookup",
        (
            ("sizes", Array("int32_t", np.array(shape[axis : axis + parts]))),
            ("parts", parts),
            ("count", count),
            ("bytes", size * math.prod(shape[axis + parts :])),
            ("steps", steps if outer == 1 else 1),
        ),
    )
    taken = whole(source) if outer == 1 else port(source, outer, range(outer))
    ports = (taken, whole(index)), (port(out, steps, range(steps)),)
    run = size * math.prod(shape[axis + parts :])
    places = pitched(steps * count, run)  # each is copied to each
    done = copied(steps * count, run, np.repeat(places, len(places)), np.tile(places, len(places)))
    work = Counted.of(columns_of(out), runs=steps * count, parts=steps * count * parts, **done)
    return context.node("lt_lookup_row", "lt_lookup.h", params, *ports, steps, work=work)


def _rows(context: Context, lists: NDArray[np.int64], axis: int, dims: int) -> Node:
    """The axis numbers rows: each step copies the row that an index names."""
    source, out = context.input(0), context.output()
    shape = source.shape
    block = math.prod(shape[axis + 1 : dims])  # rows that one index names
    outer = math.prod(shape[:axis])
    per_list = outer // lists.shape[0]
    picks = [
        (o * shape[axis] + int(i)) * block + j
        for o in range(outer)
        for i in lists[o // per_list]
        for j in range(block)
    ]
    rows = math.prod(shape[:dims])
    return copy_node(
        context,
        port(source, rows, picks),
        port(out, len(picks), range(len(picks))),
        len(picks),
    )


def _short(context: Context, lists: NDArray[np.int64]) -> NDArray[np.int64]:
    if lists.max() > 65535:
        raise context.unsupported("an index is above 65535")
    return lists


LOWERINGS = {
    "GATHER": Lowering(_gather, MOVABLE, typed_by=0),
    "EMBEDDING_LOOKUP": Lowering(_embedding_lookup, MOVABLE, typed_by=1),
}
