"""TRANSPOSE: params of kernels/include/lt_transpose.h, or of lt_move.h where rows are enough.

Best first: a permutation that moves only dimensions of size 1 is a view. One that keeps the
dimensions that number the rows needs one row of the input per step. Planes to pixels and back
(NCHW, NHWC) join or split one row of each plane. All others need the whole input.
"""

from __future__ import annotations

import math

import numpy as np

from lowtide.ir import Tensor
from lowtide.lower.common import Context, Lowering, whole
from lowtide.lower.copies import Joins
from lowtide.lower.counts import Counted
from lowtide.lower.move import (
    MOVABLE,
    Shape,
    columns_of,
    elements,
    gathered,
    loops,
    port,
    row_dims,
    runs_node,
    strided,
    view_or_copy,
)
from lowtide.lower.nodes import Array, Lowered, Node, Params, Port

_MOST_RANK = 5
_MOST_PLANES = 16  # more pointers than that cost more than they save
_MOST_ROWS, _MOST_APART = 32767, 255  # lt_port: int16_t and uint8_t


def _transpose(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    size = elements(context, source, out)
    rank = len(source.shape)
    perm = tuple(int(p) for p in context.integers(1).reshape(-1))
    if sorted(perm) != list(range(rank)):
        raise context.unsupported(f"{list(perm)} is not a permutation of {rank} dimensions")
    if tuple(source.shape[p] for p in perm) != out.shape:
        raise context.unsupported(f"it cannot make {list(out.shape)} from {list(source.shape)}")
    moved = [p for p in perm if source.shape[p] != 1]
    if out.bytes == 0 or moved == sorted(moved):
        return view_or_copy(context, source, out)
    if rank > _MOST_RANK:
        raise context.unsupported(f"it has more than {_MOST_RANK} dimensions")
    dims = row_dims(out.shape)
    steps = math.prod(out.shape[:dims])
    planes = _planes(context, source, out, perm, size)
    if planes is not None:
        return Lowered((planes,))
    pitches = [size * math.prod(source.shape[p + 1 :]) for p in perm]
    inner = loops(out.shape[dims:], pitches[dims:], size)
    target = port(out, steps, range(steps))
    if perm[:dims] == tuple(range(dims)):
        rows = port(source, steps, range(steps))
        return Lowered((runs_node(context, rows, target, steps, 0, *inner),))
    return Lowered((_whole(context, target, out.shape[:dims], pitches[:dims], *inner),))


def _whole(
    context: Context,
    target: Port,
    counts: Shape,
    row_pitches: list[int],
    inner: Shape,
    pitches: Shape,
    run: int,
) -> Node:
    """One output row per step, each from the whole input."""
    if len(counts) > 3 or len(inner) > 2:
        raise context.unsupported("it has too many dimensions or rows")
    fill = 3 - len(counts)
    rows = Array("int32_t", np.array([*(0,) * fill, *row_pitches]))
    done = gathered((*counts, *inner), (*row_pitches, *pitches), len(inner), run)
    counts = (*(1,) * fill, *counts)
    return Node(
        op=context.op.id,
        kernel="lt_transpose_row",
        header="lt_transpose.h",
        params=strided(rows, counts[1:], 0, inner, pitches, run),
        inputs=(whole(context.input(0)),),
        outputs=(target,),
        steps=math.prod(counts),
        work=Counted.of(
            columns_of(context.output()),
            found=math.prod(counts),
            divided=math.prod(counts) - counts[-1],
            **done,
        ),
    )


def _planes(context: Context, source: Tensor, out: Tensor, perm: Shape, size: int) -> Node | None:
    """[1, C, H, W] to [1, H, W, C], or back, with few planes: row r of each plane is one pixel row."""
    if perm == (0, 2, 3, 1):
        image, flat, kernel = out, source, "lt_concat_row"
    elif perm == (0, 3, 1, 2):
        image, flat, kernel = source, out, "lt_split_row"
    else:
        return None
    batch, height, width, planes = image.shape
    if batch != 1 or planes > _MOST_PLANES or planes * height > _MOST_ROWS or height > _MOST_APART:
        return None
    params = Params(
        "lt_join",
        (
            ("bytes", Array("int32_t", np.full(planes, size))),
            ("runs", width),
            ("count", planes),
        ),
    )
    pixels = port(image, height, range(height))
    lines = Port(flat.id, planes * height, width * size, count=planes, dilation=height)
    inputs, outputs = (lines, pixels) if image is out else (pixels, lines)
    work = Joins(width, height, width, (size,) * planes, splits=image is source)
    made = context.op.id, kernel, "lt_move.h", params, (inputs,), (outputs,)
    return Node(*made, steps=height, work=work)


LOWERINGS = {"TRANSPOSE": Lowering(_transpose, MOVABLE)}
