"""BATCH_MATMUL: params of kernels/include/lt_batch_matmul.h.

A step takes one row of the left operand and all of the right one, so that rows of attention scores
can be used as they are made.
"""

from __future__ import annotations

import math

import numpy as np

from lowtide.ir import DType
from lowtide.ir.products import product_of
from lowtide.lower import wide
from lowtide.lower.common import Context, Lowering, multiplier, per_tensor
from lowtide.lower.counts import Counted
from lowtide.lower.elementwise import same_type, suffix
from lowtide.lower.move import Shape, columns_of, port
from lowtide.lower.nodes import Lowered, Params

_MOST_RANK = 5
_MOST_ROWS = 32767


def _batch_matmul(context: Context) -> Lowered:
    left, right, out = context.input(0), context.input(1), context.output()
    adj_x, adj_y = context.option("adj_x") != 0, context.option("adj_y") != 0
    dtype = same_type(context, left, right, out)
    if not 2 <= min(len(left.shape), len(right.shape)) <= len(out.shape) <= _MOST_RANK:
        raise context.unsupported(f"its operands do not have 2 to {_MOST_RANK} dimensions")
    depth, rows = left.shape[-2:] if adj_x else left.shape[:-3:-1]
    columns, right_depth = right.shape[-2:] if adj_y else right.shape[:-3:-1]
    batches = _broadcast(context, left.shape[:-2], right.shape[:-2])
    if right_depth != depth or (*batches, rows, columns) != out.shape or out.bytes == 0:
        raise context.unsupported(
            f"{list(left.shape)} times {list(right.shape)} does not give {list(out.shape)}"
        )
    steps = math.prod(batches) * rows
    lefts = _batch_index(left.shape[:-2], batches)
    rights = _batch_index(right.shape[:-2], batches)
    left_rows = math.prod(left.shape[:-2]) * (1 if adj_x else rows)
    if max(steps, left_rows) > _MOST_ROWS:
        raise context.unsupported(f"it has more than {_MOST_ROWS} rows")
    left_picks = [b if adj_x else b * rows + i for b in lefts for i in range(rows)]
    right_picks = [b for b in rights for _ in range(rows)]
    return context.node(
        kernel=f"lt_batch_matmul_{suffix(dtype)}_row",
        header="lt_batch_matmul.h",
        params=_params(context, depth, columns, rows),
        inputs=(
            port(left, left_rows, left_picks),
            port(right, math.prod(right.shape[:-2]), right_picks),
        ),
        outputs=(port(out, steps, range(steps)),),
        steps=steps,
        work=Counted.of(
            columns_of(out),
            written=out.elements,
            products=out.elements * depth,
            across=0 if adj_x else steps,
        ),
    )


def _params(context: Context, depth: int, columns: int, rows: int) -> Params:
    adj_x, adj_y = context.option("adj_x") != 0, context.option("adj_y") != 0
    left_scale, left_zero = per_tensor(context, context.input(0))
    right_scale, right_zero = per_tensor(context, context.input(1))
    output_scale, output_zero = per_tensor(context, context.output())
    product = product_of(left_scale, right_scale, litert=context.op.as_litert)
    factor, shift = multiplier(context, product / output_scale)
    if context.output().dtype is DType.INT16:
        if left_zero or right_zero or output_zero:
            raise context.unsupported("an int16 tensor has a zero point other than 0")
        wide.check(context, shift)
    return Params(
        "lt_batch_matmul_s8",
        (
            ("depth", depth),
            ("columns", columns),
            ("left_pitch", rows if adj_x else 1),
            ("left_columns", rows if adj_x else 0),
            ("right_down", 1 if adj_y else columns),
            ("right_across", depth if adj_y else 1),
            ("multiplier", factor),
            ("shift", shift),
            ("left_zero", left_zero),
            ("right_zero", right_zero),
            ("output_zero", output_zero),
        ),
    )


def _broadcast(context: Context, left: Shape, right: Shape) -> Shape:
    try:
        return np.broadcast_shapes(left, right)
    except ValueError:
        why = f"its batches {list(left)} and {list(right)} do not match"
        raise context.unsupported(why) from None


def _batch_index(own: Shape, batches: Shape) -> list[int]:
    """Which of an operand's own matrices each batch takes."""
    numbers = np.arange(math.prod(own)).reshape(own)
    return [int(n) for n in np.broadcast_to(numbers, batches).reshape(-1)]


LOWERINGS = {"BATCH_MATMUL": Lowering(_batch_matmul, frozenset({DType.INT8, DType.INT16}))}
