"""The same operator on the same inputs is run once.

Why: files have twins where a converter wrote a shared part out twice, and passes make some.
"""

from __future__ import annotations

from lowtide.ir.graph import Graph, Op
from lowtide.ir.state import keeps_state
from lowtide.passes.rewriting import readers_of, with_ops
from lowtide.passes.simplify.aliases import take_place
from lowtide.passes.simplify.flow import has_effects
from lowtide.passes.simplify.result import Simplified, changed, then, unchanged


def merge_equal(graph: Graph) -> Simplified:
    """With one operator in place of several of one type, with the same options, inputs and outputs.

    Constants are the same if their contents are. Operators that keep a state, or do something else
    besides making their outputs, are never the same.
    """
    result = unchanged(graph)
    while (step := _merged_one(result.graph)).graph is not result.graph:
        result = then(result, step)
    return result


def _merged_one(graph: Graph) -> Simplified:
    known: dict[tuple[object, ...], Op] = {}
    readers = readers_of(graph)
    for op in graph.ops:
        key = _key(graph, op)
        if key is None:
            continue
        first = known.setdefault(key, op)
        if first is op:
            continue
        new, claims = graph, []
        for source, copy in zip(first.outputs, op.outputs, strict=True):
            if copy not in readers and copy not in graph.outputs:
                continue
            taken = take_place(new, op, copy, source) if len(new.ops) == len(graph.ops) else None
            if taken is not None:
                new = taken[0]
                claims.append(taken[1])
        if not claims:
            continue
        if len(new.ops) == len(
            graph.ops
        ):  # what it made is read by nobody, unless an output is left
            left = readers_of(new)
            if not any(t in left or t in new.outputs for t in op.outputs):
                new = with_ops(new, (o for o in new.ops if o.id != op.id))
        return changed(graph, new, dropped=claims, saved={"operators equal to others": 1})
    return unchanged(graph)


def _key(graph: Graph, op: Op) -> tuple[object, ...] | None:
    """What two operators have in common if they make the same; None for one that is like no other."""
    tensors = [graph.tensors[t] for t in (*op.inputs, *op.outputs) if t >= 0]
    if keeps_state(op) or has_effects(op) or any(t.is_variable for t in tensors):
        return None
    given = (
        (t.dtype, t.shape, t.quant, t.data) if t.is_constant else t.id
        for t in (graph.tensors[i] for i in op.inputs if i >= 0)
    )
    made = ((t.dtype, t.shape, t.quant) for t in (graph.tensors[i] for i in op.outputs))
    omitted = tuple(i < 0 for i in op.inputs)
    said = (
        op.type,
        op.custom,
        op.window,
        op.as_litert,
        tuple(sorted(op.options.items(), key=str)),
    )
    return (*said, omitted, tuple(given), tuple(made))
