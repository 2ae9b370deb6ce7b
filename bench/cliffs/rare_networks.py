"""How points of the families in rare_points.py become operators."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bench.cliffs.net import SCALE, Net

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


RARE: dict[str, Callable[[Net], None]] = {
    "transpose": _transpose,
    "split": _split,
    "matmul": _products,
}
"""What makes the operator of each kind of family."""
