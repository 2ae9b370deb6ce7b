"""Comparisons, and selection by them: params of lt_compare.h and lt_select.h."""

from __future__ import annotations

from functools import partial

import numpy as np

from lowtide.ir import DType
from lowtide.lower.broadcast import Fields, pair_node, walk
from lowtide.lower.columns import of_all, of_each
from lowtide.lower.common import Context, Lowering, multiplier
from lowtide.lower.counts import Counted
from lowtide.lower.elementwise import by_rows, same_type, scale_zero, suffix
from lowtide.lower.move import MOVABLE, columns_of, elements
from lowtide.lower.nodes import Array, Lowered, Params

_LESS, _EQUAL, _GREATER = 1, 2, 4  # as in lt_compare.h


def _compare(context: Context, *, when: int) -> Lowered:
    a, b, out = context.input(0), context.input(1), context.output()
    dtype = same_type(context, a, b)
    if out.dtype is not DType.BOOL:
        raise context.unsupported(f"its output is of type {out.dtype.name}")
    walked = walk(context, [a, b], out)
    if dtype not in (DType.INT8, DType.UINT8):
        kind = "b8" if dtype is DType.BOOL else suffix(dtype)
        fields: Fields = (("when", when),)
        kernel = f"lt_compare_{kind}_pair"
        return pair_node(context, kernel, "lt_compare", walked, fields, "lt_compare.h")
    (a_scale, a_zero), (b_scale, b_zero) = scale_zero(context, a), scale_zero(context, b)
    if max(a_scale, b_scale) >= 1:
        raise context.unsupported(f"a scale is {max(a_scale, b_scale):g}, and must be below 1")
    (a_multiplier, a_shift), (b_multiplier, b_shift) = (
        multiplier(context, scale) for scale in (a_scale, b_scale)
    )
    fields = (
        ("a_multiplier", a_multiplier),
        ("b_multiplier", b_multiplier),
        ("a_shift", a_shift),
        ("b_shift", b_shift),
        ("a_zero", a_zero),
        ("b_zero", b_zero),
        ("when", when),
    )
    kernel = f"lt_compare_{suffix(dtype)}_pair"
    return pair_node(context, kernel, "lt_compare_scaled", walked, fields, "lt_compare.h")


def _select(context: Context) -> Lowered:
    condition, first, second = (context.input(i) for i in range(3))
    out = context.output()
    size = elements(context, first, second, out)
    if condition.dtype is not DType.BOOL:
        raise context.unsupported(f"its condition is of type {condition.dtype.name}")
    walked = walk(context, [condition, first, second], out)
    strides = tuple(zip("cab", walked.strides, strict=True))
    params = Params(
        "lt_select",
        (
            ("outer", walked.loops[0][0]),
            ("inner", walked.loops[1][0]),
            *((f"{name}_next", rewind) for name, (rewind, _) in strides),
            *((f"{name}_step", near) for name, (_, near) in strides),
            ("size", size),
        ),
    )
    steps = walked.output.rows
    ports = walked.inputs, (walked.output,)
    runs = steps * walked.loops[0][0]
    work = Counted.of(columns_of(out), written=out.bytes, chosen=out.elements, runs=runs)
    return context.node("lt_select_row", "lt_select.h", params, *ports, steps, work=work)


def _not(context: Context) -> Lowered:
    """Of bytes that are 0 or 1."""
    same_type(context, context.input(0), context.output())
    values = Array("uint8_t", np.array([1] + 255 * [0], np.uint8))
    return by_rows(context, "lt_lut_8_row", "lt_lut", "lt_lut.h", (("table", values),))


_ANY = frozenset({DType.BOOL, DType.INT8, DType.UINT8, DType.INT32, DType.INT64})
_ORDERED = _ANY - {DType.BOOL}


def _comparison(when: int, types: frozenset[DType]) -> Lowering:
    return Lowering(partial(_compare, when=when), types, of_all, rereads=False)


LOWERINGS = {
    "EQUAL": _comparison(_EQUAL, _ANY),
    "NOT_EQUAL": _comparison(_LESS + _GREATER, _ANY),
    "LESS": _comparison(_LESS, _ORDERED),
    "LESS_EQUAL": _comparison(_LESS + _EQUAL, _ORDERED),
    "GREATER": _comparison(_GREATER, _ORDERED),
    "GREATER_EQUAL": _comparison(_GREATER + _EQUAL, _ORDERED),
    "LOGICAL_NOT": Lowering(_not, frozenset({DType.BOOL}), of_each),
    "SELECT": Lowering(_select, MOVABLE, typed_by=1),
    "SELECT_V2": Lowering(_select, MOVABLE, typed_by=1),
}
