"""Concatenations and splits that cost nothing: their parts are rows, or columns, of the whole.

A feature map [1, H, W, C] that is joined of others along H has their rows; joined along W, each of its
rows begins with a row of the first, and so on. So whoever makes a part can make it where it belongs, as
long as all that touch it do so row by row. (Joined along C, parts alternate pixel by pixel.)

The whole may be a view of a tensor of another shape. So a part is a rectangle of bytes of the tensor
whose memory that is: some rows of the whole, as many bytes each as the whole's rows have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lowtide.ir import Graph, Op
from lowtide.ir.liveness import in_arena
from lowtide.lower.nodes import Crop, Lowered

_MOVES = frozenset({"lt_concat_row", "lt_split_row", "lt_copy_row"})


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
    bound = {*views, *views.values(), *graph.inputs, *graph.outputs}
    for op in graph.ops:
        found = _of(graph, op, views)
        if found is None or not lowered[op.id].nodes:
            continue
        whole, parts = found
        mine = lowered[op.id].nodes
        fits = (
            all(node.kernel in _MOVES for node in mine)
            and in_arena(graph.tensors[whole])
            and whole not in crops
            and not graph.tensors[whole].is_variable
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


def _of(
    graph: Graph, op: Op, views: Mapping[int, int]
) -> tuple[int, list[tuple[int, Crop]]] | None:
    """(whole, parts) of a concatenation or split of feature maps along their rows or columns."""
    match op.type:
        case "CONCATENATION":
            whole, parts = op.outputs[0], op.inputs
        case "SPLIT":
            whole, parts = op.inputs[1], op.outputs
        case "SPLIT_V":
            whole, parts = op.inputs[0], op.outputs
        case _:
            return None
    if min(parts, default=-1) < 0:
        return None
    shape = graph.tensors[whole].shape
    maps = [graph.tensors[part].shape for part in parts]
    if len(shape) != 4 or shape[0] != 1 or 0 in shape or any(len(m) != 4 or 0 in m for m in maps):
        return None
    by_rows = all(m[2:] == shape[2:] for m in maps)
    by_columns = all((m[1], m[3]) == (shape[1], shape[3]) for m in maps)
    pitch = graph.tensors[whole].bytes // shape[1]
    row = column = 0
    found = []
    for part, its in zip(parts, maps, strict=True):
        offset = column * (pitch // shape[2])
        found.append((part, Crop(views.get(whole, whole), pitch, offset, row=row)))
        row += its[1] if by_rows else 0
        column += 0 if by_rows else its[2]
    if (by_rows and row == shape[1]) or (by_columns and not by_rows and column == shape[2]):
        return whole, found
    return None


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
