"""What elementwise operators make of arrays of values, as the reference kernels compute it.

Why here: what is constant is worked out of it, functions of one variable become tables by it, and
intervals are bounded by it; and all of that is what the kernels compute, from the same factors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import additions
from lowtide.ir.byte_tables import (
    BYTE_FUNCTIONS,
    BYTES,
    byte_table,
    leaky_relu_slopes,
    quants,
    relu6_limits,
)
from lowtide.ir.fixed_point import wrap
from lowtide.ir.graph import DType, Op, Tensor
from lowtide.ir.operands import (
    NUMPY_TYPES,
    Operands,
    activation_range,
    multiplier,
    same_type,
    scale_zero,
    type_range,
)
from lowtide.ir.roundings import Exact, Integers, rounded_twice

Values = NDArray[Any]

_PAIRS: Final = frozenset({"ADD", "SUB", "MUL", "PRELU", "MINIMUM", "MAXIMUM"})
_QUANTISED: Final = BYTES | {DType.INT16}


@dataclass(frozen=True, slots=True)
class Elementwise:
    """An operator's results are `function` of its operands, of int64, limited to `clamp`.

    It never falls in any of them, or never rises; but for a `bend` in the first one: there it may turn.
    """

    function: Callable[..., Exact]
    clamp: tuple[int, int]
    bend: int | None = None


def sources(op: Op) -> tuple[int, ...]:
    """The inputs whose elements an elementwise operator works on; none of any other operator."""
    unary = op.type in (*BYTE_FUNCTIONS, "TABLE", "DEQUANTIZE")
    found = op.inputs[: 2 if op.type in _PAIRS else int(unary)]
    return () if -1 in found else found


def evaluated(operands: Operands, given: Sequence[Values]) -> Values | None:
    """What an operator makes of the values of its `sources`, of their types, and of shapes that
    broadcast. None if it is none of these, or not known. Raises ModelError where it has no kernel."""
    op, source, out = operands.op, operands.input(0), operands.output()
    tensors = [operands.graph.tensors[t] for t in sources(op)]
    if not tensors or out.dtype not in (*_QUANTISED, DType.FLOAT32):
        return None
    _check_sizes(operands, tensors)
    if op.type == "DEQUANTIZE" or source.dtype is DType.FLOAT32:
        return _of_floats(operands, given[0])
    table, kind = byte_table(operands), NUMPY_TYPES[out.dtype]
    if table is not None:
        return table[given[0].astype(np.int64) - type_range(source.dtype)[0]].astype(kind)
    if op.type not in _PAIRS | {"QUANTIZE"}:
        return None
    made = elementwise(operands)
    results, _ = made.function(*(values.astype(np.int64) for values in given))
    return np.clip(results, *made.clamp).astype(kind)


def _check_sizes(operands: Operands, tensors: Sequence[Tensor]) -> None:
    out = operands.output()
    try:
        made = np.broadcast_shapes(*(tensor.shape for tensor in tensors))
    except ValueError:
        made = ()
    if not out.elements or math.prod(made) != out.elements:
        raise operands.unsupported("its output is of another size than its operands")


def _of_floats(operands: Operands, given: Values) -> Values:
    """QUANTIZE of floats, and DEQUANTIZE to floats, in single precision."""
    source, out = operands.input(0), operands.output()
    if operands.op.type == "DEQUANTIZE" and source.dtype in _QUANTISED:
        scale, zero = scale_zero(operands, source)
        if out.dtype is DType.FLOAT32:
            return (given.astype(np.int32) - zero).astype(np.float32) * np.float32(scale)
    elif operands.op.type == "QUANTIZE" and out.dtype in _QUANTISED:
        scale, zero = scale_zero(operands, out)
        low, high = type_range(out.dtype)
        with np.errstate(over="ignore"):
            x = (given / np.float32(scale)).astype(np.float64)
        rounded = np.copysign(np.floor(np.abs(x) + 0.5), x)  # exact: a float32 has 24 bits of 53
        limited: Values = np.clip(rounded, low - zero, high - zero) + zero
        return limited.astype(NUMPY_TYPES[out.dtype])
    raise operands.unsupported(f"there is no kernel from {source.dtype.name} to {out.dtype.name}")


def elementwise(operands: Operands) -> Elementwise:
    """What an operator computes that is no table of bytes. Raises ModelError where it has no kernel, or
    nothing is known of it."""
    make = _FUNCTIONS.get(operands.op.type)
    if make is None:
        raise operands.unsupported("nothing is known of it")
    return make(operands)


def _clamp(operands: Operands) -> tuple[int, int]:
    fused = operands.option("fused_activation_function")
    return activation_range(operands, operands.output(), fused)


def _quantised_pair(operands: Operands) -> list[tuple[float, int]]:
    """Scales and zero points of both operands and the output, all of one type."""
    tensors = operands.input(0), operands.input(1), operands.output()
    if same_type(operands, *tensors) not in _QUANTISED:
        raise operands.unsupported("nothing is known of it")
    return [scale_zero(operands, tensor) for tensor in tensors]


def _added(operands: Operands, *, subtract: bool) -> Elementwise:
    _, _, (_, out_zero) = _quantised_pair(operands)
    by = additions.factors(operands)
    second, total = rounded_twice([by.second]), rounded_twice([by.total])

    def function(x: Integers, y: Integers) -> Exact:
        shares = [x - by.zeros[0], y - by.zeros[1]]
        shares[by.first] = shares[by.first] << (by.left - 1)
        scaled, fine = second(shares[1 - by.first] << by.left)
        shares[1 - by.first] = scaled
        sums = shares[0] - shares[1] if subtract else shares[0] + shares[1]
        result, also_fine = total(sums)
        return result + out_zero, fine & also_fine

    return Elementwise(function, _clamp(operands))


def _multiplied(operands: Operands) -> Elementwise:
    (a_scale, a_zero), (b_scale, b_zero), (out_scale, out_zero) = _quantised_pair(operands)
    if operands.output().dtype is DType.INT16 and (a_zero or b_zero or out_zero):
        raise operands.unsupported("an int16 tensor has a zero point other than 0")
    rounding = rounded_twice([multiplier(operands, a_scale * b_scale / out_scale)])

    def function(x: Integers, y: Integers) -> Exact:
        result, fine = rounding((x - a_zero) * (y - b_zero))
        return result + out_zero, fine

    return Elementwise(function, _clamp(operands))


def _prelu(operands: Operands) -> Elementwise:
    in_scale, in_zero, out_scale, out_zero = quants(operands)
    slope, kind = operands.input(1), operands.output().dtype
    if kind not in _QUANTISED or slope.dtype is not (DType.INT8 if kind is DType.INT16 else kind):
        raise operands.unsupported(f"its slopes are of type {slope.dtype.name}")
    if kind is DType.INT16 and (in_zero or out_zero):
        raise operands.unsupported("an int16 tensor has a zero point other than 0")
    slope_scale, slope_zero = scale_zero(operands, slope)
    above = rounded_twice([multiplier(operands, in_scale / out_scale)])
    below = rounded_twice([multiplier(operands, in_scale * slope_scale / out_scale)])

    def function(x: Integers, y: Integers) -> Exact:
        x = x - in_zero
        (positive, fine), (negative, also_fine) = above(x), below(x * (y - slope_zero))
        return np.where(x >= 0, positive, negative) + out_zero, np.where(x >= 0, fine, also_fine)

    return Elementwise(function, type_range(kind), in_zero)


def _extreme(operands: Operands, *, greatest: bool) -> Elementwise:
    kind = same_type(operands, operands.input(0), operands.input(1), operands.output())
    choose = np.maximum if greatest else np.minimum

    def function(x: Integers, y: Integers) -> Exact:
        chosen: Integers = choose(x, y)
        return chosen, np.ones(chosen.shape, np.bool_)

    return Elementwise(function, type_range(kind))


def _requantised(operands: Operands) -> Elementwise:
    source, out = operands.input(0), operands.output()
    kinds = {source.dtype, out.dtype}
    if kinds <= BYTES or not kinds <= _QUANTISED | {DType.INT32}:
        raise operands.unsupported("nothing is known of it")
    (in_scale, in_zero), (out_scale, out_zero) = (scale_zero(operands, t) for t in (source, out))
    if any(zero != wrap(zero, 16) for zero in (in_zero, out_zero)):
        raise operands.unsupported("a zero point needs more than 16 bits")
    rounding = rounded_twice([multiplier(operands, in_scale / out_scale)])

    def function(x: Integers) -> Exact:
        result, fine = rounding(x - in_zero)
        return result + out_zero, fine

    return Elementwise(function, type_range(out.dtype))


def _is_wide(operands: Operands) -> bool:
    return operands.input(0).dtype is operands.output().dtype is DType.INT16


def _relu6(operands: Operands) -> Elementwise:
    """Of int16: it looks at the input's scale alone."""
    if not _is_wide(operands):
        raise operands.unsupported("nothing is known of it")

    def function(x: Integers) -> Exact:
        return x, np.ones(x.shape, np.bool_)

    return Elementwise(function, relu6_limits(operands))


