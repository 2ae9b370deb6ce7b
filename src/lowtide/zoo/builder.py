"""Builds a quantised network operator by operator.

Why: a converter needs a trained float network. Here each call emits one operator and at the same
time runs it on integer calibration activations, from which it chooses the output's quantisation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lowtide.zoo import kernels, noise, quantise
from lowtide.zoo.kernels import Pair, Reals
from lowtide.zoo.quantise import Activation
from lowtide.zoo.spec import NetSpec, OpSpec, Quant, TensorSpec
from lowtide.zoo.writer import write

_SAMPLES = 4
_IMAGE = Quant(float(np.float32(1.0 / 127.5)), -1)  # what a converter gives inputs in [-1, 1]

Size = int | Pair


@dataclass(frozen=True, slots=True, eq=False)
class Act:
    """An activation of the network: tensor index, shape (batch 1), quantisation.

    `q` holds its int8 values on the calibration inputs; the first axis counts the inputs.
    """

    id: int
    shape: tuple[int, ...]
    quant: Quant
    q: NDArray[np.int8]

    @property
    def offsets(self) -> NDArray[np.float32]:
        """q - zero_point."""
        return self.q.astype(np.float32) - np.float32(self.quant.zero_point)

    @property
    def real(self) -> NDArray[np.float64]:
        """The real values."""
        return self.offsets.astype(np.float64) * self.quant.scale


class NetBuilder:
    """A network under construction; `seed` fixes the weights (networks may share them).

    Every method takes a layer name, from which tensors are named as a converter would
    ("block_3/expand/Conv2D") and weights are seeded. Spatial sizes are an int or (height, width);
    padding is SAME unless `same` is False (VALID).
    """

    def __init__(self, name: str, *, seed: str | None = None, signature: bool = True) -> None:
        self.name = name
        self._seed = seed if seed is not None else name
        self._signature = signature
        self._tensors: list[TensorSpec] = []
        self._ops: list[OpSpec] = []
        self._inputs: list[int] = []
        self._initial: list[tuple[str, TensorSpec]] = []

    def input(self, shape: tuple[int, ...], quant: Quant = _IMAGE) -> Act:
        """A graph input of `shape` (batch 1 included), calibrated on uniform noise."""
        label = f"{self._seed}/input_{len(self._inputs)}"
        q = noise.uniform_int8(label, (_SAMPLES, *shape[1:]))
        index = self._add_activation(f"serving_default_input_{len(self._inputs)}:0", shape, quant)
        self._inputs.append(index)
        return Act(index, shape, quant, q)

    def conv(
        self,
        x: Act,
        name: str,
        channels: int,
        kernel: Size = 1,
        stride: Size = 1,
        activation: Activation = Activation.NONE,
        *,
        same: bool = True,
        bias: bool = True,
        quant: Quant | None = None,
    ) -> Act:
        """CONV_2D of x (1, h, w, c) with weights (channels, kh, kw, c), scaled per channel.

        Without `bias` the file holds a bias of zeros, which is what int8 kernels accept as none.
        `quant` fixes the output's quantisation, so that several layers can feed one concat.
        """
        shape = (channels, *_pair(kernel), x.shape[3])
        w = noise.weights(self._label(name, "kernel"), shape, 0)
        acc = kernels.conv(x.offsets, w, _pair(stride), same)
        options = _window(stride, same, activation) | {
            "dilation_w_factor": 1,
            "dilation_h_factor": 1,
        }
        layer = _Layer(name, "Conv2D", "CONV_2D", 3, "Conv2DOptions", options, axis=0)
        return self._weighted(layer, x, w, acc, activation, bias=bias, quant=quant)

    def depthwise(
        self,
        x: Act,
        name: str,
        kernel: Size = 3,
        stride: Size = 1,
        activation: Activation = Activation.NONE,
        *,
        same: bool = True,
        bias: bool = True,
        quant: Quant | None = None,
    ) -> Act:
        """DEPTHWISE_CONV_2D with multiplier 1 and weights (1, kh, kw, c), scaled per channel."""
        shape = (1, *_pair(kernel), x.shape[3])
        w = noise.weights(self._label(name, "kernel"), shape, 3)
        acc = kernels.depthwise(x.offsets, w, _pair(stride), same)
        options = _window(stride, same, activation) | {
            "dilation_w_factor": 1,
            "dilation_h_factor": 1,
            "depth_multiplier": 1,
        }
        layer = _Layer(
            name, "depthwise", "DEPTHWISE_CONV_2D", 3, "DepthwiseConv2DOptions", options, axis=3
        )
        return self._weighted(layer, x, w, acc, activation, bias=bias, quant=quant)

    def fully_connected(
        self,
        x: Act,
        name: str,
        units: int,
        *,
        keep_num_dims: bool = False,
        gain: float = 1.0,
        quant: Quant | None = None,
    ) -> Act:
        """FULLY_CONNECTED along the last axis of x, weights (units, depth) with one scale in all.

        The output is (1, units), or x's shape with the last axis replaced if `keep_num_dims`.
        `gain` is the deviation to give the output, in real units.
        """
        depth = x.shape[-1]
        w = noise.weights(self._label(name, "kernel"), (units, depth), None)
        dtype = kernels.accumulator_type(depth)
        acc: Reals = x.offsets.astype(dtype) @ w.T.astype(dtype)
        version = 5 if keep_num_dims else 4
        options = {"fused_activation_function": 0, "keep_num_dims": keep_num_dims}
        layer = _Layer(
            name, "MatMul", "FULLY_CONNECTED", version, "FullyConnectedOptions", options, axis=None
        )
        return self._weighted(layer, x, w, acc, Activation.NONE, bias=True, quant=quant, gain=gain)

    def add(self, a: Act, b: Act, name: str, activation: Activation = Activation.NONE) -> Act:
        """ADD of equal shapes; each side may have its own scale."""
        q, quant = quantise.requantise(a.real + b.real, activation)
        options = {"fused_activation_function": activation.value, "pot_scale_int16": False}
        return self._emit(f"{name}/Add", "ADD", 2, (a, b), "AddOptions", options, q, quant)

    def concat(self, parts: Sequence[Act], name: str, axis: int = -1) -> Act:
        """CONCATENATION; int8 kernels copy, so the parts must have one quantisation in common.

        Raises ValueError if they do not: give the layers that make them ReLU6 or a fixed `quant`.
        """
        quant = parts[0].quant
        if any(part.quant != quant for part in parts):
            raise ValueError(f"{name}: the parts of a concat must be quantised alike")
        positive = axis % len(parts[0].shape)
        q = np.concatenate([part.q for part in parts], axis=positive)
        options = {"axis": positive, "fused_activation_function": 0}
        return self._emit(
            f"{name}/concat", "CONCATENATION", 2, parts, "ConcatenationOptions", options, q, quant
        )

    def average_pool(
        self, x: Act, name: str, kernel: Size | None = None, stride: Size = 1, *, same: bool = False
    ) -> Act:
        """AVERAGE_POOL_2D with x's quantisation; without `kernel`, over the whole image."""
        window = _pair(kernel) if kernel is not None else (x.shape[1], x.shape[2])
        means = kernels.average_pool(x.offsets, window, _pair(stride), same)
        return self._pool(x, f"{name}/AvgPool", "AVERAGE_POOL_2D", window, stride, same, means)

    def max_pool(
        self, x: Act, name: str, kernel: Size, stride: Size = 1, *, same: bool = True
    ) -> Act:
        """MAX_POOL_2D with x's quantisation."""
        maxima = kernels.max_pool(x.offsets, _pair(kernel), _pair(stride), same)
        return self._pool(x, f"{name}/MaxPool", "MAX_POOL_2D", _pair(kernel), stride, same, maxima)

    def mean(self, x: Act, name: str) -> Act:
        """MEAN over height and width without keeping them: (1, h, w, c) -> (1, c)."""
        total = x.offsets.sum(axis=(1, 2), dtype=np.float64)
        q, quant = quantise.requantise(total * x.quant.scale / (x.shape[1] * x.shape[2]))
        axes = self._int32(f"{name}/Mean/reduction_indices", (1, 2))
        return self._emit(
            f"{name}/Mean", "MEAN", 2, (x,), "ReducerOptions", {"keep_dims": False}, q, quant, axes
        )

    def reshape(self, x: Act, name: str, shape: tuple[int, ...]) -> Act:
        """RESHAPE to `shape`, which begins with the batch size 1."""
        q = x.q.reshape(_SAMPLES, *shape[1:])
        wanted = self._int32(f"{name}/Reshape/shape", shape)
        options = {"new_shape": shape}
        return self._emit(
            f"{name}/Reshape", "RESHAPE", 1, (x,), "ReshapeOptions", options, q, x.quant, wanted
        )

    def transpose(self, x: Act, name: str, permutation: tuple[int, ...]) -> Act:
        """TRANSPOSE; the batch axis must stay first."""
        q = np.ascontiguousarray(x.q.transpose(permutation))
        perm = self._int32(f"{name}/transpose/perm", permutation)
        return self._emit(
            f"{name}/transpose", "TRANSPOSE", 2, (x,), "TransposeOptions", {}, q, x.quant, perm
        )

    def batch_matmul(self, a: Act, b: Act, name: str, *, adj_y: bool = False) -> Act:
        """BATCH_MATMUL of (..., m, k) with (..., k, n), or with (..., n, k) if `adj_y`."""
        dtype = kernels.accumulator_type(a.shape[-1])
        right = b.offsets.swapaxes(-1, -2) if adj_y else b.offsets
        acc: Reals = a.offsets.astype(dtype) @ right.astype(dtype)
        q, quant = quantise.requantise(acc.astype(np.float64) * (a.quant.scale * b.quant.scale))
        options = {"adj_x": False, "adj_y": adj_y, "asymmetric_quantize_inputs": False}
        return self._emit(
            f"{name}/BatchMatMulV2",
            "BATCH_MATMUL",
            2,
            (a, b),
            "BatchMatMulOptions",
            options,
            q,
            quant,
        )

    def softmax(self, x: Act, name: str) -> Act:
        """SOFTMAX along the last axis, output scale 1/256 and zero point -128."""
        real = kernels.softmax(x.q, x.quant.scale)
        q, quant = quantise.requantise(real, quant=quantise.SOFTMAX)
        return self._emit(
            f"{name}/Softmax", "SOFTMAX", 2, (x,), "SoftmaxOptions", {"beta": 1.0}, q, quant
        )

    def probabilities(self, x: Act, classes: int, spread: float) -> Act:
        """The usual end of a classifier: a dense layer on (1, c), then a softmax over `classes`.

        `spread` is the deviation to give the logits; their range leaves room for five times that,
        and for 8, as a few calibration inputs say little about the extremes of a few classes.
        """
        limit = max(5.0 * spread, 8.0)
        quant = quantise.from_range(-limit, limit)
        logits = self.fully_connected(x, "head/dense", classes, gain=spread, quant=quant)
        return self.softmax(logits, "head/probabilities")

    def finish(self, *outputs: Act) -> bytes:
        """The .tflite file of the network with the given graph outputs."""
        return write(self.described(*outputs))

    def described(self, *outputs: Act) -> NetSpec:
        """What that file is written from."""
        for position, act in enumerate(outputs):
            old = self._tensors[act.id]
            label = f"StatefulPartitionedCall:{position}"
            self._tensors[act.id] = TensorSpec(
                label, old.shape, old.dtype, old.scales, old.zero_point
            )
        return NetSpec(
            name=self.name,
            tensors=tuple(self._tensors),
            ops=tuple(self._ops),
            inputs=tuple(self._inputs),
            outputs=tuple(act.id for act in outputs),
            signature="serving_default" if self._signature else None,
            initial=tuple(self._initial),
        )

    def _label(self, name: str, part: str) -> str:
        return f"{self._seed}/{name}/{part}"

    def _add(self, tensor: TensorSpec) -> int:
        self._tensors.append(tensor)
        return len(self._tensors) - 1

    def _add_activation(self, name: str, shape: tuple[int, ...], quant: Quant) -> int:
        scales = np.array([quant.scale], np.float32)
        return self._add(TensorSpec(name, shape, "INT8", scales, quant.zero_point))

    def _int32(self, name: str, values: tuple[int, ...]) -> int:
        data = np.array(values, np.int32)
        return self._add(TensorSpec(name, data.shape, "INT32", data=data))

    def _weighted(
        self,
        layer: _Layer,
        x: Act,
        w: NDArray[np.int8],
        acc: Reals,
        activation: Activation,
        *,
        bias: bool,
        quant: Quant | None,
        gain: float = 1.0,
    ) -> Act:
        in_scale = x.quant.scale
        rows = acc.reshape(-1, acc.shape[-1])
        folded = quantise.fold(
            rows,
            in_scale,
            self._label(layer.name, "fold"),
            activation=activation,
            bias=bias,
            per_channel=layer.axis is not None,
            gain=gain,
        )
        q, out_quant = quantise.finish(rows, folded, in_scale, activation, quant)
        kernel = TensorSpec(
            f"{layer.name}/kernel", w.shape, "INT8", folded.scales, 0, layer.axis or 0, w
        )
        scales = quantise.bias_scales(in_scale, folded.scales)
        bias_tensor = TensorSpec(
            f"{layer.name}/bias", folded.bias.shape, "INT32", scales, data=folded.bias
        )
        return self._emit(
            f"{layer.name}/{layer.suffix}",
            layer.kind,
            layer.version,
            (x,),
            layer.options_type,
            layer.options,
            q.reshape(acc.shape),
            out_quant,
            self._add(kernel),
            self._add(bias_tensor),
        )

    def _pool(
        self, x: Act, label: str, kind: str, window: Pair, stride: Size, same: bool, units: Reals
    ) -> Act:
        options = _window(stride, same, Activation.NONE)
        options |= {"filter_height": window[0], "filter_width": window[1]}
        q = quantise.round_to(units, x.quant.zero_point)
        return self._emit(label, kind, 2, (x,), "Pool2DOptions", options, q, x.quant)

    def _emit(
        self,
        label: str,
        kind: str,
        version: int,
        inputs: Sequence[Act],
        options_type: str,
        options: Mapping[str, int | float | bool | tuple[int, ...]],
        q: NDArray[np.int8],
        quant: Quant,
        *constants: int,
    ) -> Act:
        shape = (1, *q.shape[1:])
        assert math.prod(q.shape) == _SAMPLES * math.prod(shape)
        index = self._add_activation(label, shape, quant)
        sources = (*(act.id for act in inputs), *constants)
        self._ops.append(OpSpec(kind, version, sources, (index,), options_type, options))
        return Act(index, shape, quant, q)


@dataclass(frozen=True, slots=True)
class _Layer:
    """What tells the weighted operators apart; `axis` is the weights' channel axis, if any."""

    name: str
    suffix: str
    kind: str
    version: int
    options_type: str
    options: Mapping[str, int | float | bool | tuple[int, ...]]
    axis: int | None


def _pair(size: Size) -> Pair:
    return size if isinstance(size, tuple) else (size, size)


def _window(
    stride: Size, same: bool, activation: Activation
) -> dict[str, int | float | bool | tuple[int, ...]]:
    high, wide = _pair(stride)
    return {
        "padding": 0 if same else 1,
        "stride_h": high,
        "stride_w": wide,
        "fused_activation_function": activation.value,
    }
