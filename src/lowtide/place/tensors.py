"""Whole tensors as items to place: ours, and as TFLM sees them.

TFLM's memory planner meets the same lifetimes (`lowtide.ir.liveness`), with a few sizes of its
own. Predicting its arena head exactly means placing what it places.
"""

from __future__ import annotations

from collections.abc import Sequence

from lowtide.ir import DType, Graph, Model, Tensor
from lowtide.ir.liveness import lifetimes
from lowtide.place.greedy import greedy
from lowtide.place.offline_plan import METADATA_NAME, decode
from lowtide.place.problem import Item, Problem

TFLM_ALIGN = 16
"""MicroArenaBufferAlignment(), micro_arena_constants.h."""


def tensor_problem(graph: Graph, order: Sequence[int], *, align: int = TFLM_ALIGN) -> Problem:
    """The tensors in the arena as items, in tensor order; `order` lists all operators."""
    return Problem(
        items=tuple(
            Item(tensor, graph.tensors[tensor].bytes, life.start, life.end)
            for tensor, life in sorted(lifetimes(graph, order).items())
        ),
        align=align,
    )


def tflm_arena_bytes(graph: Graph, order: Sequence[int]) -> int:
    """Bytes of TFLM's arena head for the tensors of the main subgraph, operators run in `order`.

    TFLM's greedy planner, exactly; the scratch buffers that some of its kernels ask for come on top
    and depend on the build (reference kernels, CMSIS-NN, ...).
    """
    return greedy(tflm_problem(graph, order)).arena_bytes


def tflm_variable_bytes(graph: Graph) -> int:
    """Bytes that TFLM takes from its arena for variable tensors, beside the head and for good.

    Each has its multiple of 16. Variables that are known by name are variable tensors after
    `resolve_variables`; what reads them is a copy of theirs, in the head.
    """
    sizes = (tensor.bytes for tensor in graph.own_tensors if tensor.is_variable)
    return sum(-(-size // TFLM_ALIGN) * TFLM_ALIGN for size in sizes)


def stored_plan_bytes(model: Model) -> int | None:
    """The arena that the offline plan in the model's metadata asks for; None without a sound one."""
    data = next((entry.data for entry in model.metadata if entry.name == METADATA_NAME), None)
    try:
        offsets = decode(data) if data is not None else ()
    except ValueError:  # TFLM will refuse it; it is no plan
        return None
    ends = [
        offset + -(-_tflm_bytes(tensor) // TFLM_ALIGN) * TFLM_ALIGN
        for offset, tensor in zip(offsets, model.graph.tensors, strict=False)
        if offset is not None
    ]
    return max(ends, default=None)


def tflm_problem(graph: Graph, order: Sequence[int]) -> Problem:
    """The placement problem as micro_allocation_info.cc builds it.

    A tensor of the file that nothing uses still has its place, before all else; one that a part leaves
    out is in no file. Items are in tensor order, which decides ties between equal sizes.
    """
    lives = lifetimes(graph, order)
    items = []
    for tensor in graph.own_tensors:
        size = _tflm_bytes(tensor)
        if size and not tensor.is_constant and not tensor.is_variable:
            life = lives.get(tensor.id)
            start, end = (life.start, life.end) if life else (-1, 0)
            items.append(Item(tensor.id, size, start, end))
    return Problem(tuple(items), TFLM_ALIGN)


def _tflm_bytes(tensor: Tensor) -> int:
    """TfLiteTypeSizeOf, memory_helpers.cc: 4-bit activations are not packed, handles take a word."""
    match tensor.dtype:
        case DType.INT4:
            return tensor.elements
        case DType.RESOURCE:
            return 4 * tensor.elements
        case _:
            return tensor.bytes