def _two_slopes(operands: Operands) -> Elementwise:
    """RELU and LEAKY_RELU of int16."""
    if not _is_wide(operands):
        raise operands.unsupported("nothing is known of it")
    in_scale, in_zero, out_scale, out_zero = quants(operands)
    positive, negative, negate = multiplier(operands, in_scale / out_scale), (0, 0), False
    if operands.op.type == "LEAKY_RELU":
        positive, negative, negate = leaky_relu_slopes(operands)
    above, below = rounded_twice([positive]), rounded_twice([negative])

    def function(x: Integers) -> Exact:
        x = x - in_zero
        (up, fine), (down, also_fine) = above(x), below(x)
        down = -down if negate else down
        return np.where(x >= 0, up, down) + out_zero, np.where(x >= 0, fine, also_fine)

    return Elementwise(function, type_range(DType.INT16), in_zero)


_FUNCTIONS: Final[Mapping[str, Callable[[Operands], Elementwise]]] = MappingProxyType(
    {
        "ADD": partial(_added, subtract=False),
        "SUB": partial(_added, subtract=True),
        "MUL": _multiplied,
        "PRELU": _prelu,
        "MINIMUM": partial(_extreme, greatest=False),
        "MAXIMUM": partial(_extreme, greatest=True),
        "QUANTIZE": _requantised,
        "RELU": _two_slopes,
        "LEAKY_RELU": _two_slopes,
        "RELU6": _relu6,
    }
)
