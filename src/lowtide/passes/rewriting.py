"""What passes share: who reads a tensor, what a constant holds, and a graph with other operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from lowtide.ir.graph import DType, Graph, Op, Tensor


def readers_of(graph: Graph) -> Mapping[int, list[Op]]:
    """Tensor -> the operators that read it, once for each of their inputs that it is."""
    readers: dict[int, list[Op]] = {}
    for op in graph.ops:
        for tensor in op.inputs:
            readers.setdefault(tensor, []).append(op)
    return readers


def with_ops(graph: Graph, ops: Iterable[Op]) -> Graph:
    numbered = (op if op.id == i else replace(op, id=i) for i, op in enumerate(ops))
    return replace(graph, ops=tuple(numbered))


def integers(tensor: Tensor) -> list[int] | None:
    """The values of a constant of integers; None if it is none."""
    kinds = {
        DType.INT8: "<i1",
        DType.UINT8: "<u1",
        DType.INT16: "<i2",
        DType.INT32: "<i4",
        DType.INT64: "<i8",
    }
    if tensor.data is None or tensor.dtype not in kinds or tensor.is_sparse:
        return None
    return [int(x) for x in np.frombuffer(tensor.data, kinds[tensor.dtype])]
