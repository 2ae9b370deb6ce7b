"""Where variable tensors lie: behind all that is placed, since they outlive an invocation."""

from __future__ import annotations

from dataclasses import dataclass

from lowtide.ir import DType, Graph
from lowtide.place.problem import Placement


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable tensor: memory of its own after all that is placed.

    Init copies `initial` there, or sets every byte to `fill`.
    """

    tensor: int
    offset: int
    size: int
    fill: int
    initial: bytes | None = None


def place_variables(graph: Graph, placement: Placement) -> tuple[Variable, ...]:
    """Variables keep their contents between invocations, so nothing shares their memory.

    They start as zero, in int8 as the zero point: MicroInterpreter's ResetVariableTensors.
    """
    used = {t for op in graph.ops for t in op.inputs if t >= 0}
    at = placement.arena_bytes
    variables = []
    for tensor in graph.tensors:
        if tensor.is_variable and tensor.id in used:
            zero = tensor.quant.zero_point[0] if tensor.quant else 0
            fill = zero & 0xFF if tensor.dtype is DType.INT8 else 0
            variables.append(Variable(tensor.id, at, tensor.bytes, fill, tensor.initial))
            at += -(-tensor.bytes // placement.align) * placement.align
    return tuple(variables)


def arena_with(placement: Placement, variables: tuple[Variable, ...]) -> int:
    """Bytes of arena: placed memory, then the variables."""
    return max([placement.arena_bytes, *(v.offset + v.size for v in variables)])
