"""DYNAMIC_UPDATE_SLICE: params of kernels/include/lt_update.h, one output row per step."""

from __future__ import annotations

import math

import numpy as np

from lowtide.ir import DType
from lowtide.lower.common import Context, Lowering, whole
from lowtide.lower.copies import called, pitched
from lowtide.lower.counts import Counted
from lowtide.lower.move import MOVABLE, columns_of, copy_node, elements, port, row_dims
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
    counts = done(shape, box.shape, leading, size)
    work = Counted.of(columns_of(out), **counts)
    return context.node("lt_update_row", "lt_update.h", params, inputs, (both[1],), rows, work=work)


def done(shape: tuple[int, ...], box: tuple[int, ...], leading: int, size: int) -> dict[str, float]:
    """What is done to write the box, wherever it lies: `leads` are looks at a leading index, which end
    at the first one beyond the box, and `places` those at another dimension of a run."""
    rows, last = math.prod(shape[:leading]), len(shape) - 1
    leads, left = 0.0, float(rows)
    for d in reversed(range(leading)):
        leads += left
        left *= box[d] / shape[d]
    runs = round(left) * math.prod(box[leading:last])
    row, run = size * math.prod(shape[leading:]), size * box[last]
    found = {"leads": leads, "runs": float(runs), "places": float(runs * (last - leading))}
    for many, each in ((rows, row), (runs, run)):
        places = pitched(many, each)
        for name, count in called(many, each, places, places).items():
            found[name] = found.get(name, 0) + count
    return found


LOWERINGS = {"DYNAMIC_UPDATE_SLICE": Lowering(_update, MOVABLE, rereads=False)}
