"""Bytes of uint8 as int8: the sign bit of each is flipped, and the zero point 128 less.

Why in `ir`: the pass that flips tensors, the lowering that still needs uint8's arithmetic for some
operators, and the comparison with the file must mean the same by it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lowtide.ir.graph import DType, Graph, Op, Quant, Tensor

_SIGN = 0x80


def flipped(tensor: Tensor) -> Tensor:
    """`tensor`, of uint8 and quantised as a whole, as int8; a constant's contents, too."""
    assert tensor.dtype is DType.UINT8
    assert tensor.quant is not None
    return replace(
        tensor,
        dtype=DType.INT8,
        quant=_shifted(tensor.quant, -_SIGN),
        data=None if tensor.data is None else flip(tensor.data),
        flipped=True,
    )


def unflipped(tensor: Tensor) -> Tensor:
    """The tensor of uint8 that `tensor` was; itself if it is not flipped."""
    if not tensor.flipped:
        return tensor
    return unsigned(tensor)


def unsigned(tensor: Tensor) -> Tensor:
    """`tensor`, of int8 and quantised as a whole, as uint8; a constant's contents, too."""
    assert tensor.dtype is DType.INT8
    assert tensor.quant is not None
    return replace(
        tensor,
        dtype=DType.UINT8,
        quant=_shifted(tensor.quant, _SIGN),
        data=None if tensor.data is None else flip(tensor.data),
        flipped=False,
    )


def unflipped_around(graph: Graph, op: Op) -> Graph:
    """`graph` with the tensors of `op` as they were; itself if none of them is flipped."""
    mine = {t for t in (*op.inputs, *op.outputs) if t >= 0 and graph.tensors[t].flipped}
    if not mine:
        return graph
    tensors = (unflipped(t) if t.id in mine else t for t in graph.tensors)
    return replace(graph, tensors=tuple(tensors))


def flip(data: bytes) -> bytes:
    """Bytes with their sign bits flipped."""
    return (np.frombuffer(data, np.uint8) ^ _SIGN).tobytes()


def _shifted(quant: Quant, by: int) -> Quant:
    return replace(quant, zero_point=tuple(zero + by for zero in quant.zero_point))
