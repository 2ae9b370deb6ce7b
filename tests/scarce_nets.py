"""Random networks of shapes, weights and types that choose kernels which hardly any other network has, a
kind after the other by seed.

Why: which kernel runs depends on the weights, too: on two of -128 side by side, on how many filters are
dead, on whether a window has more products than 16 bits count. And some kernels are for what can hardly
be trained: variables beside operators of bytes, floats that are only moved. Every number is drawn from
the seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
from numpy.typing import NDArray

from lone_nets import Lone
from lowtide.zoo.spec import OpSpec
from lowtide.zoo.writer import write
from odd_nets import requantised
from random_nets import RELU6, Maker
from schema_models import Net
from signal_models import Signals
from stateful import assign, handle, read

_SAME, _VALID = 0, 1
_RELU6 = 3
_LEAST = -128
_COUNTED = 1 << 16
"""Products that 16 bits do not count."""


def scarce_network(seed: int) -> bytes:
    """The .tflite file of the network of that number."""
    return _KINDS[seed % len(_KINDS)](Random(seed))


class _Layers:
    """A net of int8, and layers of it."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.net = Net(np.int8, 0.05, rng.choice((0, 3, -128, 127)))
        self.values = np.random.default_rng(rng.randrange(1 << 30))

    def ints(self, *shape: int) -> NDArray[Any]:
        """Weights of [outputs, rows, columns, depth]."""
        return self.values.integers(-127, 128, shape)

    def layer(
        self,
        x: int,
        weights: NDArray[Any],
        padding: int = _SAME,
        *,
        scales: NDArray[Any] | None = None,
        depthwise: bool = False,
    ) -> int:
        """CONV_2D; with [1, rows, columns, depth], `depthwise`; by default, results have about the scale
        of what is read."""
        net, rng = self.net, self.rng
        _, high, wide, _ = net.tensors[x].shape
        _, rows, columns, deep = weights.shape
        axis = 3 if depthwise else 0
        out = weights.shape[axis]
        products = rows * columns * (1 if depthwise else deep)
        if scales is None:
            drawn = self.values.uniform(0.5, 1.5, out)
            scales = np.asarray(drawn / (73 * math.sqrt(products)), np.float32)
        if padding == _VALID:
            high, wide = high - rows + 1, wide - columns + 1
        operands = [
            x,
            net.const(weights, np.int8, quant=(scales, 0), axis=axis),
            net.const(
                self.values.integers(-500, 500, out), quant=(scales * np.float32(net.quant[0]), 0)
            ),
        ]
        fields = {"padding": padding, "strideH": 1, "strideW": 1}
        fields |= {"dilationHFactor": 1, "dilationWFactor": 1}
        fields |= {"fusedActivationFunction": rng.choice((0, _RELU6))}
        kind, options = "CONV_2D", schema.Conv2DOptionsT
        if depthwise:
            kind, options = "DEPTHWISE_CONV_2D", schema.DepthwiseConv2DOptionsT
            fields |= {"depthMultiplier": 1}
        made = (1, high, wide, out)
        return net.op(kind, operands, made, options=options(**fields), output=False)

    def point(self, x: int, channels: int) -> int:
        """A convolution of one tap."""
        return self.layer(x, self.ints(channels, 1, 1, self.net.tensors[x].shape[3]))

    def remembers(self, x: int) -> int:
        """Its sum with what it was before."""
        net, shape = self.net, self.net.tensors[x].shape
        variable = handle(net, "before")
        before = read(net, variable, shape)
        net.outputs.remove(before)
        assign(net, variable, x)
        return net.op("ADD", [before, x], shape, options=schema.AddOptionsT(), output=False)

    def file(self, x: int) -> bytes:
        """The file of the network that makes `x`, or, now and then, its sum with what it was before."""
        made = self.remembers(x) if self.rng.random() < 0.3 else x
        self.net.outputs = [made]
        return self.net.build()


