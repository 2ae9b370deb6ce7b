"""QUANTIZE and DEQUANTIZE: params of kernels/include/lt_quantize.h, or a table.

Why a table: from 8 bits to 8 there are 256 cases, as for any function of one variable.
"""

from __future__ import annotations

from lowtide.ir import DType
from lowtide.lower import fixed_point as fixed
from lowtide.lower.columns import of_each
from lowtide.lower.common import Context, Lowering
from lowtide.lower.common import multiplier as factor
from lowtide.lower.elementwise import by_rows, scale_zero, suffix
from lowtide.lower.fixed_point import wrap
from lowtide.lower.nodes import Lowered
from lowtide.lower.unary import table

_BYTES = frozenset({DType.INT8, DType.UINT8})
_QUANTISED = _BYTES | {DType.INT16}
_INTEGERS = _QUANTISED | {DType.INT32}


def _quantize(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    kinds = {source.dtype, out.dtype}
    if source.dtype is DType.FLOAT32 and out.dtype in _QUANTISED:
        scale, zero = scale_zero(context, out)
        kernel = f"lt_quantize_{suffix(out.dtype)}_row"
        return _floats(context, kernel, scale, zero)
    if not kinds <= _INTEGERS:
        raise context.unsupported(
            f"there is no kernel from {source.dtype.name} to {out.dtype.name}"
        )
    in_scale, in_zero = scale_zero(context, source)
    out_scale, out_zero = scale_zero(context, out)
    if any(zero != wrap(zero, 16) for zero in (in_zero, out_zero)):  # int16_t in lt_requantize
        raise context.unsupported("a zero point needs more than 16 bits")
    multiplier, shift = factor(context, in_scale / out_scale)
    if kinds <= _BYTES:
        return table(context, lambda x: fixed.scale(x - in_zero, multiplier, shift) + out_zero)
    return by_rows(
        context,
        f"lt_requantize_{suffix(source.dtype)}_{suffix(out.dtype)}_row",
        "lt_requantize",
        "lt_quantize.h",
        (
            ("multiplier", multiplier),
            ("shift", shift),
            ("input_zero", in_zero),
            ("output_zero", out_zero),
        ),
    )


def _dequantize(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    if out.dtype is not DType.FLOAT32:
        raise context.unsupported(
            f"there is no kernel from {source.dtype.name} to {out.dtype.name}"
        )
    return _floats(
        context, f"lt_dequantize_{suffix(source.dtype)}_row", *scale_zero(context, source)
    )


def _floats(context: Context, kernel: str, scale: float, zero: int) -> Lowered:
    fields = (("scale", float(scale)), ("zero", zero))
    return by_rows(context, kernel, "lt_quantize", "lt_quantize.h", fields)


LOWERINGS = {
    "QUANTIZE": Lowering(_quantize, _INTEGERS | {DType.FLOAT32}, of_each),
    "DEQUANTIZE": Lowering(_dequantize, _QUANTISED, of_each),
}
