"""How points of the families in rare_points.py become operators."""

from __future__ import annotations

import math
from collections.abc import Callable

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


def _map(net: Net) -> tuple[int, int, int, int]:
    return 1, net.size("height"), net.size("width"), net.size("channels")


def _transpose(net: Net) -> None:
    order, shape = _ORDERS[net.kind], _map(net)
    read = (*shape[:3], net.size("groups"), shape[3]) if net.kind == "groups" else shape
    inputs = net.input(*read), net.const(np.array(order, np.int32))
    net.op("TRANSPOSE", inputs, net.made([read[axis] for axis in order]), "Transpose")


def _split(net: Net) -> None:
    shape, parts = list(_map(net)), net.size("parts")
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


def _whole(net: Net) -> None:
    shape = _map(net)
    options: dict[str, Option] = {"padding": 1, "stride_h": 1, "stride_w": 1}
    options |= {"filter_height": shape[1], "filter_width": shape[2], "fused_activation_function": 0}
    out = net.made((1, 1, 1, shape[3]))
    net.op("MAX_POOL_2D", (net.input(*shape),), out, "Pool2D", **options)


def _extreme(net: Net) -> None:
    shape, kind = _map(net), net.point.family.partition(" ")[0].upper()
    sizes = {"channel": (1, 1, 1, shape[3]), "one": (1, 1, 1, 1)}
    other = net.input(*sizes.get(str(net.word("second")), shape), which=1)
    net.op(kind, (net.input(*shape), other), net.made(shape), "MaximumMinimum")


def _prelu(net: Net) -> None:
    shape = _map(net)
    slopes = net.values.integers(10, 60, (1, 1, shape[3] if net.word("second") == "channel" else 1))
    dtype = "INT8" if net.dtype == "s16" else TYPES[net.dtype]
    zero = {"u8": 3, "s8": -3}.get(net.dtype, 0)
    number, scales = len(net.tensors), np.array([0.01], np.float32)
    data = slopes.astype(dtype.lower())
    net.tensors.append(TensorSpec(f"t{number}", data.shape, dtype, scales, zero, data=data))
    net.op("PRELU", (net.input(*shape), number), net.made(shape, 0.8 * SCALE), "Abs")


def _reduced(net: Net) -> None:
    shape = list(_map(net))
    axes = {"map": (1, 2), "rows": (1,), "channels": (3,)}[net.kind]
    inputs = net.input(*shape), net.const(np.array(axes, np.int32))
    for axis in axes:
        shape[axis] = 1
    kind = {"greatest": "REDUCE_MAX", "least": "REDUCE_MIN"}[net.point.family.partition(" ")[0]]
    net.op(kind, inputs, net.made(shape), "Reducer", keep_dims=True)


def _rescaled(net: Net) -> None:
    shape, parts = list(_map(net)), net.size("parts")
    axis = {"columns": 2, "channels": 3}[net.kind]
    inputs = [
        net.input(*shape, which=which, scale=SCALE * (1 + which)) for which in range(parts)
    ]
    shape[axis] *= parts
    options: dict[str, Option] = {"axis": axis, "fused_activation_function": 0}
    net.op("CONCATENATION", inputs, net.made(shape, parts * SCALE), "Concatenation", **options)


RARE: dict[str, Callable[[Net], None]] = {
    "transpose": _transpose,
    "split": _split,
    "matmul": _products,
    "whole": _whole,
    **dict.fromkeys(("maximum", "minimum"), _extreme),
    "prelu": _prelu,
    **dict.fromkeys(("greatest", "least"), _reduced),
    "rescaled": _rescaled,
}
"""What makes the operator of each kind of family."""
