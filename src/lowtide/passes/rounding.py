"""Whose rounding a dense layer has: TFLM's, which is the rule, or LiteRT's.

Why: FULLY_CONNECTED is the one operator of which the two reference kernels differ, and a program is
compared with the one that there is.
"""

from __future__ import annotations

from dataclasses import replace

from lowtide.ir.graph import DType, Graph
from lowtide.passes.rewriting import with_ops


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
    return with_ops(graph, (marked.get(op.id, op) for op in graph.ops)) if marked else graph
