"""Operators with state: which of them must keep the order in which the file has them.

Why here: the search for the best order and the reader of plan files must agree on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lowtide.ir.graph import Graph, Op, Tensor
from lowtide.ir.signal import SIGNAL, STATEFUL

WRITE_ROWS: Final = "WRITE_ROWS"
SHIFT_ROWS: Final = "SHIFT_ROWS"
TOTAL: Final = "TOTAL"
OF_TOTAL: Final = "OF_TOTAL"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRowsOp(Op):
    """Of passes/carried.py: (a variable, a tensor) -> nothing. The tensor's rows become the variable's
    from `row` on."""

    type: str = WRITE_ROWS
    outputs: tuple[int, ...] = ()
    row: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftRowsOp(Op):
    """Of passes/carried.py: variables -> nothing. As a run's last act, of each variable the row `rows`
    becomes the first; as many after it as `kept` matter."""

    type: str = SHIFT_ROWS
    outputs: tuple[int, ...] = ()
    rows: tuple[int, ...]
    kept: tuple[int, ...]

    def moved(self, graph: Graph) -> dict[int, tuple[int, int]]:
        """Variable -> bytes of its rows before the one that becomes the first, and of those that matter;
        in the order in which they are moved."""
        each = [carried_row_bytes(graph.tensors[t]) for t in self.inputs]
        sizes = zip(self.inputs, each, self.rows, self.kept, strict=True)
        return {t: (first * size, many * size) for t, size, first, many in sizes}


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalOp(Op):
    """Of passes/hop/totals.py: (a variable, rows) -> nothing. The variable has a total for each channel,
    to which the rows' elements are added, each minus `zero`; or subtracted, if they `leave`."""

    type: str = TOTAL
    outputs: tuple[int, ...] = ()
    zero: int
    leave: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTotalOp(Op):
    """Of passes/hop/totals.py: totals -> what a MEAN, SUM or AVERAGE_POOL_2D, its `kind`, makes of so
    many elements, `count`, each of which lacks `zero`."""

    type: str = OF_TOTAL
    kind: str
    count: int
    zero: int


# Operators with state outside their tensors: their order among each other must not change. One key
# for all is stricter than need be, but such operators are few. Custom operators of one code may share
# state that no file shows, so they keep their order as well.
_STATEFUL = frozenset(
    {"CALL_ONCE", "MULTINOMIAL", "RANDOM_STANDARD_NORMAL", "RANDOM_UNIFORM"}
    | {"HASHTABLE", "HASHTABLE_IMPORT", "HASHTABLE_FIND", "HASHTABLE_SIZE"}
    | {"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"}
)

_CELLS = ("LSTM", "RNN", "SVDF")
"""What the types of operators have in their names that keep their state in variable tensors."""


def writes_variables(op: Op) -> bool:
    """Whether `op` may change variables among its inputs."""
    changes = op.type == "ASSIGN_VARIABLE" or isinstance(op, WriteRowsOp | ShiftRowsOp | TotalOp)
    unknown = op.type == "CUSTOM" and op.custom not in SIGNAL
    return changes or unknown or op.custom in STATEFUL or any(cell in op.type for cell in _CELLS)


def keeps_state(op: Op) -> bool:
    """Whether what `op` makes may depend on more than its inputs; so it may where nothing is known."""
    unknown = op.type.startswith(("BUILTIN_", "CUSTOM", "DELEGATE", "STABLEHLO_"))
    return unknown or op.type in _STATEFUL or writes_variables(op)


def handles(graph: Graph) -> dict[int, tuple[object, object]]:
    """Tensors that VAR_HANDLEs make -> the variable that they name: its container and its name."""
    return {
        op.outputs[0]: (op.options.get("container") or "", op.options.get("shared_name"))
        for op in graph.ops
        if op.type == "VAR_HANDLE" and len(op.outputs) == 1
    }


def state_order(graph: Graph) -> tuple[frozenset[int], ...]:
    """Per operator, those that must run before it because of state that they share.

    What changes a variable comes after whatever uses it earlier in the file, what uses it after the last
    change before. Operators that only read one are free among each other. A variable is a tensor, or
    what a VAR_HANDLE names; CALL_ONCE may change all of those.
    """
    names = handles(graph)
    after: list[frozenset[int]] = []
    changed: dict[object, int] = {}
    read: dict[object, list[int]] = {}
    for op in graph.ops:
        keys: set[object] = {t for t in op.inputs if t >= 0 and graph.tensors[t].is_variable}
        keys |= {names[t] for t in op.inputs if t in names}
        changes = writes_variables(op)
        if op.type in _STATEFUL and not (keys and op.type.endswith("_VARIABLE")):
            keys, changes = keys | {"state"}, True
            keys |= set(names.values()) if op.type == "CALL_ONCE" else set()
        if op.custom is not None and (op.custom not in SIGNAL or changes):
            keys.add(op.custom)
        before = {changed[key] for key in keys if key in changed}
        if changes:
            before.update(user for key in keys for user in read.pop(key, ()))
            changed |= dict.fromkeys(keys, op.id)
        else:
            for key in keys:
                read.setdefault(key, []).append(op.id)
        if isinstance(op, ShiftRowsOp):  # the views of its variables have readers as well
            before = set(range(op.id))
        after.append(frozenset(before))
    return tuple(after)


def carrying(graph: Graph) -> frozenset[int]:
    """The variables that carry rows: nothing changes them but for new rows, before all is done."""
    return frozenset(t for op in graph.ops if isinstance(op, ShiftRowsOp) for t in op.inputs)


def carried_row_bytes(variable: Tensor) -> int:
    """Bytes of a row of one: rows are along its first axis that is longer than 1."""
    return variable.bytes // next((n for n in variable.shape if n != 1), 1)
