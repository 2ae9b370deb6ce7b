"""One tensor in place of another that has the same elements, and operators that nobody needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lowtide.ir.graph import Graph, Op, Tensor
from lowtide.passes.rewriting import readers_of, with_ops
from lowtide.passes.simplify.flow import has_effects
from lowtide.passes.simplify.result import Dropped, Same, Simplified, Unread, changed, unchanged


def same_kind(a: Tensor, b: Tensor) -> bool:
    """Whether readers take the elements of `a` and of `b` for the same numbers of the same shape."""
    return (a.shape, a.dtype, a.quant) == (b.shape, b.dtype, b.quant)


def can_be_read(graph: Graph, copy: int, source: int) -> bool:
    """Whether `source` can be read wherever `copy` is, which has the same elements and stays inside."""
    a, b = graph.tensors[source], graph.tensors[copy]
    fixed = a.is_variable or b.is_variable or a.is_constant
    return same_kind(a, b) and not fixed and copy not in graph.outputs


def read_instead(graph: Graph, place: Mapping[int, int], what: str) -> Simplified:
    """Every operator reads place[t] where it read t, for pairs of which that can be; all in one go, as
    there may be thousands of them."""
    if not place:
        return unchanged(graph)
    dropped = [Dropped(copy, None, Same(source)) for copy, source in place.items()]
    return changed(graph, _instead(graph, place), dropped=dropped, saved={what: len(place)})


def take_place(graph: Graph, op: Op, copy: int, source: int) -> tuple[Graph, Dropped] | None:
    """Let one of two equal tensors stand for both: `copy`, which `op` makes, and `source`, made before.

    An output of the graph keeps its name, so a copy that is one is made in place of its source. None
    where both have to be there: the caller is promised two tensors, or given one.
    """
    a, b = graph.tensors[source], graph.tensors[copy]
    if not same_kind(a, b) or a.is_variable or b.is_variable or a.is_constant:
        return None
    if copy not in graph.outputs:
        return _instead(graph, {copy: source}), Dropped(copy, None, Same(source))
    maker = next((o for o in graph.ops if source in o.outputs), None)
    if maker is None or source in graph.outputs or len(op.outputs) != 1:
        return None
    graph = _instead(graph, {source: copy})
    ops = [
        replace(o, outputs=tuple(copy if t == source else t for t in o.outputs))
        if o.id == maker.id
        else o
        for o in graph.ops
        if o.id != op.id
    ]
    return with_ops(graph, ops), Dropped(source, None, Same(copy))


def view(graph: Graph, op: Op, source: int) -> Op:
    """A RESHAPE of `source`, which costs nothing, to the only output of `op`, in the place of `op`."""
    shape = graph.tensors[op.outputs[0]].shape
    return Op(op.id, "RESHAPE", (source,), op.outputs, {"new_shape": shape})


def _instead(graph: Graph, place: Mapping[int, int]) -> Graph:
    """Every operator reads place[t] where it read t."""
    return with_ops(
        graph,
        (replace(op, inputs=tuple(place.get(t, t) for t in op.inputs)) for op in graph.ops),
    )


def drop_unread(graph: Graph) -> Simplified:
    """Without the operators whose outputs nobody reads, and that do nothing else.

    One operator is left in any case, since a graph must have one.
    """
    readers = readers_of(graph)
    gone = {
        op.id
        for op in graph.ops
        if not has_effects(op)
        and not any(t >= 0 and graph.tensors[t].is_variable for t in op.inputs)
        and not any(t in readers or t in graph.outputs for t in op.outputs)
    }
    if not gone or len(gone) == len(graph.ops):
        return unchanged(graph)
    return changed(
        graph,
        with_ops(graph, (op for op in graph.ops if op.id not in gone)),
        dropped=[Dropped(t, None, Unread()) for number in gone for t in graph.ops[number].outputs],
        saved={"operators whose results nobody reads": len(gone)},
    )
