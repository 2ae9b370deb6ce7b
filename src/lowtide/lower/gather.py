"""GATHER with constant indices: rows through a port's table, or params of lt_gather.h."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lowtide.lower.common import Context, Lowering
from lowtide.lower.move import MOVABLE, axis_of, copy_node, elements, port, row_dims
from lowtide.lower.nodes import Array, Lowered, Node, Params


def _gather(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    size = elements(context, source, out)
    index = context.integers(1)
    shape = source.shape
    axis = axis_of(context, context.option("axis"), len(shape))
    batch = context.option("batch_dims")
    batch += len(index.shape) if batch < 0 else 0
    if not 0 <= batch <= min(axis, len(index.shape)) or index.shape[:batch] != shape[:batch]:
        raise context.unsupported(f"its {batch} batch dimensions do not fit its operands")
    if (*shape[:axis], *index.shape[batch:], *shape[axis + 1 :]) != out.shape:
        raise context.unsupported(f"it makes no {list(out.shape)} of {list(shape)}")
    if out.bytes == 0:
        return Lowered()
    if (index < 0).any() or (index >= shape[axis]).any():
        raise context.unsupported(f"an index is outside axis {axis}, of {shape[axis]}")
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
    node = Node(context.op.id, "lt_gather_row", "lt_gather.h", params, both[:1], both[1:], rows)
    return Lowered((node,))


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


LOWERINGS = {"GATHER": Lowering(_gather, MOVABLE)}
