"""Whose rounding a product of matrices has: TFLM's, which is the rule, or LiteRT's.

Why: of FULLY_CONNECTED and BATCH_MATMUL the two reference kernels differ, and a program is compared with
the one that there is. LiteRT rounds the sums of a dense layer once, and the product of the scales of a
BATCH_MATMUL to single precision.
"""

from __future__ import annotations

from dataclasses import replace

from lowtide.ir.graph import DType, Graph
from lowtide.passes.rewriting import with_ops


def round_once(graph: Graph) -> Graph:
    """Let products of matrices round as LiteRT's reference does: the graph itself where that is no
    difference.

    uint8 is LiteRT's in any case, as TFLM does not have it.
    """
    marked = {
        op.id: replace(op, as_litert=True)
        for op in graph.ops
        if op.type in ("FULLY_CONNECTED", "BATCH_MATMUL")
        and graph.tensors[op.inputs[0]].dtype in (DType.INT8, DType.INT16)
    }
    return with_ops(graph, (marked.get(op.id, op) for op in graph.ops)) if marked else graph
