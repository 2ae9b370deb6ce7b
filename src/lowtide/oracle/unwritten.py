"""What TFLM leaves as it happens to be in memory, and so cannot be compared.

Why: its energies have a beginning and an end, and beyond them nothing is written; nor is a frame or a
stack for which there are not enough samples yet. What is made of such values alone is chance, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import ModelError
from lowtide.ir import Graph, Op
from lowtide.ir.operands import Operands
from lowtide.ir.signal import FRAMER, SIGNAL, STACKER
from lowtide.ir.slices import sliced

Array = NDArray[Any]
Mask = NDArray[np.bool_]

_ALIKE = frozenset({"CAST", "RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
_SLICES = frozenset({"SLICE", "STRIDED_SLICE"})


def flags(graph: Graph) -> list[int]:
    """The tensors that say whether others are written."""
    return [
        op.outputs[1] for op in graph.ops if op.custom in (FRAMER, STACKER) and len(op.outputs) > 1
    ]


def unwritten(graph: Graph, sample: Mapping[int, Array]) -> dict[int, Mask]:
    """Tensor -> which of its elements are chance, where some are; `sample` has the values of `flags`."""
    found: dict[int, Mask] = {}
    if not any(op.custom in SIGNAL for op in graph.ops):
        return found
    for op in graph.ops:
        for tensor in op.outputs:
            mask = _mask(graph, op, tensor, sample, found)
            if mask is not None and mask.any():
                found[tensor] = mask
    return found


def agreed(
    graph: Graph, sample: Mapping[int, Array], values: Mapping[int, Array]
) -> dict[int, Array]:
    """`values` with what is chance as `sample`, the reference, happens to have it."""
    masks = unwritten(graph, sample)
    made = dict(values)
    for tensor, mask in masks.items():
        value, told = made.get(tensor), sample.get(tensor)
        if value is not None and told is not None and value.shape == mask.shape:
            made[tensor] = np.where(mask, told, value)
    return made


def _mask(
    graph: Graph, op: Op, tensor: int, sample: Mapping[int, Array], found: Mapping[int, Mask]
) -> Mask | None:
    shape = graph.tensors[tensor].shape
    if op.custom == "SignalEnergy":
        mask = np.ones(shape, np.bool_)
        operands = Operands(graph, op)
        mask[operands.option("start_index") : operands.option("end_index")] = False
        return mask
    if op.custom in (FRAMER, STACKER):
        said = sample.get(op.outputs[-1])
        late = said is not None and not said.any()
        return np.ones(shape, np.bool_) if late and tensor == op.outputs[0] else None
    given = [found[t] for t in op.inputs if t in found]
    if not given:
        return None
    if op.type in _ALIKE and op.inputs[0] in found:
        return found[op.inputs[0]].reshape(shape)
    if op.type in _SLICES and op.inputs[0] in found:
        try:
            taken = sliced(Operands(graph, op))
        except ModelError:
            return None
        return found[op.inputs[0]][np.ix_(*map(list, taken))].reshape(shape)
    return np.ones(shape, np.bool_) if any(mask.all() for mask in given) else None
