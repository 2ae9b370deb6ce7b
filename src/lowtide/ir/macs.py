"""Multiplications an operator needs, for the operators where they are the work.

A MAC is one multiply-accumulate of the layer as defined, padding included (a 3x3 kernel counts nine
at the border too), which is how papers and vendors count. Element-wise operators, pooling and data
movement count 0, and so do operators that no microcontroller runtime has (StableHLO's, most RNNs).
"""

from __future__ import annotations

import math

from lowtide.ir.block import BlockOp
from lowtide.ir.graph import Graph, Op


def op_macs(graph: Graph, op: Op) -> int:
    """MACs of one run of `op`; 0 for operators that are not sums of products."""
    shapes = [graph.tensors[i].shape if i >= 0 else () for i in op.inputs]
    out = graph.tensors[op.outputs[0]].shape if op.outputs else ()
    match op.type:
        case "CONV_2D" | "CONV_3D" if len(shapes) > 1 and shapes[1]:
            # Filter OHWI (3-D: DHWIO); the channels it reads are already divided by the groups.
            taps = math.prod(shapes[1][1:]) if op.type == "CONV_2D" else math.prod(shapes[1][:-1])
            return math.prod(out) * taps
        case "DEPTHWISE_CONV_2D" if len(shapes) > 1 and len(shapes[1]) == 4:
            return math.prod(out) * shapes[1][1] * shapes[1][2]
        case "TRANSPOSE_CONV" if len(shapes) > 2 and len(shapes[1]) == 4:
            return math.prod(shapes[2]) * shapes[1][0] * shapes[1][1] * shapes[1][2]
        case "FULLY_CONNECTED" if len(shapes) > 1 and shapes[1]:
            return math.prod(out) * shapes[1][-1]
        case "BATCH_MATMUL" if shapes and len(shapes[0]) > 1:
            inner = shapes[0][-2] if op.options.get("adj_x") else shapes[0][-1]
            return math.prod(out) * inner
        case "SVDF" if len(shapes) > 2 and len(shapes[0]) == 2 and len(shapes[2]) == 2:
            filters, memory = shapes[2]
            return shapes[0][0] * filters * (shapes[0][1] + memory)
        case "UNIDIRECTIONAL_SEQUENCE_LSTM" if len(shapes) > 8 and len(shapes[0]) == 3:
            # Per time step and batch, every gate is a product with the input and with the state.
            steps = shapes[0][0] * shapes[0][1]
            return steps * sum(math.prod(shape) for shape in shapes[1:9] if shape)
        case _ if isinstance(op, BlockOp):
            return op.macs(out[1], out[2], op.expanded_columns)
        case _:
            return 0


def graph_macs(graph: Graph) -> int:
    """MACs of one inference."""
    return sum(op_macs(graph, op) for op in graph.ops)
