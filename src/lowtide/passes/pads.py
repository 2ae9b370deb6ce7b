"""Explicit padding: a PAD becomes part of the operator that reads it, where that means the same.

Why: its rows would be stored only to be read once, and the zero points around them need no memory.
"""

from __future__ import annotations

from dataclasses import replace

from lowtide.ir.graph import DType, Graph, Op
from lowtide.ir.window import Window
from lowtide.passes.rewriting import integers, readers_of, with_ops

_CONVOLUTIONS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D"})


def fold_pads(graph: Graph) -> Graph:
    """Let convolutions and pools do the PAD before them.

    A PAD goes if it pads height and width alone, nobody but one operator without padding reads its
    result, and that operator's own padding means the same: the zero point before a convolution, the
    type's least value before a MAX_POOL_2D. (An average is not the same: padding changes its divisor.)
    The operator reads the PAD's input, and its window has the padding.
    """
    readers = readers_of(graph)
    folded: dict[int, Op] = {}
    gone = set()
    for pad in graph.ops:
        sides = _sides(graph, pad)
        if sides is None or pad.outputs[0] in graph.outputs:
            continue
        using = readers.get(pad.outputs[0], [])
        op = using[0] if len(using) == 1 else None
        if op is None or op.window is None or not _can_fold(graph, pad, op, op.window, sides):
            continue
        folded[op.id] = replace(
            op, inputs=(pad.inputs[0], *op.inputs[1:]), window=_padded(op.window, sides)
        )
        gone.add(pad.id)
    if not gone:
        return graph
    return with_ops(graph, (folded.get(op.id, op) for op in graph.ops if op.id not in gone))


def _sides(graph: Graph, pad: Op) -> tuple[int, int, int, int] | None:
    """(top, bottom, left, right) of a PAD of a feature map's height and width; None if it is none."""
    if pad.type not in ("PAD", "PADV2") or len(pad.inputs) < 2 or -1 in pad.inputs[:2]:
        return None
    source, paddings = (graph.tensors[i] for i in pad.inputs[:2])
    values = integers(paddings)
    if values is None or len(source.shape) != 4 or len(values) != 8 or min(values) < 0:
        return None
    top, bottom, left, right = values[2:6]
    return None if any(values[:2] + values[6:]) else (top, bottom, left, right)


def _padded(window: Window, sides: tuple[int, int, int, int]) -> Window:
    """`window`, which has no padding, with these sides."""
    top, bottom, left, right = sides
    return Window(
        replace(window.rows, before=top, after=bottom),
        replace(window.columns, before=left, after=right),
    )


def _can_fold(
    graph: Graph, pad: Op, op: Op, window: Window, sides: tuple[int, int, int, int]
) -> bool:
    """True if `op` computes the same from the PAD's input with padding `sides` of its own."""
    source, padded = graph.tensors[pad.inputs[0]], graph.tensors[pad.outputs[0]]
    value = _pad_value(graph, pad)
    if op.inputs[0] != padded.id or window != _padded(window, (0, 0, 0, 0)):
        return False
    if source.quant is None or source.quant != padded.quant or value is None:
        return False
    if op.type in _CONVOLUTIONS:
        # A 1 x 1 convolution has no window, and its kernels know of no padding.
        taps = window.rows.kernel * window.columns.kernel
        return value == source.quant.zero_point[0] and taps > 1
    # A window of a pool must reach past the padding: the greatest of nothing is not defined.
    reaches = max(sides[:2]) < window.rows.kernel and max(sides[2:]) < window.columns.kernel
    return op.type == "MAX_POOL_2D" and reaches and value == _least(source.dtype)


def _pad_value(graph: Graph, pad: Op) -> int | None:
    """What the PAD pads with, as stored; None if that is not known here."""
    if len(pad.inputs) > 2 and pad.inputs[2] >= 0:
        values = integers(graph.tensors[pad.inputs[2]])
        return values[0] if values is not None and len(values) == 1 else None
    out = graph.tensors[pad.outputs[0]]
    match out.dtype:
        case DType.INT8 | DType.UINT8:
            return out.quant.zero_point[0] if out.quant else None
        case DType.INT16:
            return 0
        case _:
            return None


def _least(dtype: DType) -> int | None:
    return {DType.INT8: -128, DType.UINT8: 0, DType.INT16: -(1 << 15)}.get(dtype)
