"""Networks of many operators beside each other, one for each point of a grid.

Weights are random, and scales such that outputs spread over their type, but for factors at and above
1/2, with which they clamp. What each operator makes is named by the point's number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bench.cliffs.points import SHARED, Point, Value
from lowtide.zoo.spec import NetSpec, OpSpec, Option, TensorSpec
from lowtide.zoo.writer import write

_TYPES = {"s8": "INT8", "u8": "UINT8", "s16": "INT16", "w4": "INT8", "f32": "FLOAT32"}
_NO_ZERO = frozenset({"s16", "f32"})
"""Types whose zero point is 0, or that have none."""
_LOW = {"s8": -128, "u8": 0, "s16": 0, "w4": -128}
_SPREAD = {
    "s8": 50 / (37 * 73),
    "u8": 50 / (37 * 73),
    "s16": 9000 / (9500 * 73),
    "w4": 50 / (37 * 4),
}
_SCALE = 0.05
_WEIGHTS_ZERO, _NINE = 120, 248
"""uint8 weights from _NINE on need nine bits less their zero point."""
_FACTORS = {"half": 0.5, "above": 0.9, "two": 1.7}
_PARTS = {"none": 0.0, "below": 0.0, "one": 0.0, "some": 1 / 3, "all": 1.0}


def network(points: Sequence[Point]) -> bytes:
    """The .tflite file of a network of those operators, in their order."""
    net = _Net()
    for number, point in enumerate(points):
        net.number, net.point = number, point
        net.dtype = point.family.rpartition(" ")[2]
        _MAKERS[point.family.removeprefix(SHARED).partition(" ")[0]](net)
    read = {tensor for op in net.ops for tensor in op.inputs}
    made = tuple(op.outputs[0] for op in net.ops if op.outputs[0] not in read)
    tensors, inputs = tuple(net.tensors), tuple(net.inputs.values())
    return write(NetSpec("grid", tensors, tuple(net.ops), inputs, made))


class _Net:
    """A network under construction, at the point of `number`."""

    number: int
    point: Point
    dtype: str

    def __init__(self) -> None:
        self.values = np.random.default_rng(1)
        self.tensors: list[TensorSpec] = []
        self.ops: list[OpSpec] = []
        self.inputs: dict[tuple[object, ...], int] = {}

    def size(self, name: str) -> int:
        return self.point.size(name)

    def word(self, name: str) -> Value:
        return self.point.axes[name]

    @property
    def kind(self) -> str:
        """The kind of an operator, which families of several have in their name: "pad of KIND"."""
        return self.point.family.split(" ")[2]

    def zero(self) -> int:
        """The zero point of what is read, and made."""
        if self.dtype in _NO_ZERO:
            return 0
        kind = self.point.axes.get("zero", "middle")
        return _LOW[self.dtype] + {"least": 0, "middle": 128, "most": 255}[str(kind)]

    def tensor(
        self, shape: Sequence[int], dtype: str, scale: float, zero: int, name: str = ""
    ) -> int:
        scales = None if dtype == "FLOAT32" else np.array([scale], np.float32)
        name = name or f"t{len(self.tensors)}"
        self.tensors.append(TensorSpec(name, tuple(shape), dtype, scales, zero))
        return len(self.tensors) - 1

    def input(self, *shape: int, which: int = 0, scale: float = _SCALE) -> int:
        """An input of the network: points of one shape and quantisation have it in common."""
        key = (shape, self.dtype, self.zero(), which, scale)
        if key not in self.inputs:
            self.inputs[key] = self.tensor(shape, _TYPES[self.dtype], scale, self.zero())
        return self.inputs[key]

    def const(self, data: NDArray[np.int32]) -> int:
        self.tensors.append(TensorSpec(f"t{len(self.tensors)}", data.shape, "INT32", data=data))
        return len(self.tensors) - 1

    def made(
        self, shape: Sequence[int], scale: float = _SCALE, dtype: str = "", zero: int | None = None
    ) -> int:
        """What the operator makes."""
        kind = dtype or self.dtype
        at = self.zero() if zero is None else zero
        return self.tensor(shape, _TYPES[kind], scale, at, f"point_{self.number}")

    def op(
        self, kind: str, inputs: Sequence[int], made: int, table: str, **options: Option
    ) -> None:
        self.ops.append(OpSpec(kind, 2, tuple(inputs), (made,), f"{table}Options", options))

    def layer(self, shape: tuple[int, ...], axis: int, products: int) -> tuple[int, int, float]:
        """Weights, bias, and the scale of what is made."""
        channels, number = shape[axis], len(self.tensors)
        factors = np.full(channels, _SPREAD[self.dtype] / math.sqrt(products))
        factors *= self.values.uniform(0.5, 1.0, channels)
        kind = str(self.point.axes.get("factor", "below"))
        if kind in _FACTORS:
            factors[:] = _FACTORS[kind]
        else:
            factors[self._some(kind, channels)] = 0.6
        scale = float(np.float32(_SCALE * 0.01 / _SPREAD[self.dtype] * math.sqrt(products)))
        if self.dtype == "u8":  # one factor for all channels
            scale = _SCALE * 0.01 / float(factors.max())
            factors[:] = factors.max()
        scales = (factors * scale / _SCALE).astype(np.float32)
        low, high, zero, dtype = {
            "u8": (0, _NINE, _WEIGHTS_ZERO, "UINT8"),
            "w4": (-7, 8, 0, "INT4"),
        }.get(self.dtype, (-127, 128, 0, "INT8"))
        data = self.values.integers(low, high, shape)
        if self.dtype == "u8":
            scales = scales[:1]
            nine = self._some(str(self.point.axes.get("nine", "none")), channels)
            np.moveaxis(data, axis, 0)[nine, ..., 0] = 255
        stored = data.astype(np.uint8 if self.dtype == "u8" else np.int8)
        if self.dtype == "w4":
            flat = np.pad(data.reshape(-1), (0, data.size % 2)) & 15
            stored = (flat[::2] | flat[1::2] << 4).astype(np.uint8)
        weights = TensorSpec(f"t{number}", shape, dtype, scales, zero, axis, stored)
        wide = self.dtype == "s16"
        size = (9500 if wide else 37) * (4 if self.dtype == "w4" else 73) * math.sqrt(products)
        bias = self.values.normal(0, size, channels).astype(np.int64 if wide else np.int32)
        kept = "INT64" if wide else "INT32"
        of_bias = (_SCALE * scales).astype(np.float32)
        self.tensors += [
            weights,
            TensorSpec(f"t{number + 1}", (channels,), kept, of_bias, data=bias),
        ]
        return number, number + 1, scale

    def _some(self, kind: str, channels: int) -> NDArray[np.bool_]:
        """Which channels are of a kind."""
        some = np.zeros(channels, np.bool_)
        if kind == "one":
            some[channels // 2] = True
        elif kind in _PARTS:
            some[: round(_PARTS[kind] * channels)] = True
        return some

    def act(self) -> int:
        return 3 if self.point.axes.get("act") == "relu6" else 0

    def window(self) -> tuple[tuple[int, ...], tuple[int, int], dict[str, Option]]:
        """Height and width of what is read, of what is made, and the options."""
        at = self.point.axes
        stride, dilation = int(at.get("stride", 1)), int(at.get("dilation", 1))
        made = self.size("height"), self.size("width")
        is_valid = at.get("padding") == "valid"
        more = [
            (int(at.get(name, 1)) - 1) * dilation + 1 - stride if is_valid else 0
            for name in ("kh", "kw")
        ]
        read = tuple(max(1, n * stride + m) for n, m in zip(made, more, strict=True))
        options: dict[str, Option] = {
            "padding": int(is_valid),
            "stride_h": stride,
            "stride_w": stride,
            "fused_activation_function": self.act(),
        }
        return read, made, options


def _dilated(net: _Net) -> dict[str, Option]:
    dilation = int(net.point.axes.get("dilation", 1))
    return {"dilation_h_factor": dilation, "dilation_w_factor": dilation}


def _conv(net: _Net) -> None:
    at = net.point.axes
    groups = int(at.get("groups", 1))
    depth, out_c = int(at.get("depth", at.get("in_c", 0))), int(at.get("out_c", 0))
    if groups > 1:
        out_c = groups * net.size("made")
    read, made, options = net.window()
    high, wide = int(at.get("kh", 1)), int(at.get("kw", 1))
    weights, bias, scale = net.layer((out_c, high, wide, depth), 0, high * wide * depth)
    inputs = net.input(1, *read, groups * depth), weights, bias
    out = net.made((1, *made, out_c), scale)
    net.op("CONV_2D", inputs, out, "Conv2D", **options, **_dilated(net))


def _depthwise(net: _Net) -> None:
    channels, filters = net.size("channels"), net.size("filters")
    read, made, options = net.window()
    high, wide = net.size("kh"), net.size("kw")
    weights, bias, scale = net.layer((1, high, wide, channels * filters), 3, high * wide)
    inputs = net.input(1, *read, channels), weights, bias
    out = net.made((1, *made, channels * filters), scale)
    options |= {"depth_multiplier": filters, **_dilated(net)}
    net.op("DEPTHWISE_CONV_2D", inputs, out, "DepthwiseConv2D", **options)


def _block(net: _Net) -> None:
    parts, channels, kernel = net.word("parts"), net.size("in_c"), net.size("kh")
    read, made, options = net.window()
    options |= _dilated(net)
    plain: dict[str, Option] = {**options, "stride_h": 1, "stride_w": 1}
    x, inner = net.input(1, *read, channels), net.size("inner")
    if parts == "project":
        x, inner = net.input(1, *read, inner), inner
    else:
        weights, bias, scale = net.layer((inner, 1, 1, channels), 0, channels)
        out = net.tensor((1, *read, inner), "INT8", scale, net.zero(), f"inner_{net.number}")
        net.op("CONV_2D", (x, weights, bias), out, "Conv2D", **plain)
        x = out
    weights, bias, scale = net.layer((1, kernel, kernel, inner), 3, kernel * kernel)
    shape = 1, *made, inner
    last = parts == "expand"
    out = net.made(shape, scale) if last else net.tensor(shape, "INT8", scale, net.zero())
    options["depth_multiplier"] = 1
    net.op("DEPTHWISE_CONV_2D", (x, weights, bias), out, "DepthwiseConv2D", **options)
    if not last:
        weights, bias, scale = net.layer((net.size("out_c"), 1, 1, inner), 0, inner)
        made_last = net.made((1, *made, net.size("out_c")), scale)
        net.op("CONV_2D", (out, weights, bias), made_last, "Conv2D", **plain)


def _dense(net: _Net) -> None:
    rows, in_c, out_c = net.size("rows"), net.size("in_c"), net.size("out_c")
    weights, bias, scale = net.layer((out_c, in_c), 0, in_c)
    out = net.made((rows, out_c), scale)
    inputs = net.input(rows, in_c), weights, bias
    net.op("FULLY_CONNECTED", inputs, out, "FullyConnected", fused_activation_function=net.act())


def _transposed(net: _Net) -> None:
    stride, out_c, in_c = net.size("stride"), net.size("out_c"), net.size("in_c")
    high, wide = net.size("kh"), net.size("kw")
    read = net.size("height"), net.size("width")
    shape = 1, read[0] * stride, read[1] * stride, out_c
    weights, bias, scale = net.layer((out_c, high, wide, in_c), 0, high * wide * in_c)
    inputs = net.const(np.array(shape, np.int32)), weights, net.input(1, *read, in_c), bias
    out = net.made(shape, scale)
    options: dict[str, Option] = {"padding": 0, "stride_h": stride, "stride_w": stride}
    net.op("TRANSPOSE_CONV", inputs, out, "TransposeConv", **options)


def _map(net: _Net) -> tuple[int, int, int, int]:
    return 1, net.size("height"), net.size("width"), net.size("channels")


def _binary(net: _Net) -> None:
    kind, shape = net.point.family.partition(" ")[0].upper(), _map(net)
    second, first = net.word("second"), net.input(*shape)
    _, height, width, channels = shape
    sizes = {"channel": (1, 1, 1, channels), "pixel": (1, height, width, 1), "one": (1, 1, 1, 1)}
    if second in ("const", "consts"):
        size = (1, 1, 1, channels) if second == "consts" else (1, 1, 1, 1)
        low, high = {"s16": (-9000, 9000), "u8": (0, 256)}.get(net.dtype, (-128, 128))
        data = net.values.integers(low, high, size)
        dtype = _TYPES[net.dtype]
        scales = np.array([_SCALE / 2], np.float32)
        other = len(net.tensors)
        stored = data.astype(dtype.lower())
        net.tensors.append(TensorSpec(f"t{other}", size, dtype, scales, net.zero(), data=stored))
    elif second == "same":
        other = first
    else:
        other = net.input(*sizes.get(str(second), shape), which=1, scale=_SCALE / 2)
    scale = 60 * _SCALE * _SCALE if kind == "MUL" else 1.5 * _SCALE
    options: dict[str, Option] = {"fused_activation_function": net.act()}
    if kind != "MUL":
        options["pot_scale_int16"] = False
    net.op(kind, (first, other), net.made(shape, scale), kind.title(), **options)


def _pool(net: _Net) -> None:
    kind = net.point.family.partition(" ")[0].upper()
    read, made, options = net.window()
    channels = net.size("channels")
    options |= {"filter_height": net.size("kh"), "filter_width": net.size("kw")}
    out = net.made((1, *made, channels))
    net.op(f"{kind}_POOL_2D", (net.input(1, *read, channels),), out, "Pool2D", **options)


def _global(net: _Net) -> None:
    shape = _map(net)
    options: dict[str, Option] = {"padding": 1, "stride_h": 1, "stride_w": 1}
    options |= {"filter_height": shape[1], "filter_width": shape[2], "fused_activation_function": 0}
    out = net.made((1, 1, 1, shape[3]))
    net.op("AVERAGE_POOL_2D", (net.input(*shape),), out, "Pool2D", **options)


def _mean(net: _Net) -> None:
    shape = list(_map(net))
    axes = {"map": (1, 2), "rows": (1,), "columns": (2,), "channels": (3,)}[net.kind]
    first = net.input(*shape)
    for axis in axes:
        shape[axis] = 1
    inputs = first, net.const(np.array(axes, np.int32))
    net.op("MEAN", inputs, net.made(shape, _SCALE / 2), "Reducer", keep_dims=True)


_LIKE: dict[str, tuple[str, str, dict[str, Option]]] = {
    "softmax": ("SOFTMAX", "Softmax", {"beta": 1.0}),
    "logistic": ("LOGISTIC", "Abs", {}),
    "tanh": ("TANH", "Abs", {}),
    "hardswish": ("HARD_SWISH", "HardSwish", {}),
    "relu": ("RELU", "Abs", {}),
    "leaky": ("LEAKY_RELU", "LeakyRelu", {"alpha": 0.1}),
}


def _unary(net: _Net) -> None:
    name = net.point.family.partition(" ")[0]
    kind, table, options = _LIKE[name]
    scale, zero = _SCALE * 0.8, net.zero()
    source = net.input(*_map(net))
    if name in ("softmax", "logistic"):
        scale, zero = (1 / 256, _LOW[net.dtype]) if net.dtype != "s16" else (1 / 32768, 0)
    elif name == "tanh":
        scale, zero = 1 / 128, 0
    net.op(kind, (source,), net.made(_map(net), scale, zero=zero), table, **options)


def _pad(net: _Net) -> None:
    shape, by = list(_map(net)), net.size("by")
    pads = np.zeros((4, 2), np.int32)
    if net.kind == "map":
        pads[1:3] = by
    else:
        pads[3] = by
    out = net.made([n + int(m) for n, m in zip(shape, pads.sum(axis=1), strict=True)])
    net.op("PAD", (net.input(*shape), net.const(pads)), out, "Pad")


def _concat(net: _Net) -> None:
    shape, parts = list(_map(net)), net.size("parts")
    axis = {"rows": 1, "columns": 2, "channels": 3}[net.kind]
    inputs = [net.input(*shape, which=which) for which in range(parts)]
    shape[axis] *= parts
    options: dict[str, Option] = {"axis": axis, "fused_activation_function": 0}
    net.op("CONCATENATION", inputs, net.made(shape), "Concatenation", **options)


def _resize(net: _Net) -> None:
    name, scale = net.point.family.partition(" ")[0], net.size("scale")
    _, height, width, channels = shape = _map(net)
    size = scale * height, scale * width
    kind, table = {
        "bilinear": ("RESIZE_BILINEAR", "ResizeBilinear"),
        "nearest": ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighbor"),
    }[name]
    inputs = net.input(*shape), net.const(np.array(size, np.int32))
    options: dict[str, Option] = {"align_corners": False, "half_pixel_centers": True}
    net.op(kind, inputs, net.made((1, *size, channels)), table, **options)


def _quantize(net: _Net) -> None:
    kind = net.kind
    zero = 0 if kind in _NO_ZERO else _LOW[kind] + 100
    out = net.made(_map(net), 0.7 * _SCALE, kind, zero)
    operator = "DEQUANTIZE" if kind == "f32" else "QUANTIZE"
    net.op(operator, (net.input(*_map(net)),), out, operator.capitalize())


_MAKERS: dict[str, Callable[[_Net], None]] = {
    **dict.fromkeys(("conv", "pointwise", "grouped"), _conv),
    **dict.fromkeys(("add", "mul", "sub"), _binary),
    **dict.fromkeys(("max", "average"), _pool),
    **dict.fromkeys(_LIKE, _unary),
    **dict.fromkeys(("bilinear", "nearest"), _resize),
    "block": _block,
    "depthwise": _depthwise,
    "dense": _dense,
    "transposed": _transposed,
    "global": _global,
    "mean": _mean,
    "pad": _pad,
    "concat": _concat,
    "quantize": _quantize,
}
