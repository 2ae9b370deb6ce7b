"""The factors of sums, to the last bit: products of scales are doubles in one engine and of single
precision in the other.

Why apart: factors that differ by 2^-24 give other results once in some thousand sums, or in a million
bytes. Here every sum is one that tells them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from harness import differences

from lowtide.ir.fixed_point import scale
from lowtide.passes import round_once
from move_models import Net

_FACTOR = 2.0**-22
_GATE = 2.0**-12  # of what goes into an activation of an LSTM
_F32 = np.float32


@dataclass(frozen=True)
class Scales:
    """Of two operands and of a result; with `wide`, sums of 64 bits are scaled."""

    left: float
    right: float
    out: float
    wide: bool = False

    @property
    def factors(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """(multiplier, shift) with the product as double, and with that of single precision."""
        single = float(_F32(self.left) * _F32(self.right))
        return _fixed(self.left * self.right / self.out), _fixed(single / self.out)

    @property
    def strain(self) -> float:
        """How far the factors are apart."""
        (one, shift), (other, other_shift) = self.factors
        if self.wide:
            one, other = _reduced(one), _reduced(other)
        return abs(one / other * 2.0 ** (shift - other_shift) - 1)

    def told(self, totals: Iterable[int]) -> Iterator[int]:
        """The sums that the factors scale to different results."""
        rounded = _wide if self.wide else scale
        double, single = self.factors
        return (x for x in totals if rounded(x, *double) != rounded(x, *single))

    def telling(self, count: int, most: int = 100) -> list[int]:
        """`count` sums that tell the factors apart, for results of up to `most`."""
        found: list[int] = []
        for y in range(-most, most, max(1, most // 100)):
            middle = round((y + 0.5) * self.out / (self.left * self.right))
            found += islice(self.told(range(middle - 70, middle + 70)), 1)
        return _some(found, count)

    def telling_multiples(self, count: int, of: int, most: int) -> list[int]:
        """Up to `most` times `of`."""
        return _some(list(self.told(range(-most * of, most * of, of))), count)


def _some(found: list[int], count: int) -> list[int]:
    assert len(found) >= 3
    return [found[i * len(found) // count] for i in range(count)]


def _fixed(real: float) -> tuple[int, int]:
    fraction, shift = np.frexp(real)
    fixed = int(np.floor(fraction * 2**31 + 0.5))
    return (fixed // 2, int(shift) + 1) if fixed == 1 << 31 else (fixed, int(shift))


def _reduced(multiplier: int) -> int:
    return min((multiplier + (1 << 15)) >> 16, 0x7FFF)


def _wide(total: int, multiplier: int, shift: int) -> int:
    """MultiplyByQuantizedMultiplier of a sum of 64 bits."""
    right = 15 - shift
    return (total * _reduced(multiplier) + (1 << (right - 1))) >> right


def worst(
    left: float, right: float, out: float = 0.0, *, factor: float = _FACTOR, wide: bool = False
) -> Scales:
    """Scales of about these sizes whose product single precision changes most; that of the result makes
    `factor` of them if it is not given."""
    others = (right * np.random.default_rng(1).uniform(1, 2, 1000)).astype(_F32).tolist()
    one = float(_F32(left))
    made = (Scales(one, x, out or float(_F32(one * x / factor)), wide) for x in others)
    return max(made, key=lambda scales: scales.strain)


def _window(kind: str, dtype: Any, zero: int) -> bytes:
    """A layer of weights that are all zero: its sums are its biases."""
    scales = worst(0.3, 0.01)
    sums = scales.telling(40)
    count = len(sums)
    net = Net(dtype, scales.left)
    x = net.input((1, 1, 1, 1) if kind != "FULLY_CONNECTED" else (1, 1))
    options: Any = schema.FullyConnectedOptionsT()
    shape: tuple[int, ...] = (count, 1)
    out: tuple[int, ...] = (1, count)
    axis = 0
    if kind == "CONV_2D":
        options = schema.Conv2DOptionsT(strideW=1, strideH=1)
        shape, out = (count, 1, 1, 1), (1, 1, 1, count)
    elif kind == "DEPTHWISE_CONV_2D":
        options = schema.DepthwiseConv2DOptionsT(strideW=1, strideH=1, depthMultiplier=count)
        shape, out, axis = (1, 1, 1, count), (1, 1, 1, count), 3
    weights = net.const(np.full(shape, zero), dtype, quant=(scales.right, zero), axis=axis)
    bias = net.const(sums, quant=(scales.left * scales.right, 0))
    net.op(kind, [x, weights, bias], out, options=options, quant=(scales.out, zero and 128))
    return net.build()


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
@pytest.mark.parametrize(("dtype", "zero"), [(np.int8, 0), (np.uint8, 7)])
def test_layers(kind: str, dtype: Any, zero: int) -> None:
    data = _window(kind, dtype, zero)
    assert differences(data, samples=1) == []


def _decimal(total: int, depth: int) -> list[int]:
    """`depth` bytes whose products with 127, but for the last one's with 1, make `total`."""
    most, rest = divmod(total, 127)
    sign = 1 if most >= 0 else -1
    full, part = divmod(abs(most), 127)
    digits = [sign * 127] * full + [sign * part]
    return [*digits, *[0] * (depth - len(digits) - 1), rest]


