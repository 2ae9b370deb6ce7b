"""What passes share: who makes and who reads a tensor, and a graph with other operators."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from lowtide.ir.graph import Graph, Op, Tensor

_NONE: Mapping[int, int] = MappingProxyType({})


def readers_of(graph: Graph) -> Mapping[int, list[Op]]:
    """Tensor -> the operators that read it, once for each of their inputs that it is."""
    readers: dict[int, list[Op]] = {}
    for op in graph.ops:
        for tensor in op.inputs:
            readers.setdefault(tensor, []).append(op)
    return readers


def makers_of(graph: Graph) -> Mapping[int, Op]:
    """Tensor -> the operator that makes it."""
    return {tensor: op for op in graph.ops for tensor in op.outputs}


def with_ops(graph: Graph, ops: Iterable[Op]) -> Graph:
    """`graph` with these operators, numbered anew."""
    numbered = (op if op.id == i else replace(op, id=i) for i, op in enumerate(ops))
    return replace(graph, ops=tuple(numbered))


def rewritten(
    graph: Graph,
    *,
    instead: Mapping[int, Op | tuple[Op, ...]] = MappingProxyType({}),
    gone: Collection[int] = (),
    read: Mapping[int, int] = _NONE,
    tensors: Sequence[Tensor] | None = None,
) -> Graph:
    """`graph` with other operators in the place of some, by number, and without those that are `gone`;
    every operator reads tensor read[t] where it read t. The graph itself if nothing of that is asked."""
    if not instead and not gone and not read:
        return graph if tensors is None else replace(graph, tensors=tuple(tensors))
    ops: list[Op] = []
    for op in graph.ops:
        here = instead.get(op.id, () if op.id in gone else op)
        ops += (reading(one, read) for one in ((here,) if isinstance(here, Op) else here))
    return with_ops(graph if tensors is None else replace(graph, tensors=tuple(tensors)), ops)


def reading(op: Op, read: Mapping[int, int]) -> Op:
    """`op`, reading tensor read[t] where it read t."""
    if read.keys().isdisjoint(op.inputs):
        return op
    return replace(op, inputs=tuple(read.get(t, t) for t in op.inputs))


def next_buffer(tensors: Iterable[Tensor]) -> int:
    """The number of a buffer that none of them has."""
    return 1 + max((tensor.buffer for tensor in tensors), default=0)
