"""What remembers: UNIDIRECTIONAL_SEQUENCE_LSTM and SVDF, from any state; LOGISTIC and TANH of int16.

Sources: tensorflow/lite/micro/kernels/lstm_eval.h, lstm_eval_common.cc, svdf_common.cc;
tensorflow/lite/kernels/internal/reference/integer_ops/logistic.h, tanh.h.
"""

from __future__ import annotations

import math

import numpy as np

from .arithmetic import RANGES, TYPES, Ints, quantize_multiplier, scaled, scaled_wide
from .drawing import Case, Draw, RedrawError

_LOW, _HIGH = RANGES["INT16"]
# Entries of sigmoid_table_uint16 that are 1 above the rounded function.
_ABOVE = (
    *(4, 8, 12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31, 33, 34, 35, 37, 39, 40, 41),
    *(43, 44, 45, 46, 49, 50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255),
)
_TABLE = np.array(
    [
        min(65535, math.floor(65536 / (1 + math.exp(-i / 24)) + 0.5) + (i in _ABOVE))
        for i in range(256)
    ],
    np.int64,
)
_TABLE[255] = 65535


def sigmoid(x: Ints, multiplier: int, shift: int, *, tanh: bool) -> Ints:
    """Logistic or Tanh of integer_ops: a table of 256, interpolated."""
    fine = 8 if tanh else 9
    value = (x * multiplier + ((1 << shift) >> 1)) >> shift
    size = np.abs(value)
    at = np.minimum(size >> fine, 254)
    low, high = _TABLE[at], _TABLE[at + 1]
    made = (low << fine) + (size & ((1 << fine) - 1)) * (high - low)
    made = np.where(size >> fine >= 255, 0xFFFF << 8 if tanh else 0x7FFF << 10, made)
    if tanh:
        one, half = 1 << 23, 1 << 7
        return np.where(value >= 0, made - one + half, one - made + half - 1) >> 8
    half = 1 << 9
    return np.where(value >= 0, made + half, (1 << 25) - made + half - 1) >> 10


def sigmoid_16(draw: Draw) -> Case:
    """LOGISTIC and TANH of int16."""
    kind = draw.one("LOGISTIC", "TANH")
    power = draw.one(-12, -12, -11, -13, -15) if draw.chance(0.4) else None
    scale = (
        2.0**power if power is not None else float(np.float32(2 ** draw.rng.uniform(-16, -10.7)))
    )
    if power == -12 or (power == -11 and kind == "TANH"):
        multiplier, shift = 3 << (power + 12), 0
    else:
        real, shift = scale * 4096.0 * 3.0, 0
        while real <= 32767.0 / 2.0 and shift <= 30:
            real, shift = real * 2.0, shift + 1
        multiplier = int(real)
    shape = tuple(draw.within(1, 14) for _ in range(draw.within(1, 4)))
    x, values = draw.input(shape, "INT16", scale)
    made = sigmoid(values, multiplier, shift, tanh=kind == "TANH")
    out = draw.tensor(shape, "INT16", 2.0**-15)
    return draw.case(kind, (x,), (out,), (made,), ("NegOptions", {}), 3)


def _clamped(x: Ints) -> Ints:
    return np.clip(x, _LOW, _HIGH)


