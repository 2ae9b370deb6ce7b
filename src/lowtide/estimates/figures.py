"""Flash of a program that is not there yet.

Weights, biases and scales are known, code is assumed as `emit.footprint` assumes it; the tables of the
step program are guessed from how many nodes, ports and rows there are.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from lowtide.emit.bundle import sources
from lowtide.emit.footprint import CODE_PER_SOURCE
from lowtide.estimates.network import Need, Network
from lowtide.lower.block_work import BlockWork
from lowtide.target import Target

_ROW, _NODE, _PORT, _TURN, _FIELD, _PLACE = 12, 12, 10, 4, 4, 2
"""Bytes of a row of each table, as in `emit.footprint`."""

_BLOCK_FIELDS: Final = 12
_TURNS_OF_FUSED: Final = 2
"""Turns per node of a stage whose steps interleave, beside one for each node."""
_ROWS_OF_TENSOR: Final = 1.6
"""How often a tensor is in the table of rows: others make it than read it."""


def flash_bytes(network: Network, need: Need, *, streamed: bool = False) -> int:
    """Bytes of constants, tables and code."""
    nodes, whole = need.nodes, [n for op in network.order for n in network.ready.lowered[op].nodes]
    headers = frozenset(node.header for node in nodes) | ({"lt_stream.h"} if streamed else set())
    constants = -(-len(network.ready.constants) // 16) * 16 + _weights(network)
    ports = {port for node in nodes for port in (*node.inputs, *node.outputs)}
    tensors = {port.tensor for port in ports}
    fields = sum(len(node.params.fields) for node in whole)
    fields += _BLOCK_FIELDS * sum(isinstance(node.work, BlockWork) for node in nodes)
    fused = [s for s in need.stages if s.last - s.first > 1]
    inside = sum(s.last - s.first for s in fused)
    turns = len(nodes) + _TURNS_OF_FUSED * inside
    return (
        constants
        + _ROW * round(_ROWS_OF_TENSOR * len(tensors))
        + _NODE * len(nodes)
        + _PORT * len(ports)
        + _FIELD * fields
        + _TURN * turns
        + _PLACE * _rows_apart(need)
        + CODE_PER_SOURCE * (1 + _sources(headers, network.target))
    )


def _rows_apart(need: Need) -> int:
    """Rows of tensors made and read in one stage: each has a place of its own."""
    fused = {stretch.first for stretch in need.stages if stretch.last - stretch.first > 1}
    if not fused:
        return 0
    made = {port.tensor: port.rows for node in need.nodes for port in node.outputs}
    return sum(made.values()) // 2


def _weights(network: Network) -> int:
    """Bytes of what params point to; that of operators with equal weights once."""
    seen: dict[object, int] = {}
    for number in network.order:
        arrays = {a for node in network.ready.lowered[number].nodes for a in node.params.arrays()}
        graph, constants = network.ready.graph, network.ready.graph.ops[number].inputs[1:]
        buffers = tuple(graph.tensors[t].buffer for t in constants if t >= 0)
        seen[buffers or number] = sum(array.bytes for array in arrays)
    return sum(seen.values())


@cache
def _sources(headers: frozenset[str], target: Target) -> int:
    return sum(name.endswith(".c") for name in sources(sorted(headers), target))
