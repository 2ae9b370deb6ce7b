"""How points of the families in rare_points.py become operators."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from bench.cliffs.net import SCALE, TYPES, Net
from lowtide.zoo.spec import Option, TensorSpec

_ORDERS: dict[str, tuple[int, ...]] = {
    "columns": (0, 1, 3, 2),
    "rows": (0, 2, 1, 3),
    "planes": (0, 3, 1, 2),
    "pixels": (0, 2, 3, 1),
    "groups": (0, 1, 2, 4, 3),
}


def map_of(net: Net) -> tuple[int, int, int, int]:
    """The shape of the point's map."""
    return 1, net.size("height"), net.size("width"), net.size("channels")


def _transpose(net: Net) -> None:
    order, shape = _ORDERS[net.kind], map_of(net)
    read = (*shape[:3], net.size("groups"), shape[3]) if net.kind == "groups" else shape
    inputs = net.input(*read), net.const(np.array(order, np.int32))
    net.op("TRANSPOSE", inputs, net.made([read[axis] for axis in order]), "Transpose")


def _split(net: Net) -> None:
    shape, parts = list(map_of(net)), net.size("parts")
    axis = {"columns": 2, "channels": 3}[net.kind]
    whole = list(shape)
    whole[axis] *= parts
    first = net.made(shape)
    made = first, *(net.another(first) for _ in range(parts - 1))
    inputs = net.const(np.array(axis, np.int32)), net.input(*whole)
    net.op("SPLIT", inputs, made, "Split", num_splits=parts)


def _products(net: Net) -> None:
    heads, depth, turned = net.size("heads"), net.size("depth"), net.word("turned")
    left = (heads, net.size("rows"), depth)
    right = (heads, depth, net.size("columns"))
    made = (*left[:2], right[2])
    turns = {"adj_x": turned in ("left", "both"), "adj_y": turned in ("right", "both")}
    if turns["adj_x"]:
        left = (heads, depth, left[1])
    if turns["adj_y"]:
        right = (heads, right[2], depth)
    inputs = net.input(*left), net.input(*right, which=1)
    scale = 4 * 73 * SCALE * SCALE * math.sqrt(depth)
    net.op("BATCH_MATMUL", inputs, net.made(made, scale), "BatchMatMul", **turns)


def whole_pool(net: Net, kind: str) -> None:
    """A pool of this kind of a whole map."""
    shape = map_of(net)
    options: dict[str, Option] = {"padding": 1, "stride_h": 1, "stride_w": 1}
    options |= {"filter_height": shape[1], "filter_width": shape[2], "fused_activation_function": 0}
    out = net.made((1, 1, 1, shape[3]))
    net.op(f"{kind}_POOL_2D", (net.input(*shape),), out, "Pool2D", **options)


def _extreme(net: Net) -> None:
    shape, kind = map_of(net), net.point.family.partition(" ")[0].upper()
    sizes = {"channel": (1, 1, 1, shape[3]), "one": (1, 1, 1, 1)}
    other = net.input(*sizes.get(str(net.word("second")), shape), which=1)
    net.op(kind, (net.input(*shape), other), net.made(shape), "MaximumMinimum")


def _prelu(net: Net) -> None:
    shape = map_of(net)
    slopes = net.values.integers(10, 60, (1, 1, shape[3] if net.word("second") == "channel" else 1))
    dtype = "INT8" if net.dtype == "s16" else TYPES[net.dtype]
    zero = {"u8": 3, "s8": -3}.get(net.dtype, 0)
    number, scales = len(net.tensors), np.array([0.01], np.float32)
    data = slopes.astype(dtype.lower())
    net.tensors.append(TensorSpec(f"t{number}", data.shape, dtype, scales, zero, data=data))
    net.op("PRELU", (net.input(*shape), number), net.made(shape, 0.8 * SCALE), "Abs")


def _reduced(net: Net) -> None:
    shape = list(map_of(net))
    axes = {"map": (1, 2), "rows": (1,), "channels": (3,)}[net.kind]
    inputs = net.input(*shape), net.const(np.array(axes, np.int32))
    for axis in axes:
        shape[axis] = 1
    kind = {"greatest": "REDUCE_MAX", "least": "REDUCE_MIN"}[net.point.family.partition(" ")[0]]
    net.op(kind, inputs, net.made(shape), "Reducer", keep_dims=True)


