"""DYNAMIC_UPDATE_SLICE: params of kernels/include/lt_update.h, one output row per step."""

from __future__ import annotations

import math

import numpy as np

from lowtide.ir import DType
from lowtide.lower.common import Context, Lowering, whole
from lowtide.lower.move import MOVABLE, copy_node, elements, port, row_dims
from lowtide.lower.nodes import Array, Lowered, Params

_MOST_DIMENSIONS = 6  # LT_UPDATE_RANK
_INDICES = (DType.INT32, DType.INT64)


def _update(context: Context) -> Lowered:
    source, box, start, out = *(context.input(i) for i in range(3)), context.output()
    size = elements(context, out, source, box)
    shape, rank = source.shape, len(source.shape)
    if shape != out.shape or len(box.shape) != rank or not 1 <= rank <= _MOST_DIMENSIONS:
        raise context.unsupported(f"it cannot write {list(box.shape)} into {list(shape)}")
    if any(part > dim for part, dim in zip(box.shape, shape, strict=True)):
        raise context.unsupported(f"it cannot write {list(box.shape)} into {list(shape)}")
    if start.dtype not in _INDICES or start.elements != rank:
        raise context.unsupported("its indices are not an int32 or int64 per dimension")
    if out.bytes == 0:
        return Lowered()
    leading = row_dims(shape)
    rows = math.prod(shape[:leading])
    both = port(source, rows, range(rows)), port(out, rows, range(rows))
    if box.bytes == 0:
        return Lowered((copy_node(context, *both, rows),))
    params = Params(
        "lt_update",
        (
            ("shape", Array("int32_t", np.array(shape))),
            ("box", Array("int32_t", np.array(box.shape))),
            ("row", out.bytes // rows),
            ("rank", rank),
            ("leading", leading),
            ("wide", int(start.dtype is DType.INT64)),
            ("bytes", size),
        ),
    )
    inputs = both[0], whole(box), whole(start)
    return context.node("lt_update_row", "lt_update.h", params, inputs, (both[1],), rows)


LOWERINGS = {"DYNAMIC_UPDATE_SLICE": Lowering(_update, MOVABLE, rereads=False)}
