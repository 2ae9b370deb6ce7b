"""Rewrites of the graph before it is scheduled: same results, less to store.

Why here: an operator that another can do on the way, or that the caller can do better, should be
gone before any order is searched or any memory placed. Every pass is a function Graph -> Graph.
Tensors keep their ids, also those that nothing makes any more, so that results can still be compared
with the file's tensors; operators are numbered anew, ops[i].id == i.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from lowtide.ir.graph import DType, Graph, Op, Tensor
from lowtide.ir.window import Window
from lowtide.passes.windows import normalise_windows

_CONVOLUTIONS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D"})


def round_once(graph: Graph) -> Graph:
    """Let dense layers round as LiteRT's reference does: the graph itself where that is no difference.

    uint8 is LiteRT's in any case, as TFLM does not have it.
    """
    marked = {
        op.id: replace(op, rounds_once=True)
        for op in graph.ops
        if op.type == "FULLY_CONNECTED"
        and graph.tensors[op.inputs[0]].dtype in (DType.INT8, DType.INT16)
    }
    return _with_ops(graph, (marked.get(op.id, op) for op in graph.ops)) if marked else graph


def fold_pads(graph: Graph) -> Graph:
    """Let convolutions and pools do the PAD before them.

    A PAD goes if it pads height and width alone, nobody but one operator without padding reads its
    result, and that operator's own padding means the same: the zero point before a convolution, the
    type's least value before a MAX_POOL_2D. (An average is not the same: padding changes its divisor.)
    The operator reads the PAD's input, and its window has the padding.
    """
    graph = normalise_windows(graph)
    readers = _readers(graph)
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
    return _with_ops(graph, (folded.get(op.id, op) for op in graph.ops if op.id not in gone))


def drop_boundary_quantization(graph: Graph) -> Graph:
    """Let the caller give and take quantised values where the model converts from and to float.

    A QUANTIZE of a float graph input goes if nobody else reads that input, and its result becomes the
    input; a DEQUANTIZE that makes a float graph output goes if nobody reads that output, and its
    input becomes the output. Positions among the inputs and outputs stay.
    """
    readers = _readers(graph)
    makers = {tensor: op for op in graph.ops for tensor in op.outputs}
    inputs, outputs = list(graph.inputs), list(graph.outputs)
    gone = set()
    for position, tensor in enumerate(inputs):
        using = readers.get(tensor, [])
        if len(using) != 1 or tensor in outputs or inputs.count(tensor) > 1:
            continue
        op = using[0]
        if op.type == "QUANTIZE" and _is_float(graph, tensor) and op.outputs[0] not in outputs:
            inputs[position] = op.outputs[0]
            gone.add(op.id)
    for position, tensor in enumerate(outputs):
        maker = makers.get(tensor)
        if maker is None or maker.type != "DEQUANTIZE" or not _is_float(graph, tensor):
            continue
        source = maker.inputs[0]
        made = source in makers and makers[source].id not in gone
        if made and tensor not in readers and source not in outputs and outputs.count(tensor) == 1:
            outputs[position] = source
            gone.add(maker.id)
    changed = replace(graph, inputs=tuple(inputs), outputs=tuple(outputs))
    return _with_ops(changed, (op for op in graph.ops if op.id not in gone))


def resolve_variables(graph: Graph) -> Graph:
    """Turn variables that are known by name into variable tensors, which a program can place.

    A new tensor for each name that a VAR_HANDLE gives takes the place of all handles of that name
    in READ_VARIABLE and ASSIGN_VARIABLE, and the VAR_HANDLEs go, and so do CALL_ONCEs that only set
    them: that is in their initial contents. A name whose users disagree on its size or type, or that
    is used in another way, stays as it is. An operator that reads and writes a variable tensor keeps
    its place among the others that do: see schedule/bitgraph.py.
    """
    names: dict[int, tuple[object, object]] = {
        op.outputs[0]: (op.options.get("container") or "", op.options.get("shared_name"))
        for op in graph.ops
        if op.type == "VAR_HANDLE" and len(op.outputs) == 1
    }
    values: dict[tuple[object, object], list[Tensor | None]] = {}
    readers = _readers(graph)
    for handle, name in names.items():
        using = sorted(readers.get(handle, []), key=lambda op: op.type)  # ASSIGN before READ
        used = [_held(graph, op) for op in using] + [None] * graph.outputs.count(handle)
        values.setdefault(name, []).extend(used)
    tensors, made = list(graph.tensors), {}
    for name, held in values.items():
        kinds = {(t.dtype, t.shape) if t is not None else None for t in held}
        if len(kinds) == 1 and held[0] is not None:
            made[name] = len(tensors)
            label = str(name[1] or f"variable{len(made)}")
            # What is assigned comes first: its zero point is what the variable starts with.
            new = replace(held[0], id=len(tensors), name=label, data=None, buffer=0)
            initial = (graph.initial or {}).get(str(name[1] or ""))
            fits = initial is not None and len(initial) == new.bytes
            tensors.append(replace(new, is_variable=True, initial=initial if fits else None))
    place = {handle: made[name] for handle, name in names.items() if name in made}
    ops = [
        replace(op, inputs=tuple(place.get(tensor, tensor) for tensor in op.inputs))
        for op in graph.ops
        if not (op.type == "VAR_HANDLE" and op.outputs and op.outputs[0] in place)
        and not (op.type == "CALL_ONCE" and _settled(graph, tensors))
    ]
    return _with_ops(replace(graph, tensors=tuple(tensors)), ops)


def _settled(graph: Graph, tensors: Iterable[Tensor]) -> bool:
    """True if all that CALL_ONCE does is in the variables' initial contents."""
    held = {tensor.name for tensor in tensors if tensor.initial is not None}
    return graph.initial is not None and set(graph.initial) <= held


