"""Convolutions and pools get their window: one form, whatever the file says it with.

Why when a network is read: every later stage then has the same form, and no other place reads the
options that say it.

Source: ComputePaddingHeightWidth, tensorflow/lite/kernels/padding.h.
"""

from __future__ import annotations

from dataclasses import replace

from lowtide.ir.graph import Graph, Op
from lowtide.ir.window import Axis, Window

_SAME = 0  # Padding.SAME in the schema

_WEIGHTS = {"CONV_2D": 1, "DEPTHWISE_CONV_2D": 1, "TRANSPOSE_CONV": 1}
"""Which input of an operator has the kernel's shape, [_, height, width, _]."""

_POOLS = frozenset({"AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"})


def normalise_windows(graph: Graph) -> Graph:
    """Set `Op.window` of all operators that have one and whose shapes make sense; others stay.

    The window of a TRANSPOSE_CONV is that of the convolution whose transpose it is: its "outputs" are
    the operator's inputs.
    """
    return replace(graph, ops=tuple(_with_window(graph, op) for op in graph.ops))


def _with_window(graph: Graph, op: Op) -> Op:
    if op.window is not None:
        return op
    kernel = _kernel(graph, op)
    source = graph.tensors[op.outputs[0]] if op.type == "TRANSPOSE_CONV" and op.outputs else None
    source = source or graph.tensor(op, 0)
    if kernel is None or source is None or len(source.shape) != 4:
        return op
    axes = []
    for axis, (size, length) in enumerate(zip(kernel, source.shape[1:3], strict=True)):
        side = "hw"[axis]
        # Without a table of options TFLM has no strides: such an operator is refused later.
        stride = _option(op, f"stride_{side}", 1 if op.options else 0)
        dilation = _option(op, f"dilation_{side}_factor")
        if min(size, stride, dilation) < 1:
            return op
        total = 0
        if op.options.get("padding", _SAME) == _SAME:
            made = -(-length // stride)
            total = max(0, (made - 1) * stride + (size - 1) * dilation + 1 - length)
        axes.append(Axis(size, stride, dilation, total // 2, total - total // 2))
    return replace(op, window=Window(*axes))


def _kernel(graph: Graph, op: Op) -> tuple[int, int] | None:
    """Height and width of the kernel; None if the operator has none."""
    if op.type in _POOLS:
        return _option(op, "filter_height", 0), _option(op, "filter_width", 0)
    weights = graph.tensor(op, _WEIGHTS[op.type]) if op.type in _WEIGHTS else None
    if weights is None or len(weights.shape) != 4:
        return None
    return weights.shape[1], weights.shape[2]


def _option(op: Op, name: str, default: int = 1) -> int:
    value = op.options.get(name, default)
    return int(value) if isinstance(value, bool | int) else default
