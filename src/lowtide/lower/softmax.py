"""SOFTMAX: params of kernels/include/lt_softmax.h.

Why a table of the exponentials, a kilobyte at most: to compute them takes more than four times the
instructions, and code in place of part of the table.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from lowtide.ir import DType
from lowtide.ir import fixed_point as fixed
from lowtide.lower.common import Context, Lowering
from lowtide.lower.common import multiplier as factor
from lowtide.lower.counts import Counted
from lowtide.lower.elementwise import MOST_ROWS, number, row_count, scale_zero
from lowtide.lower.move import row_dims
from lowtide.lower.nodes import Array, Lowered, Params, Port, Value

_FINE = 16
"""Elements of the last dimension from which on each row of it is a row of its own."""

_MOST = {DType.INT8: 4095, DType.UINT8: 4095, DType.INT16: 32767}
"""Elements of a row. With 8 bits, exponentials are up to 2^19, and the reference's sums are int32."""


def _softmax(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    if source.shape != out.shape or not source.shape:
        raise context.unsupported("its input and output differ in shape")
    scale, zero = scale_zero(context, source)
    _check_output(context, zero)
    beta = float(np.float32(number(context, "beta", 0.0)))
    if not 0 < scale * beta < math.inf:
        raise context.unsupported(f"its beta is {beta:g}")
    count = source.shape[-1]
    most = _MOST[source.dtype]
    if count > most:
        raise context.unsupported(f"its rows hold {count} elements, but the limit is {most}")
    rows = row_count(context, source)
    if len(source.shape) > row_dims(source.shape) + 1:
        fine = source.elements // count
        rows = fine if count >= _FINE and fine <= MOST_ROWS else rows
    wide = source.dtype is DType.INT16
    if wide:
        kernel, ctype, fields = "lt_softmax_s16_row", "lt_softmax_s16", _wide(context, scale * beta)
    else:
        kernel = f"lt_softmax_8{'_s16' if out.dtype is DType.INT16 else ''}_row"
        ctype, fields = "lt_softmax_8", _narrow(context, scale, beta)
    groups = source.elements // rows // count
    return context.node(
        kernel=kernel,
        header="lt_softmax.h",
        params=Params(ctype, (("groups", groups), ("count", count), *fields)),
        inputs=(Port(source.id, rows, source.bytes // rows),),
        outputs=(Port(out.id, rows, out.bytes // rows),),
        steps=rows,
        work=Counted.of(
            out.shape[2] if len(out.shape) == 4 else 1,
            written=out.bytes,
            groups=rows * groups,
        ),
    )


def _check_output(context: Context, zero: int) -> None:
    """The output's quantisation is fixed by the types."""
    source, out = context.input(0), context.output()
    wanted = {
        (DType.INT8, DType.INT8): (1 / 256, -128),
        (DType.UINT8, DType.UINT8): (1 / 256, 0),
        (DType.INT8, DType.INT16): (1 / 65536, -32768),
        (DType.INT16, DType.INT16): (1 / 32768, 0),
    }.get((source.dtype, out.dtype))
    if wanted is None:
        raise context.unsupported(
            f"there is no kernel from {source.dtype.name} to {out.dtype.name}"
        )
    scale, out_zero = scale_zero(context, out)
    if abs(scale - wanted[0]) > 0.001 * wanted[0] or out_zero != wanted[1]:
        raise context.unsupported(
            f"its output should have scale 1/{round(1 / wanted[0])} and zero point {wanted[1]}"
        )
    if source.dtype is DType.INT16 and zero:
        raise context.unsupported("an int16 tensor has a zero point other than 0")


def _narrow(context: Context, scale: float, beta: float) -> tuple[tuple[str, Value], ...]:
    """Params of 8-bit inputs: PreprocessSoftmaxScaling, CalculateInputRadius."""
    real = min(beta * scale * (1 << 26), 2.0**31 - 1)
    if real <= 1:
        raise context.unsupported(f"its input's scale, {scale:g}, is too small")
    multiplier, shift = (fixed.INT32_MAX, 31) if real == 2.0**31 - 1 else factor(context, real)
    radius = math.floor(31.0 * (1 << 26) / (1 << shift))
    values = _exponentials(multiplier, shift, min(256, radius + 1))
    signed = [0x80 if t.dtype is DType.INT8 else 0 for t in (context.input(0), context.output())]
    return (
        ("table", Array("int32_t", np.array(values))),
        ("reach", len(values)),
        ("in_flip", signed[0] ^ context.in_flip),
        ("out_flip", signed[1] ^ context.out_flip),
    )


@lru_cache(maxsize=32)
def _exponentials(multiplier: int, shift: int, reach: int) -> tuple[int, ...]:
    """Those of 0, -1, ..., without zeros at their end: most networks ask for the same."""
    values = [fixed.exp_on_negative(fixed.scale(-i, multiplier, shift), 5) for i in range(reach)]
    while values[-1] == 0:
        values.pop()
    return tuple(values)


def _wide(context: Context, real: float) -> tuple[tuple[str, Value], ...]:
    """Params of int16 inputs; their tables are the same for every operator."""
    multiplier, shift = factor(context, real / (10.0 / 65535.0))
    steps = np.float32(65535)
    exps = _interpolated(np.float32(10) / steps, 32767, "exp")
    reciprocals = _interpolated(np.float32(1) / steps, -32768, "reciprocal")
    return (
        ("exp", Array("int16_t", np.array(exps))),
        ("reciprocal", Array("int16_t", np.array(reciprocals))),
        ("multiplier", multiplier),
        ("shift", shift),
    )


def _interpolated(scale: np.float32, zero: int, function: str) -> list[int]:
    """LUTPopulate of common.h: 513 values, shifted to halve the error in the middle of a section.

    All in single precision; the output's scale is 2 / 65535.
    """
    f32 = np.float32
    half = f32(0.5)

    def value(x: np.float32) -> np.float32:
        return f32(math.exp(float(x))) if function == "exp" else f32(1) / (f32(1) + x)

    def rounded(x: np.float32) -> np.float32:
        return f32(math.copysign(math.floor(abs(float(x)) + 0.5), float(x)))

    low, high = scale * f32(-32768 - zero), scale * f32(32767 - zero)
    out_scale = f32(2) / f32(65535)
    inverse = f32(65536) / (out_scale * f32(32767) - out_scale * f32(-32768))
    step = (high - low) / f32(512)
    table = []
    for i in range(512):
        this = value(low + f32(i) * step)
        middle = value(low + f32(i) * step + step / f32(2))
        after = value(low + f32(i + 1) * step)
        sample = rounded(this * inverse)
        error = rounded((after * inverse + sample) * half) - rounded(middle * inverse)
        table.append(fixed.saturate(int(sample - rounded(error * half)), 16))
    return [*table, fixed.saturate(int(rounded(value(high) * inverse)), 16)]


LOWERINGS = {"SOFTMAX": Lowering(_softmax, frozenset({DType.INT8, DType.UINT8, DType.INT16}))}