def _held(graph: Graph, op: Op) -> Tensor | None:
    """What a user of a variable's handle takes from it or puts into it; None if it does neither."""
    if op.type == "ASSIGN_VARIABLE" and len(op.inputs) == 2:
        return graph.tensor(op, 1)
    if op.type == "READ_VARIABLE" and len(op.outputs) == 1:
        return graph.tensors[op.outputs[0]]
    return None


def _readers(graph: Graph) -> Mapping[int, list[Op]]:
    """Tensor -> the operators that read it, once for each of their inputs that it is."""
    readers: dict[int, list[Op]] = {}
    for op in graph.ops:
        for tensor in op.inputs:
            readers.setdefault(tensor, []).append(op)
    return readers


def _with_ops(graph: Graph, ops: Iterable[Op]) -> Graph:
    return replace(graph, ops=tuple(replace(op, id=i) for i, op in enumerate(ops)))


def _is_float(graph: Graph, tensor: int) -> bool:
    return graph.tensors[tensor].dtype is DType.FLOAT32


def _sides(graph: Graph, pad: Op) -> tuple[int, int, int, int] | None:
    """(top, bottom, left, right) of a PAD of a feature map's height and width; None if it is none."""
    if pad.type not in ("PAD", "PADV2") or len(pad.inputs) < 2 or -1 in pad.inputs[:2]:
        return None
    source, paddings = (graph.tensors[i] for i in pad.inputs[:2])
    values = _integers(paddings)
    if values is None or len(source.shape) != 4 or len(values) != 8 or min(values) < 0:
        return None
    top, bottom, left, right = values[2:6]
    return None if any(values[:2] + values[6:]) else (top, bottom, left, right)


def _integers(tensor: Tensor) -> list[int] | None:
    """The values of a constant of integers; None if it is none."""
    kinds = {
        DType.INT8: "<i1",
        DType.UINT8: "<u1",
        DType.INT16: "<i2",
        DType.INT32: "<i4",
        DType.INT64: "<i8",
    }
    if tensor.data is None or tensor.dtype not in kinds or tensor.is_sparse:
        return None
    return [int(x) for x in np.frombuffer(tensor.data, kinds[tensor.dtype])]


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
        values = _integers(graph.tensors[pad.inputs[2]])
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
