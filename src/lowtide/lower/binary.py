"""Functions of two variables: params of lt_binary.h and lt_squared.h; int32: lt_int32.h.

How operands broadcast is lower/broadcast.py's business.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from lowtide.ir import DType, additions
from lowtide.ir.fixed_point import INT32_MAX
from lowtide.lower.broadcast import Fields, Walk, one_node, pair_node, walk
from lowtide.lower.columns import of_all
from lowtide.lower.common import Context, Lowering, activation_range, type_range
from lowtide.lower.common import multiplier as factor
from lowtide.lower.elementwise import same_type, scale_zero, suffix
from lowtide.lower.nodes import Lowered, Params
from lowtide.lower.packed import is_narrow

_HEADER = "lt_binary.h"

_LARGEST_SUM = 255 << 20  # of an addition of int8: each operand is less than 2^8 steps, one of 2^19
_ENDS = np.array([[-_LARGEST_SUM], [_LARGEST_SUM]])


def _integers(context: Context, kind: str) -> Lowered | None:
    """The operator for int32, or MINIMUM and MAXIMUM for int64; None for other types."""
    a, b, out = context.input(0), context.input(1), context.output()
    dtype = context.activation_type
    if dtype not in (DType.INT32, DType.INT64):
        return None
    same_type(context, a, b, out)
    kernel = f"lt_{kind}_{suffix(dtype)}_pair"
    walked = walk(context, [a, b], out)
    if kind in ("min", "max"):
        return pair_node(context, kernel, "lt_pair", walked, (), "lt_int32.h")
    if any(t.quant is not None for t in (a, b, out)):
        raise context.unsupported("an int32 tensor has a scale, which the reference kernel ignores")
    activation = context.option("fused_activation_function")
    limits = {0: type_range(dtype), 1: (0, INT32_MAX), 2: (-1, 1), 3: (0, 6)}
    if activation not in limits or (kind == "add" and activation):
        raise context.unsupported(f"the fused activation {activation} has no kernel")
    low, high = limits[activation]
    fields = (("low", low), ("high", high))
    return pair_node(context, kernel, "lt_int32", walked, fields, "lt_int32.h")


def _add(context: Context, *, subtract: bool) -> Lowered:
    integers = _integers(context, "sub" if subtract else "add")
    if integers is not None:
        return integers
    operands, out = [context.input(0), context.input(1)], context.output()
    dtype = same_type(context, *operands, out)
    by = additions.factors(context)
    _, out_zero = scale_zero(context, out)
    low, high = activation_range(context, out, context.option("fused_activation_function"))
    signs = [1, -1 if subtract else 1]
    a, b = by.first, 1 - by.first
    walked = walk(context, [operands[a], operands[b]], out)
    fields: Fields = (
        ("start", -by.zeros[a] * signs[a] * (1 << by.left)),
        ("b_start", -by.zeros[b] * (2 << by.left)),
        ("a_factor", signs[a] * (1 << by.left)),
        ("b_multiplier", by.second[0]),
        ("multiplier", by.total[0]),
        ("b_shift", -by.second[1]),
        ("shift", max(1, -by.total[1])),
        ("b_factor", 2 * signs[b]),
        ("output_zero", out_zero),
        ("low", low),
        ("high", high),
    )
    quick = _quick(fields, walked) if dtype is DType.INT8 and not subtract else None
    if quick is not None and context.target.has_dsp:
        return one_node(context, "lt_add_narrow_s8_row", "lt_add_narrow.h", quick, walked)
    variant = "row" if walked.plain and not subtract else "pair"
    return pair_node(
        context, f"lt_add_{suffix(dtype)}_{variant}", "lt_addition", walked, fields, _HEADER
    )


def _quick(fields: Fields, walked: Walk) -> Params | None:
    """The params of lt_add_narrow.h for those of lt_addition; None if its conditions are not met."""
    of = {name: int(value) for name, value in fields if isinstance(value, int)}
    shift, zero = of["shift"] - 1, of["output_zero"]
    total = of["multiplier"], -of["shift"]
    if not walked.plain or not is_narrow(_ENDS, np.array([total]), zero).all():
        return None
    own: Fields = (
        *((name, of[name]) for name in ("start", "b_start")),
        ("b_half", 1 << (of["b_shift"] - 1)),
        *((name, of[name]) for name in ("b_multiplier", "b_shift")),
        ("centre", (2 * zero + 1) << shift),
        ("multiplier", of["multiplier"]),
        ("shift", shift),
        ("count", walked.loops[1][0]),
        *((name, of[name]) for name in ("low", "high")),
    )
    return Params("lt_add_narrow_s8", own)


def _mul(context: Context) -> Lowered:
    integers = _integers(context, "mul")
    if integers is not None:
        return integers
    a, b, out = context.input(0), context.input(1), context.output()
    dtype = same_type(context, a, b, out)
    (a_scale, a_zero), (b_scale, b_zero) = scale_zero(context, a), scale_zero(context, b)
    out_scale, out_zero = scale_zero(context, out)
    if dtype is DType.INT16 and (a_zero or b_zero or out_zero):
        raise context.unsupported("an int16 tensor has a zero point other than 0")
    multiplier, shift = factor(context, a_scale * b_scale / out_scale)
    low, high = activation_range(context, out, context.option("fused_activation_function"))
    fields: Fields = (
        ("multiplier", multiplier),
        ("shift", shift),
        ("a_zero", a_zero),
        ("b_zero", b_zero),
        ("output_zero", out_zero),
        ("low", low),
        ("high", high),
    )
    walked = walk(context, [a, b], out)
    return pair_node(context, f"lt_mul_{suffix(dtype)}_pair", "lt_mul", walked, fields, _HEADER)


def _prelu(context: Context) -> Lowered:
    source, alpha, out = context.input(0), context.input(1), context.output()
    dtype = same_type(context, source, out)
    if alpha.dtype is not (DType.INT8 if dtype is DType.INT16 else dtype):
        raise context.unsupported(f"its slopes are of type {alpha.dtype.name}")
    (in_scale, in_zero), (alpha_scale, alpha_zero) = (
        scale_zero(context, source),
        scale_zero(context, alpha),
    )
    out_scale, out_zero = scale_zero(context, out)
    if dtype is DType.INT16 and (in_zero or out_zero):
        raise context.unsupported("an int16 tensor has a zero point other than 0")
    positive = factor(context, in_scale / out_scale)
    negative = factor(context, in_scale * alpha_scale / out_scale)
    fields: Fields = (
        ("positive_multiplier", positive[0]),
        ("negative_multiplier", negative[0]),
        ("positive_shift", positive[1]),
        ("negative_shift", negative[1]),
        ("a_zero", in_zero),
        ("b_zero", alpha_zero),
        ("output_zero", out_zero),
    )
    walked = walk(context, [source, alpha], out)
    return pair_node(context, f"lt_prelu_{suffix(dtype)}_pair", "lt_prelu", walked, fields, _HEADER)


def _extreme(context: Context, *, kind: str) -> Lowered:
    integers = _integers(context, kind)
    if integers is not None:
        return integers
    a, b, out = context.input(0), context.input(1), context.output()
    dtype = same_type(context, a, b, out)
    walked = walk(context, [a, b], out)
    return pair_node(context, f"lt_{kind}_{suffix(dtype)}_pair", "lt_pair", walked, (), _HEADER)


def _logical(context: Context, *, kind: str) -> Lowered:
    """AND and OR of bytes that are 0 or 1: the lesser and the greater."""
    a, b, out = context.input(0), context.input(1), context.output()
    same_type(context, a, b, out)
    return pair_node(
        context, f"lt_{kind}_u8_pair", "lt_pair", walk(context, [a, b], out), (), _HEADER
    )


def _squared_difference(context: Context) -> Lowered:
    integers = _integers(context, "squared_difference")
    if integers is not None:
        return integers
    a, b, out = context.input(0), context.input(1), context.output()
    dtype = same_type(context, a, b, out)
    quants = [scale_zero(context, t) for t in (a, b, out)]
    if dtype is DType.INT16 and any(zero for _, zero in quants):
        raise context.unsupported("an int16 tensor has a zero point other than 0")
    (a_scale, a_zero), (b_scale, b_zero), (out_scale, out_zero) = quants
    left = 0 if dtype is DType.INT16 else 7
    twice = 2 * max(a_scale, b_scale)
    (a_multiplier, a_shift), (b_multiplier, b_shift) = (
        factor(context, scale / twice) for scale in (a_scale, b_scale)
    )
    multiplier, shift = factor(context, twice * twice / ((1 << 2 * left) * out_scale))
    fields: Fields = (
        ("a_multiplier", a_multiplier),
        ("b_multiplier", b_multiplier),
        ("multiplier", multiplier),
        ("a_shift", a_shift),
        ("b_shift", b_shift),
        ("shift", shift),
        ("a_zero", a_zero),
        ("b_zero", b_zero),
        ("output_zero", out_zero),
    )
    kernel = f"lt_squared_difference_{suffix(dtype)}_pair"
    walked = walk(context, [a, b], out)
    return pair_node(context, kernel, "lt_squared", walked, fields, "lt_squared.h")


def _div(context: Context) -> Lowered:
    integers = _integers(context, "div")
    assert integers is not None  # it has no other types
    return integers


def _floored(context: Context, kind: str) -> Lowered:
    """FLOOR_DIV and FLOOR_MOD, of which LiteRT alone has kernels for integers."""
    a, b, out = context.input(0), context.input(1), context.output()
    same_type(context, a, b, out)
    if b.data is not None and not context.integers(1).all():
        raise context.unsupported("it divides by zero")
    walked = walk(context, [a, b], out)
    return pair_node(context, f"lt_{kind}_s32_pair", "lt_pair", walked, (), "lt_int32.h")


_SIGNED = frozenset({DType.INT8, DType.INT16})
_QUANTISED = _SIGNED | {DType.UINT8}
_SUMS = _QUANTISED | {DType.INT32}
_ORDERED = _SUMS | {DType.INT64}
_BOOL = frozenset({DType.BOOL})
LOWERINGS = {
    "ADD": Lowering(partial(_add, subtract=False), _SUMS, of_all, rereads=False),
    "SUB": Lowering(partial(_add, subtract=True), _SUMS, of_all, rereads=False),
    "MUL": Lowering(_mul, _SUMS, of_all, rereads=False),
    "DIV": Lowering(_div, frozenset({DType.INT32}), of_all, rereads=False),
    "FLOOR_DIV": Lowering(
        partial(_floored, kind="floor_div"), frozenset({DType.INT32}), of_all, rereads=False
    ),
    "FLOOR_MOD": Lowering(
        partial(_floored, kind="floor_mod"), frozenset({DType.INT32}), of_all, rereads=False
    ),
    "SQUARED_DIFFERENCE": Lowering(
        _squared_difference, _SIGNED | {DType.INT32}, of_all, rereads=False
    ),
    "PRELU": Lowering(_prelu, _QUANTISED, typed_by=0),
    "MINIMUM": Lowering(partial(_extreme, kind="min"), _ORDERED, of_all, rereads=False),
    "MAXIMUM": Lowering(partial(_extreme, kind="max"), _ORDERED, of_all, rereads=False),
    "LOGICAL_AND": Lowering(partial(_logical, kind="min"), _BOOL, of_all, rereads=False),
    "LOGICAL_OR": Lowering(partial(_logical, kind="max"), _BOOL, of_all, rereads=False),
}
