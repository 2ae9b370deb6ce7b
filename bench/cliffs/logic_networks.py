"""How points of the families in logic_points.py become operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from bench.cliffs.net import LOW, SCALE, Net
from bench.cliffs.rare_networks import map_of
from lowtide.zoo.spec import Option

_AXES = {"rows": 1, "columns": 2, "channels": 3}
_PLAIN = frozenset({"s32", "s64", "b8"})
"""Types of numbers that stand for themselves."""


def _scale(net: Net) -> float:
    return 0.0 if net.dtype in _PLAIN else SCALE


def _log_softmax(net: Net) -> None:
    shape = map_of(net)
    out = net.made(shape, 1 / 16, zero=127)
    net.op("LOG_SOFTMAX", (net.input(*shape),), out, "LogSoftmax")


def _wide_softmax(net: Net) -> None:
    shape = map_of(net)
    out = net.made(shape, 1 / 65536, "s16", LOW["s16"] - 32768)
    net.op("SOFTMAX", (net.input(*shape),), out, "Softmax", beta=1.0)


def _norm(net: Net) -> None:
    shape = map_of(net)
    out = net.made(shape, 1 / 128, zero=0)
    net.op("L2_NORMALIZATION", (net.input(*shape),), out, "L2Norm", fused_activation_function=0)


def _running(net: Net) -> None:
    shape = map_of(net)
    axis = net.const(np.array(_AXES[net.kind], np.int32))
    out = net.made(shape, 4 * SCALE)
    net.op("CUMSUM", (net.input(*shape), axis), out, "Cumsum", exclusive=False, reverse=False)


def _sum(net: Net) -> None:
    shape, parts = map_of(net), net.size("parts")
    inputs = [net.input(*shape, which=which) for which in range(parts)]
    net.op("ADD_N", inputs, net.made(shape, 2 * SCALE), "AddN")


def _place(net: Net) -> None:
    shape, axis = list(map_of(net)), _AXES[net.kind]
    inputs = net.input(*shape, scale=_scale(net)), net.const(np.array(axis, np.int32))
    del shape[axis]
    net.op("ARG_MAX", inputs, net.made(shape, 0.0, "s32"), "ArgMax", output_type=2)


def _pair(net: Net, kind: str, table: str, made: str = "", **options: Option) -> None:
    shape, scale = map_of(net), _scale(net)
    sizes = {"channel": (1, 1, 1, shape[3]), "one": (1, 1, 1, 1)}
    other = net.input(*sizes.get(str(net.word("second")), shape), which=1, scale=scale)
    out = net.made(shape, 0.0 if made else scale, made)
    net.op(kind, (net.input(*shape, scale=scale), other), out, table, **options)


def _squared(net: Net) -> None:
    shape, scale = map_of(net), _scale(net)
    sizes = {"channel": (1, 1, 1, shape[3]), "one": (1, 1, 1, 1)}
    other = net.input(*sizes.get(str(net.word("second")), shape), which=1, scale=scale)
    inputs, size = (net.input(*shape, scale=scale), other), 9000 if net.dtype == "s16" else 40
    net.op("SQUARED_DIFFERENCE", inputs, net.made(shape, size * scale * scale), "SquaredDifference")


def _select(net: Net) -> None:
    shape, scale = map_of(net), _scale(net)
    sizes = {"channel": (1, 1, 1, shape[3]), "one": (1, 1, 1, 1)}
    second = sizes.get(str(net.word("second")), shape)
    condition = net.input(*shape, scale=0.0, dtype="b8")
    inputs = condition, net.input(*shape, scale=scale), net.input(*second, which=1, scale=scale)
    net.op("SELECT_V2", inputs, net.made(shape, scale), "SelectV2")


def _lookup(net: Net) -> None:
    """Of rows that an index names; of parts of each row; of rows that two numbers name."""
    rows, many, channels = net.size("rows"), net.size("indices"), net.size("channels")
    if net.kind == "places":
        inputs = net.input(rows, 4, channels), net.input(many, 2, scale=0.0, dtype="s32")
        net.op("GATHER_ND", inputs, net.made((many, channels)), "GatherNd")
        return
    index = net.input(many, scale=0.0, dtype="s32")
    shape = (4 * rows, channels) if net.kind == "rows" else (rows, 4, channels)
    axis = len(shape) - 2
    made = (*shape[:axis], many, channels)
    net.op("GATHER", (net.input(*shape), index), net.made(made), "Gather", axis=axis, batch_dims=0)


def _update(net: Net) -> None:
    """A row, a column, or a channel of a map is written anew, at an index that is made at run time."""
    shape = map_of(net)
    box = list(shape)
    box[_AXES[net.kind]] = 1
    start = net.input(4, scale=0.0, dtype="s32")
    inputs = net.input(*shape), net.input(*box, which=1), start
    net.op("DYNAMIC_UPDATE_SLICE", inputs, net.made(shape), "DynamicUpdateSlice")


def _flip(net: Net) -> None:
    shape = map_of(net)
    out = net.made(shape, SCALE, "s8", 0)
    net.op("QUANTIZE", (net.input(*shape),), out, "Quantize")


def _batch(net: Net) -> None:
    _, height, width, channels = map_of(net)
    shape = net.size("batch"), height, width, channels
    high = net.size("kh")
    options: dict[str, Option] = {
        "padding": 0,
        "stride_h": 1,
        "stride_w": 1,
        "fused_activation_function": 0,
    }
    if net.kind == "max":
        options |= {"filter_height": high, "filter_width": 1}
        net.op("MAX_POOL_2D", (net.input(*shape),), net.made(shape), "Pool2D", **options)
        return
    weights, bias, scale = net.layer((channels, high, 1, channels), 0, high * channels)
    inputs = net.input(*shape), weights, bias
    options |= {"dilation_h_factor": 1, "dilation_w_factor": 1}
    net.op("CONV_2D", inputs, net.made(shape, scale), "Conv2D", **options)


LOGIC: dict[str, Callable[[Net], None]] = {
    "logsoftmax": _log_softmax,
    "widesoftmax": _wide_softmax,
    "norm": _norm,
    "running": _running,
    "sum": _sum,
    "place": _place,
    "less": partial(_pair, kind="LESS", table="Less", made="b8"),
    "equal": partial(_pair, kind="EQUAL", table="Equal", made="b8"),
    "greater": partial(_pair, kind="MAXIMUM", table="MaximumMinimum"),
    "lesser": partial(_pair, kind="MINIMUM", table="MaximumMinimum"),
    "difference": partial(_pair, kind="SUB", table="Sub", fused_activation_function=0),
    "quotient": partial(_pair, kind="FLOOR_DIV", table="FloorDiv"),
    "remainder": partial(_pair, kind="FLOOR_MOD", table="FloorMod"),
    "squared": _squared,
    "select": _select,
    "lookup": _lookup,
    "update": _update,
    "flip": _flip,
    "batch": _batch,
}
"""What makes the operator of each kind of family."""
