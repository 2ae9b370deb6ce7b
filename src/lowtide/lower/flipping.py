"""Operators that flip the sign bits of what they read, or make: `ir.flipped.as_computed` says which.

Why here for all of them: an operator is lowered with its tensors as its kernels compute with them, and
its `Context` says which bits to flip. Each kernel that is chosen must have been told so, or have them in
its tables, which are permuted here; else the operator has no kernel. So a pass that lets operators flip
asks the lowering, and cannot be wrong about a kernel (passes/flipping.py).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import Graph, Op
from lowtide.ir.flipped import SIGN, as_computed
from lowtide.lower.common import Context
from lowtide.lower.nodes import Array, Lowered, Node, Params, Value
from lowtide.target import Target

_TABLES = {"lt_lut": "table", "lt_concat_u8": "tables"}
_MOVES = "lt_move.h"
"""Of kernels that only move bytes: what they make is flipped as what they read is."""


def computing(graph: Graph, op: Op, target: Target) -> Context:
    """`op` as its kernels see it, and what they flip."""
    own = as_computed(graph, op)
    if own is graph:
        return Context(graph, op, target)
    read, made = (
        SIGN if own.tensors[t].dtype is not graph.tensors[t].dtype else 0
        for t in (op.inputs[0], op.outputs[0])
    )
    return Context(own, op, target, read, made)


def with_flips(context: Context, lowered: Lowered) -> Lowered:
    """`lowered`, whose kernels flip what `context` says. Raises ModelError if one of them does not."""
    if not context.in_flip and not context.out_flip:
        return lowered
    return replace(lowered, nodes=tuple(_flipping(context, node) for node in lowered.nodes))


def _flipping(context: Context, node: Node) -> Node:
    if node.header == _MOVES and context.in_flip == context.out_flip:
        return node
    forms = tuple(_flipping(context, form) for form in node.forms)
    return replace(node, params=_told(context, node.params), forms=forms)


def _told(context: Context, params: Params) -> Params:
    """The params of a kernel that flips, and of those that it calls."""
    read, made = context.in_flip, context.out_flip
    table = _TABLES.get(params.ctype)
    given = dict(params.fields)
    told = given.get("in_flip", given.get("flip", 0)), given.get("out_flip", 0)
    if table is None and told != (read, made):
        raise context.unsupported(
            "its kernel does not flip the sign bits of what it reads or makes"
        )

    def value(name: str, old: Value) -> Value:
        if isinstance(old, Params):
            return _told(context, old)
        if isinstance(old, Array) and name == table:
            return replace(old, given=_permuted(old.values.reshape(-1, 256), read, made))
        return old

    return replace(params, fields=tuple((name, value(name, old)) for name, old in params.fields))


def _permuted(tables: NDArray[np.uint8], read: int, made: int) -> NDArray[np.uint8]:
    """Tables [n, 256] for bytes that are flipped, of bytes that are."""
    return tables[:, np.arange(256) ^ read] ^ np.uint8(made)
