"""READ_VARIABLE and ASSIGN_VARIABLE: copies of variable tensors, row by row; and carried rows.

The names of variables are gone before: see passes/variables.py. CALL_ONCE, which gives
variables their first values, goes with them; one that does anything else is refused.
"""

from __future__ import annotations

import math

from lowtide.errors import ModelError
from lowtide.ir import DType, Tensor
from lowtide.ir.state import (
    SHIFT_ROWS,
    WRITE_ROWS,
    ShiftRowsOp,
    WriteRowsOp,
    carried_row_bytes,
)
from lowtide.lower.common import Context, Lowering
from lowtide.lower.move import MOVABLE, copy_node, elements, port, row_dims, slide_node
from lowtide.lower.nodes import Join, Lowered, Port


def _unresolved(context: Context) -> ModelError:
    return context.unsupported("the variable's users do not agree on its size or type")


def _handle(context: Context) -> Lowered:
    raise _unresolved(context)


def _read(context: Context) -> Lowered:
    return _copy(context, _variable(context), context.output())


def _assign(context: Context) -> Lowered:
    return _copy(context, context.input(1), _variable(context))


def _variable(context: Context) -> Tensor:
    tensor = context.input(0)
    if not tensor.is_variable:
        raise _unresolved(context)
    return tensor


def _copy(context: Context, source: Tensor, target: Tensor) -> Lowered:
    elements(context, source, target)
    if source.bytes != target.bytes:
        raise context.unsupported("the variable and the value differ in size")
    if source.bytes == 0:
        return Lowered()
    rows = math.prod(source.shape[: row_dims(source.shape)])
    both = port(source, rows, range(rows)), port(target, rows, range(rows))
    return Lowered((copy_node(context, *both, rows),))


def _write_rows(context: Context) -> Lowered:
    """The rows of input 1 become some of the variable's: copied, or made there (rows/joined.py)."""
    op, variable, part = context.op, _variable(context), context.input(1)
    assert isinstance(op, WriteRowsOp)
    elements(context, variable, part)
    row = op.row
    size = carried_row_bytes(variable)
    rows, count = part.bytes // size, variable.bytes // size
    target = Port(variable.id, count, size, first=row)
    node = copy_node(context, Port(part.id, rows, size), target, rows)
    join = None
    if all(len(t.shape) == 4 and t.shape[0] == 1 for t in (variable, part)):
        # Rows of the variable are rows of it as a map, or columns.
        at = (row, 0) if variable.shape[1] > 1 else (0, row * size)
        join = Join(variable.id, ((part.id, *at),))
    return Lowered((node,), join=join)


def _shift_rows(context: Context) -> Lowered:
    """One move in each variable, those that lie first in memory first: place/variables.py."""
    op, graph = context.op, context.graph
    assert isinstance(op, ShiftRowsOp)
    nodes = []
    for variable, (before, kept) in op.moved(graph).items():
        size = carried_row_bytes(graph.tensors[variable])
        count = graph.tensors[variable].bytes // size
        source = Port(variable, count, size, first=before // size, stride=0)
        target = Port(variable, count, size, stride=0)
        nodes.append(slide_node(op.id, source, target, kept, (before, 0)))
    return Lowered(tuple(nodes))


def _call_once(context: Context) -> Lowered:
    raise context.unsupported("it runs another subgraph, to set variables before the first run")


_TYPES = MOVABLE | {DType.RESOURCE}
LOWERINGS = {
    "VAR_HANDLE": Lowering(_handle, _TYPES),
    "READ_VARIABLE": Lowering(_read, _TYPES),
    "ASSIGN_VARIABLE": Lowering(_assign, _TYPES),
    "CALL_ONCE": Lowering(_call_once, _TYPES),
}
CARRYING = {
    WRITE_ROWS: Lowering(_write_rows, MOVABLE),
    SHIFT_ROWS: Lowering(_shift_rows, MOVABLE),
}
"""What no file has: of passes/carried.py."""
