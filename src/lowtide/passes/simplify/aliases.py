"""One tensor in place of another that has the same elements, and operators that nobody needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lowtide.ir.graph import Graph, Op, Tensor
from lowtide.passes.rewriting import readers_of, rewritten
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


def one_of_each(graph: Graph, copies: Iterable[tuple[Op, int, int]], what: str) -> Simplified:
    """Without tensors that have the elements of others: `copies` are (an operator, its output, a tensor
    that comes before it and has the same elements).

    All those go at once in whose place the other can be read, as there may be thousands of them; else
    one of the rest.
    """
    readers = readers_of(graph)
    place: dict[int, int] = {}
    for op, copy, source in copies:
        unread = copy not in readers and copy not in graph.outputs
        if unread or source in place:
            continue
        if can_be_read(graph, copy, source):
            place[copy] = source
        if place:
            continue
        done = take_place(graph, op, copy, source)
        if done is not None:
            return changed(graph, done[0], dropped=done[1:], saved={what: 1})
        seen = op.type == "RESHAPE" and op.inputs[0] == source
        if not seen and len(op.outputs) == 1 and not graph.tensors[source].is_constant:
            shape = graph.tensors[copy].shape
            view = Op(
                op.id, "RESHAPE", (source,), op.outputs, {"new_shape": shape}
            )  # costs nothing
            return changed(graph, rewritten(graph, instead={op.id: view}), saved={what: 1})
    if not place:
        return unchanged(graph)
    dropped = [Dropped(copy, None, Same(source)) for copy, source in place.items()]
    return changed(graph, rewritten(graph, read=place), dropped=dropped, saved={what: len(place)})


def take_place(graph: Graph, op: Op, copy: int, source: int) -> tuple[Graph, Dropped] | None:
    """Let one of two equal tensors stand for both: `copy`, which `op` makes, and `source`, made before.

    An output of the graph keeps its name, so a copy that is one is made in place of its source. None
    where both have to be there: the caller is promised two tensors, or given one.
    """
    a, b = graph.tensors[source], graph.tensors[copy]
    if not same_kind(a, b) or a.is_variable or b.is_variable or a.is_constant:
        return None
    if copy not in graph.outputs:
        return rewritten(graph, read={copy: source}), Dropped(copy, None, Same(source))
    maker = next((o for o in graph.ops if source in o.outputs), None)
    if maker is None or source in graph.outputs or len(op.outputs) != 1:
        return None
    makes = replace(maker, outputs=tuple(copy if t == source else t for t in maker.outputs))
    new = rewritten(graph, instead={maker.id: makes}, gone={op.id}, read={source: copy})
    return new, Dropped(source, None, Same(copy))


def without_unread(graph: Graph, op: Op) -> Graph:
    """`graph` without `op`, if it is in it and nobody needs what it makes."""
    readers = readers_of(graph)
    needed = any(t in readers or t in graph.outputs for t in op.outputs)
    return graph if needed else rewritten(graph, gone={op.id})


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
        rewritten(graph, gone=gone),
        dropped=[Dropped(t, None, Unread()) for number in gone for t in graph.ops[number].outputs],
        saved={"operators whose results nothing reads": len(gone)},
    )