@pytest.mark.parametrize("engine", ["tflm", "litert"])
def test_batch_matmul(engine: Any) -> None:
    scales, depth = worst(0.3, 0.01, factor=2.0**-16), 600
    sums = scales.telling(40)
    net = Net(np.int8, scales.left, 0)
    left = net.input((1, depth))
    right = net.input((depth, len(sums)), quant=(scales.right, 0))
    options = schema.BatchMatMulOptionsT()
    net.op("BATCH_MATMUL", [left, right], (1, len(sums)), options=options, quant=(scales.out, 0))
    given = np.full((1, depth), 127, np.int8)
    given[0, -1] = 1
    values = np.array([_decimal(each, depth) for each in sums], np.int8).T
    inputs = [{left: given, right: np.ascontiguousarray(values)}]
    rewrite: Callable[[Any], Any] = round_once if engine == "litert" else lambda graph: graph
    assert differences(net.build(), inputs=inputs, engine=engine, rewrite=rewrite) == []


@pytest.mark.parametrize("kind", [np.int8, np.int16])
def test_svdf(kind: Any) -> None:
    """Sums of the first product are digits times 127, those of the second one its biases."""
    first = worst(0.3, 0.001, factor=2.0**-16 if kind is np.int8 else 2.0**-9)
    second = worst(first.out, 0.02 if kind is np.int8 else 1.3e-6)
    count, depth = 40, 600
    features = [_decimal(each, depth) for each in first.telling(count, 100)]
    net = Net(np.int8, first.left, 0)
    x = net.input((1, depth))
    operands = [
        net.const(features, np.int8, quant=(first.right, 0)),
        net.const(np.zeros((count, 2)), kind, quant=(second.right, 0)),
        net.const(second.telling(count), quant=(second.left * second.right, 0)),
        net.tensor((1, 2 * count), kind, quant=(first.out, 0), variable=True),
    ]
    options = schema.SVDFOptionsT(rank=1)
    net.op("SVDF", [x, *operands], (1, count), options=options, quant=(second.out, 0))
    given = np.full((1, depth), 127, np.int8)
    given[0, -1] = 1
    assert differences(net.build(), inputs=[{x: given}], engine="tflm") == []


@pytest.mark.parametrize("dtype", [np.int8, np.int16])
@pytest.mark.parametrize("recurrent", [False, True])
def test_lstm(dtype: Any, recurrent: bool) -> None:
    """In the second of two steps all sums tell: those of inputs, which are 0, by their biases; those of
    the hidden state, which the first step brings to its limit, by weights."""
    wide, units, inputs = dtype == np.int16, 64, 3
    hidden = (1.7e-5, 0) if wide else (0.0017, -128)
    limit = 32767 if wide else 255
    given = worst(0.3, _GATE / 0.3 / 2**9, _GATE, wide=wide)
    kept = worst(hidden[0], _GATE / hidden[0] / (2**16 if wide else 2**7), _GATE, wide=wide)
    sums = given.telling(units, 12000)
    columns = np.zeros((units, units), np.int64)
    if recurrent:
        total = [each // limit for each in kept.telling_multiples(units, limit, 6000)]
        columns = np.array([[t // units + (u < t % units) for u in range(units)] for t in total])
        sums = [0] * units
    net = Net(dtype, given.left, 0)

    def weights(values: Any, scale: float) -> int:
        return net.const(values, np.int8, quant=(scale, 0))

    x = net.input((1, 2, inputs))
    state = (1, units)
    operands = [
        x,
        *(weights(np.full((units, inputs), 127), given.right) for _ in range(4)),
        *(weights(np.roll(columns, 11 * k, axis=0), kept.right) for k in range(4)),
        *(-1, -1, -1),
        *(net.const(np.roll(sums, 11 * k), np.int64 if wide else np.int32) for k in range(4)),
        *(-1, -1),
        net.tensor(state, quant=hidden, variable=True),
        net.tensor(state, np.int16, quant=(2.0**-13, 0), variable=True),
        *(-1, -1, -1, -1),
    ]
    options = schema.UnidirectionalSequenceLSTMOptionsT(fusedActivationFunction=4)
    kind = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    net.op(kind, operands, (1, 2, units), options=options, quant=hidden)
    values = np.zeros((1, 2, inputs), dtype)
    values[0, 0] = np.iinfo(dtype).max
    assert differences(net.build(), inputs=[{x: values}], engine="tflm") == []
