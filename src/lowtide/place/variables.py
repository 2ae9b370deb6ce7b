"""Where variable tensors lie: in memory of their own, the state, since they outlive an invocation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lowtide.ir import DType, Graph


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable tensor, `size` bytes at `offset` of the state.

    A reset copies `initial` there, or, where there is none, sets every byte to `fill`.
    """

    tensor: int
    offset: int
    size: int
    fill: int
    initial: bytes | None = None


def place_variables(graph: Graph, align: int = 1) -> tuple[Variable, ...]:
    """Variables one after the other, at multiples of `align` bytes and of their largest element.

    They start as zero, in int8 as the zero point: MicroInterpreter's ResetVariableTensors.
    """
    used = {t for op in graph.ops for t in op.inputs if t >= 0}
    tensors = [t for t in graph.tensors if t.is_variable and t.id in used]
    align = max([align, *(t.dtype.bits // 8 for t in tensors)])
    at = 0
    variables = []
    for tensor in tensors:
        zero = tensor.quant.zero_point[0] if tensor.quant else 0
        fill = zero & 0xFF if tensor.dtype is DType.INT8 else 0
        initial = tensor.initial
        if initial is not None and len(set(initial)) == 1:
            fill, initial = initial[0], None
        variables.append(Variable(tensor.id, at, tensor.bytes, fill, initial))
        at += -(-tensor.bytes // align) * align
    return tuple(variables)


def state_bytes(variables: Sequence[Variable]) -> int:
    """Bytes of state: the end of the last variable."""
    return max((v.offset + v.size for v in variables), default=0)
