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
from lowtide.ir.operands import NUMPY_TYPES, Operands, contents
from lowtide.ir.slices import pad_value
from lowtide.passes.rewriting import next_buffer, rewritten
from lowtide.passes.simplify.moving import MOVES, move, moved_inputs
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

_UNSCALED: Final = frozenset({DType.INT32, DType.INT64, DType.BOOL})


def fold_constants(graph: Graph) -> Simplified:
    """With the results of operators on constants as constants; a graph output is made at run time."""
    tensors, gone = list(graph.tensors), set[int]()
    made_of: list[int] = []
    buffer = next_buffer(tensors)
    now = graph
    for op in graph.ops:
        if len(gone) == len(graph.ops) - 1 or any(t in graph.outputs for t in op.outputs):
            continue
        made = made_of_constants(now, op)
        if made is None:
            continue
        for out, values in zip(op.outputs, made, strict=True):
            tensors[out] = replace(tensors[out], data=values.tobytes(), buffer=buffer)
            buffer += 1
        gone.add(op.id)
        made_of += op.outputs
        now = replace(now, tensors=tuple(tensors))
    if not gone:
        return unchanged(graph)
    new = rewritten(now, gone=gone)
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
    operands = Operands(graph, op)
    given = {t: values for t in op.inputs if (values := contents(graph.tensors[t])) is not None}
    if len(given) < len(set(op.inputs)):
        return None
    if op.type in MOVES:
        fill = pad_value(operands) if op.type.startswith("PAD") else 0
        return None if fill is None else move(operands, [given[t] for t in moved_inputs(op)], fill)
    out = graph.tensors[op.outputs[0]]
    if out.dtype is DType.FLOAT32:
        return None
    kinds = {graph.tensors[t].dtype for t in op.inputs}
    plain = all(graph.tensors[t].quant is None for t in (*op.inputs, *op.outputs))
    function = _CHOICES.get(op.type) or _INTEGERS.get(op.type)
    if function is not None and kinds <= _UNSCALED:
        allowed = plain and len(kinds) == 1 and not operands.option("fused_activation_function")
        made = np.asarray(function(*(given[t] for t in op.inputs))) if allowed else np.zeros(0)
        fits = NUMPY_TYPES.get(out.dtype) == made.dtype and made.shape == out.shape
        return (made,) if fits else None
    try:
        result = evaluated(operands, [given[t] for t in sources(op)])
    except ModelError:
        return None
    return None if result is None else (result,)
