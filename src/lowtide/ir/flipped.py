"""Bytes of uint8 as int8: the sign bit of each is flipped, and the zero point 128 less.

Who flips: `Tensor.flipped` says of a tensor that some of the operators around it compute with uint8 and
others with int8; its type says as which of the two its bytes are stored. An operator whose kernels
compute with the other type flips what it reads or makes: `as_computed` is the one place that says so.

Why in `ir`: the pass that flips tensors, the lowering, and the comparison with the file must mean the
same by it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lowtide.ir.elementwise import BYTE_FUNCTIONS
from lowtide.ir.graph import DType, Graph, Op, Tensor

CONVOLUTIONS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D"})
"""Those of uint8 run through the kernels of int8."""

EITHER = frozenset(
    {
        *("AVERAGE_POOL_2D", "FULLY_CONNECTED", "RESIZE_BILINEAR", "SOFTMAX", "TABLE"),
        *BYTE_FUNCTIONS,
    }
)
"""Operators of uint8's arithmetic that read and make bytes that are stored as either type, in any
combination."""

SIGN = 0x80

_COMPUTES = {
    **dict.fromkeys(CONVOLUTIONS, DType.INT8),
    **dict.fromkeys((*EITHER, "CONCATENATION"), DType.UINT8),
}
"""Which of the two types the kernels of an operator compute with, where tensors are flipped; those of
all others, with what is stored."""


def flipped(tensor: Tensor) -> Tensor:
    """`tensor`, of bytes and quantised, stored as the other type; a constant's contents, too."""
    assert tensor.dtype in (DType.INT8, DType.UINT8)
    assert tensor.quant is not None
    other, by = (DType.INT8, -SIGN) if tensor.dtype is DType.UINT8 else (DType.UINT8, SIGN)
    return replace(
        tensor,
        dtype=other,
        quant=replace(tensor.quant, zero_point=tuple(z + by for z in tensor.quant.zero_point)),
        data=None if tensor.data is None else _flip(tensor.data),
        flipped=True,
    )


def unflipped(tensor: Tensor) -> Tensor:
    """What was `flipped`, as it was."""
    return replace(flipped(tensor), flipped=False)


def as_computed(graph: Graph, op: Op) -> Graph:
    """`graph` with the tensors of `op` as its kernels compute with them: those whose type is another
    than in `graph` it flips. The graph itself if there are none."""
    kind = _COMPUTES.get(op.type)
    tensors = {t: graph.tensors[t] for t in (*op.inputs, *op.outputs) if t >= 0}
    others = {t for t, of in tensors.items() if of.flipped and kind not in (None, of.dtype)}
    if not others:
        return graph
    return replace(graph, tensors=tuple(flipped(t) if t.id in others else t for t in graph.tensors))


def _flip(data: bytes) -> bytes:
    return (np.frombuffer(data, np.uint8) ^ SIGN).tobytes()
