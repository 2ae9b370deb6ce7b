"""Networks of shapes alone: what an architecture search has at hand, before any weight is trained.

    net = Shapes()
    x = net.conv(net.input((96, 96, 3)), 16, kernel=3, stride=2)
    x = net.add(x, net.conv(net.depthwise(x), 16))
    graph = net.graph(net.dense(net.mean(x), 10))

Everything is int8. Weights are there, as operators need them, but they are zeros.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from lowtide.errors import UsageError
from lowtide.ir import DType, Graph, Op, Quant, Tensor
from lowtide.ir.graph import Option
from lowtide.ir.soundness import verify
from lowtide.ir.windows import normalise_windows

Activation = Literal["none", "relu", "relu6"]
Padding = Literal["same", "valid"]
Size = int | tuple[int, int]
"""Of height and width, or of both alike."""

_CODES = {"none": 0, "relu": 1, "relu6": 3}
_PADDINGS = {"same": 0, "valid": 1}
_VALUES = Quant((0.0625,), (0,), 0)
_PROBABILITIES = Quant((1 / 256,), (-128,), 0)


class Shapes:
    """Builds a network operator by operator, from shapes alone. Tensors are numbers.

    A method takes the tensors that an operator reads, and returns the tensor that it makes. Shapes
    are without the batch: [height, width, channels] for a map, [values] for a vector. Methods raise
    UsageError for shapes that do not fit together.
    """

    def __init__(self, name: str = "shapes") -> None:
        self._name = name
        self._tensors: list[Tensor] = []
        self._ops: list[Op] = []
        self._inputs: list[int] = []

    def input(self, shape: Sequence[int]) -> int:
        """A network input."""
        made = self._tensor((1, *shape))
        self._inputs.append(made)
        return made

    def shape(self, x: int) -> tuple[int, ...]:
        """The shape of a tensor, without the batch."""
        return self._tensors[x].shape[1:]

    def conv(
        self,
        x: int,
        channels: int,
        kernel: Size = 1,
        stride: Size = 1,
        *,
        padding: Padding = "same",
        activation: Activation = "relu6",
    ) -> int:
        """A convolution of a map, with bias."""
        taps = _both(kernel)
        weights = self._constant((channels, *taps, self._map(x)[2]), DType.INT8)
        bias = self._constant((channels,), DType.INT32)
        made = self._windowed(x, taps, stride, padding, channels)
        options = _window(stride, padding, activation)
        return self._add("CONV_2D", (x, weights, bias), made, options)

    def depthwise(
        self,
        x: int,
        kernel: Size = 3,
        stride: Size = 1,
        *,
        padding: Padding = "same",
        activation: Activation = "relu6",
    ) -> int:
        """A depthwise convolution of a map, with bias."""
        taps, channels = _both(kernel), self._map(x)[2]
        weights = self._constant((1, *taps, channels), DType.INT8)
        bias = self._constant((channels,), DType.INT32)
        made = self._windowed(x, taps, stride, padding, channels)
        options = {**_window(stride, padding, activation), "depth_multiplier": 1}
        return self._add("DEPTHWISE_CONV_2D", (x, weights, bias), made, options)

    def max_pool(
        self, x: int, kernel: Size = 2, stride: Size = 2, *, padding: Padding = "same"
    ) -> int:
        """The greatest values of windows of a map."""
        return self._pool("MAX_POOL_2D", x, kernel, stride, padding)

    def average_pool(
        self, x: int, kernel: Size = 2, stride: Size = 2, *, padding: Padding = "same"
    ) -> int:
        """The means of windows of a map."""
        return self._pool("AVERAGE_POOL_2D", x, kernel, stride, padding)

    def mean(self, x: int) -> int:
        """The mean of each channel of a map, as a vector."""
        made = self._tensor((1, self._map(x)[2]))
        axes = self._constant((2,), DType.INT32, b"\1\0\0\0\2\0\0\0")
        return self._add("MEAN", (x, axes), made, {"keep_dims": False})

    def add(self, x: int, y: int, *, activation: Activation = "none") -> int:
        """The sum of two tensors of the same shape."""
        if self.shape(x) != self.shape(y):
            raise UsageError(
                f"shapes {self.shape(x)} and {self.shape(y)} cannot be added",
                "give both sides the same height, width and channels",
            )
        made = self._tensor(self._tensors[x].shape)
        return self._add("ADD", (x, y), made, {"fused_activation_function": _CODES[activation]})

    def concat(self, parts: Sequence[int]) -> int:
        """Tensors joined along their last dimension."""
        shapes = [self._tensors[part].shape for part in parts]
        if len({shape[:-1] for shape in shapes}) != 1:
            raise UsageError(
                "the tensors to join differ in more than their last dimension",
                "give all of them the same height and width",
            )
        made = self._tensor((*shapes[0][:-1], sum(shape[-1] for shape in shapes)))
        options: dict[str, Option] = {"axis": len(shapes[0]) - 1, "fused_activation_function": 0}
        return self._add("CONCATENATION", tuple(parts), made, options)

    def flatten(self, x: int) -> int:
        """A map as a vector."""
        made = self._tensor((1, math.prod(self.shape(x))))
        return self._add("RESHAPE", (x,), made, {"new_shape": self._tensors[made].shape})

    def dense(self, x: int, channels: int, *, activation: Activation = "none") -> int:
        """A dense layer on a vector, or on a map that is flattened."""
        x = self.flatten(x) if len(self.shape(x)) > 1 else x
        weights = self._constant((channels, self.shape(x)[0]), DType.INT8)
        bias = self._constant((channels,), DType.INT32)
        made = self._tensor((1, channels))
        options: dict[str, Option] = {"fused_activation_function": _CODES[activation]}
        return self._add("FULLY_CONNECTED", (x, weights, bias), made, options)

    def softmax(self, x: int) -> int:
        """Probabilities."""
        made = self._tensor(self._tensors[x].shape, _PROBABILITIES)
        return self._add("SOFTMAX", (x,), made, {"beta": 1.0})

    def graph(self, *outputs: int) -> Graph:
        """The network with these outputs."""
        ops, inputs = tuple(self._ops), tuple(self._inputs)
        return normalise_windows(
            verify(Graph(self._name, tuple(self._tensors), ops, inputs, outputs))
        )

    def _pool(self, kind: str, x: int, kernel: Size, stride: Size, padding: Padding) -> int:
        taps = _both(kernel)
        made = self._windowed(x, taps, stride, padding, self._map(x)[2])
        sizes: dict[str, Option] = {"filter_height": taps[0], "filter_width": taps[1]}
        return self._add(kind, (x,), made, {**_window(stride, padding, "none"), **sizes})

    def _map(self, x: int) -> tuple[int, ...]:
        shape = self.shape(x)
        if len(shape) != 3:
            raise UsageError(
                f"a tensor of shape {shape} is not a feature map",
                "give one of height, width and channels",
            )
        return shape

    def _windowed(
        self, x: int, kernel: tuple[int, int], stride: Size, padding: Padding, channels: int
    ) -> int:
        """The map that windows make."""
        sizes = []
        for length, taps, step in zip(self._map(x)[:2], kernel, _both(stride), strict=True):
            reach = length if padding == "same" else length - taps + 1
            if reach < 1:
                raise UsageError(
                    f"a window of {taps} does not fit a map of {length}",
                    'use padding="same", or a smaller kernel',
                )
            sizes.append(-(-reach // step))
        return self._tensor((1, *sizes, channels))

    def _tensor(self, shape: tuple[int, ...], quant: Quant = _VALUES) -> int:
        number = len(self._tensors)
        tensor = Tensor(number, f"t{number}", shape, DType.INT8, quant, buffer=number + 1)
        self._tensors.append(tensor)
        return number

    def _constant(self, shape: tuple[int, ...], dtype: DType, data: bytes | None = None) -> int:
        number = len(self._tensors)
        content = bytes(math.prod(shape) * dtype.bits // 8) if data is None else data
        self._tensors.append(
            Tensor(number, f"t{number}", shape, dtype, _VALUES, content, buffer=number + 1)
        )
        return number

    def _add(
        self, kind: str, inputs: tuple[int, ...], made: int, options: dict[str, Option]
    ) -> int:
        self._ops.append(Op(len(self._ops), kind, inputs, (made,), options))
        return made


def _window(stride: Size, padding: Padding, activation: Activation) -> dict[str, Option]:
    high, wide = _both(stride)
    return {
        "padding": _PADDINGS[padding],
        "stride_h": high,
        "stride_w": wide,
        "dilation_h_factor": 1,
        "dilation_w_factor": 1,
        "fused_activation_function": _CODES[activation],
    }


def _both(size: Size) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else size
