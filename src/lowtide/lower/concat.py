"""CONCATENATION and PACK: params of kernels/include/lt_move.h, lt_lut.h and lt_concat_u8.h.

Along the elements of a row, one step joins a row of each input. Along the rows, each input is copied
by a node of its own, so that its rows can be moved as they are made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import DType, Tensor
from lowtide.ir.byte_tables import rescaled
from lowtide.lower.columns import of_joined
from lowtide.lower.common import Context, Lowering, per_tensor
from lowtide.lower.copies import Joins
from lowtide.lower.counts import Counted, Work
from lowtide.lower.joins import join_of
from lowtide.lower.move import (
    MOVABLE,
    Shape,
    agreed,
    axis_of,
    copy_node,
    elements,
    picks_of,
    port,
    row_dims,
)
from lowtide.lower.nodes import Array, Lowered, Node, Params

Part = tuple[Tensor, Shape]
"""A tensor and the shape it is joined in."""


def _concatenation(context: Context) -> Lowered:
    out = context.output()
    if context.option("fused_activation_function") != 0:
        raise context.unsupported("it has a fused activation, which the reference kernels refuse")
    axis = axis_of(context, context.option("axis"), len(out.shape))
    tensors = [context.input(i) for i in range(len(context.op.inputs))]
    lowered = _join(context, [(t, t.shape) for t in tensors], axis)
    moves = all(node.header == "lt_move.h" for node in lowered.nodes)  # and rescales nothing
    return replace(lowered, join=join_of(out, tensors) if moves else None)


def _pack(context: Context) -> Lowered:
    axis = axis_of(context, context.option("axis"), len(context.output().shape))
    tensors = [context.input(i) for i in range(len(context.op.inputs))]
    agreed(context, "values_count", len(tensors))
    return _join(context, [(t, (*t.shape[:axis], 1, *t.shape[axis:])) for t in tensors], axis)


def _join(context: Context, parts: list[Part], axis: int) -> Lowered:
    out = context.output()
    elements(context, out, *(tensor for tensor, _ in parts))
    _check_shapes(context, [shape for _, shape in parts], axis)
    tables = _tables(context, [tensor for tensor, _ in parts])
    parts_tables = [
        (tensor, shape, table)
        for (tensor, shape), table in zip(parts, tables, strict=True)
        if tensor.bytes
    ]
    if not parts_tables:
        return Lowered()
    dims = row_dims(out.shape)
    if axis >= dims:
        return Lowered((_along_row(context, parts_tables, axis, dims),))
    nodes, at = [], 0
    for tensor, shape, table in parts_tables:
        rows = math.prod(shape[:dims])
        picks = picks_of(
            (*(0,) * axis, at, *(0,) * (dims - axis - 1)),
            (1,) * dims,
            shape[:dims],
            out.shape[:dims],
        )
        target = port(out, math.prod(out.shape[:dims]), picks)
        node = copy_node(context, port(tensor, rows, range(rows)), target, rows)
        nodes.append(node if table is None else _requantised(node, target.row_bytes, table))
        at += shape[axis]
    return Lowered(tuple(nodes))


def _requantised(copy: Node, size: int, table: NDArray[np.uint8]) -> Node:
    """A node that copies rows of `size` bytes, each byte through a table."""
    params = Params("lt_lut", (("count", size), ("table", Array("uint8_t", table))))
    return replace(copy, kernel="lt_lut_8_row", header="lt_lut.h", params=params)


def _along_row(
    context: Context,
    parts: Sequence[tuple[Tensor, Shape, NDArray[np.uint8] | None]],
    axis: int,
    dims: int,
) -> Node:
    out = context.output()
    rows = math.prod(out.shape[:dims])
    runs = math.prod(out.shape[dims:axis])
    sizes = [tensor.bytes // (rows * runs) for tensor, _, _ in parts]
    columns = out.shape[2] if len(out.shape) == 4 else 1
    fields = (
        ("bytes", Array("int32_t", np.array(sizes))),
        ("runs", runs),
        ("count", len(parts)),
    )
    kernel, header, params = "lt_concat_row", "lt_move.h", Params("lt_join", fields)
    work: Work = Joins(columns, rows, runs, tuple(sizes))
    if any(table is not None for _, _, table in parts):
        plain = np.arange(256, dtype=np.uint8)
        tables = np.array([plain if table is None else table for _, _, table in parts])
        unique, index = np.unique(tables, axis=0, return_inverse=True)
        kernel, header = "lt_concat_u8_row", "lt_concat_u8.h"
        looked = rows * runs
        work = Counted.of(columns, written=out.bytes, work=looked * len(parts), outer=looked)
        params = Params(
            "lt_concat_u8",
            (
                *fields,
                ("tables", Array("uint8_t", unique)),
                ("table", Array("uint8_t", index.reshape(-1))),
            ),
        )
    return Node(
        op=context.op.id,
        kernel=kernel,
        header=header,
        params=params,
        inputs=tuple(port(tensor, rows, range(rows)) for tensor, _, _ in parts),
        outputs=(port(out, rows, range(rows)),),
        steps=rows,
        work=work,
    )


def _check_shapes(context: Context, shapes: Sequence[Shape], axis: int) -> None:
    out = context.output().shape
    rest = (*out[:axis], *out[axis + 1 :])
    fits = all(len(s) == len(out) and (*s[:axis], *s[axis + 1 :]) == rest for s in shapes)
    if not fits or sum(s[axis] for s in shapes) != out[axis]:
        raise context.unsupported(
            f"its inputs {list(map(list, shapes))} do not join to {list(out)}"
        )


def _tables(context: Context, tensors: Sequence[Tensor]) -> list[NDArray[np.uint8] | None]:
    """Per input, what requantises it to the output's scale; None where the scales are equal.

    PACK never requantises, and CONCATENATION does so only for uint8: TFLM refuses int8 that would
    need it, and takes int16 as it is.
    """
    out = context.output()
    plain: list[NDArray[np.uint8] | None] = [None] * len(tensors)
    if context.op.type != "CONCATENATION" or out.dtype not in (DType.INT8, DType.UINT8):
        return plain
    if out.quant is None and all(t.quant is None for t in tensors):
        return plain
    wanted = per_tensor(context, out)
    given = [per_tensor(context, t) for t in tensors]
    if out.dtype is DType.INT8 and any(g != wanted for g in given):
        raise context.unsupported("its inputs and its output differ in scale or zero point")
    return [None if g == wanted else rescaled(context, g, wanted).astype(np.uint8) for g in given]


LOWERINGS = {
    "CONCATENATION": Lowering(_concatenation, MOVABLE, of_joined, rereads=False),
    "PACK": Lowering(_pack, MOVABLE),
}
