"""Random networks of operators whose shapes, weights or operands few networks have, in few types.

Why: some kernels run for these alone: groups of int16, several channels made of each, indices that are
made at run time. Every number is drawn from the seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import ai_edge_litert.schema_py_generated as schema
import numpy as np

from rare_nets import Drawn


def seldom_network(seed: int) -> bytes:
    """The .tflite file of the network of that number."""
    return Seldom(seed).network()


class Seldom(Drawn):
    """A net of one type, and a method per operator."""

    def network(self) -> bytes:
        kinds: list[Callable[[], object]] = [self.turned, self.gathered_within]
        if self.kind in ("int8", "int16"):
            kinds += [self.multiplied, self.grouped, self.dense_by_rows, self.pooled, self.chosen]
        if self.kind == "int8":
            kinds += [self.looked_up, self.gathered_by, self.gathered_nd, self.normalised]
            kinds += [self.nibbles, self.dense_nibbles, self.summed, self.multiplied]
        if self.kind == "int16":
            kinds += [self.grouped, self.difference]
        if self.kind in ("int8", "int32"):
            kinds += [self.compared, self.chosen]
        for _ in range(self.rng.choice((2, 4, 8))):
            self.rng.choice(kinds)()
        return self.net.build()

    def turned(self) -> None:
        """TRANSPOSE of innermost axes, the dimensions odd."""
        order = self.rng.choice(([0, 1, 3, 2], [0, 3, 2, 1], [3, 1, 2, 0], [2, 3, 1, 0]))
        shape = [self.shape[axis] for axis in order]
        self.op("TRANSPOSE", [self.x, self.net.const(order)], shape, schema.TransposeOptionsT())

    def gathered_within(self) -> None:
        """GATHER of columns or channels."""
        axis = self.rng.choice((2, 3))
        places = [self.rng.randrange(self.shape[axis]) for _ in range(3)]
        shape = [3 if at == axis else n for at, n in enumerate(self.shape)]
        options = schema.GatherOptionsT(axis=axis)
        self.op("GATHER", [self.x, self.net.const(places)], shape, options)

    def multiplied(self) -> None:
        """A depthwise convolution that makes several channels of each, perhaps of one alone."""
        x, deep = self.x, self.deep
        if self.rng.random() < 0.5:
            begin, size = self.net.const([0, 0, 0, 0]), self.net.const([1, 4, 6, 1])
            x, deep = self.op("SLICE", [x, begin, size], (1, 4, 6, 1), schema.SliceOptionsT()), 1
        times = self.rng.choice((2, 4, 8))
        weights = self.weights((1, *self.rng.choice(((1, 1), (3, 3))), times * deep), 3)
        more = self.windows(dilationHFactor=1, dilationWFactor=1, depthMultiplier=times)
        options = schema.DepthwiseConv2DOptionsT(**more)
        self.op("DEPTHWISE_CONV_2D", [x, *weights], (1, 4, 6, times * deep), options)

    def grouped(self) -> None:
        groups = 2 if self.deep % 2 == 0 else 1
        weights = self.weights((4, 3, 3, self.deep // groups))
        options = schema.Conv2DOptionsT(**self.windows(dilationHFactor=1, dilationWFactor=1))
        self.op("CONV_2D", [self.x, *weights], (1, 4, 6, 4), options)

    def dense_by_rows(self) -> None:
        """FULLY_CONNECTED of the innermost axis."""
        weights = self.weights((self.rng.choice((1, 4, 9)), self.deep))
        made = (*self.shape[:3], self.net.tensors[weights[0]].shape[0])
        options = schema.FullyConnectedOptionsT(keepNumDims=True)
        self.op("FULLY_CONNECTED", [self.x, *weights], made, options)

    def dense_nibbles(self) -> None:
        """The same of all elements, with weights of four bits."""
        size = math.prod(self.shape)
        values = self.values.integers(-8, 8, (4, size))
        weights = self.net.const(values, np.int8, quant=(0.01, 0))
        flat = values.reshape(-1) & 15
        packed = (flat[::2] | flat[1::2] << 4).astype(np.uint8)
        self.net.tensors[weights].type = schema.TensorType.INT4
        self.net.buffers[self.net.tensors[weights].buffer] = schema.BufferT(data=packed)
        bias = self.net.const(self.values.integers(-99, 99, 4), quant=(0.01 * 0.05, 0))
        options = schema.FullyConnectedOptionsT()
        self.op("FULLY_CONNECTED", [self.flat(), weights, bias], (1, 4), options)

    def indices(self, *shape: int) -> int:
        """Numbers below `deep` that are made at run time, 24 of them."""
        options = schema.ArgMaxOptionsT(outputType=schema.TensorType.INT32)
        made = self.op(
            *("ARG_MAX", [self.x, self.net.const(3)], self.shape[:3], options), dtype=np.int32
        )
        told = schema.ReshapeOptionsT(newShape=list(shape))
        return self.op("RESHAPE", [made, self.net.const(shape)], shape, told, dtype=np.int32)

    def looked_up(self) -> None:
        operands = [self.indices(24), self.constant((self.deep, 5))]
        self.op("EMBEDDING_LOOKUP", operands, (24, 5))

    def gathered_by(self) -> None:
        table = self.constant((self.deep, 5))
        options = schema.GatherOptionsT(axis=0)
        self.op("GATHER", [table, self.indices(24)], (24, 5), options)

    def gathered_nd(self) -> None:
        operands = [self.constant((self.deep, 5)), self.indices(24, 1)]
        self.op("GATHER_ND", operands, (24, 5), schema.GatherNdOptionsT())

    def chosen(self) -> None:
        """What is greater, by a condition that is made."""
        other = self.constant(self.shape)
        options = schema.GreaterOptionsT()
        if self.kind == "int16":
            return self.minimum()
        condition = self.op("GREATER", [self.x, other], self.shape, options, dtype=np.bool_)
        told = schema.SelectV2OptionsT()
        self.goes_on(self.op("SELECT_V2", [condition, self.x, other], self.shape, told))
        return None

    def difference(self) -> None:
        options = schema.SquaredDifferenceOptionsT()
        self.op("SQUARED_DIFFERENCE", [self.x, self.constant(self.shape)], self.shape, options)
