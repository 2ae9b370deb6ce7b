"""The model's boundary: images with their channels last, as cameras and kernels have them.

Why: exporters from PyTorch put a TRANSPOSE first, because networks there have their channels before
rows and columns (NCHW). It holds a whole image, and the image came from a camera as NHWC.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lowtide.ir.graph import Graph, Op
from lowtide.passes.rewriting import integers, readers_of, with_ops


def channels_last(graph: Graph, *, inputs: bool = False, outputs: bool = False) -> Graph:
    """Let the caller give or take tensors with their channels last where the model turns them around.

    A TRANSPOSE from channels first to last goes if it alone reads a graph input, and its result becomes
    the input; one back to channels first goes if it makes a graph output that nobody reads, and what it
    reads becomes the output. So does a RESHAPE that does the same because there is one channel, or one
    place. Positions among the inputs and outputs stay.
    """
    readers = readers_of(graph)
    makers = {tensor: op for op in graph.ops for tensor in op.outputs}
    given, taken = list(graph.inputs), list(graph.outputs)
    gone = set()
    for position, tensor in enumerate(given if inputs else ()):
        using = readers.get(tensor, [])
        if len(using) != 1 or tensor in taken or given.count(tensor) > 1:
            continue
        op = using[0]
        if _turns(graph, op, _to_last) and op.outputs[0] not in taken:
            given[position] = op.outputs[0]
            gone.add(op.id)
    for position, tensor in enumerate(taken if outputs else ()):
        maker = makers.get(tensor)
        if maker is None or maker.id in gone or not _turns(graph, maker, _to_first):
            continue
        source = maker.inputs[0]
        made = source in makers and makers[source].id not in gone
        if made and tensor not in readers and source not in taken and taken.count(tensor) == 1:
            taken[position] = source
            gone.add(maker.id)
    if not gone:
        return graph
    changed = replace(graph, inputs=tuple(given), outputs=tuple(taken))
    return with_ops(changed, (op for op in graph.ops if op.id not in gone))


def _to_last(rank: int) -> list[int]:
    return [0, *range(2, rank), 1]


def _to_first(rank: int) -> list[int]:
    return [0, rank - 1, *range(1, rank - 1)]


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
        return sides is not None and integers(sides) == axes
    moved = [axis for axis in axes if before[axis] != 1]
    return moved == sorted(moved)  # all that is longer than 1 stays in order
