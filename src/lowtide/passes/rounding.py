"""Whose arithmetic operators have where the two reference kernels differ: TFLM's, the rule, or LiteRT's.

Why: a program is compared with the reference that there is. LiteRT rounds the sums of a dense layer
(FULLY_CONNECTED) once, and the product of the scales of a BATCH_MATMUL to single precision. Its RELU6
goes from the input's scale to the output's, which TFLM's takes for the same.
"""

from __future__ import annotations

from dataclasses import replace

from lowtide.ir.graph import DType, Graph, Op
from lowtide.passes.rewriting import rewritten


def round_once(graph: Graph) -> Graph:
    """Let operators compute as LiteRT's reference does: the graph itself where that is no difference.

    uint8 is LiteRT's in any case, as TFLM does not have it.
    """
    tensors = list(graph.tensors)
    instead: dict[int, Op | tuple[Op, ...]] = {}
    for op in graph.ops:
        if not _differs(graph, op):
            continue
        if op.type == "RELU6" and graph.tensors[op.inputs[0]].dtype is DType.INT16:
            scaled = replace(tensors[op.outputs[0]], id=len(tensors))
            tensors.append(scaled)
            rescaling = Op(-1, "QUANTIZE", op.inputs, (scaled.id,))
            instead[op.id] = rescaling, replace(op, id=-1, inputs=(scaled.id,))
        else:
            instead[op.id] = replace(op, as_litert=True)
    return rewritten(graph, instead=instead, tensors=tensors) if instead else graph


def _differs(graph: Graph, op: Op) -> bool:
    if not op.inputs or graph.tensors[op.inputs[0]].dtype not in (DType.INT8, DType.INT16):
        return False
    if op.type == "RELU6":
        return graph.tensors[op.inputs[0]].quant != graph.tensors[op.outputs[0]].quant
    return op.type in ("FULLY_CONNECTED", "BATCH_MATMUL")
