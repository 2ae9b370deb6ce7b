"""QUANTIZE and DEQUANTIZE: params of kernels/include/lt_quantize.h, or a table.

Why a table: from 8 bits to 8 there are 256 cases, as for any function of one variable.
"""

from __future__ import annotations

from lowtide.ir import DType
from lowtide.lower.columns import of_each
from lowtide.lower.common import Context, Lowering
from lowtide.lower.common import multiplier as factor
from lowtide.lower.elementwise import by_rows, scale_zero, suffix
from lowtide.lower.nodes import Lowered
from lowtide.lower.unary import by_table

_BYTES = frozenset({DType.INT8, DType.UINT8})
_WIDE = frozenset({DType.INT8, DType.INT16})
_QUANTISED = _BYTES | _WIDE


def _quantize(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    kinds = {source.dtype, out.dtype}
    if source.dtype is DType.FLOAT32 and out.dtype in _QUANTISED:
        scale, zero = scale_zero(context, out)
        kernel = f"lt_quantize_{suffix(out.dtype)}_row"
        return _floats(context, kernel, scale, zero)
    if not (kinds <= _BYTES or kinds <= _WIDE):
        raise context.unsupported(
            f"there is no kernel from {source.dtype.name} to {out.dtype.name}"
        )
    if kinds <= _BYTES:
        return by_table(context)
    in_scale, in_zero = scale_zero(context, source)
    out_scale, out_zero = scale_zero(context, out)
    multiplier, shift = factor(context, in_scale / out_scale)
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
    "QUANTIZE": Lowering(_quantize, _QUANTISED | {DType.FLOAT32}, of_each),
    "DEQUANTIZE": Lowering(_dequantize, _QUANTISED, of_each),
}
