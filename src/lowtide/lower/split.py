"""SPLIT, SPLIT_V and UNPACK: params of kernels/include/lt_move.h; concat.py the other way round."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from lowtide.ir import Tensor
from lowtide.lower.common import Context, Lowering
from lowtide.lower.copies import Joins
from lowtide.lower.joins import join_of
from lowtide.lower.move import (
    MOVABLE,
    Shape,
    agreed,
    axis_of,
    columns_of,
    copy_node,
    elements,
    picks_of,
    port,
    row_dims,
)
from lowtide.lower.nodes import Array, Lowered, Params


def _split(context: Context) -> Lowered:
    return _split_along(context, context.input(1), axis_input=0)


def _split_v(context: Context) -> Lowered:
    return _split_along(context, context.input(0), axis_input=2)


def _split_along(context: Context, source: Tensor, axis_input: int) -> Lowered:
    axis = context.integers(axis_input).reshape(-1)
    if axis.size != 1:
        raise context.unsupported("its axis is not one number")
    outs = [context.output(i) for i in range(len(context.op.outputs))]
    shapes = [out.shape for out in outs]
    lowered = _take_apart(
        context, source, outs, shapes, axis_of(context, int(axis[0]), len(source.shape))
    )
    return replace(lowered, join=join_of(source, outs))


def _unpack(context: Context) -> Lowered:
    source = context.input(0)
    axis = axis_of(context, context.option("axis"), len(source.shape))
    outs = [context.output(i) for i in range(len(context.op.outputs))]
    agreed(context, "num", len(outs))
    shapes = [(*out.shape[:axis], 1, *out.shape[axis:]) for out in outs]
    return _take_apart(context, source, outs, shapes, axis)


def _take_apart(
    context: Context, source: Tensor, outs: list[Tensor], shapes: list[Shape], axis: int
) -> Lowered:
    elements(context, source, *outs)
    _check_shapes(context, source.shape, shapes, axis)
    made = [(out, shape) for out, shape in zip(outs, shapes, strict=True) if out.bytes]
    if not made:
        return Lowered()
    dims = row_dims(source.shape)
    rows = math.prod(source.shape[:dims])
    if axis >= dims:
        runs = math.prod(source.shape[dims:axis])
        sizes = [out.bytes // (rows * runs) for out, _ in made]
        params = Params(
            "lt_join",
            (("bytes", Array("int32_t", np.array(sizes))), ("runs", runs), ("count", len(made))),
        )
        return context.node(
            kernel="lt_split_row",
            header="lt_move.h",
            params=params,
            inputs=(port(source, rows, range(rows)),),
            outputs=tuple(port(out, rows, range(rows)) for out, _ in made),
            steps=rows,
            work=Joins(columns_of(source), rows, runs, tuple(sizes), splits=True),
        )
    nodes, at = [], 0
    for out, shape in made:
        begin = (*(0,) * axis, at, *(0,) * (dims - axis - 1))
        picks = picks_of(begin, (1,) * dims, shape[:dims], source.shape[:dims])
        target = port(out, len(picks), range(len(picks)))
        nodes.append(copy_node(context, port(source, rows, picks), target, len(picks)))
        at += shape[axis]
    return Lowered(tuple(nodes))


def _check_shapes(context: Context, source: Shape, shapes: list[Shape], axis: int) -> None:
    rest = (*source[:axis], *source[axis + 1 :])
    fits = all(len(s) == len(source) and (*s[:axis], *s[axis + 1 :]) == rest for s in shapes)
    if not fits or sum(s[axis] for s in shapes) != source[axis]:
        raise context.unsupported(
            f"its outputs {list(map(list, shapes))} do not make up {list(source)}"
        )


LOWERINGS = {
    "SPLIT": Lowering(_split, MOVABLE),
    "SPLIT_V": Lowering(_split_v, MOVABLE),
    "UNPACK": Lowering(_unpack, MOVABLE),
}
