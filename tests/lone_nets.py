"""Random networks of one to three operators: each operator as often as any other, in each type alike.

Why beside `rare_nets`, which has most of them: its networks of many operators have some in a type, or in
a kernel of that type, once in thousands. Here are also those that none of the others draws: depthwise
convolutions of a single channel, factors of any size, batches of any type. Every number is drawn from
the seed.
"""

from __future__ import annotations

from random import Random
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np

from lowtide.zoo.spec import OpSpec
from seldom_nets import Seldom
from signal_models import Signals
from stateful import assign, handle, read, set_up

_FACTORS = ("int8", "uint8", "int16")
_ALL = (*_FACTORS, "int32", "int64", "float32", "bool")
_SAME, _VALID = 0, 1


_MOVES = (
    *("joined", "packed", "gathered", "padded", "sliced", "strided", "unpacked", "transposed"),
    *("updated", "reversed", "selected", "cast", "nearest", "viewed", "split", "compared"),
    *("minimum", "turned", "gathered_within", "looked_up", "gathered_by", "gathered_nd", "chosen"),
    *("argument", "tiled", "broadcast", "remembered", "gathered_at", "strided_twice"),
    "updated_by_nothing",
)
_SUMS = (
    *("convolved", "depthwise", "dense", "pooled", "reduced", "softmax", "activated"),
    *("requantised", "subtracted", "multiplied", "alone", "transposed_conv", "by_window"),
    *("bilinear", "requantised_any", "rounded", "of_batches"),
)
_TYPES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_MOVES, _ALL),
    **dict.fromkeys(_SUMS, _FACTORS),
    **dict.fromkeys(("recurrent", "product", "grouped", "dense_by_rows"), ("int8", "int16")),
    **dict.fromkeys(("filtered", "added", "summed", "normalised"), ("int8",)),
    **dict.fromkeys(("nibbles", "dense_nibbles", "alone_nibbles"), ("int8",)),
    **dict.fromkeys(("both", "negated", "every"), ("bool",)),
    "joined_anew": ("uint8",),
    "quantised": ("int32", "float32"),
}
"""Method -> the types that it is drawn in; what has no kernel, or no reference, is refused."""


def lone_network(seed: int) -> bytes:
    """The .tflite file of the network of that number."""
    rng = Random(seed)
    if rng.random() < 0.08:
        return _spectrum(rng)
    method, kinds = rng.choice([*_TYPES.items()])
    net = Lone(seed, rng.choice(kinds), rng.choice((1, 1, 2, 3, 4, 8, 16)))
    return net.of(method)


