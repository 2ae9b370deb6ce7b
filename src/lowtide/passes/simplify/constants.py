"""Constants of constants: what can be computed once and for all, while the network is compiled.

Converters leave them behind: shapes that are worked out of shapes, weights that are turned. None becomes
a float: of weights that a hybrid network makes floats it is to be said that they are integers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from lowtide.errors import ModelError
from lowtide.ir.elementwise import Values, evaluated, sources
from lowtide.ir.graph import DType, Graph, Op
from lowtide.ir.operands import Operands
from lowtide.passes.rewriting import with_ops
from lowtide.passes.simplify.moving import MOVES, move, moved_inputs, pad_value, values_of
from lowtide.passes.simplify.result import Dropped, Holds, Simplified, changed, unchanged

_INTEGERS: Final = {"ADD": np.add, "SUB": np.subtract, "MUL": np.multiply}
"""Of int32 and int64, where they wrap, as the reference's do."""

_SMALL: Final = 1 << 16
_GROWS: Final = 4
"""Bytes that a constant of constants may always have, and how many times what it is made of."""

_CHOICES: Final = {
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
    "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or,
    "LOGICAL_NOT": np.logical_not,
}
"""Of int32, int64 and bool without a scale."""


def fold_constants(graph: Graph) -> Simplified:
    """With the results of operators on constants as constants; a graph output is made at run time."""
    tensors, gone = list(graph.tensors), set[int]()
    made_of: list[int] = []
    buffer = max(t.buffer for t in tensors)
    now = graph
    for op in graph.ops:
        if len(gone) == len(graph.ops) - 1 or any(t in graph.outputs for t in op.outputs):
            continue
        made = made_of_constants(now, op)
        if made is None:
            continue
        for out, values in zip(op.outputs, made, strict=True):
            buffer += 1
            tensors[out] = replace(tensors[out], data=values.tobytes(), buffer=buffer)
        gone.add(op.id)
        made_of += op.outputs
        now = replace(now, tensors=tuple(tensors))
    if not gone:
        return unchanged(graph)
    new = with_ops(now, (op for op in graph.ops if op.id not in gone))
    told = [Dropped(out, None, Holds(tensors[out].data or b"")) for out in made_of]
    return changed(graph, new, dropped=told, saved={"operators on constants": len(gone)})


def made_of_constants(graph: Graph, op: Op) -> tuple[Values, ...] | None:
    """What `op` makes, if all that it reads is known."""
    if op.type == "SHAPE":
        shape = graph.tensors[op.inputs[0]].shape
        wide = op.options.get("out_type") == 4  # TensorType.INT64; INT32 is 2
        made: Values = np.array(shape, "<i8" if wide else "<i4")
        return (made,) if graph.tensors[op.outputs[0]].bytes == made.nbytes else None
    if not (op.inputs and op.outputs) or -1 in op.inputs:
        return None
    read, makes = (sum(graph.tensors[t].bytes for t in of) for of in (op.inputs, op.outputs))
    if makes > max(_SMALL, _GROWS * read):  # a file must not grow in flash
        return None
    if any(values_of(graph, t) is None for t in op.inputs):
        return None
    given = {t: values for t in op.inputs if (values := values_of(graph, t)) is not None}
    if op.type in MOVES:
        fill = pad_value(graph, op) if op.type.startswith("PAD") else 0
        if fill is None:
            return None
        return move(graph, op, [given[t] for t in moved_inputs(op)], fill)
    out = graph.tensors[op.outputs[0]]
    if out.dtype is DType.FLOAT32:
        return None
    operands = list(given.values())
    if op.type in _INTEGERS and {v.dtype.itemsize for v in operands} <= {4, 8}:
        if out.quant is not None or op.options.get("fused_activation_function", 0):
            return None
        pair = [given[t] for t in op.inputs]
        whole = all(v.dtype.kind == "i" for v in pair) and pair[0].dtype == pair[1].dtype
        one = _INTEGERS[op.type](*pair) if whole else None
        return (one,) if one is not None and one.shape == out.shape else None
    if op.type in _CHOICES:
        plain = all(graph.tensors[t].quant is None for t in op.inputs)
        kinds = {graph.tensors[t].dtype for t in op.inputs}
        if not plain or len(kinds) != 1 or not kinds <= {DType.INT32, DType.INT64, DType.BOOL}:
            return None
        chosen: Values = np.asarray(_CHOICES[op.type](*(given[t] for t in op.inputs)))
        return (chosen,) if chosen.shape == out.shape and out.dtype is DType.BOOL else None
    try:
        result = evaluated(Operands(graph, op), [given[t] for t in sources(op)])
    except ModelError:
        return None
    return None if result is None else (result,)
