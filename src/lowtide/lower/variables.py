"""READ_VARIABLE and ASSIGN_VARIABLE: copies from and to a variable tensor, row by row.

The names of variables are gone before: see passes/variables.py. CALL_ONCE, which gives
variables their first values, goes with them; one that does anything else is refused.
"""

from __future__ import annotations

import math

from lowtide.errors import ModelError
from lowtide.ir import DType, Tensor
from lowtide.lower.common import Context, Lowering
from lowtide.lower.move import MOVABLE, copy_node, elements, port, row_dims
from lowtide.lower.nodes import Lowered


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


def _call_once(context: Context) -> Lowered:
    raise context.unsupported("it runs another subgraph, to set variables before the first run")


_TYPES = MOVABLE | {DType.RESOURCE}
LOWERINGS = {
    "VAR_HANDLE": Lowering(_handle, _TYPES),
    "READ_VARIABLE": Lowering(_read, _TYPES),
    "ASSIGN_VARIABLE": Lowering(_assign, _TYPES),
    "CALL_ONCE": Lowering(_call_once, _TYPES),
}
