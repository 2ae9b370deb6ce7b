"""What sums of products are scaled with: biases, factors and clamps of convolutions and dense layers.

Why here: a pass that bounds the sums and the lowering that makes params of them must not differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide.ir.graph import DType
from lowtide.ir.operands import (
    Factors,
    Operands,
    activation_range,
    multiplier,
    multipliers,
    per_tensor,
    quantised,
)

_INT32 = 2  # the schema's TensorType.INT32


def bias(operands: Operands, channels: int, *dtypes: DType) -> NDArray[np.int64]:
    """The bias as int64, zeros if there is none; its type must be one of `dtypes`."""
    tensor = operands.optional(2)
    if tensor is None:
        return np.zeros(channels, np.int64)
    if tensor.dtype not in dtypes:
        kinds = " or ".join(dtype.name for dtype in dtypes)
        raise operands.unsupported(f"its bias is {tensor.dtype.name}, but must be {kinds}")
    values = operands.constant(2).astype(np.int64).reshape(-1)
    if len(values) < channels:
        raise operands.unsupported(f"its bias has {len(values)} values for {channels} channels")
    return values[:channels]


def factors(operands: Operands, channels: int) -> Factors:
    """The factor of each channel: PopulateConvolutionQuantizationParams, kernel_util.cc."""
    return multipliers(operands, real_factors(operands, channels))


def real_factors(operands: Operands, channels: int) -> NDArray[np.float64]:
    """The factor of each channel's sums, as double."""
    input_scale, _ = per_tensor(operands, operands.input(0))
    output_scale, _ = per_tensor(operands, operands.output())
    scales = quantised(operands, operands.input(1)).scale
    if len(scales) not in (1, channels):
        raise operands.unsupported(f"its weights have {len(scales)} scales for {channels} channels")
    each = np.array(scales) if len(scales) > 1 else np.full(channels, scales[0])
    return input_scale * each / output_scale


def clamp(operands: Operands) -> tuple[int, int]:
    """The range of the fused activation, in units of the output."""
    return activation_range(
        operands, operands.output(), operands.option("fused_activation_function")
    )


def is_narrow(operands: Operands) -> bool:
    """True if sums have 32 bits: the bias says so, or for want of one the operator."""
    tensor = operands.optional(2)
    return says_narrow(operands) if tensor is None else tensor.dtype == DType.INT32


def says_narrow(operands: Operands) -> bool:
    """True if the operator says that its bias has 32 bits; LiteRT believes nothing else."""
    return operands.option("quantized_bias_type") == _INT32


def scaled_fits(
    weights: NDArray[Any], bias: NDArray[np.int64], ends: tuple[int, int], reals: ArrayLike
) -> bool:
    """Whether `reals` scale all sums to numbers of 32 bits, as LiteRT needs to round them: what is
    beyond is undefined. `weights` are [channels, products], `ends` the least and the most of what they
    are multiplied by."""
    wide = weights.astype(np.float64)
    low, high = (
        bias + side.sum(axis=1)
        for side in (
            np.minimum(wide * ends[0], wide * ends[1]),
            np.maximum(wide * ends[0], wide * ends[1]),
        )
    )
    most = np.maximum(np.abs(low), np.abs(high)) * np.asarray(reals)
    return bool((most < (1 << 31) - 1).all())


def byte_scale(operands: Operands, index: int) -> tuple[float, int]:
    """(scale, zero point) of input `index`, which must have just one."""
    tensor = operands.input(index)
    if len(quantised(operands, tensor).scale) != 1:
        raise operands.unsupported("uint8 weights must have one scale")
    return per_tensor(operands, tensor)


def byte_factor(operands: Operands) -> tuple[int, int]:
    """(multiplier, shift) of an operator of uint8, which only LiteRT has."""
    scales = byte_scale(operands, 0)[0], byte_scale(operands, 1)[0]
    output, _ = per_tensor(operands, operands.output())
    return multiplier(operands, product_of(*scales, litert=True) / output)


def product_of(left: float, right: float, *, litert: bool) -> float:
    """The product of two scales, as GetQuantizedConvolutionMultipler of kernel_util.cc has it: a double
    in TFLM, of single precision in LiteRT."""
    return float(np.float32(left) * np.float32(right)) if litert else left * right
