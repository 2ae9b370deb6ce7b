"""Concatenations and splits that cost nothing: their parts are rows, or columns, of the whole.

A feature map [1, H, W, C] that is joined of others along H has their rows; joined along W, each of its
rows begins with a row of the first, and so on. So whoever makes a part can make it where it belongs, as
long as all that touch it do so row by row. (Joined along C, parts alternate pixel by pixel.)

The whole may be a view of a tensor of another shape. So a part is a rectangle of bytes of the tensor
whose memory that is: some rows of the whole, as many bytes each as the whole's rows have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lowtide.ir import Graph
from lowtide.ir.liveness import in_arena
from lowtide.ir.state import carrying
from lowtide.lower.nodes import Crop, Lowered


@dataclass(frozen=True, slots=True)
class Joined:
    """Part -> where it lies in the whole; and the operators that are nothing more than that."""

    crops: Mapping[int, Crop]
    operators: frozenset[int]


def joined(graph: Graph, lowered: Mapping[int, Lowered], views: Mapping[int, int]) -> Joined:
    """The concatenations and splits of `graph` that need no code."""
    crops: dict[int, Crop] = {}
    operators: set[int] = set()
    wholes: set[int] = set()
    carried = {*carrying(graph), *(graph.inputs if graph.hop and graph.hop.ring else ())}
    bound = {*views, *views.values(), *graph.inputs, *graph.outputs}
    ops = graph.ops
    if graph.hop is not None:  # kept rows beside new ones: copied once, the new ones made in place
        ops = tuple(sorted(ops, key=lambda op: op.type != "CONCATENATION"))
    for op in ops:
        join = lowered[op.id].join
        if join is None or not lowered[op.id].nodes:
            continue
        whole = join.whole
        pitch = graph.tensors[whole].bytes // graph.tensors[whole].shape[1]
        inside = crops.get(whole) or Crop(views.get(whole, whole), pitch, 0)
        parts = [
            (part, replace(inside, offset=inside.offset + at, row=inside.row + row))
            for part, row, at in join.parts
        ]
        # A part alone, such as a slice, would keep all of the whole in memory.
        alone = sum(graph.tensors[part].bytes for part, _ in parts) < graph.tensors[whole].bytes
        fits = (
            ((in_arena(graph.tensors[whole]) and not alone) or inside.tensor in carried)
            and len({part for part, _ in parts}) == len(parts)
            and all(
                part not in bound
                and part not in crops
                and part not in wholes
                and _by_rows(graph, lowered, part, op.id)
                for part, _ in parts
            )
        )
        if fits:
            crops.update(parts)
            operators.add(op.id)
            wholes.add(whole)
    return Joined(crops, frozenset(operators))


def _by_rows(graph: Graph, lowered: Mapping[int, Lowered], part: int, own: int) -> bool:
    """Whether somebody makes `part`, and all but operator `own` see it as rows of its map."""
    of = graph.tensors[part]
    ports = [
        (port, made)
        for number, low in lowered.items()
        if number != own
        for node in low.nodes
        for made, side in ((False, node.inputs), (True, node.outputs))
        for port in side
        if port.tensor == part
    ]
    touched = any(made for _, made in ports) or part in graph.ops[own].outputs
    return (
        touched
        and in_arena(of)
        and not of.is_variable
        and all(
            port.rows == of.shape[1] and port.rows * port.row_bytes == of.bytes for port, _ in ports
        )
    )
