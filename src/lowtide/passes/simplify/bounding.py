"""An operator and what its inputs can be: what every rule that bounds its outputs is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lowtide.ir.graph import DType, Tensor
from lowtide.ir.operands import Operands, constant, type_range
from lowtide.passes.simplify.interval import Interval, whole

KNOWN_TYPES = frozenset({DType.INT8, DType.UINT8, DType.INT16, DType.INT32})
"""Types whose values have an interval."""


@dataclass(frozen=True, slots=True)
class Bounding(Operands):
    """One operator, its graph, and the intervals of all tensors that were bounded before it.

    With `both_roundings`, dense layers may round as TFLM or as LiteRT does.
    """

    known: Mapping[int, Interval]
    both_roundings: bool = False

    def source(self, index: int) -> Interval:
        """What input `index` can be. Raises ModelError if it holds no integers."""
        tensor = self.input(index)
        found = self.known.get(tensor.id)
        found = interval_of(tensor) if found is None else found
        if found is None:
            raise self.unsupported(f"tensor {tensor.id} ({tensor.name}) holds no integers")
        return found


def channels_of(tensor: Tensor) -> int:
    """The length of its last axis; 1 for a scalar."""
    return tensor.shape[-1] if tensor.shape else 1


def interval_of(tensor: Tensor) -> Interval | None:
    """What a tensor can be as it stands: a constant's values, else all of its type. None if it is of
    another type, or empty."""
    if tensor.dtype not in KNOWN_TYPES or not tensor.elements:
        return None
    count = channels_of(tensor)
    if tensor.is_constant and not tensor.is_sparse:
        values = constant(tensor).reshape(-1, count)
        return Interval(values.min(axis=0).astype(np.int64), values.max(axis=0).astype(np.int64))
    return whole(*type_range(tensor.dtype), count)
