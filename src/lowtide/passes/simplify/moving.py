"""What operators that only move elements do, on arrays of anything: values, or numbers of elements.

Why on arrays: one definition serves constants, which are moved when the network is compiled, and the
question which elements of which tensor an output is made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import ModelError
from lowtide.ir.graph import Op
from lowtide.ir.operands import Operands
from lowtide.ir.slices import sliced

Array = NDArray[Any]

_VIEWS: Final = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
MOVES: Final = _VIEWS | {
    *("TRANSPOSE", "SLICE", "STRIDED_SLICE", "CONCATENATION", "PACK", "SPLIT", "SPLIT_V"),
    *("UNPACK", "PAD", "PADV2", "GATHER"),
}


def moved_inputs(op: Op) -> tuple[int, ...]:
    """The inputs whose elements `op` moves; its others say how."""
    match op.type:
        case "SPLIT":
            return op.inputs[1:2]
        case "CONCATENATION" | "PACK":
            return op.inputs
        case _:
            return op.inputs[:1]


def move(operands: Operands, given: Sequence[Array], fill: int) -> tuple[Array, ...] | None:
    """What an operator makes of `given`, arrays in the shapes of `moved_inputs`; padding is `fill`.

    None if it does more than to move elements, in a way that is not known here, or makes no sense.
    """
    graph, op = operands.graph, operands.op
    outs = [graph.tensors[t] for t in op.outputs]
    ins = [graph.tensors[t] for t in moved_inputs(op)]
    if len({t.dtype for t in (*ins, *outs)}) != 1 or not outs:
        return None
    try:
        made = _made(operands, given, fill)
    except (ModelError, ValueError, IndexError, TypeError):
        return None
    if made is None or [m.shape for m in made] != [out.shape for out in outs]:
        return None
    return made


def _made(operands: Operands, given: Sequence[Array], fill: int) -> tuple[Array, ...] | None:
    op, first, along = operands.op, given[0], operands.option("axis")
    match op.type:
        case "RESHAPE" | "SQUEEZE" | "EXPAND_DIMS":
            return (first.reshape(operands.output().shape),)
        case "TRANSPOSE":
            return (np.transpose(first, _integers(operands, 1)),)
        case "SLICE" | "STRIDED_SLICE":
            taken = sliced(operands)
            if any(axis.step < 1 for axis in taken):  # backwards is rare, and left alone
                return None
            part = first[tuple(slice(axis.start, axis.stop, axis.step) for axis in taken)]
            return (part.reshape(operands.output().shape),)
        case "CONCATENATION":
            quants = {operands.graph.tensors[t].quant for t in (*op.inputs, *op.outputs)}
            if len(quants) != 1 or operands.option("fused_activation_function"):
                return None
            return (np.concatenate(given, along),)
        case "PACK":
            return (np.stack(given, along),)
        case "UNPACK":
            return tuple(np.moveaxis(first, along, 0))
        case "SPLIT":
            return tuple(np.split(first, len(op.outputs), _integers(operands, 0)[0]))
        case "SPLIT_V":
            along = _integers(operands, 2)[0]
            sizes = [operands.graph.tensors[out].shape[along] for out in op.outputs]
            if sum(sizes) != first.shape[along]:
                return None
            return tuple(np.split(first, np.cumsum(sizes)[:-1], along))
        case "PAD" | "PADV2":
            sides = np.array(_integers(operands, 1)).reshape(-1, 2)
            return (np.pad(first, sides.tolist(), constant_values=fill),)
        case "GATHER":
            index = operands.integers(1)
            if operands.option("batch_dims") or (index < 0).any():
                return None
            return (np.take(first, index, along),)
        case _:
            return None


def _integers(operands: Operands, index: int) -> list[int]:
    """The values of a constant input, which say how elements are moved. Raises ModelError."""
    values: list[int] = operands.integers(index).reshape(-1).tolist()
    return values