def _dead(rng: Random) -> bytes:
    """A layer most of whose filters are 0, while sums of the others are multiplied by 1/2 or more: a
    dense one, or a convolution of one tap."""
    made = _Layers(rng)
    net, depth, channels = made.net, rng.choice((3, 8, 20, 33)), rng.randint(4, 40)
    weights = np.zeros((channels, depth), np.int64)
    for channel in rng.sample(range(channels), max(1, channels // rng.choice((3, 4, 10, 20)))):
        weights[channel] = made.values.integers(-127, 128, depth)
    scales = np.array([rng.choice((0.5, 1, 100)) * rng.uniform(1, 4)], np.float32)
    if rng.random() < 0.3:
        x = net.input((1, rng.randint(1, 5), rng.randint(1, 5), depth))
        return made.file(made.layer(x, weights[:, None, None], scales=np.repeat(scales, channels)))
    rows = rng.choice((1, 1, 3))
    bias = net.const(
        made.values.integers(-500, 500, channels), quant=(scales * np.float32(net.quant[0]), 0)
    )
    operands = [net.input((rows, depth)), net.const(weights, np.int8, quant=(scales, 0)), bias]
    options = schema.FullyConnectedOptionsT(fusedActivationFunction=rng.choice((0, _RELU6)))
    x = net.op("FULLY_CONNECTED", operands, (rows, channels), options=options, output=False)
    return made.file(x)


def _least(rng: Random) -> bytes:
    """Convolutions with weights of -128 side by side, which no converter writes."""
    made = _Layers(rng)
    x = made.net.input((1, rng.randint(3, 7), rng.randint(1, 8), rng.choice((2, 3, 4, 8))))
    for _ in range(rng.randint(1, 2)):
        rows, columns = rng.choice(((1, 1), (3, 3), (2, 2), (1, 3)))
        deep = made.net.tensors[x].shape[3]
        weights = made.ints(rng.randint(1, 9), rows, columns, deep)
        flat = weights.reshape(len(weights), -1)
        for channel in rng.sample(range(len(flat)), rng.randint(1, len(flat))):
            if channel % 2 == 0 or rng.random() < 0.2:
                first = rng.randrange(flat.shape[1])
                flat[channel, first : first + rng.randint(2, 9)] = _LEAST
        x = made.layer(x, weights)
    return made.file(x)


def _long(rng: Random) -> bytes:
    """A convolution whose windows have more products than 16 bits count."""
    made = _Layers(rng)
    rows, columns = rng.choice(((3, 3), (4, 2), (5, 7), (2, 1), (8, 16)))
    deep = -(-_COUNTED // (rows * columns)) + rng.randint(0, 40)
    x = made.net.input((1, rows + rng.choice((0, 0, 1)), columns + rng.choice((0, 0, 1)), deep))
    weights = made.ints(rng.choice((1, 1, 2, 3)), rows, columns, deep)
    weights[1::2, :, :, rng.randint(1, 40) :] = 0  # the others of a pair are small
    return made.file(made.layer(x, weights, _VALID))


def _column(rng: Random) -> bytes:
    """Inverted residuals over time alone: of one column, and many channels, mostly no fours of them."""
    made = _Layers(rng)
    x = made.net.input((1, rng.randint(5, 14), 1, rng.choice((3, 5, 6, 8))))
    for _ in range(rng.randint(1, 2)):
        x = made.point(x, rng.choice((65, 66, 70, 72, 90)))
        window = made.ints(1, rng.choice((3, 5)), 1, made.net.tensors[x].shape[3])
        x = made.layer(x, window, rng.choice((_SAME, _SAME, _VALID)), depthwise=True)
        x = made.point(x, rng.choice((3, 5, 6, 8)))
    return made.file(x)


def _tall(rng: Random) -> bytes:
    """A depthwise convolution of large windows, or of one column, maybe between others of one tap."""
    made = _Layers(rng)
    rows, columns = rng.choice(((8, 9), (7, 10), (5, 14), (8, 16), (3, 1), (5, 1)))
    wide = columns + rng.randint(0, 9) if columns > 1 else rng.randint(1, 3)
    x = made.net.input((1, rows + rng.randint(0, 5), wide, rng.randint(1, 4)))
    if rng.random() < 0.7:
        x = made.point(x, rng.choice((1, 2, 3, 4, 8)))
    window = made.ints(1, rows, columns, made.net.tensors[x].shape[3])
    x = made.layer(x, window, rng.choice((_SAME, _VALID)), depthwise=True)
    if rng.random() < 0.7:
        x = made.point(x, rng.randint(1, 9))
    return made.file(x)


def _broad(rng: Random) -> bytes:
    """Depthwise convolutions of windows that are broader than most, over wide rows."""
    made = _Layers(rng)
    deep = rng.choice((4, 6, 8, 16, 33, 48))
    x = made.net.input((1, rng.randint(2, 6), rng.randint(12, 40), deep))
    for _ in range(rng.randint(1, 3)):
        window = made.ints(1, rng.choice((1, 1, 2, 3, 5)), rng.choice((4, 5, 7)), deep)
        x = made.layer(x, window, depthwise=True)
    return made.file(x)


def _summed(rng: Random) -> bytes:
    """A window that slides, all of whose rows are summed: inverted residuals, or wide maps, before that,
    and maybe what is summed, channels first."""
    made = _Layers(rng)
    net = made.net
    is_wide = rng.random() < 0.4
    x = net.input((1, rng.randint(10, 20), rng.randint(40, 90) if is_wide else 8, 2))
    for _ in range(rng.randint(1, 2)):
        if is_wide:
            x = made.layer(x, made.ints(12, 3, 3, net.tensors[x].shape[3]), _VALID)
            continue
        x = made.point(x, rng.choice((16, 24, 30)))
        x = made.layer(x, made.ints(1, 3, 3, net.tensors[x].shape[3]), _VALID, depthwise=True)
        x = made.point(x, rng.choice((4, 8)))
    x = made.layer(x, made.ints(4, rng.choice((1, 3)), 1, net.tensors[x].shape[3]), _VALID)
    shape = net.tensors[x].shape
    options = schema.ReducerOptionsT(keepDims=True)
    axes = net.const([1, 2])
    sums = net.op("MEAN", [x, axes], (1, 1, 1, shape[3]), options=options, output=False)
    net.outputs = [sums]
    if rng.random() < 0.6:
        order, turned = (0, 3, 1, 2), schema.TransposeOptionsT()
        first = [shape[axis] for axis in order]
        net.outputs.insert(0, net.op("TRANSPOSE", [x, net.const(order)], first, options=turned))
        net.outputs = [net.outputs[0], sums]
    return net.build()


def _wide(rng: Random) -> bytes:
    """Convolutions of int16 of wide rows, which are worth to be made in strips."""
    net = Maker(f"wide-{rng.random()}")
    x = net.input((1, rng.randint(6, 10), rng.randint(40, 90), 2))
    for number, (channels, kernel) in enumerate(((12, 3), (12, 3), (3, rng.choice((1, 3))))):
        x = net.conv(x, f"conv_{number}", channels, kernel, 1, RELU6, same=rng.random() < 0.5)
    x = net.mean(x, "mean")
    return write(requantised(net.described(x), "INT16", rng))


def _moved(rng: Random) -> bytes:
    """A window of any type that slides, and is only moved."""
    net = Net(rng.choice((np.float32, np.float32, np.int64, np.int64, np.int32, np.bool_)))
    x = net.input((1, rng.randint(5, 9), rng.randint(3, 6), rng.randint(1, 3)))
    for _ in range(rng.randint(1, 3)):
        shape = [int(n) for n in net.tensors[x].shape]
        match rng.randrange(3 if shape[2] > 1 else 2):
            case 0:
                sides = [[0, 0], [0, 0], [rng.randint(0, 2), 1], [0, 0]]
                shape[2] += sum(sides[2])
                x = net.op("PAD", [x, net.const(sides)], shape, options=schema.PadOptionsT())
            case 1:
                axis = rng.choice((2, 3))
                shape[axis] *= 2
                options = schema.ConcatenationOptionsT(axis=axis)
                x = net.op("CONCATENATION", [x, x], shape, options=options)
            case _:
                begin, shape[2] = [0, 0, 1, 0], shape[2] - 1
                parts = [net.const(begin), net.const(shape)]
                x = net.op("SLICE", [x, *parts], shape, options=schema.SliceOptionsT())
    net.outputs = [x]
    return net.build()


def _handed(rng: Random) -> bytes:
    """Integers without a sign that are cast to others, or to what they are, and handed over."""
    net = Signals()
    shape = (rng.randint(1, 9),)
    x = net.input(shape, "UINT32")
    for to in rng.sample(("UINT32", "INT32", "FLOAT32"), rng.randint(1, 3)):
        made = net.tensor(shape, to)
        kinds = {"in_data_type": schema.TensorType.UINT32}
        kinds |= {"out_data_type": getattr(schema.TensorType, to)}
        net.ops.append(OpSpec("CAST", 1, (x,), (made,), "CastOptions", kinds))
        net.outputs.append(made)
    return net.build()


class _Kept(Lone):
    """A variable that is set first, as LiteRT alone has some of the operators beside it."""

    def remembered(self) -> None:
        name = f"v{len(self.net.tensors)}"
        super().remembered()
        first = self.values.integers(0, 2, self.shape).astype(self.net.dtype)
        self.first.setdefault(name, first)


_BESIDE = {
    "uint8": (
        "convolved",
        "depthwise",
        "dense",
        "bilinear",
        "pooled",
        "requantised",
        "joined_anew",
    ),
    "int8": ("rounded", "convolved", "dense", "bilinear", "dense_by_rows"),
    "int16": ("rounded", "convolved", "dense", "pooled"),
}


def _kept(rng: Random) -> bytes:
    """A variable beside operators with factors."""
    kind = rng.choice(("uint8", "uint8", "int8", "int16"))
    net = _Kept(rng.randrange(1 << 30), kind, rng.choice((1, 2, 3, 4, 8, 16)))
    return net.having("remembered", *rng.choices(_BESIDE[kind], k=rng.randint(1, 2)))


_KINDS: tuple[Callable[[Random], bytes], ...] = (
    *(_dead, _least, _long, _column, _tall, _summed),
    *(_wide, _moved, _handed, _kept, _broad),
)
