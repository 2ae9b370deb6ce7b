"""int16 convolutions and dense layers with int8 weights.

Why apart: sums have 64 bits and are scaled with 16 bits of the multiplier, unless the bias is int32.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide.ir import DType
from lowtide.ir.operands import Factors
from lowtide.ir.products import bias, clamp, factors, is_narrow
from lowtide.lower import packed
from lowtide.lower.common import Context, per_tensor, type_range
from lowtide.lower.families import family_of
from lowtide.lower.layer import Footprint, Layer
from lowtide.lower.nodes import Lowered

_MAX_SHIFT = 14  # of lt_scale_wide


def check(context: Context, shifts: ArrayLike) -> None:
    """Raise ModelError if lt_scale_wide cannot shift by one of `shifts`."""
    if (np.asarray(shifts) > _MAX_SHIFT).any():
        raise context.unsupported(f"a factor of its sums is {1 << _MAX_SHIFT} or more")


def lower_s16(
    context: Context,
    over: Footprint,
    filters: NDArray[np.int8],
    *,
    groups: int = 1,
    multiple: int = 0,
    zeros: bool = False,
) -> Lowered:
    """A layer of int16 as one node; as `convolution.lower_s8`. Its zero points count only where `zeros`
    says so: those of convolutions do not, in the reference either. The bias of a depthwise convolution
    has 64 bits.
    """
    out_c = len(filters)
    scaling: Factors = factors(context, out_c)
    start = bias(context, out_c, *((DType.INT32,) if not multiple else ()), DType.INT64)
    output_zero, sums, sizes = 0, packed.sums_of(filters), packed.sizes_of(filters)
    if zeros:
        _, input_zero = per_tensor(context, context.input(0))
        _, output_zero = per_tensor(context, context.output())
        start = start - input_zero * sums
    modular = not multiple and is_narrow(context)
    if not modular:
        check(context, scaling[:, 1])
    range_ = clamp(context)
    layer = Layer(
        over,
        context.target,
        out_c,
        groups=groups,
        filters=multiple,
        clamps=range_ != type_range(DType.INT16),
        op=context.op.id,
        channels=packed.Channels(filters, sums, sizes, start, scaling, output_zero, *range_),
        suffix="s16",
        modular=modular,
    )
    return Lowered((family_of(layer).node(layer),))
