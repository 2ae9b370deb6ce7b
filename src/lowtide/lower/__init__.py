"""Operators to nodes: one function per operator, one file per family, one table for all.

Adding an operator is adding an entry to its family's LOWERINGS.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from lowtide.errors import ModelError
from lowtide.ir import Graph, Op
from lowtide.ir.macs import BLOCK
from lowtide.lower import (
    batch_matmul,
    binary,
    block,
    concat,
    conv,
    depthwise,
    fully_connected,
    gather,
    lstm,
    pad,
    pool,
    quantize,
    reduce,
    resize,
    slicing,
    softmax,
    split,
    svdf,
    transpose,
    transpose_conv,
    unary,
    variables,
    views,
)
from lowtide.lower.common import Context, Lowering
from lowtide.lower.nodes import Lowered

LOWERINGS: dict[str, Lowering] = {
    **batch_matmul.LOWERINGS,
    **binary.LOWERINGS,
    **concat.LOWERINGS,
    **conv.LOWERINGS,
    **depthwise.LOWERINGS,
    **fully_connected.LOWERINGS,
    **gather.LOWERINGS,
    **lstm.LOWERINGS,
    **pad.LOWERINGS,
    **pool.LOWERINGS,
    **quantize.LOWERINGS,
    **reduce.LOWERINGS,
    **resize.LOWERINGS,
    **slicing.LOWERINGS,
    **softmax.LOWERINGS,
    **split.LOWERINGS,
    **svdf.LOWERINGS,
    **transpose.LOWERINGS,
    **transpose_conv.LOWERINGS,
    **unary.LOWERINGS,
    **variables.LOWERINGS,
    **views.LOWERINGS,
}


_NONE: Mapping[int, Lowered] = MappingProxyType({})


def lower_op(graph: Graph, op: Op, known: Mapping[int, Lowered] = _NONE) -> Lowered:
    """The nodes of `op`. Raises ModelError if the operator or its types are not supported.

    `known` are operators that were lowered, which a block may consist of.
    """
    context = Context(graph, op)
    if op.type == BLOCK:
        return block.lower(context, lambda n: known.get(n) or lower_op(graph, graph.ops[n]))
    lowering = LOWERINGS.get(op.type)
    if lowering is None:
        raise context.unsupported("lowtide has no kernel for this operator")
    kinds = lowering.types
    if context.activation_type not in kinds:
        names = ", ".join(sorted(kind.name for kind in kinds))
        raise context.unsupported(
            f"its type is {context.activation_type.name}, and there are kernels for {names}"
        )
    with np.errstate(over="ignore", invalid="ignore"):  # infinite factors are refused where used
        return lowering.lower(context)


__all__ = ["LOWERINGS", "ModelError", "lower_op"]
