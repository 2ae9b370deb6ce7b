"""ADD, SUB, MUL, MINIMUM, MAXIMUM and PRELU, with broadcast: params of kernels/include/lt_binary.h.

Why broadcast is settled here: per output row a kernel only walks its operands' rows by two loops with
constant strides; which rows those are is the ports' business.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from lowtide.ir import DType, Tensor
from lowtide.lower.columns import of_all
from lowtide.lower.common import Context, Lowering, activation_range
from lowtide.lower.common import multiplier as factor
from lowtide.lower.elementwise import (
    MOST_ROWS,
    row_count,
    same_type,
    scale_zero,
    suffix,
)
from lowtide.lower.fixed_point import INT32_MAX
from lowtide.lower.move import port, row_dims
from lowtide.lower.nodes import Lowered, Node, Params, Port, Value

_MAX_SHIFT = 22  # of lt_narrow

Fields = tuple[tuple[str, Value], ...]
Loop = tuple[int, tuple[bool, ...]]
"""(rounds, for each operand whether it moves on)."""


@dataclass(frozen=True, slots=True)
class Walk:
    """How an operator's operands run: `loops` within an output row, outer and inner, and ports."""

    loops: tuple[Loop, Loop]
    inputs: tuple[Port, ...]
    output: Port

    @property
    def plain(self) -> bool:
        """Whether rows are simply walked in step."""
        return self.loops == ((1, (True, True)), (self.loops[1][0], (True, True)))

    def fields(self, prefix: str) -> Fields:
        """The members of an lt_pair."""
        (outer, outer_moves), (inner, inner_moves) = self.loops
        fields: list[tuple[str, Value]] = [("outer", outer), ("inner", inner)]
        for name, far, near in zip("ab", outer_moves, inner_moves, strict=True):
            rewind = int(far and not near) - inner * int(near and not far)
            fields += [(f"{name}_next", rewind), (f"{name}_step", int(near))]
        return tuple((prefix + name, value) for name, value in fields)


