"""Networks with state: a streaming wake word, and an LSTM whose state goes on from call to call.

Why: what a device hears without end is given to a network a few rows at a time, and what it keeps
between two calls is memory too. Both kinds of state are here: variables with names, which operators
read and assign, as in wake words, and variable tensors that an operator keeps by itself.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lowtide.zoo import noise, quantise
from lowtide.zoo.builder import Act, NetBuilder
from lowtide.zoo.quantise import Activation
from lowtide.zoo.spec import OpSpec, Option, Quant, TensorSpec

_RELU = Activation.RELU
_HIDDEN = Quant(1.0 / 128.0, 0)
_CELL_EXPONENT = -11  # the cell state is int16, 2^-11 a step
_GATES = ("input", "forget", "cell", "output")
_TANH = 4  # the schema's number


class StatefulBuilder(NetBuilder):
    """A network under construction that keeps something from one call to the next."""

    def slice_(self, x: Act, name: str, begin: tuple[int, ...], end: tuple[int, ...]) -> Act:
        """STRIDED_SLICE: from `begin` to before `end` along every axis, of which the first is whole."""
        q = x.q[(slice(None), *(slice(a, b) for a, b in zip(begin[1:], end[1:], strict=True)))]
        operands = [
            self._int32(f"{name}/{what}", values)
            for what, values in (("begin", begin), ("end", end), ("strides", (1,) * len(begin)))
        ]
        return self._emit(
            f"{name}/strided_slice",
            "STRIDED_SLICE",
            2,
            (x,),
            "StridedSliceOptions",
            {},
            np.ascontiguousarray(q),
            x.quant,
            *operands,
        )

    def keep(self, x: Act, name: str, rows: int) -> Act:
        """x (1, n, w, c) behind the `rows` rows that came before it: (1, rows + n, w, c).

        A variable keeps the last of them for the next call. It begins with zeros.
        """
        shape = (1, rows, *x.shape[2:])
        handle = self._add(TensorSpec(name, (), "RESOURCE"))
        options: dict[str, Option] = {"shared_name": name}
        self._ops.append(OpSpec("VAR_HANDLE", 1, (), (handle,), "VarHandleOptions", options))
        first = np.full(shape, x.quant.zero_point, np.int8)
        scales = np.array([x.quant.scale], np.float32)
        self._initial.append(
            (name, TensorSpec(f"{name}/first", shape, "INT8", scales, x.quant.zero_point, 0, first))
        )
        index = self._add_activation(f"{name}/ReadVariableOp", shape, x.quant)
        self._ops.append(OpSpec("READ_VARIABLE", 1, (handle,), (index,), "ReadVariableOptions", {}))
        # Before a calibration input came those before it.
        times = -(-rows // x.shape[1])
        before = [np.roll(x.q, times - back, axis=0) for back in range(times)]
        old = Act(index, shape, x.quant, np.concatenate(before, axis=1)[:, -rows:])
        joined = self.concat((old, x), name, axis=1)
        last = self.slice_(joined, name, (0, x.shape[1], 0, 0), joined.shape)
        self._ops.append(
            OpSpec("ASSIGN_VARIABLE", 1, (handle, last.id), (), "AssignVariableOptions", {})
        )
        return joined

    def split_channels(self, x: Act, name: str, parts: int) -> list[Act]:
        """SPLIT_V of x (1, h, w, c) along its channels into so many equal parts."""
        wide = x.shape[3] // parts
        made = []
        for number in range(parts):
            q = np.ascontiguousarray(x.q[..., number * wide : (number + 1) * wide])
            shape = (*x.shape[:3], wide)
            index = self._add_activation(f"{name}/split:{number}", shape, x.quant)
            made.append(Act(index, shape, x.quant, q))
        sizes = self._int32(f"{name}/split/sizes", (wide,) * parts)
        axis = self._add(TensorSpec(f"{name}/split/axis", (), "INT32", data=np.array(3, np.int32)))
        outputs = tuple(part.id for part in made)
        options: dict[str, Option] = {"num_splits": parts}
        inputs = (x.id, sizes, axis)
        self._ops.append(OpSpec("SPLIT_V", 2, inputs, outputs, "SplitVOptions", options))
        return made

    def lstm(self, x: Act, name: str, units: int) -> Act:
        """UNIDIRECTIONAL_SEQUENCE_LSTM of x (1, t, d): (1, t, units); its states begin at zero."""
        gates = [_Gate(self._label(name, gate), gate, x, units) for gate in _GATES]
        inputs = [self._matrix(f"{name}/{g.name}/kernel", g.w, g.scale) for g in gates]
        recurrent = [self._matrix(f"{name}/{g.name}/recurrent", g.r, g.back) for g in gates]
        biases = [
            self._add(
                TensorSpec(
                    f"{name}/{g.name}/bias",
                    g.bias.shape,
                    "INT32",
                    quantise.bias_scales(x.quant.scale, np.array([g.scale], np.float32)),
                    data=g.bias,
                )
            )
            for g in gates
        ]
        hidden = self._variable(f"{name}/hidden", units, "INT8", _HIDDEN.scale)
        cell = self._variable(f"{name}/cell", units, "INT16", 2.0**_CELL_EXPONENT)
        # The first four would be scales of layer normalisation, the last that of the hidden state.
        between = [self._add(TensorSpec(f"{name}/gate_{n}", (0,), "FLOAT32")) for n in range(4)]
        scale = np.array([_HIDDEN.scale], np.float32)
        between.append(self._add(TensorSpec(f"{name}/effective", (0,), "INT8", scale)))
        q = _unrolled(x, gates)
        shape = (1, *q.shape[1:])
        index = self._add_activation(f"{name}/lstm", shape, _HIDDEN)
        operands = (x.id, *inputs, *recurrent, *(-1,) * 3, *biases, *(-1,) * 2, hidden, cell)
        self._ops.append(
            OpSpec(
                "UNIDIRECTIONAL_SEQUENCE_LSTM",
                1,
                (*operands, *(-1,) * 4),
                (index,),
                "UnidirectionalSequenceLSTMOptions",
                {"fused_activation_function": _TANH, "cell_clip": 10.0},
                tuple(between),
            )
        )
        return Act(index, shape, _HIDDEN, q)

    def _matrix(self, name: str, values: NDArray[np.int8], scale: float) -> int:
        scales = np.array([scale], np.float32)
        return self._add(TensorSpec(name, values.shape, "INT8", scales, data=values))

    def _variable(self, name: str, units: int, dtype: str, scale: float) -> int:
        scales = np.array([scale], np.float32)
        return self._add(TensorSpec(name, (1, units), dtype, scales, is_variable=True))


class _Gate:
    """Weights (units, d) and (units, units), their scales, and biases of one gate.

    Scales give what is summed up a deviation near 1, of which the recurrent part has the half.
    """

    def __init__(self, seed: str, name: str, x: Act, units: int) -> None:
        self.name = name
        depth = x.shape[2]
        self.w = noise.weights(f"{seed}/kernel", (units, depth), None)
        self.r = noise.weights(f"{seed}/recurrent", (units, units), None)
        mean = float(np.abs(x.offsets.astype(np.int64)).sum()) / x.offsets.size
        spread = float(np.abs(self.w.astype(np.int64)).sum()) / self.w.size
        back = float(np.abs(self.r.astype(np.int64)).sum()) / self.r.size
        self.scale = float(np.float32(1 / (x.quant.scale * mean * spread * math.sqrt(depth))))
        self.back = float(np.float32(1 / (back * math.sqrt(units))))
        low, high = (0.5, 1.5) if name == "forget" else (-0.5, 0.5)
        real = noise.uniform(f"{seed}/bias", units, low, high)
        self.bias = np.rint(real / (x.quant.scale * self.scale)).astype(np.int32)

    def sums(
        self, x: NDArray[np.float64], hidden: NDArray[np.float64], scale: float
    ) -> NDArray[np.float64]:
        """What goes into the gate; products of integers are exact in float64."""
        from_input = x @ self.w.T.astype(np.float64) + self.bias
        from_hidden = hidden @ self.r.T.astype(np.float64)
        made: NDArray[np.float64] = from_input * (scale * self.scale)
        made += from_hidden * (_HIDDEN.scale * self.back)
        return made


def _unrolled(x: Act, gates: list[_Gate]) -> NDArray[np.int8]:
    """The hidden states of the calibration inputs, (samples, t, units)."""
    units = gates[0].bias.size
    hidden = np.zeros((len(x.q), units))
    cell = np.zeros_like(hidden)
    steps = []
    for row in x.offsets.astype(np.float64).swapaxes(0, 1):
        let_in, forget, new, let_out = (g.sums(row, hidden, x.quant.scale) for g in gates)
        cell = _logistic(forget) * cell + _logistic(let_in) * _tanh(new)
        units_of = _logistic(let_out) * _tanh(cell) / _HIDDEN.scale
        steps.append(quantise.round_to(units_of, _HIDDEN.zero_point))
        hidden = steps[-1].astype(np.float64)
    return np.stack(steps, axis=1)


def _tanh(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """A rational function near tanh: the C library's differs from machine to machine."""
    x = np.clip(x, -3.0, 3.0)
    y: NDArray[np.float64] = x * (27.0 + x * x) / (27.0 + 9.0 * x * x)
    return y


