"""Flips of sign bits between int8 and uint8, which mostly cost nothing: what reads the bytes does it.

Why: cameras give uint8 and networks compute with int8, so files begin with a QUANTIZE that only adds
128. A convolution with a window gathers what it reads, and can flip it on the way; then there is no row
of converted bytes in RAM. What cannot do that reads what a FLIP makes, which needs no table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from lowtide.ir.flipped import unsigned
from lowtide.ir.graph import DType, Graph, Op
from lowtide.lower.nodes import Array
from lowtide.passes.rewriting import readers_of, with_ops
from lowtide.passes.simplify.functions import node_of

FLIP = "FLIP"
"""Flips the sign bit of every byte; no file has it."""

_VIEWS = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})


def conversions_as_flips(graph: Graph) -> Graph:
    """The graph with FLIPs in place of what only turns uint8 into int8, or back; else itself."""
    flips = {op.id for op in graph.ops if _only_flips(graph, op)}
    if not flips:
        return graph
    ops = (Op(op.id, FLIP, op.inputs[:1], op.outputs) if op.id in flips else op for op in graph.ops)
    return with_ops(graph, ops)


def _only_flips(graph: Graph, op: Op) -> bool:
    if op.type not in ("QUANTIZE", "TABLE") or not op.outputs:
        return False
    kinds = {graph.tensors[t].dtype for t in (op.inputs[0], op.outputs[0])}
    if kinds != {DType.INT8, DType.UINT8}:
        return False
    node = node_of(graph, op)
    table = None if node is None else dict(node.params.fields).get("table")
    found = table.values.astype(np.uint8) if isinstance(table, Array) else None
    return found is not None and bool((found == np.arange(256) ^ 0x80).all())


def flips_by_readers(graph: Graph) -> Graph:
    """Without those FLIPs to int8 for which all readers can do it; the graph itself if there are none.

    Between the two there may be other names for the same bytes, which then are uint8.
    """
    readers = readers_of(graph)
    instead: dict[int, int] = {}  # what a FLIP made -> what it read
    through: dict[int, Op] = {}
    for op in graph.ops:
        if op.type != FLIP or graph.tensors[op.inputs[0]].dtype is not DType.UINT8:
            continue
        found = _readers(graph, readers, op.outputs[0])
        if found is not None:
            instead[op.outputs[0]] = op.inputs[0]
            through |= found
    if not instead:
        return graph
    tensors, ops = list(graph.tensors), []
    for op in graph.ops:
        if op.type == FLIP and op.outputs[0] in instead:
            continue
        known = through.get(op.id)
        if known is not None and op.type in _VIEWS:
            tensors[op.outputs[0]] = unsigned(tensors[op.outputs[0]])
        inputs = tuple(instead.get(t, t) for t in op.inputs)
        ops.append(replace(op, inputs=inputs, flips=known is not None and op.type not in _VIEWS))
    return with_ops(replace(graph, tensors=tuple(tensors)), ops)


def _readers(graph: Graph, readers: Mapping[int, list[Op]], tensor: int) -> dict[int, Op] | None:
    """Who reads `tensor`, under whatever name, if all of them can flip it; None if one cannot."""
    if tensor in graph.outputs:
        return None
    found: dict[int, Op] = {}
    for op in readers.get(tensor, ()):
        found[op.id] = op
        if op.type in _VIEWS:
            more = _readers(graph, readers, op.outputs[0])
            if more is None:
                return None
            found |= more
        elif not _gathers(graph, op):
            return None
    return found


def _gathers(graph: Graph, op: Op) -> bool:
    """Whether the kernels of `op`, a convolution that computes with int8, gather what they read."""
    if op.type not in ("CONV_2D", "DEPTHWISE_CONV_2D") or not op.outputs:
        return False
    source, weights, out = (graph.tensors[t] for t in (*op.inputs[:2], op.outputs[0]))
    if out.dtype is not DType.INT8 or not weights.is_constant or weights.of_nibbles:
        return False
    if len(weights.shape) != 4 or (op.type != "CONV_2D" and source.shape[-1:] != (1,)):
        return False
    _, height, width, _ = weights.shape
    return height * width > 1
