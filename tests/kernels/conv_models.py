"""Models of many convolutions and dense layers that read the same inputs, for the kernel tests.

Why so many in one: a compilation with sanitizers takes a second, a layer next to nothing. Scales are
chosen so that outputs spread over their type unless a test says otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.zoo.spec import OpSpec
from spec_models import Specs

Array = NDArray[Any]

SAME, VALID = 0, 1
NONE, RELU, RELU_N1_TO_1, RELU6 = 0, 1, 2, 3
_NAMES = {np.int8: "INT8", np.uint8: "UINT8", np.int16: "INT16", np.int32: "INT32"}
_SPREAD = {"INT8": 50.0, "UINT8": 50.0, "INT16": 9000.0}


@dataclass(frozen=True)
class Layer:
    """How a layer differs from the plainest one.

    `spread` is the standard deviation of the output in its units, about; `weights` and `bias` override
    the random ones; `bias_type` None leaves the bias out. `real` overrides the factor of the sums. The
    factors of channels `loud` are 0.7 and more, and their weights small.
    """

    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: int = SAME
    activation: int = NONE
    per_channel: bool = True
    zero: int = 0
    weights_zero: int = 0
    spread: float | None = None
    real: float | None = None
    weights: Array | None = None
    bias: Array | None = None
    bias_type: str | None = "INT32"
    keep_num_dims: bool = False
    loud: tuple[int, ...] = ()


PLAIN = Layer()


class Models(Specs):
    """A network of convolutions and dense layers."""

    def __init__(self, seed: int, dtype: str = "INT8") -> None:
        super().__init__()
        self.rng = np.random.default_rng(seed)
        self.dtype = dtype
        self.weights_type = "UINT8" if dtype == "UINT8" else "INT8"

    def input(self, *shape: int, scale: float = 0.05, zero: int = 0) -> int:
        """An input of the network."""
        scales = np.array([scale], np.float32)
        self.inputs.append(self.tensor(shape, self.dtype, scales=scales, zero_point=zero))
        return self.inputs[-1]

    def bytes(self, outputs: tuple[int, ...] = ()) -> bytes:
        """The file; unless others are given, every layer's output is an output of the network."""
        outputs = outputs or tuple(op.outputs[0] for op in self.ops)
        return self.file("test", outputs)

    def conv(
        self, x: int, out_c: int, kernel: tuple[int, int], layer: Layer = PLAIN, **more: Any
    ) -> int:
        """CONV_2D; `groups` in `more` cuts the channels."""
        batch, height, width, in_c = self.tensors[x].shape
        shape = (out_c, *kernel, in_c // more.get("groups", 1))
        out = (batch, *_out(height, width, kernel, layer), out_c)
        options = _window_options(layer)
        return self._layer("CONV_2D", x, shape, 0, out, layer, "Conv2DOptions", options)

    def depthwise(
        self, x: int, multiple: int, kernel: tuple[int, int], layer: Layer = PLAIN
    ) -> int:
        """DEPTHWISE_CONV_2D."""
        batch, height, width, in_c = self.tensors[x].shape
        shape = (1, *kernel, in_c * multiple)
        out = (batch, *_out(height, width, kernel, layer), in_c * multiple)
        options = _window_options(layer) | {"depth_multiplier": multiple}
        return self._layer(
            "DEPTHWISE_CONV_2D", x, shape, 3, out, layer, "DepthwiseConv2DOptions", options
        )

    def dense(self, x: int, out_c: int, depth: int, layer: Layer = PLAIN) -> int:
        """FULLY_CONNECTED."""
        shape = self.tensors[x].shape
        lead = shape[:-1] if layer.keep_num_dims else (math.prod(shape) // depth,)
        options = {
            "fused_activation_function": layer.activation,
            "keep_num_dims": layer.keep_num_dims,
        }
        return self._layer(
            *("FULLY_CONNECTED", x, (out_c, depth), 0, (*lead, out_c), layer),
            *("FullyConnectedOptions", options),
        )

    def _layer(
        self,
        kind: str,
        x: int,
        shape: tuple[int, ...],
        axis: int,
        out: tuple[int, ...],
        layer: Layer,
        options_type: str,
        options: dict[str, Any],
    ) -> int:
        channels = shape[axis]
        products = math.prod(shape) // channels
        scales = self._weight_scales(channels, layer)
        source = self.tensors[x]
        assert source.scales is not None
        product = float(source.scales[0]) * float(scales[0])
        deviation = (9500 if self.dtype == "INT16" else 37) * 73 * math.sqrt(products)
        spread = layer.spread or _SPREAD[self.dtype]
        real = layer.real if layer.real is not None else spread / deviation
        for n, c in enumerate(layer.loud):
            scales[c] = product / real * (0.7 + n) / float(source.scales[0])
            product = float(source.scales[0]) * float(scales[0])
        weights = self._constant(shape, layer, scales, axis)
        target = self.tensor(
            out,
            self.dtype,
            scales=np.array([product / real], np.float32),
            zero_point=layer.zero,
        )
        inputs: tuple[int, ...] = (x, weights)
        if layer.bias_type is not None:
            inputs += (self._bias(channels, products, scales * source.scales[0], layer),)
        self.ops.append(OpSpec(kind, 1, inputs, (target,), options_type, options))
        return target

    def _weight_scales(self, channels: int, layer: Layer) -> Array:
        if not layer.per_channel:
            return np.array([0.01], np.float32)
        return (0.01 * self.rng.uniform(0.5, 1.5, channels)).astype(np.float32)

    def _constant(self, shape: tuple[int, ...], layer: Layer, scales: Array, axis: int) -> int:
        dtype = np.uint8 if self.weights_type == "UINT8" else np.int8
        low = 0 if self.weights_type == "UINT8" else -127
        values = layer.weights
        if values is None:
            values = self.rng.integers(low, np.iinfo(dtype).max, shape, endpoint=True)
        return self.tensor(
            *(shape, self.weights_type),
            data=np.broadcast_to(values, shape).astype(dtype),
            scales=scales,
            zero_point=layer.weights_zero,
            axis=axis,
        )

    def _bias(self, channels: int, products: int, scales: Array, layer: Layer) -> int:
        dtype = np.int64 if layer.bias_type == "INT64" else np.int32
        size = (9500 if self.dtype == "INT16" else 37) * 73 * math.sqrt(products)
        values = layer.bias
        if values is None:
            values = self.rng.normal(0, size, channels)
        data: Any = np.broadcast_to(values, (channels,)).astype(dtype)
        return self.tensor((channels,), str(layer.bias_type), data=data, scales=scales)


def _out(height: int, width: int, kernel: tuple[int, int], layer: Layer) -> tuple[int, ...]:
    sizes = []
    for size, k, stride, dilation in zip(
        (height, width), kernel, layer.stride, layer.dilation, strict=True
    ):
        window = (k - 1) * dilation + 1
        same = layer.padding == SAME
        sizes.append(-(-size // stride) if same else (size - window + stride) // stride)
    return tuple(sizes)


def _window_options(layer: Layer) -> dict[str, int]:
    return {
        "padding": layer.padding,
        "stride_h": layer.stride[0],
        "stride_w": layer.stride[1],
        "dilation_h_factor": layer.dilation[0],
        "dilation_w_factor": layer.dilation[1],
        "fused_activation_function": layer.activation,
    }
