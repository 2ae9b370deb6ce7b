"""Weights of four bits become weights of eight, with the same values, and a mark.

Why: every pass and every kernel then has them. Those of convolutions and dense layers are packed again
when they are lowered (lower/nibbles.py), and unpacked by the kernel; those of depthwise convolutions,
which are few, cost flash, and no RAM: TFLM unpacks them into its arena, while it runs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lowtide.ir.graph import DType, Graph, Tensor

READERS = {"CONV_2D": 1, "DEPTHWISE_CONV_2D": 1, "FULLY_CONNECTED": 1}
"""Operators that may have such weights, and which input they are."""


def unpack_weights(graph: Graph) -> Graph:
    """Make int4 constants that are only weights int8; others stay, and are refused later."""
    packed = {tensor.id for tensor in graph.tensors if _is_packed(tensor)}
    for op in graph.ops:
        for at, tensor in enumerate(op.inputs):
            if at != READERS.get(op.type):
                packed.discard(tensor)
    if not packed:
        return graph
    return replace(
        graph, tensors=tuple(_unpacked(t) if t.id in packed else t for t in graph.tensors)
    )


def _is_packed(tensor: Tensor) -> bool:
    return tensor.dtype is DType.INT4 and tensor.is_constant and not tensor.is_sparse


def _unpacked(tensor: Tensor) -> Tensor:
    """Two values a byte, the first in its low half."""
    assert tensor.data is not None
    pairs = np.frombuffer(tensor.data, np.int8)
    low, high = (pairs << 4).astype(np.int8) >> 4, pairs >> 4
    values = np.stack([low, high], axis=1).reshape(-1)[: tensor.elements]
    data = values.astype(np.int8).tobytes()
    return replace(tensor, dtype=DType.INT8, data=data, of_nibbles=True)
