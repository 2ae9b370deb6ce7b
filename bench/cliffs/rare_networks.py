"""How points of the families in rare_points.py become operators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.cliffs.net import Net

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


RARE: dict[str, Callable[[Net], None]] = {
    "transpose": _transpose,
    "split": _split,
}
"""What makes the operator of each kind of family."""
