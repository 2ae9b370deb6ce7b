"""Whole tensors as items to place: ours, and as TFLM sees them.

TFLM's memory planner meets the same lifetimes (`lowtide.ir.liveness`), with a few sizes of its
own. Predicting its arena head exactly means placing what it places.
"""

from __future__ import annotations

from collections.abc import Sequence

from lowtide.ir import DType, Graph, Model, Tensor
from lowtide.ir.liveness import lifetimes
from lowtide.place.greedy import greedy, greedy_around
from lowtide.place.offline_plan import METADATA_NAME, decode
from lowtide.place.problem import Item, Placement, Problem

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


def tflm_placement(model: Model) -> Placement:
    """Where TFLM puts the tensors of the model's main subgraph, with operators in the file's order: by
    the offline plan in the file, if that has a sound one, and for the others by its greedy planner."""
    problem = tflm_problem(model.graph, range(len(model.graph.ops)))
    stored = stored_offsets(model)
    return greedy_around(problem, stored) if stored else greedy(problem)


def tflm_head_bytes(model: Model) -> int:
    """Bytes of TFLM's arena head for the model's tensors, as `tflm_arena_bytes`, but by the offline
    plan in the file, if there is one."""
    return tflm_placement(model).arena_bytes


def stored_plan_bytes(model: Model) -> int | None:
    """Bytes of TFLM's arena head by the offline plan in the metadata; None without a sound one."""
    return tflm_head_bytes(model) if stored_offsets(model) else None


def stored_offsets(model: Model) -> dict[int, int]:
    """Tensor of the main subgraph -> byte offset by the offline plan in the model's metadata; none
    without a sound one. A plan that has not one entry per tensor of the file is refused by TFLM."""
    data = next((entry.data for entry in model.metadata if entry.name == METADATA_NAME), None)
    try:
        offsets = decode(data) if data is not None else ()
    except ValueError:  # TFLM will refuse it; it is no plan
        return {}
    if len(offsets) != sum(model.subgraph_tensors):
        return {}
    own = offsets[: model.subgraph_tensors[0]] if offsets else ()
    return {tensor: offset for tensor, offset in enumerate(own) if offset is not None}


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
