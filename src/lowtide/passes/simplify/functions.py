"""What elementwise operators make of arrays of values: as their kernels do, from their kernels' params.

Why from the params: they are worked out once, by lowering, and are what the program computes with.
Every function here is that of the kernel whose name it is found by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import ModelError
from lowtide.ir.graph import DType, Graph, Op
from lowtide.lower import lower_op
from lowtide.lower.nodes import Array, Node

Values = NDArray[Any]
Params = Mapping[str, Any]

ELEMENTWISE: Final = frozenset(
    {
        *("QUANTIZE", "DEQUANTIZE", "RELU", "RELU6", "LEAKY_RELU", "HARD_SWISH", "LOGISTIC"),
        *("TANH", "ABS", "ELU", "RSQRT", "ADD", "SUB", "MUL", "PRELU", "MINIMUM", "MAXIMUM"),
        "TABLE",
    }
)
NUMPY: Final[Mapping[DType, np.dtype[Any]]] = {
    DType.INT8: np.dtype("<i1"),
    DType.UINT8: np.dtype("<u1"),
    DType.INT16: np.dtype("<i2"),
    DType.FLOAT32: np.dtype("<f4"),
}


def node_of(graph: Graph, op: Op) -> Node | None:
    """The node that an elementwise operator is; None if it is none, or none that can be compiled."""
    if op.type not in ELEMENTWISE:
        return None
    try:
        lowered = lower_op(graph, op)
    except ModelError:
        return None
    return lowered.nodes[0] if len(lowered.nodes) == 1 else None


def apply(graph: Graph, node: Node, given: Mapping[int, Values]) -> Values | None:
    """What `node` makes of its operands' values: of their types, and of one length, or one value.

    None for a kernel that is not known here. Out-of-range inputs are the caller's to avoid.
    """
    out = NUMPY.get(graph.tensors[node.outputs[0].tensor].dtype)
    params = dict(node.params.fields)
    operands = [given[port.tensor] for port in node.inputs]
    if out is None:
        return None
    for prefix, function in _KERNELS.items():
        if node.kernel.startswith(prefix):
            return function(params, operands, out)
    return None


def _table(params: Params, given: Sequence[Values], out: np.dtype[Any]) -> Values:
    table: Array = params["table"]
    return table.values.astype(np.uint8)[given[0].view(np.uint8)].view(out)


def _add(params: Params, given: Sequence[Values], out: np.dtype[Any]) -> Values:
    left = 1 << (16 if out.itemsize == 2 else 21)
    b = given[1].astype(np.int64) * left + params["b_start"]
    share = _scaled_down(b, params["b_multiplier"], params["b_shift"]) * params["b_factor"]
    total = params["start"] + given[0].astype(np.int64) * params["a_factor"] + share
    return _clamped(_scaled_down(total, params["multiplier"], params["shift"]), params, out)


def _mul(params: Params, given: Sequence[Values], out: np.dtype[Any]) -> Values:
    a, b = (values.astype(np.int64) for values in given)
    product = (a - params["a_zero"]) * (b - params["b_zero"])
    return _clamped(_scaled(product, params["multiplier"], params["shift"]), params, out)


def _clamped(values: Values, params: Params, out: np.dtype[Any]) -> Values:
    clamped: Values = np.clip(values + params["output_zero"], params["low"], params["high"])
    return clamped.astype(out)


def _prelu(params: Params, given: Sequence[Values], out: np.dtype[Any]) -> Values:
    a = given[0].astype(np.int64) - params["a_zero"]
    slope = a * (given[1].astype(np.int64) - params["b_zero"])
    up = _scaled(a, params["positive_multiplier"], params["positive_shift"])
    down = _scaled(slope, params["negative_multiplier"], params["negative_shift"])
    chosen = np.where(a >= 0, up, down) + params["output_zero"]
    saturated: Values = np.clip(chosen, np.iinfo(out).min, np.iinfo(out).max).astype(out)
    return saturated


def _least(params: Params, given: Sequence[Values], out: np.dtype[Any]) -> Values:
    del params
    return np.minimum(given[0], given[1]).astype(out)


def _greatest(params: Params, given: Sequence[Values], out: np.dtype[Any]) -> Values:
    del params
    return np.maximum(given[0], given[1]).astype(out)


def _requantize(params: Params, given: Sequence[Values], out: np.dtype[Any]) -> Values:
    x = given[0].astype(np.int64) - params["input_zero"]
    scaled = _scaled(x, params["multiplier"], params["shift"]) + params["output_zero"]
    saturated: Values = np.clip(scaled, np.iinfo(out).min, np.iinfo(out).max).astype(out)
    return saturated


def _quantize(params: Params, given: Sequence[Values], out: np.dtype[Any]) -> Values:
    zero, limits = params["zero"], np.iinfo(out)
    with np.errstate(over="ignore"):
        x = (given[0] / np.float32(params["scale"])).astype(np.float64)
    rounded = np.copysign(np.floor(np.abs(x) + 0.5), x)  # exact: a float32 has 24 bits, this has 53
    clipped: Values = np.clip(rounded, limits.min - zero, limits.max - zero) + zero
    return clipped.astype(out)


def _dequantize(params: Params, given: Sequence[Values], out: np.dtype[Any]) -> Values:
    exact = (given[0].astype(np.int32) - params["zero"]).astype(out)
    scaled: Values = exact * out.type(params["scale"])
    return scaled


def _scaled(x: Values, multiplier: int, shift: int) -> Values:
    """`fixed_point.scale` of int64 values: the left shift wraps to 32 bits."""
    shifted = (x << max(shift, 0)) & 0xFFFFFFFF
    wrapped = np.where(shifted >= 1 << 31, shifted - (1 << 32), shifted)
    high = np.minimum((wrapped * multiplier + (1 << 30)) >> 31, (1 << 31) - 1)
    return _divided(high, max(-shift, 0))


def _scaled_down(x: Values, multiplier: int, shift: int) -> Values:
    """lt_scale_down of int64 values: as `_scaled`, of twice the value."""
    return _divided((x * multiplier + (1 << 31)) >> 32, shift)


def _divided(x: Values, exponent: int) -> Values:
    """`fixed_point.divide_by_pot`: by 2^exponent, halves away from zero."""
    mask = (1 << exponent) - 1
    return (x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0))


_KERNELS: Final[Mapping[str, Callable[[Params, Sequence[Values], np.dtype[Any]], Values]]] = {
    "lt_lut_8_row": _table,
    "lt_add_": _add,
    "lt_mul_": _mul,
    "lt_prelu_": _prelu,
    "lt_min_": _least,
    "lt_max_": _greatest,
    "lt_requantize_": _requantize,
    "lt_quantize_": _quantize,
    "lt_dequantize_": _dequantize,
}
"""What the kernels whose names begin so compute of their params and operands."""
