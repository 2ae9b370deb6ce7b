"""What operators that only move elements do, on arrays of anything: values, or numbers of elements.

Why on arrays: one definition serves constants, which are moved when the network is compiled, and the
question which elements of which tensor an output is made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lowtide.ir.graph import DType, Graph, Op

Array = NDArray[Any]

_VIEWS: Final = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
MOVES: Final = _VIEWS | {
    *("TRANSPOSE", "SLICE", "STRIDED_SLICE", "CONCATENATION", "PACK", "SPLIT", "SPLIT_V"),
    *("UNPACK", "PAD", "PADV2", "GATHER"),
}

_NUMPY: Final[Mapping[DType, str]] = {
    DType.INT8: "<i1",
    DType.UINT8: "<u1",
    DType.INT16: "<i2",
    DType.INT32: "<i4",
    DType.INT64: "<i8",
    DType.FLOAT32: "<f4",
    DType.BOOL: "|b1",
}


def values_of(graph: Graph, tensor: int) -> Array | None:
    """The contents of a constant in its shape; None if it is none, or of a type that is not read."""
    of = graph.tensors[tensor]
    if of.data is None or of.dtype not in _NUMPY or of.is_sparse:
        return None
    return np.frombuffer(of.data, _NUMPY[of.dtype]).reshape(of.shape)


def moved_inputs(op: Op) -> tuple[int, ...]:
    """The inputs whose elements `op` moves; its others say how."""
    match op.type:
        case "SPLIT":
            return op.inputs[1:2]
        case "CONCATENATION" | "PACK":
            return op.inputs
        case _:
            return op.inputs[:1]


def move(graph: Graph, op: Op, given: Sequence[Array], fill: int) -> tuple[Array, ...] | None:
    """What `op` makes of `given`, arrays in the shapes of `moved_inputs`; padding is `fill`.

    None if it does more than to move elements, in a way that is not known here, or makes no sense.
    """
    outs = [graph.tensors[t] for t in op.outputs]
    ins = [graph.tensors[t] for t in moved_inputs(op)]
    if len({t.dtype for t in (*ins, *outs)}) != 1 or not outs:
        return None
    try:
        made = _made(graph, op, given, fill)
    except (ValueError, IndexError, TypeError):
        return None
    if made is None or [m.shape for m in made] != [out.shape for out in outs]:
        return None
    return made


def _made(graph: Graph, op: Op, given: Sequence[Array], fill: int) -> tuple[Array, ...] | None:
    first = given[0]
    axis = op.options.get("axis")
    along = axis if isinstance(axis, int) else 0
    match op.type:
        case "RESHAPE" | "SQUEEZE" | "EXPAND_DIMS":
            return (first.reshape(graph.tensors[op.outputs[0]].shape),)
        case "TRANSPOSE":
            return (np.transpose(first, _integers(graph, op, 1)),)
        case "SLICE":
            begin, size = _integers(graph, op, 1), _integers(graph, op, 2)
            ends = [
                d if s == -1 else b + s for b, s, d in zip(begin, size, first.shape, strict=True)
            ]
            return (first[tuple(map(slice, begin, ends))],)
        case "STRIDED_SLICE":
            return _strided(graph, op, first)
        case "CONCATENATION":
            quants = {graph.tensors[t].quant for t in (*op.inputs, *op.outputs)}
            if len(quants) != 1 or op.options.get("fused_activation_function", 0):
                return None
            return (np.concatenate(given, along),)
        case "PACK":
            return (np.stack(given, along),)
        case "UNPACK":
            return tuple(np.moveaxis(first, along, 0))
        case "SPLIT":
            return tuple(np.split(first, len(op.outputs), _integers(graph, op, 0)[0]))
        case "SPLIT_V":
            along = _integers(graph, op, 2)[0]
            sizes = [graph.tensors[out].shape[along] for out in op.outputs]
            if sum(sizes) != first.shape[along]:
                return None
            return tuple(np.split(first, np.cumsum(sizes)[:-1], along))
        case "PAD" | "PADV2":
            sides = np.array(_integers(graph, op, 1)).reshape(-1, 2)
            return (np.pad(first, sides.tolist(), constant_values=fill),)
        case "GATHER":
            index = values_of(graph, op.inputs[1])
            whole = index is not None and index.dtype.kind == "i"
            if index is None or not whole or op.options.get("batch_dims") or (index < 0).any():
                return None
            return (np.take(first, index, along),)
        case _:
            return None


def _strided(graph: Graph, op: Op, source: Array) -> tuple[Array, ...] | None:
    """StartForAxis and StopForAxis, strided_slice_logic.h."""
    if any(op.options.get(name) for name in ("ellipsis_mask", "new_axis_mask", "offset")):
        return None
    begin, end, stride = (_integers(graph, op, i) for i in (1, 2, 3))
    masks = {name: _mask(op, name) for name in ("begin", "end", "shrink_axis")}
    index: list[Any] = []
    for axis, (first, last, step) in enumerate(zip(begin, end, stride, strict=True)):
        size = source.shape[axis]
        bit = 1 << axis
        if step < 1:  # backwards is rare, and left alone
            return None
        start = 0 if masks["begin"] & bit else min(max(first + size * (first < 0), 0), size)
        if masks["shrink_axis"] & bit:
            index.append(start)
            continue
        stop = size if masks["end"] & bit else min(max(last + size * (last < 0), 0), size)
        index.append(slice(start, max(start, stop), step))
    return (source[tuple(index)],)


def _mask(op: Op, name: str) -> int:
    value = op.options.get(f"{name}_mask")
    return value if isinstance(value, int) else 0


def _integers(graph: Graph, op: Op, index: int) -> list[int]:
    """The values of a constant input; raises IndexError or ValueError if there are none."""
    values = values_of(graph, op.inputs[index]) if op.inputs[index] >= 0 else None
    if values is None or values.dtype.kind != "i" or values.dtype.itemsize < 4:
        raise ValueError(f"input {index} is not known")
    return [int(x) for x in values.reshape(-1)]


def pad_value(graph: Graph, op: Op) -> int | None:
    """What a PAD pads with, as stored; None if that is no integer that is known."""
    out = graph.tensors[op.outputs[0]]
    if len(op.inputs) > 2 and op.inputs[2] >= 0:
        values = values_of(graph, op.inputs[2])
        known = values is not None and values.size == 1 and values.dtype.kind in "iu"
        return int(values.reshape(-1)[0]) if known and values is not None else None
    if out.dtype in (DType.INT8, DType.UINT8):
        return out.quant.zero_point[0] if out.quant is not None else None
    return 0
