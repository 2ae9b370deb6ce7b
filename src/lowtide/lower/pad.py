"""PAD and PADV2: params of kernels/include/lt_move.h, one output row per step.

Rows of padding are rows outside the input to the port, so that a row of the input is read by one
step and no other. (A PAD that a convolution can do itself is gone before: see passes/pads.py.)
"""

from __future__ import annotations

import math

import numpy as np

from lowtide.ir import DType
from lowtide.lower.common import Context, Lowering
from lowtide.lower.copies import copied, pitched
from lowtide.lower.counts import Counted
from lowtide.lower.move import MOVABLE, Shape, elements, port, row_dims
from lowtide.lower.nodes import Array, Lowered, Params

_ZERO_POINT_TYPES = frozenset({DType.INT8, DType.UINT8})


def _pad(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    size = elements(context, source, out)
    paddings = context.integers(1)
    if paddings.shape != (len(source.shape), 2) or (paddings < 0).any():
        raise context.unsupported("its paddings are not a non-negative pair per dimension")
    before = tuple(int(b) for b in paddings[:, 0])
    after = tuple(int(a) for a in paddings[:, 1])
    sides = zip(before, source.shape, after, strict=True)
    if tuple(b + dim + a for b, dim, a in sides) != out.shape:
        raise context.unsupported("its paddings do not match its input's and output's shapes")
    if out.bytes == 0:
        return Lowered()
    dims = row_dims(out.shape)
    runs, run, gaps = _inner(context, source.shape, out.shape, before, dims, size)
    value = _value(context)
    params = Params(
        "lt_pad",
        (
            ("value", Array("uint8_t", np.frombuffer(value, np.uint8))),
            ("size", 1 if len(set(value)) == 1 else size),
            ("runs", runs),
            ("bytes", run),
            ("before", gaps[0]),
            ("between", gaps[1]),
            ("after", gaps[2]),
        ),
    )
    steps = math.prod(out.shape[:dims])
    rows = math.prod(source.shape[:dims])
    picks = _picks(source.shape[:dims], out.shape[:dims], before[:dims])
    source_port = port(source, rows, picks)
    target = port(out, steps, range(steps))
    read, empty = source_port.touched(steps)
    between = gaps[0] + (runs - 1) * gaps[1] + gaps[2]
    inside = [(row, step) for step, row in enumerate(picks) if row >= 0][:4]
    to = np.array([step * target.row_bytes + gaps[0] for _, step in inside])
    rows_read = np.array([row * source_port.row_bytes for row, _ in inside])
    done = copied(
        read * runs,
        run,
        np.add.outer(to, pitched(runs, run + gaps[1])),
        np.add.outer(rows_read, pitched(runs, run)),
    )
    work = Counted.of(
        out.shape[2] if len(out.shape) == 4 else 1,
        **done,
        runs=read * runs,
        copied=read * runs * run,
        words=read * runs * (run // 4),
        rests=read * runs * (run % 4),
        unaligned=read * runs * run if any(n % 4 for n in (run, *gaps)) else 0,
        empty=empty * runs,
        gaps=steps * (runs + 1),
        filled=steps * between + empty * runs * run,
        filled_words=steps * (gaps[0] // 4 + (runs - 1) * (gaps[1] // 4) + gaps[2] // 4)
        + empty * runs * (run // 4),
    )
    ports = (source_port,), (target,)
    return context.node("lt_pad_row", "lt_move.h", params, *ports, steps, work=work)


def _inner(
    context: Context, source: Shape, out: Shape, before: Shape, dims: int, size: int
) -> tuple[int, int, tuple[int, int, int]]:
    """(runs, bytes of a run, bytes of padding before, between and after them) in a row."""
    if math.prod(source) == 0:
        raise context.unsupported("its input is empty")
    source, out, before = source[dims:], out[dims:], before[dims:]
    axes = [d for d in range(len(source)) if source[d] != out[d]]
    if not axes:
        return 1, size * math.prod(source), (0, 0, 0)
    # The innermost padded dimension makes the runs, those outside it number them.
    last = axes[-1]
    inner = size * math.prod(out[last + 1 :])
    row = inner * out[last]  # bytes of one run and its padding
    if last > 1:
        raise context.unsupported("it pads more than two dimensions within a row")
    runs = math.prod(source[:last])
    outer_before = before[0] if last == 1 else 0
    outer_after = out[0] - before[0] - source[0] if last == 1 else 0
    left = before[last] * inner
    right = row - left - source[last] * inner
    gaps = (outer_before * row + left, right + left, right + outer_after * row)
    return runs, source[last] * inner, gaps


def _picks(source: Shape, out: Shape, before: Shape) -> list[int]:
    """The input row of each output row; rows of padding are outside the input."""
    if math.prod(out[:-1]) == 1:
        return [r - before[-1] for r in range(out[-1])] if out else [0]
    picks = []
    for index in np.ndindex(*out):
        at = [i - b for i, b in zip(index, before, strict=True)]
        inside = all(0 <= a < dim for a, dim in zip(at, source, strict=True))
        picks.append(int(np.ravel_multi_index(at, source)) if inside else -1)
    return picks


def _value(context: Context) -> bytes:
    """The element to pad with, as the tensor stores it."""
    out = context.output()
    given = context.optional(2)
    if given is not None:
        if given.dtype != out.dtype or given.elements != 1:
            raise context.unsupported("its value is not one element of its input's type")
        return context.constant(2).tobytes()
    zero = 0
    if out.dtype in _ZERO_POINT_TYPES and out.quant is not None:
        zero = out.quant.zero_point[0]
    width = out.dtype.bits // 8
    # Zero is all zero bytes in every type, floats included.
    return (zero % (1 << 8 * width)).to_bytes(width, "little")


LOWERINGS = {"PAD": Lowering(_pad, MOVABLE), "PADV2": Lowering(_pad, MOVABLE)}
