"""Networks of one operator of uint8 or int16, or of int8 with weights that the quick kernels cannot
take, of drawn size, to see what its kernels cost.

Why by hand: the zoo's builder makes networks of int8 alone. Weights are random, and scales such that
outputs spread over their type.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random

import numpy as np

from lowtide.zoo.spec import NetSpec, OpSpec, Option, TensorSpec
from lowtide.zoo.writer import write

KINDS = (
    *("conv16", "pixel16", "dense16", "depthwise16", "transposed16", "add16"),
    *("convU8", "pixelU8", "depthwiseU8", "denseU8", "averageU8", "concatU8", "flip"),
    *("heavyS8", "groupedS8"),
)

_SPREAD = {"UINT8": 50 / (37 * 73), "INT16": 9000 / (9500 * 73), "INT8": 50 / (37 * 73)}
_ZERO = {"UINT8": 128, "INT16": 0, "INT8": 0}
_SCALE = 0.05
_WEIGHT_SCALE = 0.01
_WEIGHTS_ZERO = 120
_NINE = 248
"""uint8 weights from here on need nine bits less their zero point."""
_MOST_MACS = 1_500_000
_HEAVY = 1200
"""Products of a filter whose drawn weights are too large for lt_conv_packed."""


def typed_network(kind: str, rng: Random) -> bytes:
    """The .tflite file of a network of that kind."""
    return _Net(kind, rng).file()


class _Net:
    """A network under construction: tensors by number."""

    def __init__(self, kind: str, rng: Random) -> None:
        self.rng = rng
        self.values = np.random.default_rng(rng.randrange(1 << 30))
        self.dtype = {"16": "INT16", "S8": "INT8"}.get(kind[-2:], "UINT8")
        self.tensors: list[TensorSpec] = []
        self.ops: list[OpSpec] = []
        self.inputs: list[int] = []
        self.kind = kind.removesuffix("16").removesuffix("U8").removesuffix("S8")

    def file(self) -> bytes:
        rng = self.rng
        height, width = rng.choice((5, 8, 12)), rng.choice((2, 3, 5, 9, 12, 20))
        channels = rng.choice((3, 4, 8, 11, 16, 24, 40))
        match self.kind:
            case "conv" | "pixel":
                kernel = 1 if self.kind == "pixel" else rng.choice((2, 3, 3, 5))
                self._conv(self._input(1, height, width, channels), kernel)
            case "heavy":
                kernel = rng.choice((1, 3, 5))
                x = self._input(1, rng.choice((2, 4)), rng.choice((2, 5)), -(-_HEAVY // kernel**2))
                self._conv(x, kernel)
            case "grouped":
                groups, depth = rng.choice((2, 3, 4)), rng.choice((2, 5, 8, 16, 44))
                x = self._input(1, height, rng.choice((2, 5, 9)), groups * depth)
                self._conv(x, rng.choice((1, 3, 5)), groups)
            case "flip":
                self._flip(self._input(1, height, width, channels))
            case "depthwise":
                kernel = rng.choice((3, 3, 5))
                self._depthwise(self._input(1, height, width, channels), kernel)
            case "transposed":
                self._transposed(self._input(1, height, width, channels))
            case "dense":
                out_c = rng.choice((2, 10, 33, 128))
                self._dense(self._input(1, rng.choice((16, 50, 128, 333, 640, 2100))), out_c)
            case "add" | "concat":
                self._two(self._input(1, height, width, channels))
            case _:
                self._average(self._input(1, height, width, channels))
        made = (self.ops[-1].outputs[0],)
        return write(
            NetSpec("typed", tuple(self.tensors), tuple(self.ops), tuple(self.inputs), made)
        )

    def _tensor(self, shape: tuple[int, ...], dtype: str, scale: float, zero: int) -> int:
        number = len(self.tensors)
        scales = np.array([scale], np.float32)
        self.tensors.append(TensorSpec(f"t{number}", shape, dtype, scales, zero))
        return number

    def _input(self, *shape: int) -> int:
        self.inputs.append(self._tensor(shape, self.dtype, _SCALE, _ZERO[self.dtype]))
        return self.inputs[-1]

    def _weights(self, shape: tuple[int, ...], axis: int) -> int:
        number, dtype = len(self.tensors), "UINT8" if self.dtype == "UINT8" else "INT8"
        zero = _WEIGHTS_ZERO if dtype == "UINT8" else 0
        low, high = (0, _NINE) if dtype == "UINT8" else (-127, 128)
        data = self.values.integers(low, high, shape)
        if dtype == "UINT8":
            nine = self.values.random(shape[axis]) < self.rng.choice((0, 0.1, 0.5))
            by_channel = np.moveaxis(data, axis, 0)
            by_channel[nine, ..., 0] = 255
        scales = np.array([_WEIGHT_SCALE], np.float32)
        self.tensors.append(
            TensorSpec(f"t{number}", shape, dtype, scales, zero, axis, data.astype(dtype.lower()))
        )
        return number

    def _bias(self, channels: int, products: int) -> int:
        number = len(self.tensors)
        wide = self.dtype == "INT16"
        size = (9500 if wide else 37) * 73 * math.sqrt(products)
        data = self.values.normal(0, size, channels).astype(np.int64 if wide else np.int32)
        scales = np.array([_SCALE * _WEIGHT_SCALE], np.float32)
        dtype = "INT64" if wide else "INT32"
        self.tensors.append(TensorSpec(f"t{number}", (channels,), dtype, scales, data=data))
        return number

    def _made(self, shape: tuple[int, ...], products: int) -> int:
        factor = _SPREAD[self.dtype] / math.sqrt(products)
        return self._tensor(shape, self.dtype, _SCALE * _WEIGHT_SCALE / factor, _ZERO[self.dtype])

    def _op(
        self, kind: str, inputs: tuple[int, ...], made: int, table: str, **options: Option
    ) -> None:
        known: Mapping[str, Option] = options
        self.ops.append(OpSpec(kind, 1, inputs, (made,), f"{table}Options", known))

    def _window(self, stride: int) -> dict[str, Option]:
        return {
            "padding": 0,
            "stride_h": stride,
            "stride_w": stride,
            "fused_activation_function": self.rng.choice((0, 1)),
        }

    def _conv(self, x: int, kernel: int, groups: int = 1) -> None:
        _, height, width, in_c = self.tensors[x].shape
        in_c //= groups
        products = kernel * kernel * in_c
        most = _MOST_MACS // (height * width * products * groups)
        out_c = groups * self.rng.choice([c for c in (2, 3, 5, 8, 11, 16, 32, 64) if c <= most])
        stride = self.rng.choice((1, 1, 2))
        made = self._made((1, -(-height // stride), -(-width // stride), out_c), products)
        weights = self._weights((out_c, kernel, kernel, in_c), 0)
        options = self._window(stride) | {"dilation_h_factor": 1, "dilation_w_factor": 1}
        bias = self._bias(out_c, products)
        self._op("CONV_2D", (x, weights, bias), made, "Conv2D", **options)

    def _flip(self, x: int) -> None:
        """A QUANTIZE to int8 before what cannot flip what it reads."""
        given = self.tensors[x]
        made = self._tensor(given.shape, "INT8", _SCALE, 0)
        self._op("QUANTIZE", (x,), made, "Quantize")
        self.dtype = "INT8"
        self._conv(made, 1)

    def _depthwise(self, x: int, kernel: int) -> None:
        _, height, width, channels = self.tensors[x].shape
        stride = self.rng.choice((1, 1, 2))
        made = self._made((1, -(-height // stride), -(-width // stride), channels), kernel * kernel)
        weights = self._weights((1, kernel, kernel, channels), 3)
        options = self._window(stride) | {"depth_multiplier": 1}
        options |= {"dilation_h_factor": 1, "dilation_w_factor": 1}
        inputs = x, weights, self._bias(channels, kernel * kernel)
        self._op("DEPTHWISE_CONV_2D", inputs, made, "DepthwiseConv2D", **options)

    def _transposed(self, x: int) -> None:
        _, height, width, in_c = self.tensors[x].shape
        kernel, stride, out_c = self.rng.choice((2, 4)), 2, self.rng.choice((4, 8, 16))
        shape = (1, height * stride, width * stride, out_c)
        made = self._made(shape, kernel * kernel * in_c // 4)
        number = len(self.tensors)
        self.tensors.append(TensorSpec(f"t{number}", (4,), "INT32", data=np.array(shape, np.int32)))
        weights = self._weights((out_c, kernel, kernel, in_c), 0)
        options: dict[str, Option] = {"padding": 0, "stride_h": stride, "stride_w": stride}
        self._op("TRANSPOSE_CONV", (number, weights, x), made, "TransposeConv", **options)

    def _dense(self, x: int, out_c: int) -> None:
        depth = self.tensors[x].shape[1]
        made = self._made((1, out_c), depth)
        inputs = x, self._weights((out_c, depth), 0), self._bias(out_c, depth)
        self._op("FULLY_CONNECTED", inputs, made, "FullyConnected")

    def _two(self, x: int) -> None:
        shape = self.tensors[x].shape
        if self.kind == "add":
            made = self._tensor(shape, self.dtype, 1.5 * _SCALE, _ZERO[self.dtype])
            self._op("ADD", (x, self._input(*shape)), made, "Add", pot_scale_int16=False)
            return
        made = self._tensor(
            (*shape[:3], 2 * shape[3]), self.dtype, self.rng.choice((1, 2)) * _SCALE, 128
        )
        self._op("CONCATENATION", (x, self._input(*shape)), made, "Concatenation", axis=3)

    def _average(self, x: int) -> None:
        _, height, width, channels = self.tensors[x].shape
        size = self.rng.choice((2, 2, 3))
        made = self._tensor(
            (1, -(-height // size), -(-width // size), channels), self.dtype, _SCALE, 128
        )
        options = self._window(size) | {"filter_height": size, "filter_width": size}
        self._op("AVERAGE_POOL_2D", (x,), made, "Pool2D", **options)