def _logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 0.5 + 0.5 * _tanh(0.5 * x)


def wake_word() -> bytes:
    """A streaming wake word, (1, 3, 40) of new audio features a call -> (1, 2), as a .tflite file.

    After a convolution over time come blocks of depthwise convolutions of several lengths side by
    side, each on its share of the channels, and a pointwise one.
    """
    return _streaming("streaming-wake-word", 32, ((5,), (7, 11), (9, 15)), 48)


def voice_activity() -> bytes:
    """Whether there is a voice, of the same features and of the same kind, but smaller."""
    return _streaming("streaming-voice-activity", 24, ((5,), (7, 9)), 32)


def _streaming(name: str, stem: int, blocks: tuple[tuple[int, ...], ...], wide: int) -> bytes:
    """A network of such blocks, with so many channels after the first convolution, and after others."""
    net = StatefulBuilder(name)
    x = net.reshape(net.input((1, 3, 40)), "features", (1, 3, 1, 40))
    x = net.conv(net.keep(x, "stem/state", 2), "stem", stem, (5, 1), (3, 1), _RELU, same=False)
    for number, lengths in enumerate(blocks):
        name = f"block_{number}"
        x = net.keep(x, f"{name}/state", max(lengths) - 1)
        parts = net.split_channels(x, name, len(lengths)) if len(lengths) > 1 else [x]
        made = []
        for part, length in zip(parts, lengths, strict=True):
            label = f"{name}/mix_{length}"
            if length < part.shape[1]:
                begin = (0, part.shape[1] - length, 0, 0)
                part = net.slice_(part, label, begin, part.shape)
            quant = quantise.from_range(-4.0, 4.0)
            made.append(net.depthwise(part, label, (length, 1), same=False, quant=quant))
        x = net.concat(made, name) if len(made) > 1 else made[0]
        x = net.conv(x, f"{name}/pointwise", wide, 1, 1, _RELU)
    x = net.keep(x, "head/state", 4)
    x = net.reshape(x, "head/flatten", (1, 5 * wide))
    return net.finish(net.probabilities(x, 2, 2.0))


def lstm_gestures() -> bytes:
    """An LSTM over samples of motion, (1, 8, 6) a call -> (1, 5), as a .tflite file."""
    net = StatefulBuilder("lstm-gestures")
    x = net.lstm(net.input((1, 8, 6)), "lstm", 16)
    x = net.slice_(x, "last", (0, 7, 0), x.shape)
    x = net.reshape(x, "flatten", (1, 16))
    return net.finish(net.probabilities(x, 5, 2.0))
