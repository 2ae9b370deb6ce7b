"""An operator's tensors, options and quantised factors, as its arithmetic needs them.

Why in `ir`: what an operator computes is the same to the pass that bounds its results and to the
lowering that makes a kernel's params of it. Everything here is as the reference kernels have it, and
raises ModelError for what they, or lowtide's, do not take.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import FloatError, ModelError
from lowtide.ir.graph import DType, Graph, Op, Quant, Tensor

_FLOATS = frozenset({DType.FLOAT32, DType.FLOAT16, DType.FLOAT64, DType.BFLOAT16})

_WEIGHTS = frozenset({DType.INT8, DType.UINT8, DType.INT4, DType.UINT4, DType.INT2})

_INTEGERS = frozenset(
    {DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT32, DType.UINT32, DType.INT64}
)

_LONGEST = 600
"""Letters of a reason: it may quote an operand, which has as many numbers as the file says."""

_LARGEST_SHIFT = 30
"""Of lt_scale: the reference shifts an int32 to the left by as much."""

NUMPY_TYPES: dict[DType, np.dtype[Any]] = {
    DType.INT8: np.dtype(np.int8),
    DType.UINT8: np.dtype(np.uint8),
    DType.INT16: np.dtype("<i2"),
    DType.INT32: np.dtype("<i4"),
    DType.INT64: np.dtype("<i8"),
    DType.FLOAT32: np.dtype("<f4"),
    DType.BOOL: np.dtype(np.bool_),
}
"""How the elements of constants are stored, for the types whose contents are read."""

_RANGES = {
    dtype: (int(np.iinfo(kind).min), int(np.iinfo(kind).max))
    for dtype, kind in NUMPY_TYPES.items()
    if np.issubdtype(kind, np.integer)
}

Factors = NDArray[np.int64]
"""[channels, 2]: of each channel the multiplier and the shift of what its sums are multiplied by."""


@dataclass(frozen=True, slots=True)
class Operands:
    """One operator and its graph."""

    graph: Graph
    op: Op

    @property
    def activation_type(self) -> DType:
        """The type that selects the kernel: that of the first input in the arena, or the first."""
        tensors = [self.graph.tensors[i] for i in self.op.inputs if i >= 0]
        for tensor in tensors:
            if not tensor.is_constant:
                return tensor.dtype
        made = [self.graph.tensors[i] for i in self.op.outputs]
        return next((tensor.dtype for tensor in (*tensors, *made)), DType.RESOURCE)

    def input(self, index: int) -> Tensor:
        """Input `index`, which must be there."""
        tensor = self.graph.tensor(self.op, index)
        if tensor is None:
            raise self.unsupported(f"input {index} is missing")
        return tensor

    def optional(self, index: int) -> Tensor | None:
        """Input `index`, or None where it is omitted."""
        return self.graph.tensor(self.op, index)

    def output(self, index: int = 0) -> Tensor:
        """Output `index`."""
        if index >= len(self.op.outputs):
            raise self.unsupported(f"output {index} is missing")
        return self.graph.tensors[self.op.outputs[index]]

    def option(self, name: str, default: int = 0) -> int:
        """An integer, enum or boolean option; `default` where the file leaves it out."""
        value = self.op.options.get(name, default)
        return int(value) if isinstance(value, bool | int | float) else default

    def constant(self, index: int) -> NDArray[Any]:
        """The contents of constant input `index`, in its shape."""
        tensor = self.input(index)
        if tensor.data is None:
            raise self.unsupported(f"input {index} must be a constant")
        if tensor.dtype not in NUMPY_TYPES or tensor.is_sparse:
            raise self.unsupported(f"input {index} is of a type or form that cannot be read")
        return constant(tensor)

    def integers(self, index: int) -> NDArray[Any]:
        """The contents of constant input `index`, which must be integers, in its shape."""
        kind = self.input(index).dtype
        if kind not in _INTEGERS:
            raise self.unsupported(f"input {index} must hold integers, and is {kind.name}")
        return self.constant(index)

    def unsupported(self, why: str) -> ModelError:
        """The error for what lowtide cannot compile."""
        remedy = "see `lowtide ops` for what is supported"
        if self.activation_type in _FLOATS and _is_hybrid(self.graph):
            why += "; the model is hybrid: its weights are integers, its activations floats"
            remedy = (
                "quantise its activations, too (full integer quantisation with a representative data "
                "set); " + remedy
            )
        elif self.activation_type in _FLOATS:
            remedy = (
                "quantise the model to int8 first (full integer quantisation with a representative "
                "data set); " + remedy
            )
        why = why if len(why) <= _LONGEST else f"{why[: _LONGEST - 3]}..."
        kind = FloatError if self.activation_type in _FLOATS else ModelError
        return kind(f"operator {self.op.id} ({self.op.label}): {why}", remedy)


def _is_hybrid(graph: Graph) -> bool:
    """Whether an operator multiplies floats by quantised weights, or makes floats of such weights."""
    return any(
        weights.is_constant and weights.quant is not None and weights.dtype in _WEIGHTS
        for op in graph.ops
        for weights in (graph.tensors[tensor] for tensor in op.inputs if tensor >= 0)
        if any(graph.tensors[made].dtype in _FLOATS for made in op.outputs)
    )


def constant(tensor: Tensor) -> NDArray[Any]:
    """The contents of a constant tensor in its shape."""
    assert tensor.data is not None
    return np.frombuffer(tensor.data, NUMPY_TYPES[tensor.dtype]).reshape(tensor.shape)


def per_tensor(operands: Operands, tensor: Tensor) -> tuple[float, int]:
    """(scale, zero point) of a tensor quantised as a whole, both sound; scale is an exact float32."""
    quant = quantised(operands, tensor)
    scale, zero = quant.scale[0], quant.zero_point[0]
    low, high = type_range(tensor.dtype)
    if not (0 < scale < math.inf and low <= zero <= high):
        raise operands.unsupported(
            f"tensor {tensor.id} ({tensor.name}) has scale {scale:g} and zero point {zero}"
        )
    return scale, zero


def quantised(operands: Operands, tensor: Tensor) -> Quant:
    """The quantisation of `tensor`, which must be of integers and have one."""
    if tensor.quant is None or tensor.dtype not in _RANGES:
        raise operands.unsupported(f"tensor {tensor.id} ({tensor.name}) is not quantised")
    return tensor.quant


def multiplier(operands: Operands, real: float) -> tuple[int, int]:
    """(multiplier, shift) of a factor that the kernels can shift by.

    QuantizeMultiplier, quantization_util.cc.
    """
    if real == 0.0:
        return 0, 0
    fraction, shift = math.frexp(real) if 0 < real < math.inf else (0.5, 1 << 10)
    # TfLiteRound: half away from zero; the factor is positive.
    fixed = math.floor(fraction * (1 << 31) + 0.5)
    if fixed == 1 << 31:
        fixed //= 2
        shift += 1
    if shift < -31:
        return 0, 0
    if shift > _LARGEST_SHIFT:
        raise operands.unsupported(f"its scales differ by a factor of {real:g}")
    return fixed, shift


def multipliers(operands: Operands, reals: NDArray[np.float64]) -> Factors:
    """`multiplier` of each factor."""
    if not len(reals) or (reals == reals[0]).all():
        return np.array([multiplier(operands, float(real)) for real in reals[:1]] * len(reals))
    known = (reals >= 0) & (reals < np.inf)
    fraction, exponent = np.frexp(np.where(known, reals, 1.0))
    fixed = np.floor(fraction * (1 << 31) + 0.5).astype(np.int64)
    rounded_up = fixed == 1 << 31
    shift = exponent + rounded_up
    beyond = ~known | (shift > _LARGEST_SHIFT)
    if beyond.any():
        multiplier(operands, float(reals[beyond][0]))
    found = np.stack([np.where(rounded_up, fixed >> 1, fixed), shift], axis=1)
    found[shift < -31] = 0
    return found


def floats_of(real: float) -> tuple[float, float, float]:
    """Three float32 values whose sum, as double, is `real`."""
    parts = []
    for _ in range(3):
        parts.append(float(np.float32(real)))
        real -= parts[-1]
    first, second, third = parts
    return first, second, third


def activation_range(operands: Operands, tensor: Tensor, activation: int) -> tuple[int, int]:
    """The clamp of a fused activation in output units: CalculateActivationRangeQuantized."""
    scale, zero = per_tensor(operands, tensor)
    low, high = type_range(tensor.dtype)

    def quantise(value: float) -> int:
        ratio = np.float32(value) / np.float32(scale)
        if abs(ratio) >= 1 << 31:
            raise operands.unsupported(f"its output's scale, {scale:g}, is too small")
        return zero + int(math.floor(abs(ratio) + 0.5) * (1 if ratio >= 0 else -1))

    match activation:
        case 0:  # NONE
            return low, high
        case 1:  # RELU
            return max(low, quantise(0.0)), high
        case 2:  # RELU_N1_TO_1
            return max(low, quantise(-1.0)), min(high, quantise(1.0))
        case 3:  # RELU6
            return max(low, quantise(0.0)), min(high, quantise(6.0))
        case _:
            raise operands.unsupported(f"the fused activation {activation} has no kernel")


def type_range(dtype: DType) -> tuple[int, int]:
    """Least and greatest value of an integer type."""
    return _RANGES[dtype]


def scale_zero(operands: Operands, tensor: Tensor) -> tuple[float, int]:
    """(scale, zero point) of a tensor quantised as a whole, both sound."""
    quant = quantised(operands, tensor)
    if len(quant.scale) != 1 or len(quant.zero_point) != 1:
        raise operands.unsupported(f"tensor {tensor.id} ({tensor.name}) is quantised per channel")
    return per_tensor(operands, tensor)


def number(operands: Operands, name: str, default: float) -> float:
    """A float option; `default` where the file leaves it out."""
    value = operands.op.options.get(name, default)
    return float(value) if isinstance(value, int | float) else default


def same_type(operands: Operands, *tensors: Tensor) -> DType:
    """The one type of all `tensors`."""
    kinds = {tensor.dtype for tensor in tensors}
    if len(kinds) > 1:
        names = ", ".join(tensor.dtype.name for tensor in tensors)
        raise operands.unsupported(f"its tensors are of different types ({names})")
    return tensors[0].dtype


def axis_of(operands: Operands, axis: int, rank: int) -> int:
    """`axis` counted from the front, in range."""
    if not -rank <= axis < rank:
        raise operands.unsupported(f"axis {axis} does not exist in {rank} dimensions")
    return axis % rank
