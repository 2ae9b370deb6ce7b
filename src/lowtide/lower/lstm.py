"""UNIDIRECTIONAL_SEQUENCE_LSTM: params of kernels/include/lt_lstm.h, lt_lstm_s16.h.

A step is one point in time of one batch; both states are variable tensors, written in place. What
TFLM refuses is refused here: peepholes, projections, layer normalisation, missing gates.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import DType
from lowtide.ir.products import product_of
from lowtide.lower.common import Context, Lowering, multiplier, per_tensor, quantised
from lowtide.lower.counts import Counted
from lowtide.lower.dots import dots, fours_of
from lowtide.lower.move import port
from lowtide.lower.nodes import Array, Lowered, Params, Value
from lowtide.lower.packed import factors as factors_of
from lowtide.lower.packed import int32, is_narrow, sizes_of, sums_of
from lowtide.lower.unary import log2, logistic_table
from lowtide.lower.wide import check

_INPUT, _HIDDEN, _CELL = 0, 18, 19
# In the order of lt_lstm.h: forget, input, cell, output.
_WEIGHTS = (2, 1, 3, 4)
_RECURRENT = (6, 5, 7, 8)
_BIASES = (13, 12, 14, 15)
_ABSENT = (*range(9, 12), *range(16, 18), *range(20, 24))
_TANH = 4  # ActivationFunctionType.TANH in the schema
_GATE_SCALE = 2.0**-12  # of what goes into a gate's activation
_UNIT_SCALE = 2.0**-15  # of what comes out of it


def _lstm(context: Context) -> Lowered:
    _check(context)
    source, out = context.input(_INPUT), context.output()
    hidden, cell = context.input(_HIDDEN), context.input(_CELL)
    time_major = context.option("time_major") != 0
    batches, times = source.shape[1::-1] if time_major else source.shape[:2]
    inputs, units = source.shape[2], out.shape[2]
    steps = batches * times
    states = [r % batches if time_major else r // times for r in range(steps)]
    family = "lt_lstm_s16" if source.dtype is DType.INT16 else "lt_lstm_s8"
    params = Params(
        family,
        (*_gates(context, units, inputs), *_cell(context), ("inputs", inputs), ("units", units)),
    )
    return context.node(
        kernel=f"{family}_row",
        header="lt_lstm_s16.h" if source.dtype is DType.INT16 else "lt_lstm.h",
        params=params,
        inputs=(port(source, steps, range(steps)),),
        outputs=(
            port(out, steps, range(steps)),
            port(hidden, batches, states),
            port(cell, batches, states),
        ),
        steps=steps,
        scratch=8 * units,
        work=_work(params, steps, inputs, units),
    )


def _work(params: Params, steps: int, inputs: int, units: int) -> Counted:
    """A step takes two products of matrices for each gate, and scales their sums and three values
    of each unit."""
    if params.ctype == "lt_lstm_s16":
        rows = 4 * steps * units
        return Counted.of(1, sums=rows, inputs=rows * inputs, hidden=rows * units)
    fours, quick = steps * 4 * fours_of(units), dict(params.fields).get("quick", 0)
    counts = {**dots(fours, inputs, "input"), **dots(fours, units, "hidden")}
    scaled = steps * 4 * units if units < 3 else 4 * fours
    counts |= {"gates": fours, "scaled": scaled, "units": steps * units}
    if quick == 0:
        counts |= {"wide_scaled": scaled, "wide_units": steps * units}
    return Counted.of(1, **counts)


def _check(context: Context) -> None:
    source, out = context.input(_INPUT), context.output()
    hidden, cell = context.input(_HIDDEN), context.input(_CELL)
    if any(context.optional(i) is not None for i in _ABSENT):
        raise context.unsupported("it has peepholes, a projection or layer normalisation")
    if context.option("fused_activation_function") != _TANH:
        raise context.unsupported("its activation is not tanh")
    kind = source.dtype
    if (out.dtype, hidden.dtype, cell.dtype) != (kind, kind, DType.INT16):
        name = kind.name.lower()
        raise context.unsupported(
            f"its output and states do not have types {name}, {name} and int16"
        )
    if not (hidden.is_variable and cell.is_variable):
        raise context.unsupported("its states are not variables")
    if len(source.shape) != 3 or len(out.shape) != 3 or source.shape[:2] != out.shape[:2]:
        raise context.unsupported("its input and output are not sequences of one length")
    batches = source.shape[1] if context.option("time_major") else source.shape[0]
    units, steps = out.shape[2], source.shape[0] * source.shape[1]
    if {hidden.elements, cell.elements} != {batches * units}:
        raise context.unsupported("its states do not have its output's size")
    if source.bytes == 0 or units == 0 or max(source.shape[2], units) > 65535 or steps > 32767:
        raise context.unsupported("a size is out of range")


def _gates(context: Context, units: int, inputs: int) -> tuple[tuple[str, Value], ...]:
    """Weights, biases and factors of the four gates and of the three products after them."""
    source = context.input(_INPUT)
    weights = [_matrix(context, i, (units, inputs)) for i in _WEIGHTS]
    recurrent = [_matrix(context, i, (units, units)) for i in _RECURRENT]
    biases = [context.constant(i).astype(np.int64).reshape(-1) for i in _BIASES]
    wide = source.dtype is DType.INT16
    bias_type = DType.INT64 if wide else DType.INT32
    if any(context.input(i).dtype is not bias_type for i in _BIASES):
        raise context.unsupported(f"its biases are not {bias_type.name.lower()}")
    if any(len(bias) != units for bias in biases):
        raise context.unsupported(f"a bias is not one value for each of {units} units")
    _, input_zero = per_tensor(context, source)
    hidden_scale, hidden_zero = per_tensor(context, context.input(_HIDDEN))
    cell_scale, _ = per_tensor(context, context.input(_CELL))
    factors = [
        *(_gate_factor(context, _INPUT, i) for i in _WEIGHTS),
        *(_gate_factor(context, _HIDDEN, i) for i in _RECURRENT),
        multiplier(context, _UNIT_SCALE * cell_scale / cell_scale),
        multiplier(context, _UNIT_SCALE * _UNIT_SCALE / cell_scale),
        multiplier(context, _UNIT_SCALE * _UNIT_SCALE / hidden_scale),
    ]
    if wide:
        check(context, [shift for _, shift in factors[: 2 * len(_WEIGHTS)]])
    folded = [b - input_zero * sums_of(w) for b, w in zip(biases, weights, strict=True)]
    kept = [-hidden_zero * sums_of(w) for w in recurrent]
    return (
        ("weights", Array("int8_t", np.array(weights), weights=True)),
        ("recurrent", Array("int8_t", np.array(recurrent), weights=True)),
        ("bias", _sums(folded, wide)),
        ("recurrent_bias", _sums(kept, wide) if hidden_zero or not wide else None),
        *factors_of(np.array(factors)),
        ("hidden_zero", hidden_zero),
        *(
            ()
            if wide
            else (("quick", int(_fit_narrow(factors, weights + recurrent, folded + kept))),)
        ),
    )


def _fit_narrow(
    factors: list[tuple[int, int]],
    weights: list[NDArray[np.int8]],
    biases: list[NDArray[np.int64]],
) -> bool:
    """Whether lt_narrow may scale all sums: those of the gates, and products of two int16, of which one
    is an activation's result, which is above -32768."""
    both = zip(biases, weights, strict=True)
    most = [int((abs(b) + 128 * sizes_of(w)).max()) for b, w in both]
    most += [32767 << 15] * (len(factors) - len(most))
    return bool(is_narrow(np.array([[-m for m in most], most]), np.array(factors), 0).all())


