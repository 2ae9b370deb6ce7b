"""The model's boundary: bytes from 0 to 255, as cameras give them, for networks of int8."""

from __future__ import annotations

from dataclasses import replace

from lowtide.ir.graph import DType, Graph, Op, Quant
from lowtide.passes.rewriting import with_ops

_HALF = 128


def unsigned_inputs(graph: Graph) -> Graph:
    """Let the caller give uint8 where the network has int8: the same values, stored as 128 more.

    A QUANTIZE between the two, which whoever reads it does where it can (passes/flipping.py), is put
    behind each int8 input with a scale; the graph itself if there is none. Positions among the inputs
    stay.
    """
    tensors, inputs, ops = list(graph.tensors), list(graph.inputs), []
    for position, number in enumerate(graph.inputs):
        given = graph.tensors[number]
        if given.dtype is not DType.INT8 or given.quant is None or len(given.quant.scale) != 1:
            continue
        quant = Quant(given.quant.scale, (given.quant.zero_point[0] + _HALF,), 0)
        new = replace(given, id=len(tensors), name=given.name, dtype=DType.UINT8, quant=quant)
        tensors.append(new)
        inputs[position] = new.id
        ops.append(Op(0, "QUANTIZE", (new.id,), (number,), version=2))
    if not ops:
        return graph
    changed = replace(graph, tensors=tuple(tensors), inputs=tuple(inputs))
    return with_ops(changed, (*ops, *graph.ops))
