"""Networks of many operators beside each other, one for each point of a grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from bench.cliffs.grid import Point
from bench.cliffs.logic_networks import LOGIC
from bench.cliffs.net import LOW, NO_ZERO, SCALE, TYPES, Net
from bench.cliffs.points import SHARED
from bench.cliffs.rare_networks import RARE, map_of, whole_pool
from lowtide.zoo.spec import NetSpec, Option, TensorSpec
from lowtide.zoo.writer import write


def network(points: Sequence[Point]) -> bytes:
    """The .tflite file of a network of those operators, in their order."""
    net = Net()
    for number, point in enumerate(points):
        net.number, net.point = number, point
        net.dtype = point.family.rpartition(" ")[2]
        _MAKERS[point.family.removeprefix(SHARED).partition(" ")[0]](net)
    read = {tensor for op in net.ops for tensor in op.inputs}
    made = tuple(out for op in net.ops for out in op.outputs if out not in read)
    tensors, inputs = tuple(net.tensors), tuple(net.inputs.values())
    return write(NetSpec("grid", tensors, tuple(net.ops), inputs, made))


def _dilated(net: Net) -> dict[str, Option]:
    dilation = int(net.point.axes.get("dilation", 1))
    return {"dilation_h_factor": dilation, "dilation_w_factor": dilation}


def _conv(net: Net) -> None:
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


def _depthwise(net: Net) -> None:
    channels, filters = net.size("channels"), net.size("filters")
    read, made, options = net.window()
    high, wide = net.size("kh"), net.size("kw")
    weights, bias, scale = net.layer((1, high, wide, channels * filters), 3, high * wide)
    inputs = net.input(1, *read, channels), weights, bias
    out = net.made((1, *made, channels * filters), scale)
    options |= {"depth_multiplier": filters, **_dilated(net)}
    net.op("DEPTHWISE_CONV_2D", inputs, out, "DepthwiseConv2D", **options)


def _block(net: Net) -> None:
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


def _dense(net: Net) -> None:
    rows, in_c, out_c = net.size("rows"), net.size("in_c"), net.size("out_c")
    weights, bias, scale = net.layer((out_c, in_c), 0, in_c)
    out = net.made((rows, out_c), scale)
    inputs = net.input(rows, in_c), weights, bias
    net.op("FULLY_CONNECTED", inputs, out, "FullyConnected", fused_activation_function=net.act())


def _transposed(net: Net) -> None:
    stride, out_c, in_c = net.size("stride"), net.size("out_c"), net.size("in_c")
    high, wide = net.size("kh"), net.size("kw")
    read = net.size("height"), net.size("width")
    shape = 1, read[0] * stride, read[1] * stride, out_c
    weights, bias, scale = net.layer((out_c, high, wide, in_c), 0, high * wide * in_c)
    inputs = net.const(np.array(shape, np.int32)), weights, net.input(1, *read, in_c), bias
    out = net.made(shape, scale)
    options: dict[str, Option] = {"padding": 0, "stride_h": stride, "stride_w": stride}
    net.op("TRANSPOSE_CONV", inputs, out, "TransposeConv", **options)


def _binary(net: Net) -> None:
    kind, shape = net.point.family.partition(" ")[0].upper(), map_of(net)
    second, first = net.word("second"), net.input(*shape)
    _, height, width, channels = shape
    sizes = {"channel": (1, 1, 1, channels), "pixel": (1, height, width, 1), "one": (1, 1, 1, 1)}
    if second in ("const", "consts"):
        size = (1, 1, 1, channels) if second == "consts" else (1, 1, 1, 1)
        low, high = {"s16": (-9000, 9000), "u8": (0, 256)}.get(net.dtype, (-128, 128))
        data = net.values.integers(low, high, size)
        dtype = TYPES[net.dtype]
        scales = np.array([SCALE / 2], np.float32)
        other = len(net.tensors)
        stored = data.astype(dtype.lower())
        net.tensors.append(TensorSpec(f"t{other}", size, dtype, scales, net.zero(), data=stored))
    elif second == "same":
        other = first
    else:
        other = net.input(*sizes.get(str(second), shape), which=1, scale=SCALE / 2)
    scale = 60 * SCALE * SCALE if kind == "MUL" else 1.5 * SCALE
    options: dict[str, Option] = {"fused_activation_function": net.act()}
    if kind != "MUL":
        options["pot_scale_int16"] = False
    net.op(kind, (first, other), net.made(shape, scale), kind.title(), **options)


def _pool(net: Net) -> None:
    kind = net.point.family.partition(" ")[0].upper()
    read, made, options = net.window()
    channels = net.size("channels")
    options |= {"filter_height": net.size("kh"), "filter_width": net.size("kw")}
    out = net.made((1, *made, channels))
    net.op(f"{kind}_POOL_2D", (net.input(1, *read, channels),), out, "Pool2D", **options)


def _mean(net: Net) -> None:
    shape = list(map_of(net))
    axes = {"map": (1, 2), "rows": (1,), "columns": (2,), "channels": (3,)}[net.kind]
    first = net.input(*shape)
    for axis in axes:
        shape[axis] = 1
    inputs = first, net.const(np.array(axes, np.int32))
    net.op("MEAN", inputs, net.made(shape, SCALE / 2), "Reducer", keep_dims=True)


_LIKE: dict[str, tuple[str, str, dict[str, Option]]] = {
    "softmax": ("SOFTMAX", "Softmax", {"beta": 1.0}),
    "logistic": ("LOGISTIC", "Abs", {}),
    "tanh": ("TANH", "Abs", {}),
    "hardswish": ("HARD_SWISH", "HardSwish", {}),
    "relu": ("RELU", "Abs", {}),
    "relu6": ("RELU6", "Abs", {}),
    "leaky": ("LEAKY_RELU", "LeakyRelu", {"alpha": 0.1}),
}


def _unary(net: Net) -> None:
    name = net.point.family.partition(" ")[0]
    kind, table, options = _LIKE[name]
    scale, zero = SCALE * 0.8, net.zero()
    source = net.input(*map_of(net))
    if name in ("softmax", "logistic"):
        scale, zero = (1 / 256, LOW[net.dtype]) if net.dtype != "s16" else (1 / 32768, 0)
    elif name == "tanh":
        scale, zero = (1 / 32768 if net.dtype == "s16" else 1 / 128), 0
    net.op(kind, (source,), net.made(map_of(net), scale, zero=zero), table, **options)


def _pad(net: Net) -> None:
    shape, by = list(map_of(net)), net.size("by")
    pads = np.zeros((4, 2), np.int32)
    if net.kind == "map":
        pads[1:3] = by
    else:
        pads[3] = by
    out = net.made([n + int(m) for n, m in zip(shape, pads.sum(axis=1), strict=True)])
    net.op("PAD", (net.input(*shape), net.const(pads)), out, "Pad")


def _concat(net: Net) -> None:
    shape, parts = list(map_of(net)), net.size("parts")
    axis = {"rows": 1, "columns": 2, "channels": 3}[net.kind]
    inputs = [net.input(*shape, which=which) for which in range(parts)]
    shape[axis] *= parts
    options: dict[str, Option] = {"axis": axis, "fused_activation_function": 0}
    net.op("CONCATENATION", inputs, net.made(shape), "Concatenation", **options)


def _resize(net: Net) -> None:
    name, scale = net.point.family.partition(" ")[0], net.size("scale")
    _, height, width, channels = shape = map_of(net)
    size = scale * height, scale * width
    kind, table = {
        "bilinear": ("RESIZE_BILINEAR", "ResizeBilinear"),
        "nearest": ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighbor"),
    }[name]
    inputs = net.input(*shape), net.const(np.array(size, np.int32))
    options: dict[str, Option] = {"align_corners": False, "half_pixel_centers": True}
    net.op(kind, inputs, net.made((1, *size, channels)), table, **options)


def _quantize(net: Net) -> None:
    kind = net.kind
    zero = 0 if kind in NO_ZERO else LOW[kind] + 100
    out = net.made(map_of(net), 0.7 * SCALE, kind, zero)
    operator = "DEQUANTIZE" if kind == "f32" else "QUANTIZE"
    net.op(operator, (net.input(*map_of(net)),), out, operator.capitalize())


_MAKERS: dict[str, Callable[[Net], None]] = {
    **dict.fromkeys(("conv", "pointwise", "grouped"), _conv),
    **dict.fromkeys(("add", "mul", "sub"), _binary),
    **dict.fromkeys(("max", "average"), _pool),
    **dict.fromkeys(_LIKE, _unary),
    **dict.fromkeys(("bilinear", "nearest"), _resize),
    "block": _block,
    "depthwise": _depthwise,
    "dense": _dense,
    "transposed": _transposed,
    "global": partial(whole_pool, kind="AVERAGE"),
    "mean": _mean,
    "pad": _pad,
    "concat": _concat,
    "quantize": _quantize,
    **RARE,
    **LOGIC,
}
