"""Elementwise operators whose result depends on one 8-bit tensor alone become one table of 256 bytes.

Why: whatever the operators are, there are 256 cases. A table that changes nothing is no operator at all,
and that can be said of 65,536 cases, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lowtide.errors import ModelError
from lowtide.ir.byte_tables import BYTES
from lowtide.ir.elementwise import Values, evaluated, sources
from lowtide.ir.graph import DType, Graph, Op, Tensor
from lowtide.ir.operands import NUMPY_TYPES, Operands
from lowtide.passes.rewriting import readers_of, with_ops
from lowtide.passes.simplify.aliases import can_be_read, read_instead, take_place, view
from lowtide.passes.simplify.moving import values_of
from lowtide.passes.simplify.result import Simplified, changed, then, unchanged

_ROOTS = (DType.INT8, DType.UINT8, DType.INT16)


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A tensor as a function of another, `root`: one value for each that the root's elements may have.

    `operators` are how many work it out.
    """

    root: int
    values: Values
    operators: int


def fold_tables(graph: Graph) -> Simplified:
    """With one table in place of operators of one variable, where nobody else reads between them."""
    functions = _functions(graph)
    readers = readers_of(graph)
    tensors, ops, count = list(graph.tensors), list(graph.ops), 0
    for op in graph.ops:
        made = functions.get(op.outputs[0]) if op.outputs else None
        if made is None or _goes_on(graph, op, functions, readers):
            continue
        if not _in_bytes(graph, made, op.outputs[0]):
            continue
        if made.operators == 1 and len(sources(op)) == 1:  # its kernel looks it up anyway
            continue
        table = Tensor(len(tensors), f"{tensors[op.outputs[0]].name}/table", (256,), DType.UINT8)
        tensors.append(replace(table, data=made.values.tobytes(), buffer=_next_buffer(tensors)))
        ops[op.id] = Op(op.id, "TABLE", (made.root, table.id), op.outputs)
        count += made.operators
    if not count:
        return unchanged(graph)
    new = with_ops(replace(graph, tensors=tuple(tensors)), ops)
    return changed(graph, new, saved={"operators in tables": count})


def drop_identities(graph: Graph) -> Simplified:
    """Without elementwise operators that give what they, or others before them, are given."""
    result = unchanged(graph)
    while (step := _without_some(result.graph)).graph is not result.graph:
        result = then(result, step)
    return result


def _without_some(graph: Graph) -> Simplified:
    """Without tensors that are the same function of a third as another, or that one itself: all those in
    whose place another can be read, or one of the rest."""
    readers = readers_of(graph)
    place: dict[int, int] = {}
    first: dict[tuple[object, ...], int] = {}
    makers = {t: op for op in graph.ops for t in op.outputs}
    for out, made in _functions(graph).items():
        op, root = makers[out], graph.tensors[made.root]
        itself = _itself(root).values
        first.setdefault((root.id, root.dtype, itself.tobytes()), root.id)
        source = first.setdefault((root.id, graph.tensors[out].dtype, made.values.tobytes()), out)
        unread = out not in readers and out not in graph.outputs
        if source == out or unread or graph.tensors[source].is_constant or made.root in place:
            continue
        if can_be_read(graph, out, source):
            place[out] = source
        if place:
            continue
        saved = {"operators that change nothing": 1}
        done = take_place(graph, op, out, source)
        if done is not None:
            return changed(graph, done[0], dropped=done[1:], saved=saved)
        ops = (view(graph, op, source) if o.id == op.id else o for o in graph.ops)
        return changed(graph, with_ops(graph, ops), saved=saved)
    return read_instead(graph, place, "operators that change nothing")


def _functions(graph: Graph) -> dict[int, Function]:
    """Tensor -> what it is of the last one before it that others read, too, or that is no function."""
    readers = readers_of(graph)
    found: dict[int, Function] = {}
    alone: dict[int, Function] = {}  # those that one operator reads
    for op in graph.ops:
        made = _function(graph, op, alone) if op.outputs else None
        if made is not None:
            out = op.outputs[0]
            found[out] = made
            if out not in graph.outputs and len({op.id for op in readers.get(out, ())}) == 1:
                alone[out] = made
    return found


def _goes_on(
    graph: Graph, op: Op, functions: Mapping[int, Function], readers: Mapping[int, list[Op]]
) -> bool:
    """Whether what `op` makes is only a step on the way to another function of the same tensor."""
    out = op.outputs[0]
    using = {reader.id for reader in readers.get(out, ())}
    if out in graph.outputs or len(using) != 1:
        return False
    made, *_ = graph.ops[using.pop()].outputs or (-1,)  # none, if it only sets a variable
    after = functions.get(made)
    return after is not None and after.root == functions[out].root and _in_bytes(graph, after, made)


def _in_bytes(graph: Graph, made: Function, out: int) -> bool:
    return {graph.tensors[t].dtype for t in (made.root, out)} <= BYTES


def _next_buffer(tensors: Sequence[Tensor]) -> int:
    return 1 + max(tensor.buffer for tensor in tensors)


def _function(graph: Graph, op: Op, known: Mapping[int, Function]) -> Function | None:
    """The output of `op` as a function of one tensor, if it is that.

    The tensor may be read beside a function of it, as in x * LOGISTIC(x).
    """
    out, tensors = graph.tensors[op.outputs[0]], [graph.tensors[t] for t in sources(op)]
    given: list[Values] = []
    found: list[Function] = []
    for tensor in tensors:
        if tensor.is_constant:
            constant = values_of(graph, tensor.id)
            if constant is None or constant.size != 1:
                return None
            given.append(constant.reshape(1))
        elif tensor.elements != out.elements:
            return None
        else:
            found.append(known.get(tensor.id) or _itself(tensor))
            given.append(found[-1].values)
    roots = {function.root: function.operators for function in found}
    if len(roots) != 1 or not found[0].values.size:
        return None
    try:
        values = evaluated(Operands(graph, op), given)
    except ModelError:
        return None
    operators = 1 + max(function.operators for function in found)
    return None if values is None else Function(found[0].root, values, operators)


def _itself(tensor: Tensor) -> Function:
    """A tensor as the function of itself; of no values where there are too many to look at."""
    values: Values = np.zeros(0)
    if tensor.dtype in _ROOTS and not tensor.is_variable:
        bits = np.arange(1 << tensor.dtype.bits, dtype=f"<u{tensor.dtype.bits // 8}")
        values = bits.view(NUMPY_TYPES[tensor.dtype])
    return Function(tensor.id, values, 0)
