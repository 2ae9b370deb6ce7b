"""What each operator reads and makes, as values: the labels of the bytes of its tensors.

Operators that no node of the program runs (a reshape, a concatenation whose parts are made in place)
only give other names to bytes: what they make has the labels of what it is made of. So whoever reads a
view, a joined map or a part of one must find those, wherever and however the program keeps them.

A variable has a value before each operator, in the order of the graph, and one at the end of a run.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

import numpy as np

from lowtide.ir import Graph, Op, Tensor
from lowtide.ir.signal import STATEFUL
from lowtide.ir.state import WRITE_ROWS, ShiftRowsOp, TotalOp, WriteRowsOp, carried_row_bytes
from lowtide.prove.memory import (
    NOTHING,
    Labels,
    NotProvedError,
    Symbols,
    Value,
    as_value,
    elements,
    of_elements,
    part,
)
from lowtide.prove.moved import RENAMES, moved, moves

_LSTM_STATES = (18, 19)
_SVDF_STATE = 4


@dataclass(slots=True, eq=False)
class Values:
    """The values of one run.

    `inputs[op]` are what operator op reads, None where it omits an input, `outputs[op]` what it makes;
    `states[op]` what the variables that it changes hold afterwards, by tensor. `last` is what each
    tensor holds at the end of a run, `first` what variables hold before it. `inside[op]` is what op
    reads where it runs inside of a block.
    """

    graph: Graph
    symbols: Symbols
    inputs: dict[int, list[Value | None]] = field(default_factory=dict)
    outputs: dict[int, list[Value]] = field(default_factory=dict)
    states: dict[int, dict[int, Value]] = field(default_factory=dict)
    last: dict[int, Value] = field(default_factory=dict)
    first: dict[int, Value] = field(default_factory=dict)
    inside: dict[int, int] = field(default_factory=dict)

    def last_input(self, tensor: int) -> Value:
        """What a caller gives for an input."""
        return self.last[tensor]

    def read_inside(self, op: Op) -> int:
        """What an operator reads inside of a block, whichever node runs it: nodes go on with rows that
        others have kept."""
        if op.id not in self.inside:
            self.inside[op.id] = self.symbols.new(f"what operator {op.id} reads inside of a block")
        return self.inside[op.id]

    def new(self, tensor: Tensor, what: str = "") -> Value:
        """A value of its own for a tensor."""
        return self.symbols.new(_name(tensor) + what)


def _name(tensor: Tensor) -> str:
    return f"tensor {tensor.id} ({tensor.name})"


def changed_by(graph: Graph, op: Op) -> tuple[int, ...]:
    """The variables that an operator changes."""
    if op.type == "UNIDIRECTIONAL_SEQUENCE_LSTM":
        return tuple(op.inputs[i] for i in _LSTM_STATES)
    if op.type == "SVDF":
        return (op.inputs[_SVDF_STATE],)
    if isinstance(op, ShiftRowsOp):
        return tuple(op.inputs)
    if isinstance(op, TotalOp):
        return (op.inputs[0],)
    if op.type in ("ASSIGN_VARIABLE", WRITE_ROWS):
        return (op.inputs[0],)
    if op.custom in STATEFUL and op.inputs and graph.tensors[op.inputs[-1]].is_variable:
        return (op.inputs[-1],)
    return ()


def values_of(graph: Graph, symbols: Symbols, run: Set[int]) -> Values:
    """The values of `graph`, whose operators `run` are run by nodes of the program.

    Raises NotProvedError for an operator that computes something and is not.
    """
    values = Values(graph, symbols)
    now = values.last
    made = {t for op in graph.ops for t in op.outputs}
    for tensor in graph.tensors:
        if tensor.id not in made:
            data = tensor.data
            known = None if data is None else symbols.constant(_name(tensor), data)
            now[tensor.id] = values.new(tensor) if known is None else known
        if tensor.is_variable:
            values.first[tensor.id] = now.setdefault(tensor.id, values.new(tensor))
    for op in graph.ops:
        values.inputs[op.id] = [now[t] if t >= 0 else None for t in op.inputs]
        states = _states(values, op, op.id in run)
        values.states[op.id] = states
        outputs = _outputs(values, op, op.id in run)
        values.outputs[op.id] = outputs
        now.update(states)
        now.update(zip(op.outputs, outputs, strict=True))
    return values


def _outputs(values: Values, op: Op, run: bool) -> list[Value]:
    graph = values.graph
    tensors = [graph.tensors[t] for t in op.outputs]
    if run:
        return [values.new(tensor) for tensor in tensors]
    if not tensors or not any(tensor.bytes for tensor in tensors):
        return [values.new(tensor) for tensor in tensors]
    if op.type in RENAMES:
        (source,) = values.inputs[op.id][:1]
        assert source is not None
        return [source]
    return [as_value(labels) for labels in made_of(values, op)]


def made_of(values: Values, op: Op) -> list[Labels]:
    """The labels of all bytes of what an operator makes that only moves elements."""
    graph = values.graph
    if not moves(graph, op):
        raise NotProvedError(f"operator {op.id} ({op.label}) is not run")
    known = {t: v for t, v in zip(op.inputs, values.inputs[op.id], strict=True) if v is not None}

    def labels(tensor: Tensor) -> Labels:
        return elements(known[tensor.id], tensor.elements, tensor.dtype.bits // 8)

    sizes = [graph.tensors[t].dtype.bits // 8 for t in op.outputs]
    arrays = moved(graph, op, labels)
    if not sizes:  # an assignment
        sizes = [graph.tensors[op.inputs[0]].dtype.bits // 8]
    return [of_elements(a, size) for a, size in zip(arrays, sizes, strict=True)]


def _states(values: Values, op: Op, run: bool) -> dict[int, Value]:
    """What the variables that it changes hold after an operator."""
    graph, now = values.graph, values.last
    if isinstance(op, ShiftRowsOp):
        return _shifted(values, op)
    if op.type == WRITE_ROWS:
        variable = graph.tensors[op.inputs[0]]
        size = graph.tensors[op.inputs[1]].bytes
        new = values.new(graph.tensors[op.inputs[1]], " as rows of a variable")
        source = new if run else now[op.inputs[1]]
        return {variable.id: _with_rows(values, op, part(source, 0, size))}
    if op.type == "ASSIGN_VARIABLE" and not run and graph.tensors[op.inputs[0]].bytes:
        raise NotProvedError(f"operator {op.id} ({op.label}) is not run")
    return {
        t: values.new(graph.tensors[t], f" after operator {op.id}") for t in changed_by(graph, op)
    }


def written_rows(values: Values, op: Op) -> Labels:
    """What WRITE_ROWS makes of a variable, in terms of what it reads."""
    source = values.inputs[op.id][1]
    assert source is not None
    return _with_rows(values, op, part(source, 0, values.graph.tensors[op.inputs[1]].bytes))


def _with_rows(values: Values, op: Op, rows: Labels) -> Labels:
    variable, before = values.graph.tensors[op.inputs[0]], values.inputs[op.id][0]
    assert isinstance(op, WriteRowsOp) and before is not None
    at = op.row * carried_row_bytes(variable)
    whole = part(before, 0, variable.bytes).copy()
    whole[at : at + len(rows)] = rows
    return whole


def _shifted(values: Values, op: ShiftRowsOp) -> dict[int, Value]:
    """Rows of each variable move to its front; what is behind them matters no more."""
    found: dict[int, Value] = {}
    for tensor, first, many in zip(op.inputs, op.rows, op.kept, strict=True):
        variable = values.graph.tensors[tensor]
        size = carried_row_bytes(variable)
        whole = part(values.last[tensor], 0, variable.bytes)
        after = np.full(variable.bytes, NOTHING, np.int64)
        after[: many * size] = whole[first * size : (first + many) * size]
        found[tensor] = after
    return found