def _sums(values: Sequence[NDArray[np.int64]], wide: bool) -> Array:
    """What sums begin with."""
    every = np.array(values)
    if wide:
        return Array("int64_t", every, weights=True)
    return Array("int32_t", int32(every), weights=True)


def _matrix(context: Context, index: int, shape: tuple[int, int]) -> NDArray[np.int8]:
    tensor = context.input(index)
    if tensor.dtype is not DType.INT8 or tensor.shape != shape or tensor.is_sparse:
        raise context.unsupported(f"its weights (input {index}) are not int8 of {list(shape)}")
    quant = quantised(context, tensor)
    if len(quant.scale) != 1 or quant.zero_point[0] != 0:
        raise context.unsupported(
            f"its weights (input {index}) are not quantised per tensor with zero point 0"
        )
    return context.constant(index)


def _gate_factor(context: Context, operand: int, weights: int) -> tuple[int, int]:
    """Of the sums of products with `weights`, which go into a gate's activation."""
    scales = (per_tensor(context, context.input(i))[0] for i in (operand, weights))
    return multiplier(context, product_of(*scales, litert=False) / _GATE_SCALE)


def _cell(context: Context) -> tuple[tuple[str, Value], ...]:
    """The cell state's scale in its tanh, and its limits: CreateLstmCellStateInfo."""
    scale, zero = per_tensor(context, context.input(_CELL))
    exponent, _ = log2(scale)
    shift = 15 + exponent - 3
    if zero != 0 or shift > 13:
        raise context.unsupported(f"its cell state has scale {scale:g} and zero point {zero}")
    clip = context.op.options.get("cell_clip", 0.0)
    limit = float(clip) if isinstance(clip, int | float) else 0.0
    steps = int(max(min(limit / scale, 32767.0), 0.0))
    if limit > 0 and steps == 0:
        raise context.unsupported(f"its cell clip, {limit:g}, is below the cell state's scale")
    table = np.array(logistic_table(), np.uint16)
    return (
        ("logistic", Array("uint16_t", table)),
        ("tanh_multiplier", 3 << max(shift, 0)),
        ("tanh_shift", max(-shift, 0)),
        ("clip", steps),
    )


LOWERINGS = {"UNIDIRECTIONAL_SEQUENCE_LSTM": Lowering(_lstm, frozenset({DType.INT8, DType.INT16}))}
