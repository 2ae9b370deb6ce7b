"""Where variable tensors lie: in memory of their own, the state, since they outlive an invocation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from lowtide.ir import DType, Graph
from lowtide.ir.state import ShiftRowsOp
from lowtide.rows.prepare import Prepared


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable tensor: `size` bytes at `offset` of the state, kept from one invocation to the next.

    While an invocation runs it has `span` bytes, those of the rows that it is given to carry included. A
    reset copies `initial` there, or, where there is none, sets every byte to `fill`.
    """

    tensor: int
    offset: int
    size: int
    span: int
    fill: int
    initial: bytes | None = None


def place_variables(
    graph: Graph,
    order: Sequence[int],
    roots: Mapping[int, int] = MappingProxyType({}),
    align: int = 1,
    together: Sequence[tuple[int, ...]] = (),
) -> tuple[Variable, ...]:
    """Variables one after the other, at multiples of `align` bytes and of their largest element.

    They start as zero, in int8 as the zero point: MicroInterpreter's ResetVariableTensors.

    Of two neighbours that carry rows, the new rows of the first may lie where the oldest of the second
    were: if, by the `order` of operators, the second is read no more when the first is written, and they
    are moved to their fronts in this order. `roots` says which tensors are parts or views of which,
    `together` which operators may run as one, that reads while it writes.
    """
    used = {t for op in graph.ops for t in op.inputs if t >= 0}
    tensors = [t for t in graph.tensors if t.is_variable and t.id in used]
    align = max([align, *(t.dtype.bits // 8 for t in tensors)])
    carried = _carried(graph)
    when = _when(graph, order, roots, together)
    tensors = [
        *(t for t in tensors if t.id not in carried),
        *(graph.tensors[t] for t in carried),
    ]
    at = room = 0
    variables: list[Variable] = []
    for tensor in tensors:
        oldest, size = carried.get(tensor.id, (0, tensor.bytes))
        if variables and room and when[tensor.id][1] < when[variables[-1].tensor][0]:
            at -= min(room, oldest) // align * align
        zero = tensor.quant.zero_point[0] if tensor.quant else 0
        fill = zero & 0xFF if tensor.dtype is DType.INT8 else 0
        initial = tensor.initial
        if initial is not None and len(set(initial)) == 1:
            fill, initial = initial[0], None
        variables.append(Variable(tensor.id, at, size, tensor.bytes, fill, initial))
        at += -(-tensor.bytes // align) * align
        room = tensor.bytes - size
    return tuple(variables)


def variables_of(ready: Prepared, align: int = 1) -> tuple[Variable, ...]:
    """The variables of a graph made ready, in its order of operators."""
    graph = ready.graph
    blocks = (block.operators for block in ready.blocks)
    # A block of one column has read all before it writes.
    together = [b for b in blocks if graph.tensors[graph.ops[b[-1]].outputs[0]].shape[2] > 1]
    return place_variables(graph, ready.order, ready.roots, align, together)


def state_bytes(variables: Sequence[Variable]) -> int:
    """Bytes of state: the end of the last variable."""
    return max((v.offset + v.span for v in variables), default=0)


def _carried(graph: Graph) -> dict[int, tuple[int, int]]:
    """Variable that carries rows -> bytes of its oldest rows, which no other invocation needs, and of
    those that the next one does; in the order in which they are moved."""
    moving = (op.moved(graph) for op in graph.ops if isinstance(op, ShiftRowsOp))
    return next(moving, {})  # there is one at most


def _when(
    graph: Graph,
    order: Sequence[int],
    roots: Mapping[int, int],
    together: Sequence[tuple[int, ...]],
) -> dict[int, tuple[int, int]]:
    """Tensor -> the first and the last place in `order` where it is used, before anything is moved."""
    found: dict[int, tuple[int, int]] = {}
    places = {number: at for at, number in enumerate(order)}
    ends = {number: (at, at) for number, at in places.items()}
    for group in together:
        when = [places[number] for number in group]
        for number in group:
            first, last = ends[number]
            ends[number] = min(first, *when), max(last, *when)
    for number in order:
        first, last = ends[number]
        op = graph.ops[number]
        if isinstance(op, ShiftRowsOp):
            continue
        for tensor in {roots.get(t, t) for t in (*op.inputs, *op.outputs)}:
            known = found.get(tensor, (first, last))
            found[tensor] = min(known[0], first), max(known[1], last)
    return found
