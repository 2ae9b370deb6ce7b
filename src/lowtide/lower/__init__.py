"""Operators to nodes: one function per operator, one file per family, one table for all.

Adding an operator is adding an entry to its family's LOWERINGS.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from lowtide.errors import ModelError
from lowtide.ir import DType, Graph, Op
from lowtide.ir.block import BlockOp
from lowtide.ir.macs import op_macs
from lowtide.lower import (
    arg,
    batch_matmul,
    binary,
    block,
    cast,
    compare,
    concat,
    conv,
    depthwise,
    features,
    flip,
    flipping,
    fourier,
    framing,
    fully_connected,
    gather,
    images,
    lstm,
    normalise,
    pad,
    pool,
    quantize,
    rearranged,
    reduce,
    resize,
    slicing,
    softmax,
    split,
    sums,
    svdf,
    totals,
    transpose,
    transpose_conv,
    unary,
    update,
    variables,
    views,
)
from lowtide.lower.common import Columns, Context, Lowering
from lowtide.lower.counts import Counted
from lowtide.lower.nodes import Lowered, Node, Reads
from lowtide.target import ANY, Target

LOWERINGS: dict[str, Lowering] = {
    **arg.LOWERINGS,
    **batch_matmul.LOWERINGS,
    **binary.LOWERINGS,
    **cast.LOWERINGS,
    **compare.LOWERINGS,
    **concat.LOWERINGS,
    **conv.LOWERINGS,
    **depthwise.LOWERINGS,
    **fully_connected.LOWERINGS,
    **gather.LOWERINGS,
    **lstm.LOWERINGS,
    **normalise.LOWERINGS,
    **pad.LOWERINGS,
    **pool.LOWERINGS,
    **quantize.LOWERINGS,
    **rearranged.LOWERINGS,
    **reduce.LOWERINGS,
    **resize.LOWERINGS,
    **slicing.LOWERINGS,
    **softmax.LOWERINGS,
    **split.LOWERINGS,
    **sums.LOWERINGS,
    **svdf.LOWERINGS,
    **transpose.LOWERINGS,
    **transpose_conv.LOWERINGS,
    **unary.LOWERINGS,
    **update.LOWERINGS,
    **variables.LOWERINGS,
    **views.LOWERINGS,
}
"""The operators of files."""

CUSTOM: dict[str, Lowering] = {**features.LOWERINGS, **fourier.LOWERINGS, **framing.LOWERINGS}
"""The custom operators of files, by the code that names them."""

_EVERY = {**LOWERINGS, **variables.CARRYING, **unary.MADE, **flip.MADE, **totals.MADE}


_MOST_MAP_ROWS = (1 << 16) - 1
"""Of the images of a batch together: a row's number has 16 bits."""

_MOST_MOVED = 1 << 22
"""Elements that an operator may rearrange: where each of them goes is worked out."""

_ETHOS = "ethos-u"
_OF_LIBRARIES = frozenset({"ELU", "LOGISTIC", "LOG_SOFTMAX", "SOFTMAX", "TANH"})
"""What of floats needs exponentials and logarithms of the C library, of which each has its own: there is
no result to be bit for bit the same as."""

"""The custom operator that stands for all that Vela compiled."""


def lower_op(
    graph: Graph, op: Op, known: Sequence[Mapping[int, Lowered]] = (), target: Target = ANY
) -> Lowered:
    """The nodes of `op`, for `target`. Raises ModelError if the operator or its types are not supported.

    `known` are operators that were lowered, for the target and for what all programs have: a block calls
    the former's kernels where it can, else the latter's.
    """
    context = flipping.computing(graph, op, target)
    if isinstance(op, BlockOp):
        ways = known or ({}, {})
        targets = target, target.within_blocks
        return block.lower(
            context, op, [partial(_part, graph, *way) for way in zip(ways, targets, strict=True)]
        )
    lowering = _lowering(op)
    if op.custom == _ETHOS:
        raise ModelError(
            f"operator {op.id} ({op.label}): Vela compiled it for an Ethos-U, and only "
            "an Ethos-U can run it",
            "use the .tflite file from before Vela",
        )
    if lowering is None:
        raise context.unsupported("lowtide has no kernel for this operator")
    kinds = lowering.types
    at = lowering.typed_by
    kind = context.activation_type if at is None else context.input(at).dtype
    if kind not in kinds:
        names = ", ".join(sorted(kind.name for kind in kinds))
        why = f"its type is {kind.name}, but its kernels are for {names}"
        if kind is DType.FLOAT32 and op.type in _OF_LIBRARIES:
            why += "; of floats, its results differ from one C library to another"
        raise context.unsupported(why)
    if op.type in rearranged.LOWERINGS:
        moved = max(graph.tensors[t].elements for t in (*op.inputs, *op.outputs) if t >= 0)
        if moved > _MOST_MOVED:
            raise context.unsupported(
                f"it has a tensor of {moved} elements, but its kernel moves at most {_MOST_MOVED}"
            )
    if op.window is not None:
        maps = [graph.tensors[t] for t in (*op.inputs, *op.outputs) if t >= 0]
        rows = max((math.prod(t.shape[:2]) for t in maps if not t.is_constant), default=0)
        if rows > _MOST_MAP_ROWS:
            raise ModelError(
                f"operator {op.id} ({op.label}): its feature map has {rows} rows, but a step "
                f"program holds 0 to {_MOST_MAP_ROWS}",
                "split it, or its tensors, before the conversion",
            )
    with np.errstate(over="ignore", invalid="ignore"):  # infinite factors are refused where used
        lowered = flipping.with_flips(context, lowering.lower(context))
    nodes = tuple(images.one_by_one(_with_work(context, lowering, node)) for node in lowered.nodes)
    return replace(lowered, nodes=nodes, columns=lowering.columns(context))


def has_kernel(graph: Graph, op: Op, target: Target = ANY) -> bool:
    """Whether `op` can be lowered for `target`."""
    try:
        lower_op(graph, op, target=target)
    except ModelError:
        return False
    return True


def _part(graph: Graph, known: Mapping[int, Lowered], target: Target, number: int) -> Lowered:
    return known.get(number) or lower_op(graph, graph.ops[number], target=target)


def _lowering(op: Op) -> Lowering | None:
    return _EVERY.get(op.type) if op.custom is None else CUSTOM.get(op.custom)


def columns_read(graph: Graph, op: Op) -> Columns:
    """What `op` reads to make some columns of its output: `Lowered.columns`, without lowering it."""
    if isinstance(op, BlockOp):
        return tuple(Reads(t, op.window.columns) for t in op.inputs[: op.parts])
    lowering = _lowering(op)
    return None if lowering is None else lowering.columns(Context(graph, op))


def _with_work(context: Context, lowering: Lowering, node: Node) -> Node:
    """`node` with what its kernel does, if the lowering has not said it: products, or what it reads
    beyond what it writes."""
    if node.work is not None or not node.outputs:
        return node
    graph, op = context.graph, context.op
    out = graph.tensors[op.outputs[0] if op.outputs else node.outputs[0].tensor]
    products = op_macs(graph, op)
    if not products and lowering.rereads:
        products = sum(graph.tensors[port.tensor].bytes for port in node.inputs) - out.bytes
    rows, _ = node.outputs[0].touched(node.steps)
    written = sum(rows * port.row_bytes for port in node.outputs)
    columns = out.shape[2] if len(out.shape) == 4 else 1
    return replace(node, work=Counted.of(columns, written=written, work=max(0, products)))
