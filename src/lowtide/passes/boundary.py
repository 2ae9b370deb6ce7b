"""The model's boundary: what the network does first and last that its caller may do, or does better.

Why: a caller may give and take the integers that the network computes with. And exporters from PyTorch
put a TRANSPOSE first, because networks there have their channels before rows and columns (NCHW): it
holds a whole image, and the image came from a camera as NHWC.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lowtide.ir.graph import DType, Graph, Op
from lowtide.ir.operands import integers_of
from lowtide.passes.rewriting import makers_of, readers_of, rewritten

_Does = Callable[[Op], bool]


def drop_boundary_quantization(graph: Graph) -> Graph:
    """Let the caller give and take quantised values where the model converts from and to float.

    A QUANTIZE of a float graph input goes if nobody else reads that input, and its result becomes the
    input; a DEQUANTIZE that makes a float graph output goes if nobody reads that output, and its
    input becomes the output. Positions among the inputs and outputs stay.
    """

    def is_float(tensor: int) -> bool:
        return graph.tensors[tensor].dtype is DType.FLOAT32

    return _without_ends(
        graph,
        lambda op: op.type == "QUANTIZE" and is_float(op.inputs[0]),
        lambda op: op.type == "DEQUANTIZE" and is_float(op.outputs[0]),
    )


def channels_last(graph: Graph, *, inputs: bool = False, outputs: bool = False) -> Graph:
    """Let the caller give or take tensors with their channels last where the model turns them around.

    A TRANSPOSE from channels first to last goes if it alone reads a graph input, and its result becomes
    the input; one back to channels first goes if it makes a graph output that nobody reads, and what it
    reads becomes the output. So does a RESHAPE that does the same because there is one channel, or one
    place. Positions among the inputs and outputs stay.
    """
    return _without_ends(
        graph,
        lambda op: inputs and _turns(graph, op, lambda rank: [0, *range(2, rank), 1]),
        lambda op: outputs and _turns(graph, op, lambda rank: [0, rank - 1, *range(1, rank - 1)]),
    )


def _without_ends(graph: Graph, first: _Does, last: _Does) -> Graph:
    """Without the operators that alone read an input and are `first`, or make an output that nobody
    reads and are `last`; the graph itself if there are none."""
    readers, makers = readers_of(graph), makers_of(graph)
    inputs, outputs = list(graph.inputs), list(graph.outputs)
    gone = set()
    for position, tensor in enumerate(inputs):
        using = readers.get(tensor, [])
        if len(using) != 1 or tensor in outputs or inputs.count(tensor) > 1:
            continue
        op = using[0]
        if first(op) and op.outputs[0] not in outputs:
            inputs[position] = op.outputs[0]
            gone.add(op.id)
    for position, tensor in enumerate(outputs):
        maker = makers.get(tensor)
        if maker is None or maker.id in gone or not last(maker):
            continue
        source = maker.inputs[0]
        made = source in makers and makers[source].id not in gone
        if made and tensor not in readers and source not in outputs and outputs.count(tensor) == 1:
            outputs[position] = source
            gone.add(maker.id)
    if not gone:
        return graph
    return rewritten(replace(graph, inputs=tuple(inputs), outputs=tuple(outputs)), gone=gone)


def _turns(graph: Graph, op: Op, order: Callable[[int], list[int]]) -> bool:
    """Whether an operator puts the axes of its input in that order."""
    if op.type not in ("TRANSPOSE", "RESHAPE") or len(op.outputs) != 1 or op.inputs[0] < 0:
        return False
    before, after = graph.tensors[op.inputs[0]].shape, graph.tensors[op.outputs[0]].shape
    axes = order(len(before))
    if len(before) < 3 or after != tuple(before[axis] for axis in axes):
        return False
    if op.type == "TRANSPOSE":
        sides = graph.tensor(op, 1)
        return sides is not None and integers_of(sides) == axes
    moved = [axis for axis in axes if before[axis] != 1]
    return moved == sorted(moved)  # all that is longer than 1 stays in order
