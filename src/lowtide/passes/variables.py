"""Variables known by name become variable tensors, which a program can place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lowtide.errors import ModelError
from lowtide.ir.graph import Graph, Op, Tensor
from lowtide.ir.state import handles, writes_variables
from lowtide.passes.rewriting import readers_of, rewritten


def resolve_variables(graph: Graph) -> Graph:
    """Turn variables that are known by name into variable tensors, which a program can place.

    A new tensor for each name that a VAR_HANDLE gives takes the place of all handles of that name
    in READ_VARIABLE and ASSIGN_VARIABLE, and the VAR_HANDLEs go, and so do CALL_ONCEs that only set
    them: that is in their initial contents. A name whose users disagree on its size or type, or that
    is used in another way, stays as it is. An operator that reads and writes a variable tensor keeps
    its place among the others that do: see order/bitgraph.py.
    """
    names = handles(graph)
    if not names and not any(op.type == "CALL_ONCE" for op in graph.ops):
        return graph
    values: dict[tuple[object, object], list[Tensor | None]] = {}
    readers = readers_of(graph)
    for handle, name in names.items():
        using = sorted(readers.get(handle, []), key=lambda op: op.type)  # ASSIGN before READ
        used = [_held(graph, op) for op in using] + [None] * graph.outputs.count(handle)
        values.setdefault(name, []).extend(used)
    tensors, made = list(graph.tensors), {}
    for name, held in values.items():
        kinds = {(t.dtype, t.shape) if t is not None else None for t in held}
        if len(kinds) == 1 and held[0] is not None:
            made[name] = len(tensors)
            label = str(name[1] or f"variable{len(made)}")
            # What is assigned comes first: its zero point is what the variable starts with.
            new = replace(held[0], id=len(tensors), name=label, data=None, buffer=0)
            initial = (graph.initial or {}).get(str(name[1] or ""))
            fits = initial is not None and len(initial) == new.bytes
            tensors.append(replace(new, is_variable=True, initial=initial if fits else None))
    place = {handle: made[name] for handle, name in names.items() if name in made}
    gone = {
        op.id
        for op in graph.ops
        if (op.type == "VAR_HANDLE" and op.outputs and op.outputs[0] in place)
        or (op.type == "CALL_ONCE" and _settled(graph, tensors))
    }
    return rewritten(graph, gone=gone, read=place, tensors=tensors)


def check_set(graph: Graph) -> Graph:
    """`graph` itself if nothing reads a variable that nobody sets, before the first run or in any;
    else raises ModelError: what such a variable holds is chance, and the interpreters differ in it."""
    written = {t for op in graph.ops if writes_variables(op) for t in op.inputs}
    for op in graph.ops:
        for tensor in op.inputs if op.type == "READ_VARIABLE" else ():
            value = graph.tensors[tensor]
            if value.is_variable and value.initial is None and tensor not in written:
                raise ModelError(
                    f"operator {op.id} ({op.label}) reads the variable {value.name}, which nothing sets",
                    "export the model with the subgraph that sets its variables (CALL_ONCE)",
                )
    return graph


def _settled(graph: Graph, tensors: Iterable[Tensor]) -> bool:
    """True if all that CALL_ONCE does is in the initial contents of variables that somebody uses."""
    held = {tensor.name for tensor in tensors if tensor.initial is not None}
    used = {str(op.options.get("shared_name") or "") for op in graph.ops if op.type == "VAR_HANDLE"}
    return graph.initial is not None and used.intersection(graph.initial) <= held


def _held(graph: Graph, op: Op) -> Tensor | None:
    """What a user of a variable's handle takes from it or puts into it; None if it does neither."""
    if op.type == "ASSIGN_VARIABLE" and len(op.inputs) == 2:
        return graph.tensor(op, 1)
    if op.type == "READ_VARIABLE" and len(op.outputs) == 1:
        return graph.tensors[op.outputs[0]]
    return None
