"""Random networks of a few operators that others seldom draw, in any type that their kernels have.

Which operators a type has is no list here: what has no kernel, or no reference, is refused, and drawn
again. Every number is drawn from the seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np

from recurrent import lstm, svdf
from schema_models import Net
from stateful import assign, handle, read

_TYPES = ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")
_FACTORS = ("int8", "int16", "uint8")
_ROWS, _COLUMNS = 4, 6
_SAME = 0


def rare_network(seed: int) -> bytes:
    """The .tflite file of the network of that number."""
    return Drawn(seed).network()


class Drawn:
    """A net of one type, and a method per operator; each takes a tensor and goes on."""

    def __init__(self, seed: int, kind: str | None = None, deep: int | None = None) -> None:
        """Of that type, and of so many channels, if they are given."""
        self.rng = Random(seed)
        self.values = np.random.default_rng(seed)
        self.factors = self.rng.random() < 0.6
        drawn = self.rng.choice(_FACTORS if self.factors else _TYPES)
        self.kind = drawn if kind is None else kind
        dtype = np.dtype(self.kind)
        self.net = Net(dtype, 0.05 if dtype.itemsize == 1 else 0.002, 3, every=True)
        channels = self.rng.choice((1, 2, 3, 4, 8, 16))
        self.deep = channels if deep is None else deep
        self.shape = (1, _ROWS, _COLUMNS, self.deep)
        self.x = self.net.input(self.shape)

    def network(self) -> bytes:
        moves = [
            *(self.joined, self.packed, self.gathered, self.padded, self.sliced, self.strided),
            *(self.unpacked, self.transposed, self.updated, self.reversed),
            *(self.selected, self.cast, self.nearest, self.viewed),
        ]
        sums = [
            *(self.convolved, self.depthwise, self.dense, self.pooled, self.reduced, self.softmax),
            *(self.activated, self.requantised, self.subtracted),
        ]
        more = {
            "int8": [
                *(self.recurrent, self.filtered, self.added, self.summed, self.normalised),
                *(self.transposed_conv, self.product, self.bilinear, self.nibbles, self.argument),
            ],
            "int16": [self.recurrent, self.transposed_conv, self.product],
            "uint8": [self.bilinear, self.argument],
            "bool": [self.both, self.negated, self.every],
        }
        # TFLM has no TILE; LiteRT has another BROADCAST_TO, and variables only if they are set first.
        if self.kind in ("int8", "int16"):
            moves += [self.broadcast, self.remembered]
        else:
            moves.append(self.rng.choice((self.tiled, self.remembered)))
        if self.kind != "int16":
            moves.append(self.compared)
        if self.kind != "bool":
            moves.append(self.split)
        if self.kind not in ("bool", "float32"):
            moves.append(self.minimum)
        others = more.get(self.kind, [])
        for _ in range(self.rng.choice((1, 3, 6, 10, 14))):
            kinds: list[Callable[[], object]] = [*moves, *others]
            if self.factors and self.rng.random() < 0.7:
                kinds = [*sums, *others]
            self.rng.choice(kinds)()
        return self.net.build()

    def op(self, kind: str, inputs: list[int], shape: Any, options: Any = None, **more: Any) -> int:
        return self.net.op(kind, inputs, tuple(shape), options=options, **more)

    def goes_on(self, made: int) -> None:
        """The next operator reads it."""
        self.x = made

    def constant(self, shape: Any) -> int:
        dtype = self.net.dtype
        if dtype.kind == "f":
            return self.net.const(self.values.uniform(-1, 1, shape), dtype)
        if dtype.kind == "b":
            return self.net.const(self.values.integers(0, 2, shape), dtype)
        quant = None if dtype.itemsize > 2 else self.net.quant
        return self.net.const(self.values.integers(0, 100, shape), dtype, quant=quant)

    # Operators that only move bytes, of any type.

    def joined(self) -> None:
        axis = self.rng.choice((1, 2, 3))
        shape = [n * (2 if at == axis else 1) for at, n in enumerate(self.shape)]
        other = self.x if self.rng.random() < 0.3 else self.constant(self.shape)
        self.op("CONCATENATION", [self.x, other], shape, schema.ConcatenationOptionsT(axis=axis))

    def packed(self) -> None:
        options = schema.PackOptionsT(valuesCount=2, axis=1)
        self.op("PACK", [self.x, self.x], (1, 2, *self.shape[1:]), options)

    def gathered(self) -> None:
        places = self.net.const([2, 0, 3])
        self.op("GATHER", [self.x, places], (1, 3, 6, self.deep), schema.GatherOptionsT(axis=1))

    def padded(self) -> None:
        sides = self.net.const([[0, 0], [1, 0], [0, 2], [0, 0]])
        if self.rng.random() < 0.5:
            self.op("PAD", [self.x, sides], (1, 5, 8, self.deep), schema.PadOptionsT())
        else:
            value = self.constant(())
            self.op("PADV2", [self.x, sides, value], (1, 5, 8, self.deep), schema.PadV2OptionsT())

    def sliced(self) -> None:
        begin, size = self.net.const([0, 1, 0, 0]), self.net.const([1, 2, 5, 1])
        self.op("SLICE", [self.x, begin, size], (1, 2, 5, 1), schema.SliceOptionsT())

    def strided(self) -> None:
        ends = [self.net.const(v) for v in ([0, 0, 1, 0], list(self.shape), [1, 2, 2, 1])]
        self.op(
            "STRIDED_SLICE", [self.x, *ends], (1, 2, 3, self.deep), schema.StridedSliceOptionsT()
        )

    def split(self) -> None:
        parts = [(1, 2, 6, self.deep)] * 2
        options = schema.SplitOptionsT(numSplits=2)
        self.net.op("SPLIT", [self.net.const(1), self.x], *parts, options=options)

    def unpacked(self) -> None:
        options = schema.UnpackOptionsT(num=4, axis=1)
        self.net.op("UNPACK", [self.x], *[(1, 6, self.deep)] * 4, options=options)

    def transposed(self) -> None:
        order = self.rng.choice(([0, 2, 1, 3], [0, 3, 1, 2], [0, 2, 3, 1]))
        shape = [self.shape[axis] for axis in order]
        self.op("TRANSPOSE", [self.x, self.net.const(order)], shape, schema.TransposeOptionsT())

    def updated(self) -> None:
        part, at = self.constant((1, 2, 6, self.deep)), self.net.const([0, 1, 0, 0])
        options = schema.DynamicUpdateSliceOptionsT()
        self.goes_on(self.op("DYNAMIC_UPDATE_SLICE", [self.x, part, at], self.shape, options))

    def reversed(self) -> None:
        axis = self.net.const([self.rng.randint(1, 3)])
        self.goes_on(self.op("REVERSE_V2", [self.x, axis], self.shape, schema.ReverseV2OptionsT()))

    def tiled(self) -> None:
        times = self.net.const([1, 2, 1, 1])
        self.op("TILE", [self.x, times], (1, 8, 6, self.deep), schema.TileOptionsT())

    def broadcast(self) -> None:
        made = self.op(
            *(
                "SLICE",
                [self.x, self.net.const([0, 0, 0, 0]), self.net.const([1, 4, 1, self.deep])],
            ),
            *((1, 4, 1, self.deep), schema.SliceOptionsT()),
        )
        options = schema.BroadcastToOptionsT()
        self.op("BROADCAST_TO", [made, self.net.const(self.shape)], self.shape, options)

    def selected(self) -> None:
        condition = self.net.input(self.shape, np.bool_)
        sources = [condition, self.x, self.constant(self.shape)]
        self.goes_on(self.op("SELECT_V2", sources, self.shape, schema.SelectV2OptionsT()))

    def compared(self) -> None:
        kind = self.rng.choice(("EQUAL", "NOT_EQUAL"))
        options = getattr(schema, f"{kind.title().replace('_', '')}OptionsT")()
        self.op(kind, [self.x, self.constant(self.shape)], self.shape, options, dtype=np.bool_)

    def cast(self) -> None:
        to = self.rng.choice(("int8", "int16", "int32", "float32"))
        options = schema.CastOptionsT(
            inDataType=self.net.tensors[self.x].type,
            outDataType=getattr(schema.TensorType, to.upper()),
        )
        self.op("CAST", [self.x], self.shape, options, dtype=to, scale=None)

    def remembered(self) -> None:
        variable = handle(self.net, f"v{len(self.net.tensors)}")
        before = read(self.net, variable, self.shape)
        assign(self.net, variable, self.x)
        options = schema.ConcatenationOptionsT(axis=1)
        self.op("CONCATENATION", [before, self.x], (1, 8, 6, self.deep), options)

    def nearest(self) -> None:
        options = schema.ResizeNearestNeighborOptionsT()
        size = self.net.const([7, 9])
        self.op("RESIZE_NEAREST_NEIGHBOR", [self.x, size], (1, 7, 9, self.deep), options)

    def viewed(self) -> None:
        options = schema.ExpandDimsOptionsT()
        self.op("EXPAND_DIMS", [self.x, self.net.const(1)], (1, 1, *self.shape[1:]), options)

    def minimum(self) -> None:
        kind = self.rng.choice(("MINIMUM", "MAXIMUM"))
        options = schema.MaximumMinimumOptionsT()
        self.goes_on(self.op(kind, [self.x, self.constant(self.shape)], self.shape, options))

    # Booleans.

    def both(self) -> None:
        kind = self.rng.choice(("LOGICAL_AND", "LOGICAL_OR"))
        options = getattr(schema, f"{kind.title().replace('_', '')}OptionsT")()
        self.goes_on(self.op(kind, [self.x, self.constant(self.shape)], self.shape, options))

    def negated(self) -> None:
        self.goes_on(self.op("LOGICAL_NOT", [self.x], self.shape, schema.LogicalNotOptionsT()))

    def every(self) -> None:
        kind = self.rng.choice(("REDUCE_ALL", "REDUCE_ANY"))
        options = schema.ReducerOptionsT(keepDims=True)
        self.op(kind, [self.x, self.net.const([1, 2])], (1, 1, 1, self.deep), options)

    # Operators with factors.

    def weights(self, shape: tuple[int, ...], axis: int = 0, least: int = -127) -> tuple[int, int]:
        """Constant weights, and a bias that goes with them."""
        scales = self.values.uniform(0.002, 0.006, shape[axis]).astype(np.float32)
        unsigned = self.kind == "uint8"
        if unsigned:
            scales = scales[:1]
        kind = np.uint8 if unsigned else np.int8
        quant = (scales, 120 if unsigned else 0)
        values = self.values.integers(1 if unsigned else least, 256 if unsigned else 128, shape)
        wide = np.int64 if self.kind == "int16" else np.int32
        bias = self.values.integers(-400, 400, shape[axis])
        factors = scales * np.float32(self.net.quant[0])
        return (
            self.net.const(values, kind, quant=quant, axis=axis),
            self.net.const(bias, wide, quant=(factors, 0)),
        )

    def windows(self, **more: Any) -> dict[str, Any]:
        return {"padding": _SAME, "strideH": 1, "strideW": 1, **more}

    def convolved(self) -> None:
        kernel = self.rng.choice(((1, 1), (3, 3), (2, 3)))
        weights = self.weights((self.rng.choice((1, 2, 4, 5, 8, 16)), *kernel, self.deep))
        made = (*self.shape[:3], self.net.tensors[weights[0]].shape[0])
        options = schema.Conv2DOptionsT(**self.windows(dilationHFactor=1, dilationWFactor=1))
        self.op("CONV_2D", [self.x, *weights], made, options)

    def depthwise(self) -> None:
        kernel = self.rng.choice(((3, 3), (3, 3), (2, 3)))
        weights = self.weights((1, *kernel, self.deep), 3)
        more = self.windows(dilationHFactor=1, dilationWFactor=1, depthMultiplier=1)
        options = schema.DepthwiseConv2DOptionsT(**more)
        self.goes_on(self.op("DEPTHWISE_CONV_2D", [self.x, *weights], self.shape, options))

    def dense(self) -> None:
        flat = self.flat()
        weights = self.weights((5, math.prod(self.shape)))
        self.op("FULLY_CONNECTED", [flat, *weights], (1, 5), schema.FullyConnectedOptionsT())

    def flat(self) -> int:
        shape = [1, math.prod(self.shape)]
        options = schema.ReshapeOptionsT(newShape=shape)
        return self.op("RESHAPE", [self.x, self.net.const(shape)], shape, options)

    def pooled(self) -> None:
        kind = self.rng.choice(("AVERAGE_POOL_2D", "MAX_POOL_2D"))
        options = schema.Pool2DOptionsT(**self.windows(filterWidth=3, filterHeight=2))
        self.goes_on(self.op(kind, [self.x], self.shape, options))

    def reduced(self) -> None:
        """LiteRT's reference adds int8 wrongly if the sum has the same scale, and int16 always."""
        net, wide = self.net, self.kind == "int16"
        kinds = ("MEAN", "MEAN") if wide else ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN")
        kind = self.rng.choice(kinds)
        axes, shape = self.rng.choice((([1, 2], (1, 1, 1, self.deep)), ([3], (1, 4, 6, 1))))
        quant = (2 * net.quant[0], net.quant[1]) if kind == "SUM" else net.quant
        options = schema.ReducerOptionsT(keepDims=True)
        self.op(kind, [self.x, net.const(axes)], shape, options, quant=quant)

    def softmax(self) -> None:
        scale = {"int8": (1 / 256, -128), "uint8": (1 / 256, 0)}.get(self.kind, (1 / 32768, 0))
        self.op("SOFTMAX", [self.x], self.shape, schema.SoftmaxOptionsT(beta=1.0), quant=scale)

    def transposed_conv(self) -> None:
        weights = self.weights((3, 2, 2, self.deep))
        stride = self.rng.choice((1, 2))
        made = (1, 4 * stride, 6 * stride, 3)
        options = schema.TransposeConvOptionsT(padding=_SAME, strideH=stride, strideW=stride)
        operands = [self.net.const(made), weights[0], self.x, weights[1]]
        self.op("TRANSPOSE_CONV", operands, made, options)

    def product(self) -> None:
        other = self.net.input(self.shape)
        options = schema.BatchMatMulOptionsT(adjX=False, adjY=True)
        self.op("BATCH_MATMUL", [self.x, other], (1, 4, 6, 6), options)

    def activated(self) -> None:
        kind = self.rng.choice(("RELU", "RELU6", "LOGISTIC", "TANH", "HARD_SWISH", "ABS", "ELU"))
        options = {"HARD_SWISH": "HardSwishOptionsT", "ABS": "AbsOptionsT"}.get(kind)
        more = {"LOGISTIC": {"int8": (1 / 256, -128)}.get(self.kind, (1 / 32768, 0))}
        more["TANH"] = {"int8": (1 / 128, 0)}.get(self.kind, (1 / 32768, 0))
        made = None if options is None else getattr(schema, options)()
        self.op(kind, [self.x], self.shape, made, quant=more.get(kind, self.net.quant))

    def requantised(self) -> None:
        to = self.rng.choice(
            ("int8", "int16") if self.kind == "int16" else ("int8", "uint8", "int16")
        )
        quant = (0.03, 0 if to == "int16" else 7)
        self.op("QUANTIZE", [self.x], self.shape, schema.QuantizeOptionsT(), dtype=to, quant=quant)

    def argument(self) -> None:
        kind = self.rng.choice(("ARG_MAX", "ARG_MIN"))
        options = getattr(schema, f"{kind.title().replace('_', '')}OptionsT")(
            outputType=schema.TensorType.INT32
        )
        self.op(kind, [self.x, self.net.const(3)], self.shape[:3], options, dtype=np.int32)

    def recurrent(self) -> None:
        shape = [1, 6, 4 * self.deep]
        options = schema.ReshapeOptionsT(newShape=shape)
        flat = self.op("RESHAPE", [self.x, self.net.const(shape)], shape, options)
        hidden = (1 / 32768, 0) if self.kind == "int16" else (1 / 128, 5)
        lstm(self.net, flat, self.rng.randint(1, 6), hidden=hidden)

    def filtered(self) -> None:
        kind = self.rng.choice((np.int8, np.int16))
        svdf(self.net, self.flat(), 4, self.rng.randint(1, 2), 3, kind)

    def added(self) -> None:
        given = [self.x, self.constant(self.shape), self.x]
        self.goes_on(self.op("ADD_N", given, self.shape, schema.AddNOptionsT()))

    def subtracted(self) -> None:
        kind = self.rng.choice(("ADD", "SUB", "MUL"))
        options = getattr(schema, f"{kind.title()}OptionsT")()
        self.goes_on(self.op(kind, [self.x, self.constant(self.shape)], self.shape, options))

    def summed(self) -> None:
        options = schema.CumsumOptionsT(exclusive=self.rng.random() < 0.5)
        self.op("CUMSUM", [self.x, self.net.const(self.rng.randint(1, 3))], self.shape, options)

    def normalised(self) -> None:
        kind, table, quant = self.rng.choice(
            (
                ("LOG_SOFTMAX", schema.LogSoftmaxOptionsT(), (16 / 256, 127)),
                ("L2_NORMALIZATION", schema.L2NormOptionsT(), (1 / 128, 0)),
            )
        )
        self.op(kind, [self.x], self.shape, table, quant=quant)

    def bilinear(self) -> None:
        options = schema.ResizeBilinearOptionsT()
        self.op("RESIZE_BILINEAR", [self.x, self.net.const([7, 9])], (1, 7, 9, self.deep), options)

    def nibbles(self) -> None:
        """A convolution with weights of four bits."""
        values = self.values.integers(-8, 8, (4, 1, 1, self.deep))
        scales = self.values.uniform(0.01, 0.05, 4).astype(np.float32)
        weights = self.net.const(values, np.int8, quant=(scales, 0))
        flat = values.reshape(-1) & 15
        flat = np.resize(flat, -(-flat.size // 2) * 2)
        packed = (flat[::2] | flat[1::2] << 4).astype(np.uint8)
        self.net.tensors[weights].type = schema.TensorType.INT4
        self.net.buffers[self.net.tensors[weights].buffer] = schema.BufferT(data=packed)
        bias = self.net.const(self.values.integers(-99, 99, 4), quant=(scales * 0.05, 0))
        options = schema.Conv2DOptionsT(**self.windows(dilationHFactor=1, dilationWFactor=1))
        self.op("CONV_2D", [self.x, weights, bias], (*self.shape[:3], 4), options)