def lstm(draw: Draw) -> Case:
    """UNIDIRECTIONAL_SEQUENCE_LSTM of int8 and of int16."""
    dtype = draw.wished("dtype", lambda: draw.often("INT8", "INT16", share=0.75))
    wide = dtype == "INT16"
    inputs, units = draw.within(1, 20), draw.within(1, 20)
    times, batches = draw.within(1, 6), draw.within(1, 3)
    time_major = draw.chance(0.5)
    in_scale = draw.scale()
    in_zero = draw.zero(dtype)
    usual = 2.0**-15 if wide else 2.0**-7
    hidden_scale = draw.often(usual, draw.scale(), draw.scale() * 2.0**-14, share=0.5)
    hidden_scale = float(np.float32(draw.wished("hidden", lambda: hidden_scale)))
    hidden_zero = draw.zero(dtype)
    if wide and draw.chance(0.3):
        hidden_zero = int(draw.rng.integers(-200, 201))
    cell_power = -draw.often(draw.within(9, 15), draw.within(3, 22), share=0.7)
    cell_power = draw.wished("cell", lambda: cell_power)
    cell_scale = 2.0**cell_power * draw.often(1.0, draw.rng.uniform(0.75, 1.4), share=0.7)
    cell_scale = float(np.float32(cell_scale))
    shape = (times, batches, inputs) if time_major else (batches, times, inputs)
    x, values = draw.input(shape, dtype, in_scale, in_zero)
    held = [-1] * 24
    held[0] = x
    gates = []
    small = draw.chance(0.5)  # all factors below 1/2, as trained ones mostly are
    for number in range(4):
        pair = []
        most = 1.0
        for first, columns, scale in ((1, inputs, in_scale), (5, units, hidden_scale)):
            size = (9000 if wide else 60) * 60 * math.sqrt(columns)
            real = draw.often(9000 / size, 1.0, 0.5, 2.0**-9, 2.0**-20, share=0.6)
            real = (min(real, 0.49) if small else real) * 2.0**-12
            if draw.wishes.get("factor") == "greatest":  # multipliers just below a power of two
                real = 2.0 ** math.floor(math.log2(real)) * (1 - 1e-5)
            own = float(np.float32(real / scale))
            weights = draw.values((units, columns), "INT8").astype(np.int64)
            held[first + number] = draw.constant(weights, "INT8", own)
            product = scale * own  # as doubles in the released TFLM
            by = quantize_multiplier(product / 2.0**-12)
            if wide and by[1] > 3:
                raise RedrawError
            pair.append((weights.T, by))
            most = max(most, product / 2.0**-12)
        bias = draw.rng.normal(0, 3000 * (200 if wide else 1), units).astype(np.int64)
        if draw.chance(0.1):
            room = (1 << 30) - 256 * 128 * max(inputs, units) if not wide else int((1 << 30) / most)
            bias = draw.rng.choice([-room, room], units)
        held[12 + number] = draw.constant(bias, "INT64" if wide else "INT32", in_scale)
        gates.append((pair, bias))
    held[18], hidden = draw.variable((batches, units), dtype, hidden_scale, hidden_zero)
    held[19], cell = draw.variable((batches, units), "INT16", cell_scale)
    clip = draw.often(0.0, 0.3, 4.0, 1e6, share=0.7)
    limit = int(max(min(float(np.float32(clip)) / cell_scale, 32767.0), 0.0))
    fine = 15 + cell_power - 3
    tanh = (3 << fine, 0) if fine >= 0 else (3, -fine)
    by_forget = quantize_multiplier(2.0**-15)
    by_input = quantize_multiplier(2.0**-30 / cell_scale)
    by_output = quantize_multiplier(2.0**-30 / hidden_scale)
    made = []
    low, high = RANGES[dtype]
    scale_by = scaled_wide if wide else scaled
    for time in range(times):
        at = values[:, time] if time_major else values[:, :, time]
        opened = []
        for number, (pair, bias) in enumerate(gates):
            (weights, by), (recurrent, by_hidden) = pair
            given = _clamped(scale_by((at - in_zero) @ weights + bias, *by))
            kept = _clamped(scale_by((hidden - hidden_zero) @ recurrent, *by_hidden))
            opened.append(sigmoid(_clamped(given + kept), 3, 0, tanh=number == 2))
        put, forget, new, out = opened
        cell = _clamped(scaled(forget * cell, *by_forget))
        cell = _clamped(cell + _clamped(scaled(put * new, *by_input)))
        if clip > 0:
            cell = np.clip(cell, -limit, limit)
        shown = sigmoid(cell, *tanh, tanh=True)
        hidden = np.clip(scaled(out * shown, *by_output) + hidden_zero, low, high)
        made.append(hidden)
    wanted = np.stack(made, 1 if time_major else 2)
    out_tensor = draw.tensor(wanted.shape[1:], dtype, hidden_scale, hidden_zero)
    options = {"fused_activation_function": 4, "cell_clip": clip, "time_major": time_major}
    return draw.case(
        *("UNIDIRECTIONAL_SEQUENCE_LSTM", held, (out_tensor,), (wanted,)),
        *(("UnidirectionalSequenceLSTMOptions", options), 3, {held[18]: hidden, held[19]: cell}),
    )


def svdf(draw: Draw) -> Case:
    """SVDF with a state of int8 or of int16."""
    kind = draw.one("INT8", "INT16")
    inputs, units, rank = draw.within(1, 30), draw.within(1, 12), draw.within(1, 3)
    memory, batches = draw.within(1, 12), draw.within(1, 3)
    filters = units * rank
    in_scale, in_zero, out_zero = draw.scale(), draw.zero("INT8"), draw.zero("INT8")
    state_scale, state_zero = draw.scale(), draw.zero(kind)
    spread = 9000 if kind == "INT16" else 50
    more = draw.wished("more", lambda: 1.0)
    own = float(np.float32(more * spread / 4400 / math.sqrt(inputs) * state_scale / in_scale))
    times_scale = draw.scale()
    total = spread * (60 if kind == "INT8" else 9000) * math.sqrt(rank * memory)
    out_scale = float(np.float32(state_scale * times_scale * total / 50 / more**2))
    x, values = draw.input((batches, inputs), "INT8", in_scale, in_zero)
    weights = draw.values((filters, inputs), "INT8").astype(np.int64)
    features = draw.constant(weights, "INT8", own)
    over = draw.values((filters, memory), kind).astype(np.int64)
    if np.abs(over).max() * (65536 if kind == "INT16" else 256) * rank * memory >= 1 << 30:
        over = over // (rank * memory * 2 + 2)
    times = draw.constant(over, kind, times_scale)
    bias = draw.rng.normal(0, total / 4, units).astype(np.int64).clip(-(1 << 29), 1 << 29)
    biases = draw.constant(bias, "INT32", state_scale * times_scale)
    state, held = draw.variable((batches, filters * memory), kind, state_scale, state_zero)
    first = quantize_multiplier(in_scale * own / state_scale)  # as doubles
    second = quantize_multiplier(state_scale * times_scale / out_scale)
    moved = held.reshape(-1, batches, filters, memory).copy()
    moved[..., :-1] = moved[..., 1:]
    dots = scaled((values - in_zero) @ weights.T, *first)
    newest = np.clip(dots, *RANGES[kind]) + state_zero  # what does not fit then wraps
    moved[..., -1] = newest.astype(TYPES[kind])
    sums = ((moved - state_zero) * over).sum(axis=-1).reshape(-1, batches, units, rank).sum(axis=-1)
    sums = sums + bias
    if np.abs(sums).max() >= 1 << 31:
        raise RedrawError
    made = np.clip(scaled(sums, *second) + out_zero, *RANGES["INT8"])
    out = draw.tensor(made.shape[1:], "INT8", out_scale, out_zero)
    options = {"rank": rank, "fused_activation_function": 1}
    return draw.case(
        *("SVDF", (x, features, times, biases, state), (out,), (made,)),
        *(("SVDFOptions", options), 3, {state: moved}),
    )
