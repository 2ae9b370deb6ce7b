"""SignalRfft and SignalIrfft: params of kernels/include/lt_fft.h, and the tables in them.

The tables are of exact cosines (trigonometry.py): a program must be the same wherever it was compiled.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import DType, Tensor
from lowtide.lower.common import Context, Lowering
from lowtide.lower.counts import Counted
from lowtide.lower.nodes import Array, CType, Lowered, Params, Port
from lowtide.trigonometry import cosine, sine

_MOST_POINTS = 16384
_TYPES: dict[DType, tuple[int, str, CType]] = {
    DType.INT16: (32767, "s16", "int16_t"),
    DType.INT32: (2147483647, "s32", "int32_t"),
}


def factors_of(points: int) -> tuple[int, ...]:
    """Fours, then a two, then what else there is, in rising order: kissfft's kf_factor."""
    found, rest, factor = [], points, 4
    while rest > 1:
        while rest % factor:
            factor = {4: 2, 2: 3}.get(factor, factor + 2)
            if factor * factor > points:
                factor = rest
        rest //= factor
        found.append(factor)
    return tuple(found)


def _turn(phase: float, most: int) -> tuple[int, int]:
    """exp(i phase) as fractions of `most`: KISS_FFT_COS and KISS_FFT_SIN."""
    return math.floor(0.5 + most * cosine(phase)), math.floor(0.5 + most * sine(phase))


@lru_cache(maxsize=32)
def tables(points: int, most: int, inverse: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(turns, parts) as lt_fft.h has them: their phases are computed as kissfft computes them."""
    sign = -1.0 if inverse else 1.0
    turns = [_turn(sign * (-2 * math.pi * k / points), most) for k in range(points)]
    parts = [_turn(sign * (-math.pi * ((k + 1) / points + 0.5)), most) for k in range(points // 2)]
    return np.array(turns, np.int64).reshape(-1, 2), np.array(parts, np.int64).reshape(-1, 2)


def _transform(context: Context, *, inverse: bool) -> Lowered:
    source, out = context.input(0), context.output()
    length = context.option("fft_length")
    real, pairs = (out, source) if inverse else (source, out)
    most, suffix, ctype = _TYPES[source.dtype]
    if tuple(context.op.options) != ("T", "fft_length"):
        raise context.unsupported("its options do not match the operator")
    types = {7: DType.INT16, 2: DType.INT32}
    if types.get(context.option("T")) is not source.dtype or out.dtype is not source.dtype:
        raise context.unsupported("its tensors do not have the type that its option T names")
    points = length // 2
    if length < 4 or length % 2 or points > _MOST_POINTS or max(factors_of(points)) > 5:
        raise context.unsupported(
            f"its length is {length}, but it must be an even number from 4 to {2 * _MOST_POINTS} with "
            "no prime factor above 5"
        )
    if not source.shape or source.shape[:-1] != out.shape[:-1] or pairs.shape[-1] != length + 2:
        raise context.unsupported(f"its tensors do not fit a length of {length}")
    count = real.shape[-1]
    if not 0 < count <= length or (inverse and count != length):
        raise context.unsupported(f"{count} samples do not fit a length of {length}")
    steps = source.elements // source.shape[-1]
    if not 0 < steps <= 32767:
        raise context.unsupported(f"it has {steps} frames")
    turns, parts = tables(points, most, inverse)
    factors = factors_of(points)
    return context.node(
        kernel=f"lt_{'irfft' if inverse else 'rfft'}_{suffix}_row",
        header="lt_fft.h",
        params=Params(
            "lt_fft",
            (
                ("turns", Array(ctype, turns)),
                ("parts", Array(ctype, parts)),
                ("factors", Array("uint8_t", np.array(factors, np.uint8))),
                ("points", points),
                ("count", count),
                ("stages", len(factors)),
            ),
        ),
        inputs=(_rows(source, steps),),
        outputs=(_rows(out, steps),),
        steps=steps,
        work=Counted.of(
            1, written=steps * out.elements // steps, work=steps * points * len(factors)
        ),
    )


def _rows(tensor: Tensor, rows: int) -> Port:
    return Port(tensor.id, rows, tensor.bytes // rows)


LOWERINGS = {
    "SignalIrfft": Lowering(partial(_transform, inverse=True), frozenset(_TYPES)),
    "SignalRfft": Lowering(partial(_transform, inverse=False), frozenset(_TYPES)),
}
