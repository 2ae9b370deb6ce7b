"""A part of a network: what lies between tensors that the caller gives and tensors that he asks for.

Why a pass: a backbone can run here while a detection head, or a conversion before it, stays with the
application. All later stages see a graph with other inputs and outputs; tensors keep their ids, so that
the part is still compared with the whole network, in which its inputs have the values of a whole run.
Tensors that nothing in the part refers to are left out: neither weights nor TFLM's arena include them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lowtide.errors import UsageError
from lowtide.ir.graph import Graph, Op
from lowtide.ir.state import handles, writes_variables
from lowtide.passes.rewriting import makers_of, with_ops


def cut(graph: Graph, begin: Sequence[int] = (), until: Sequence[int] = ()) -> Graph:
    """The part of `graph` from the tensors `begin` (none: from its inputs) up to the tensors `until`
    (none: up to those of its outputs that depend on `begin`), which are its inputs and outputs, in
    this order.

    Operators that the part's outputs do not need are gone, and so are inputs; what changes a variable
    that is read stays. Raises UsageError if a tensor cannot be given or asked for, or if the outputs
    depend on the network's inputs also by ways that do not pass `begin`.
    """
    begin, until = tuple(dict.fromkeys(begin)), tuple(dict.fromkeys(until))
    _check_begin(graph, begin)
    _check_until(graph, until)
    after = _after(graph, begin)
    outputs = until or tuple(t for t in graph.outputs if not begin or t in after.made)
    if not outputs:
        raise UsageError(
            f"no output of the network depends on {_tensors(begin)}",
            "name tensors on the way to an output in --from",
        )
    found = _needed(graph, outputs, frozenset(begin))
    if begin:
        apart = [t for t in outputs if t not in after.made]
        if apart:
            raise UsageError(
                f"tensor {apart[0]} is in --from and an output"
                if apart[0] in begin
                else f"tensor {apart[0]} does not depend on {_tensors(begin)}",
                "name tensors in --from that come before all those in --until",
            )
        _check_ways(graph, begin, outputs, found, after)
    inputs = begin or tuple(t for t in graph.inputs if t in found.given)
    ops = (op for op in graph.ops if op.id in found.ops)
    part = with_ops(replace(graph, inputs=inputs, outputs=outputs), ops)
    return replace(part, left_out=frozenset(range(len(graph.tensors))) - _referred(part))


@dataclass(frozen=True, slots=True)
class _Needed:
    """The operators that some outputs need, and the graph inputs and stops that these begin with."""

    ops: frozenset[int]
    given: frozenset[int]


@dataclass(frozen=True, slots=True)
class _After:
    """The operators that depend on some tensors, and what these make."""

    ops: frozenset[int]
    made: frozenset[int]


def _needed(graph: Graph, outputs: Iterable[int], stops: frozenset[int]) -> _Needed:
    """What makes `outputs`, and keeps the state that this reads, back to `stops` and graph inputs."""
    makers = makers_of(graph)
    changing: dict[object, list[Op]] = {}
    keys = _variables(graph)
    for op in graph.ops:
        if writes_variables(op) or op.type == "CALL_ONCE":
            for key in keys[op.id]:
                changing.setdefault(key, []).append(op)
    ops: set[int] = set()
    given: set[int] = set()
    seen: set[int] = set()
    open_tensors = list(outputs)
    open_ops: list[Op] = []
    while open_tensors or open_ops:
        if open_ops:
            op = open_ops.pop()
            if op.id not in ops:
                ops.add(op.id)
                open_tensors += [t for t in op.inputs if t >= 0]
                used = () if op.type == "CALL_ONCE" else keys[op.id]  # it sets others as well
                open_ops += [other for key in used for other in changing.get(key, ())]
            continue
        tensor = open_tensors.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        if tensor in stops or tensor in graph.inputs:
            given.add(tensor)
        elif tensor in makers:
            open_ops.append(makers[tensor])
    return _Needed(frozenset(ops), frozenset(given))


def _referred(graph: Graph) -> frozenset[int]:
    """The tensors that are inputs or outputs of the graph, or that an operator names."""
    named = (t for op in graph.ops for t in (*op.inputs, *op.outputs, *op.intermediates))
    return frozenset((*graph.inputs, *graph.outputs, *named))


def _variables(graph: Graph) -> list[frozenset[object]]:
    """Per operator, the variables that it uses: tensors, or what a VAR_HANDLE names."""
    names = handles(graph)
    every: frozenset[object] = frozenset(names.values())
    return [
        every
        if op.type == "CALL_ONCE"
        else frozenset(
            names.get(t, t)
            for t in op.inputs
            if t >= 0 and (t in names or graph.tensors[t].is_variable)
        )
        for op in graph.ops
    ]


def _after(graph: Graph, begin: Sequence[int]) -> _After:
    ops: set[int] = set()
    made: set[int] = set(begin)
    for op in graph.ops:
        if made.intersection(op.inputs):
            ops.add(op.id)
            made.update(t for t in op.outputs if t not in begin)
    return _After(frozenset(ops), frozenset(made.difference(begin)))


def _check_begin(graph: Graph, begin: Sequence[int]) -> None:
    for tensor in begin:
        value = graph.tensors[tensor]
        if value.is_constant or value.is_variable or not value.bytes:
            kind = (
                "a constant"
                if value.is_constant
                else "a variable"
                if value.is_variable
                else "empty or a handle"
            )
            raise UsageError(
                f"tensor {tensor} ({_short(value.name)}) is {kind}, which your program cannot give",
                "name a tensor in --from that an operator makes",
            )


def _check_until(graph: Graph, until: Sequence[int]) -> None:
    made = {tensor for op in graph.ops for tensor in op.outputs}
    for tensor in until:
        if tensor not in made:
            name = _short(graph.tensors[tensor].name)
            kind = (
                "an input of the network"
                if tensor in graph.inputs
                else "a constant"
                if graph.tensors[tensor].is_constant
                else "made by no operator"
            )
            raise UsageError(
                f"tensor {tensor} ({name}) is {kind}: nothing is computed up to there",
                "name a tensor in --until that an operator makes",
            )


def _check_ways(
    graph: Graph, begin: Sequence[int], outputs: Sequence[int], found: _Needed, after: _After
) -> None:
    missing = sorted(found.given.difference(begin))
    unread = [t for t in begin if t not in found.given]
    if missing:
        inside = [op for op in graph.ops if op.id in found.ops & after.ops]
        made = {t for op in inside for t in op.outputs}
        read = {t for op in inside for t in op.inputs if t >= 0} | set(outputs)
        whole = sorted(
            t
            for t in read - made | set(begin).intersection(found.given)
            if not graph.tensors[t].is_constant
            and not graph.tensors[t].is_variable
            and graph.tensors[t].bytes
        )
        raise UsageError(
            f"{_tensors(outputs)} also depends on input {missing[0]} of the network, by a path that "
            f"bypasses {_tensors(begin)}",
            f"give `--from {','.join(map(str, whole))}`, which all paths pass, or end earlier with "
            "--until",
        )
    if unread:
        raise UsageError(
            f"{_tensors(outputs)} does not depend on tensor {unread[0]}, which --from names",
            "leave it out of --from, or end elsewhere with --until",
        )


def _short(name: str) -> str:
    """The first of the names that a converter joins."""
    return name.split(";")[0]


def _tensors(ids: Sequence[int]) -> str:
    return f"tensor {ids[0]}" if len(ids) == 1 else "tensors " + ", ".join(map(str, ids))
