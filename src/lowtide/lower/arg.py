"""ARG_MAX and ARG_MIN: params of kernels/include/lt_arg.h.

Why two ways: along a dimension within a row each output row is made from one input row; along one
that numbers the rows they are eaten one after the other, as in lower/reduce.py.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from lowtide.ir import DType
from lowtide.lower.common import Context, Lowering
from lowtide.lower.counts import Counted
from lowtide.lower.elementwise import row_count, suffix
from lowtide.lower.move import axis_of, port, row_dims
from lowtide.lower.nodes import Lowered, Params
from lowtide.lower.pool import last_makes

_INDICES = frozenset({DType.INT32, DType.INT64})


def _arg(context: Context, *, least: bool) -> Lowered:
    source, out = context.input(0), context.output()
    row_count(context, source)
    axes = context.integers(1).reshape(-1).tolist()
    if len(axes) != 1:
        raise context.unsupported(f"it has {len(axes)} axes instead of one")
    shape = source.shape
    axis = axis_of(context, axes[0], len(shape))
    kept = (*shape[:axis], *shape[axis + 1 :])
    if out.shape != kept:
        raise context.unsupported(f"it cannot make {list(out.shape)} from {list(shape)}")
    if out.dtype not in _INDICES:
        raise context.unsupported(f"there is no kernel for indices of type {out.dtype.name}")
    lead = row_dims(shape)
    rows = np.arange(math.prod(shape[:lead])).reshape(shape[:lead])
    groups = rows.reshape(-1, 1)
    outer, reduced, inner = 1, 1, math.prod(shape[lead:])
    if axis < lead:
        groups = np.moveaxis(rows, axis, -1).reshape(-1, shape[axis])
    else:
        outer, reduced = math.prod(shape[lead:axis]), shape[axis]
        inner = math.prod(shape[axis + 1 :])
    eats = axis < lead
    return context.node(
        kernel=f"lt_arg_{suffix(source.dtype)}_{'eat' if eats else 'row'}",
        header="lt_arg.h",
        params=Params(
            "lt_arg",
            (
                ("outer", outer),
                ("reduced", reduced),
                ("inner", inner),
                ("rows", groups.shape[1]),
                ("wide", int(out.dtype is DType.INT64)),
                ("least", int(least)),
            ),
        ),
        inputs=(port(source, rows.size, groups.reshape(-1).tolist()),),
        outputs=(port(out, len(groups), last_makes([groups.shape[1]] * len(groups))),),
        steps=rows.size,
        scratch=8 * outer * inner if eats else 0,
        # Quotients, which number the runs, are made bit by bit on cores that do not divide.
        work=Counted.of(
            1,
            work=source.elements,
            made=out.elements,
            bits=0 if eats else out.elements * outer.bit_length(),
        ),
    )


_TYPES = frozenset({DType.INT8, DType.UINT8, DType.INT16, DType.INT32})
LOWERINGS = {
    "ARG_MAX": Lowering(partial(_arg, least=False), _TYPES),
    "ARG_MIN": Lowering(partial(_arg, least=True), _TYPES),
}