def _walk(context: Context, operands: Sequence[Tensor], out: Tensor) -> Walk:
    """The loops and ports of `operands`, which broadcast to the shape of `out`."""
    row_count(context, out)
    for operand in operands:
        row_count(context, operand)
    rank = len(out.shape)
    try:
        fits = np.broadcast_shapes((1,) * rank, *(t.shape for t in operands)) == out.shape
    except ValueError:
        fits = False
    if not fits:
        wrong = ", ".join(str(list(t.shape)) for t in operands)
        raise context.unsupported(f"operands of {wrong} do not make {list(out.shape)}")
    shapes = [(1,) * (rank - len(t.shape)) + t.shape for t in operands]
    for lead in range(row_dims(out.shape), rank + 1):
        loops = _loops(out.shape[lead:], [shape[lead:] for shape in shapes])
        if len(loops) > 2:
            continue
        rows = math.prod(out.shape[:lead])
        if rows > MOST_ROWS:
            break
        one: Loop = (1, (True,) * len(operands))
        loops = [one] * (2 - len(loops)) + loops
        ports = [_operand(*pair, out.shape[:lead]) for pair in zip(operands, shapes, strict=True)]
        return Walk((loops[0], loops[1]), tuple(ports), Port(out.id, rows, out.bytes // rows))
    raise context.unsupported(f"its broadcast would take more than {MOST_ROWS} steps")


def _loops(out: tuple[int, ...], shapes: Sequence[tuple[int, ...]]) -> list[Loop]:
    """The dimensions of `out`, neighbours joined where the same operands move on."""
    loops: list[Loop] = []
    for size, *sizes in zip(out, *shapes, strict=True):
        if size == 1:
            continue
        moves = tuple(own == size for own in sizes)
        if loops and loops[-1][1] == moves:
            size *= loops.pop()[0]
        loops.append((size, moves))
    return loops


def _operand(tensor: Tensor, shape: tuple[int, ...], lead: tuple[int, ...]) -> Port:
    """The rows of `tensor` (its shape padded to `shape`) that meet the output rows of `lead`."""
    own = shape[: len(lead)]
    numbers = np.arange(math.prod(own)).reshape(own)
    return port(tensor, numbers.size, np.broadcast_to(numbers, lead).reshape(-1).tolist())


def _node(context: Context, kernel: str, ctype: str, walk: Walk, fields: Fields) -> Lowered:
    """One node; `fields` follow those of the pair, which is the whole struct if there are none."""
    params = Params(ctype, (*walk.fields("pair." if fields else ""), *fields))
    return _one(context, kernel, "lt_binary.h", params, walk)


def _one(context: Context, kernel: str, header: str, params: Params, walk: Walk) -> Lowered:
    return Lowered(
        (
            Node(
                op=context.op.id,
                kernel=kernel,
                header=header,
                params=params,
                inputs=walk.inputs,
                outputs=(walk.output,),
                steps=walk.output.rows,
            ),
        )
    )


def _add(context: Context, *, subtract: bool) -> Lowered:
    operands, out = [context.input(0), context.input(1)], context.output()
    dtype = same_type(context, *operands, out)
    quants = [scale_zero(context, t) for t in operands]
    out_scale, out_zero = scale_zero(context, out)
    if dtype is DType.INT16 and any(zero for _, zero in quants):
        raise context.unsupported("an int16 operand has a zero point other than 0")
    left = 15 if dtype is DType.INT16 else 20
    a = 0 if quants[0][0] >= quants[1][0] else 1
    b = 1 - a
    twice = 2 * quants[a][0]
    b_multiplier, b_shift = factor(context, quants[b][0] / twice)
    if b_shift == 0:  # equal scales (or 0): 1/2, written with a shift of 1
        b_multiplier, b_shift = (INT32_MAX if b_multiplier else 0), -1
    multiplier, shift = factor(context, twice / ((1 << left) * out_scale))
    if multiplier and shift >= 0:
        raise context.unsupported("its output's scale is too small for its operands'")
    low, high = activation_range(context, out, context.option("fused_activation_function"))
    signs = [1, -1 if subtract else 1]
    walk = _walk(context, [operands[a], operands[b]], out)
    fields: Fields = (
        ("start", -quants[a][1] * signs[a] * (1 << left)),
        ("b_start", -quants[b][1] * (2 << left)),
        ("a_factor", signs[a] * (1 << left)),
        ("b_multiplier", b_multiplier),
        ("multiplier", multiplier),
        ("b_shift", -b_shift),
        ("shift", max(1, -shift)),
        ("b_factor", 2 * signs[b]),
        ("output_zero", out_zero),
        ("low", low),
        ("high", high),
    )
    quick = _quick(fields, walk) if dtype is DType.INT8 and not subtract else None
    if quick is not None and context.target.has_dsp:
        return _one(context, "lt_add_quick_s8_row", "lt_add_quick.h", quick, walk)
    variant = "row" if walk.plain and not subtract else "pair"
    return _node(context, f"lt_add_{suffix(dtype)}_{variant}", "lt_addition", walk, fields)


def _quick(fields: Fields, walk: Walk) -> Params | None:
    """The params of lt_add_quick.h for those of lt_addition; None if they do not meet its conditions."""
    of = {name: int(value) for name, value in fields if isinstance(value, int)}
    shift, zero = of["shift"] - 1, of["output_zero"]
    # Twice the sum is below 2^30: both operands are below 2^8 steps of 2^20, and twice that.
    if not walk.plain or shift > _MAX_SHIFT:
        return None
    own: Fields = (
        *((name, of[name]) for name in ("start", "b_start")),
        ("b_half", 1 << (of["b_shift"] - 1)),
        *((name, of[name]) for name in ("b_multiplier", "b_shift")),
        ("centre", (2 * zero + 1) << shift),
        ("multiplier", of["multiplier"]),
        ("shift", shift),
        ("count", walk.loops[1][0]),
        *((name, of[name]) for name in ("low", "high")),
    )
    return Params("lt_add_quick_s8", own)


def _mul(context: Context) -> Lowered:
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
    walk = _walk(context, [a, b], out)
    return _node(context, f"lt_mul_{suffix(dtype)}_pair", "lt_mul", walk, fields)


def _prelu(context: Context) -> Lowered:
    source, alpha, out = context.input(0), context.input(1), context.output()
    same_type(context, source, alpha, out)
    (in_scale, in_zero), (alpha_scale, alpha_zero) = (
        scale_zero(context, source),
        scale_zero(context, alpha),
    )
    out_scale, out_zero = scale_zero(context, out)
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
    walk = _walk(context, [source, alpha], out)
    return _node(context, "lt_prelu_s8_pair", "lt_prelu", walk, fields)


def _extreme(context: Context, *, kind: str) -> Lowered:
    a, b, out = context.input(0), context.input(1), context.output()
    dtype = same_type(context, a, b, out)
    walk = _walk(context, [a, b], out)
    return _node(context, f"lt_{kind}_{suffix(dtype)}_pair", "lt_pair", walk, ())


_SIGNED = frozenset({DType.INT8, DType.INT16})
LOWERINGS = {
    "ADD": Lowering(partial(_add, subtract=False), _SIGNED | {DType.UINT8}, of_all, rereads=False),
    "SUB": Lowering(partial(_add, subtract=True), _SIGNED, of_all, rereads=False),
    "MUL": Lowering(_mul, _SIGNED, of_all, rereads=False),
    "PRELU": Lowering(_prelu, frozenset({DType.INT8})),
    "MINIMUM": Lowering(partial(_extreme, kind="min"), _SIGNED, of_all, rereads=False),
    "MAXIMUM": Lowering(partial(_extreme, kind="max"), _SIGNED, of_all, rereads=False),
}
