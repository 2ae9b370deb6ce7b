"""What passes share: who reads a tensor, and a graph with other operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from lowtide.ir.graph import Graph, Op


def readers_of(graph: Graph) -> Mapping[int, list[Op]]:
    """Tensor -> the operators that read it, once for each of their inputs that it is."""
    readers: dict[int, list[Op]] = {}
    for op in graph.ops:
        for tensor in op.inputs:
            readers.setdefault(tensor, []).append(op)
    return readers


def with_ops(graph: Graph, ops: Iterable[Op]) -> Graph:
    return replace(graph, ops=tuple(replace(op, id=i) for i, op in enumerate(ops)))