class Lone(Seldom):
    """A net of one type, and a method per operator; each takes a tensor and goes on."""

    def of(self, method: str) -> bytes:
        """The file of a network with an operator by this method, and maybe others."""
        able = [name for name, kinds in _TYPES.items() if self.kind in kinds]
        return self.having(method, *self.rng.choices(able, k=self.rng.choice((0, 0, 1, 2))))

    def having(self, *methods: str) -> bytes:
        """The file of a network with the operators of these methods."""
        self.first: dict[str, Any] = {}
        for name in methods:
            getattr(self, name)()
        data = self.net.build()
        return set_up(data, self.first) if self.first else data

    def remembered(self) -> None:
        """A variable, set first if it is of a type that TFLM has none of: LiteRT reads no other."""
        name = f"v{len(self.net.tensors)}"
        variable = handle(self.net, name)
        before = read(self.net, variable, self.shape)
        assign(self.net, variable, self.x)
        if self.kind not in ("int8", "int16"):
            self.first[name] = self.values.integers(0, 2, self.shape).astype(self.net.dtype)
        options = schema.ConcatenationOptionsT(axis=1)
        self.op("CONCATENATION", [before, self.x], (1, 8, 6, self.deep), options)

    # What none of the others has.

    def alone(self) -> None:
        """A depthwise convolution of a single channel, which is a convolution: maybe of input bytes."""
        rng, x = self.rng, self.x
        if self.deep > 1:
            begin, size = self.net.const([0, 0, 0, 0]), self.net.const([1, 4, 6, 1])
            x = self.op("SLICE", [x, begin, size], (1, 4, 6, 1), schema.SliceOptionsT())
        times, kernel = rng.choice((2, 3, 4, 8, 16)), rng.choice(((3, 3), (1, 3), (2, 2), (4, 4)))
        weights = self.weights((1, *kernel, times), 3)
        more = self.windows(dilationHFactor=1, dilationWFactor=1, depthMultiplier=times)
        options = schema.DepthwiseConv2DOptionsT(**more)
        self.op("DEPTHWISE_CONV_2D", [x, *weights], (1, 4, 6, times), options)

    def weights(self, shape: tuple[int, ...], axis: int = 0, least: int = -127) -> tuple[int, int]:
        """As ever; now and then of scales for which results are hardly, or much, more than one."""
        weights, sums = super().weights(shape, axis, least)
        if self.kind == "uint8" or self.rng.random() < 0.6:
            return weights, sums
        by = np.full(shape[axis], self.rng.choice((1 / 64, 16, 500)), np.float32)
        if self.rng.random() < 0.5:
            by[1:] = 1  # of a channel alone
        for tensor in (weights, sums):
            quant = self.net.tensors[tensor].quantization
            quant.scale = np.asarray(quant.scale, np.float32) * by
        return weights, sums

    def alone_nibbles(self) -> None:
        """The same of weights of four bits."""
        times = 4
        begin, size = self.net.const([0, 0, 0, 0]), self.net.const([1, 4, 6, 1])
        x = self.op("SLICE", [self.x, begin, size], (1, 4, 6, 1), schema.SliceOptionsT())
        values = self.values.integers(-8, 8, (1, 3, 3, times))
        scales = self.values.uniform(0.01, 0.05, times).astype(np.float32)
        weights = self.net.const(values, np.int8, quant=(scales, 0), axis=3)
        flat = values.reshape(-1) & 15
        packed = (flat[::2] | flat[1::2] << 4).astype(np.uint8)
        self.net.tensors[weights].type = schema.TensorType.INT4
        self.net.buffers[self.net.tensors[weights].buffer] = schema.BufferT(data=packed)
        bias = self.net.const(
            self.values.integers(-99, 99, times), quant=(scales * np.float32(0.05), 0)
        )
        more = self.windows(dilationHFactor=1, dilationWFactor=1, depthMultiplier=times)
        options = schema.DepthwiseConv2DOptionsT(**more)
        self.op("DEPTHWISE_CONV_2D", [x, weights, bias], (1, 4, 6, times), options)

    def of_batches(self) -> None:
        """Windows of two or three images."""
        own, self.shape = (self.x, self.shape), (self.rng.choice((2, 3)), 4, 6, self.deep)
        self.x = self.net.input(self.shape)
        names = ["convolved", "depthwise", "pooled", "by_window"]
        getattr(self, self.rng.choice(names))()
        self.x, self.shape = own

    def gathered_at(self) -> None:
        """GATHER of channels whose numbers are made at run time."""
        source = self.net.input(self.shape, np.int8, 0.05, 3)
        axis, options = self.net.const(3), schema.ArgMaxOptionsT(outputType=2)
        made = self.op("ARG_MAX", [source, axis], self.shape[:3], options, dtype=np.int32)
        told = schema.ReshapeOptionsT(newShape=[24])
        places = self.op("RESHAPE", [made, self.net.const([24])], (24,), told, dtype=np.int32)
        options = schema.GatherOptionsT(axis=3)
        self.op("GATHER", [self.x, places], (1, 4, 6, 24), options)

    def joined_anew(self) -> None:
        """CONCATENATION of channels that have another scale, which uint8 alone may have."""
        other = self.net.input(self.shape, np.uint8, 0.09, 77)
        options = schema.ConcatenationOptionsT(axis=3)
        self.op("CONCATENATION", [self.x, other], (1, 4, 6, 2 * self.deep), options)

    def strided_twice(self) -> None:
        """Every second column, and of it every second channel."""
        ends = [self.net.const(v) for v in ([0, 0, 0, 0], list(self.shape), [1, 1, 2, 2])]
        shape = (1, 4, 3, -(-self.deep // 2))
        self.op("STRIDED_SLICE", [self.x, *ends], shape, schema.StridedSliceOptionsT())

    def updated_by_nothing(self) -> None:
        """DYNAMIC_UPDATE_SLICE with a part that has no elements."""
        part, at = self.constant((1, 0, 6, self.deep)), self.net.const([0, 1, 0, 0])
        options = schema.DynamicUpdateSliceOptionsT()
        self.op("DYNAMIC_UPDATE_SLICE", [self.x, part, at], self.shape, options)

    def by_window(self) -> None:
        """A transposed convolution of a window that is larger, or smaller, than its steps."""
        rng = self.rng
        out, images = rng.choice((1, 3, 4, 5)), self.shape[0]
        high, wide = rng.choice(((3, 3), (1, 2), (2, 4), (4, 1)))
        weights = self.weights((out, high, wide, self.deep))
        if self.kind == "int16" and rng.random() < 0.5:  # for sums of more than 32 bits
            quant = self.net.tensors[weights[1]].quantization
            sums = self.net.const(self.values.integers(-(1 << 36), 1 << 36, out), np.int64)
            self.net.tensors[sums].quantization = quant
            weights = weights[0], sums
        stride = rng.choice((1, 2, 3))
        padding = rng.choice((_SAME, _VALID))
        made: tuple[int, ...] = (images, 4 * stride, 6 * stride, out)
        if padding == _VALID:
            lengths = [(n - 1) * stride + max(k, stride) for n, k in ((4, high), (6, wide))]
            made = (images, *lengths, out)
        options = schema.TransposeConvOptionsT(padding=padding, strideH=stride, strideW=stride)
        operands = [self.net.const(made), weights[0], self.x, weights[1]]
        self.op("TRANSPOSE_CONV", operands, made, options)

    def rounded(self) -> None:
        """A dense layer beside an operator that LiteRT alone has, which then says how it is rounded."""
        self.reversed()
        self.dense()

    def requantised_any(self) -> None:
        """QUANTIZE between any two scales."""
        to = self.rng.choice(("int8", "int16") if self.kind != "uint8" else ("int8", "uint8"))
        quant = (self.rng.choice((0.0007, 0.05, 0.9)), 0 if to == "int16" else 7)
        self.op("QUANTIZE", [self.x], self.shape, schema.QuantizeOptionsT(), dtype=to, quant=quant)

    def quantised(self) -> None:
        """From a type without a scale, or of 32 bits."""
        to = self.rng.choice(("int8", "int16") if self.kind == "int32" else _FACTORS)
        if self.kind == "int32":
            quant = schema.QuantizationParametersT(
                scale=np.array([0.001], np.float32), zeroPoint=np.array([0]), quantizedDimension=0
            )
            self.net.tensors[self.x].quantization = quant
        quant = (0.03, 0 if to == "int16" else 7)
        self.op("QUANTIZE", [self.x], self.shape, schema.QuantizeOptionsT(), dtype=to, quant=quant)


def _spectrum(rng: Random) -> bytes:
    """A transform of 32 bits, or energies of which a CAST, or a part, is taken."""
    net = Signals()
    if rng.random() < 0.4:
        net.rfft(net.input((1, rng.choice((16, 24))), "INT32"), 32, "INT32")
        return net.build()
    length = 16
    x = net.rfft(net.input((1, length)), length)
    flat = net.tensor((length + 2,), "INT16")
    net.view(x, net.const([length + 2], "INT32"), flat)
    (x,) = net.signal("Energy", [flat], ((9,), "UINT32"), start_index=0, end_index=9)
    if rng.random() < 0.5:
        to = rng.choice(("INT32", "FLOAT32", "UINT32", "INT8"))
        types = {name: getattr(schema.TensorType, name) for name in ("UINT32", to)}
        kinds = {"in_data_type": types["UINT32"], "out_data_type": types[to]}
        made = net.tensor((9,), to)
        net.ops.append(OpSpec("CAST", 1, (x,), (made,), "CastOptions", kinds))
    else:
        made = net.tensor((4,), "UINT32")
        parts = net.const([2], "INT32"), net.const([4], "INT32")
        net.ops.append(OpSpec("SLICE", 1, (x, *parts), (made,), "SliceOptions", {}))
    net.outputs.append(made)
    return net.build()