def _rescaled(net: Net) -> None:
    shape, parts = list(map_of(net)), net.size("parts")
    axis = {"columns": 2, "channels": 3}[net.kind]
    inputs = [net.input(*shape, which=which, scale=SCALE * (1 + which)) for which in range(parts)]
    shape[axis] *= parts
    options: dict[str, Option] = {"axis": axis, "fused_activation_function": 0}
    net.op("CONCATENATION", inputs, net.made(shape, parts * SCALE), "Concatenation", **options)


def _blocks(net: Net) -> None:
    _, height, width, channels = map_of(net)
    block, wide = net.size("block"), net.point.family.startswith("wide")
    few, many = (height * block, width * block, channels), (height, width, channels * block * block)
    read, made = (many, few) if wide else (few, many)
    kind, table = ("DEPTH_TO_SPACE", "DepthToSpace") if wide else ("SPACE_TO_DEPTH", "SpaceToDepth")
    net.op(kind, (net.input(1, *read),), net.made((1, *made)), table, block_size=block)


def _drawn(net: Net, shape: tuple[int, ...], dtype: str, scale: float) -> int:
    """Drawn weights, of any number of bits; biases begin at 0."""
    size = 0 if dtype in ("INT32", "INT64") else 128
    data = net.values.integers(-size, max(size, 1), shape).astype(dtype.lower())
    scales = np.array([scale], np.float32)
    net.tensors.append(TensorSpec(f"t{len(net.tensors)}", shape, dtype, scales, data=data))
    return len(net.tensors) - 1


def _state(net: Net, shape: tuple[int, ...], dtype: str, scale: float) -> int:
    scales, number = np.array([scale], np.float32), len(net.tensors)
    net.tensors.append(TensorSpec(f"t{number}", shape, dtype, scales, is_variable=True))
    return number


def _svdf(net: Net) -> None:
    state, net.dtype = TYPES[net.dtype], "s8"
    inputs, units, memory = net.size("inputs"), net.size("units"), net.size("memory")
    filters = units * net.size("rank")
    fine = 256 if state == "INT16" else 1
    operands = (
        net.input(1, inputs),
        _drawn(net, (filters, inputs), "INT8", 0.01),
        _drawn(net, (filters, memory), state, 0.01),
        _drawn(net, (units,), "INT32", 0.01),
        _state(net, (1, filters * memory), state, SCALE * 0.73 * math.sqrt(inputs) / fine),
    )
    made = net.made((1, units), SCALE * math.sqrt(inputs * memory * net.size("rank")))
    net.op("SVDF", operands, made, "SVDF", rank=net.size("rank"), fused_activation_function=0)


def _lstm(net: Net) -> None:
    times, inputs, units = net.size("times"), net.size("inputs"), net.size("units")
    factor = 1.7 if net.word("factor") == "two" else 0.1
    scales = factor / 4096 / SCALE, factor / 4096 * 128
    weights = [_drawn(net, (units, inputs), "INT8", scales[0]) for _ in range(4)]
    recurrent = [_drawn(net, (units, units), "INT8", scales[1]) for _ in range(4)]
    wide = net.dtype == "s16"
    of_bias, one = "INT64" if wide else "INT32", 2.0**-15 if wide else 2.0**-7
    biases = [_drawn(net, (units,), of_bias, SCALE * scales[0]) for _ in range(4)]
    hidden = _state(net, (1, units), TYPES[net.dtype], one)
    states = hidden, _state(net, (1, units), "INT16", 2.0**-11)
    absent = (-1,) * 3
    operands = [net.input(1, times, inputs), *weights, *recurrent, *absent, *biases, *absent[:2]]
    made = net.made((1, times, units), one, zero=0)
    options: dict[str, Option] = {"fused_activation_function": 4, "cell_clip": 10.0}
    table = "UnidirectionalSequenceLSTM"
    kind = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    net.op(kind, (*operands, *states, *absent, -1), made, table, **options)


RARE: dict[str, Callable[[Net], None]] = {
    "transpose": _transpose,
    "split": _split,
    "matmul": _products,
    "whole": partial(whole_pool, kind="MAX"),
    **dict.fromkeys(("maximum", "minimum"), _extreme),
    "prelu": _prelu,
    **dict.fromkeys(("greatest", "least"), _reduced),
    "rescaled": _rescaled,
    "svdf": _svdf,
    "lstm": _lstm,
    **dict.fromkeys(("deep", "wide"), _blocks),
}
"""What makes the operator of each kind of family."""
