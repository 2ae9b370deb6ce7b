"""Operators of uint8 whose tensors are flipped (ir/flipped.py), and whose arithmetic stays uint8's.

Why here for all of them: they are lowered as what they are in the file, and then told which bytes to
flip. A kernel that looks bytes up has it in its table; others flip what they read and what they write.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import Graph, Op
from lowtide.ir.byte_tables import BYTE_FUNCTIONS
from lowtide.ir.flipped import unflipped_around
from lowtide.lower.nodes import Array, Lowered, Node, Value

EITHER = frozenset(
    {
        *("AVERAGE_POOL_2D", "FULLY_CONNECTED", "RESIZE_BILINEAR", "SOFTMAX", "TABLE"),
        *BYTE_FUNCTIONS,
    }
)
"""Operators that read and make bytes that are flipped, or are not, in any combination."""

_BY_BYTES = EITHER | {"CONCATENATION"}
_TABLES = frozenset({("lt_lut", "table"), ("lt_concat_u8", "tables")})
_SIGN = 0x80


def as_bytes(graph: Graph, op: Op) -> Graph:
    """The graph to lower `op` in: with its tensors of uint8, if it needs uint8's arithmetic."""
    return unflipped_around(graph, op) if op.type in _BY_BYTES else graph


def with_flips(graph: Graph, op: Op, lowered: Lowered) -> Lowered:
    """What became of `op` in the graph of `as_bytes`, on the tensors of `graph`."""
    if op.type not in _BY_BYTES:
        return lowered
    tensors = [graph.tensors[t] for t in (op.inputs[0], op.outputs[0])]
    read, made = (_SIGN if t.flipped else 0 for t in tensors)
    if not read and not made:
        return lowered
    return replace(lowered, nodes=tuple(_flipping(node, read, made) for node in lowered.nodes))


def _flipping(node: Node, read: int, made: int) -> Node:
    own: dict[str, Value] = {"in_flip": read, "out_flip": made}

    def value(name: str, old: Value) -> Value:
        if isinstance(old, Array) and (node.params.ctype, name) in _TABLES:
            return replace(old, values=_permuted(old.values.reshape(-1, 256), read, made))
        return own.get(name, old)

    fields = tuple((name, value(name, old)) for name, old in node.params.fields)
    return replace(node, params=replace(node.params, fields=fields))


def _permuted(tables: NDArray[np.uint8], read: int, made: int) -> NDArray[np.uint8]:
    """Tables [n, 256] for bytes that are flipped, of bytes that are."""
    return tables[:, np.arange(256) ^ read] ^ np.uint8(made)
