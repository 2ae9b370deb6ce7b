"""What lowering functions share: the operator and what it is lowered for, its columns, row cuts.

The values of `ir.operands` are named here as well, beside what the lowering adds to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from lowtide.ir import DType, Tensor
from lowtide.ir.operands import (
    Operands,
    activation_range,
    constant,
    floats_of,
    multiplier,
    per_tensor,
    quantised,
    type_range,
)
from lowtide.lower.counts import Work
from lowtide.lower.nodes import Lowered, Node, Params, Port, Reads, Value
from lowtide.target import ANY, Target

__all__ = [
    "Columns",
    "Context",
    "Lowering",
    "activation_range",
    "at_full_width",
    "constant",
    "floats_of",
    "image_rows",
    "multiplier",
    "per_tensor",
    "quantised",
    "type_range",
    "whole",
]


@dataclass(frozen=True, slots=True)
class Context(Operands):
    """One operator and its graph, and what it is lowered for.

    Its kernels flip the bits `in_flip` of each byte that they read, and `out_flip` of each that they
    make: see lower/flipping.py.
    """

    target: Target = ANY
    in_flip: int = 0
    out_flip: int = 0

    @property
    def flips(self) -> tuple[tuple[str, Value], ...]:
        """The fields that say so."""
        return ("in_flip", self.in_flip), ("out_flip", self.out_flip)

    def node(
        self,
        kernel: str,
        header: str,
        params: Params,
        inputs: tuple[Port, ...],
        outputs: tuple[Port, ...],
        steps: int,
        *,
        scratch: int = 0,
        scratch_lasts: bool = True,
        work: Work | None = None,
    ) -> Lowered:
        """The operator as one node."""
        ports = inputs, outputs, steps, scratch, scratch_lasts, work
        return Lowered((Node(self.op.id, kernel, header, params, *ports),))


Columns = tuple[Reads, ...] | None
"""What each map is read of to make some columns, if the operator can be cut into strips."""


def at_full_width(context: Context) -> Columns:
    """The operator is not cut into strips."""
    del context
    return None


@dataclass(frozen=True, slots=True)
class Lowering:
    """How one operator type is lowered, and for which activation types it can be.

    `columns` says what it reads to make some columns only: see lower/columns.py. If it `rereads`, what
    it reads beyond what it writes costs something. The activation type is that of input `typed_by`, if
    that is given.
    """

    lower: Callable[[Context], Lowered]
    types: frozenset[DType]
    columns: Callable[[Context], Columns] = at_full_width
    rereads: bool = True
    typed_by: int | None = None


def whole(tensor: Tensor) -> Port:
    """The tensor as one row, seen by every step."""
    return Port(tensor.id, 1, tensor.bytes, stride=0)


def image_rows(tensor: Tensor) -> tuple[int, int]:
    """(rows, bytes per row) of a feature map [N, H, W, C]: N * H rows."""
    rows = math.prod(tensor.shape[:2])
    return rows, tensor.bytes // max(1, rows)
