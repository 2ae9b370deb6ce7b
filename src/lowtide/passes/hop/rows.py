"""Along which axis a window slides, and its input in rows along that axis; and some rows of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from lowtide.errors import ModelError
from lowtide.ir.graph import Graph, Op
from lowtide.passes.rewriting import readers_of, rewritten

_ENDS: Final = (["QUANTIZE"], ["DEQUANTIZE"], ["FLIP"])
"""What may be between a flat input and its RESHAPE: as it is in the file, or as callers ask for."""


def in_rows(graph: Graph) -> tuple[Graph, int]:
    """The graph with a flat input in the rows that a RESHAPE gives it, and the axis of its rows: the
    first behind the batch that is longer than 1."""
    given = graph.tensors[graph.inputs[0]]
    readers, chain = readers_of(graph), [given.id]
    using = readers.get(given.id, [])
    while [op.type for op in using] in _ENDS:
        chain.append(using[0].outputs[0])
        using = readers.get(chain[-1], [])
    if len(given.shape) == 2 and given.shape[0] == 1 and [op.type for op in using] == ["RESHAPE"]:
        made = graph.tensors[using[0].outputs[0]]
        if len(made.shape) > 2 and made.shape[0] == 1 and not {made.id, *chain} & {*graph.outputs}:
            tensors = list(graph.tensors)
            for flat in chain[:-1]:
                tensors[flat] = replace(tensors[flat], shape=made.shape)
            tensors[chain[-1]] = replace(made, id=chain[-1])
            given, read = tensors[given.id], {made.id: chain[-1]}
            graph = rewritten(graph, gone={using[0].id}, read=read, tensors=tensors)
    if len(given.shape) < 2 or given.shape[0] != 1:
        raise ModelError(
            f"--hop: the input's shape is {list(given.shape)}, but time must be the first axis after a "
            "batch of 1",
            "leave out --hop, or export the model with a batch of 1",
        )
    return graph, next((axis for axis, n in enumerate(given.shape) if n > 1), 1)


def strided(
    source: int, made: int, taken: Sequence[range], integers: Callable[[Sequence[int]], int]
) -> Op:
    """The STRIDED_SLICE that takes these indices along each axis; `integers` makes a constant."""
    ends = [integers([getattr(r, end) for r in taken]) for end in ("start", "stop", "step")]
    return Op(-1, "STRIDED_SLICE", (source, *ends), (made,))
