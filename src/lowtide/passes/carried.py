"""State kept in place: rows that are carried from one run to the next lie where they are used.

Why: a streaming network is a schedule of rows that its converter wrote out by hand. It reads a variable,
appends the new rows, works on all of them, and assigns the last ones to the variable. Copied as the file
says, every row is in memory two or three times. Here the variable is as large as all of these rows: the
new ones are written behind those that it holds, whoever reads them reads them there, and when a run is
over the last ones move to the front.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lowtide.ir.graph import Graph, Op, Tensor
from lowtide.ir.state import ShiftRowsOp, WriteRowsOp
from lowtide.passes.rewriting import integers, readers_of, with_ops


def carry_rows(graph: Graph) -> Graph:
    """Keep in place what CONCATENATION appends to a variable, and other variables where they are read.

    In place of READ_VARIABLE, CONCATENATION and ASSIGN_VARIABLE there are a `WriteRowsOp` for each part,
    and in the end one `ShiftRowsOp` for all variables.
    """
    if not any(tensor.is_variable for tensor in graph.tensors):
        return graph
    readers, makers = readers_of(graph), {t: op for op in graph.ops for t in op.outputs}
    found = (_ring(graph, readers, makers, users) for users in _variables(graph))
    rings = [ring for ring in found if ring is not None]
    tensors = list(graph.tensors)
    writes: dict[int, list[Op]] = {}
    gone: set[int] = set()
    place: dict[int, int] = {}
    for ring in rings:
        new = replace(
            tensors[ring.variable],
            id=len(tensors),
            shape=tensors[ring.whole].shape,
            initial=ring.initial(tensors[ring.variable]),
        )
        tensors.append(new)
        place[ring.whole] = new.id
        gone |= ring.operators
        row = ring.kept
        for part in ring.parts:
            written = WriteRowsOp(id=-1, inputs=(new.id, part), row=row)
            writes.setdefault(ring.join, []).append(written)
            row += tensors[part].shape[ring.axis]
    ops: list[Op] = []
    for op in graph.ops:
        here = [*writes.get(op.id, ()), *([op] if op.id not in gone else [])]
        ops += [replace(one, inputs=tuple(place.get(t, t) for t in one.inputs)) for one in here]
    # What is written first lies last in memory, so that its oldest rows, once they are of no more use,
    # make room for the newest of the one before it: see place/variables.py.
    rings.reverse()
    if rings:
        variables = tuple(place[ring.whole] for ring in rings)
        rows, kept = tuple(r.shift for r in rings), tuple(r.kept for r in rings)
        ops.append(ShiftRowsOp(id=-1, inputs=variables, rows=rows, kept=kept))
    carried = with_ops(replace(graph, tensors=tuple(tensors)), ops)
    return _read_in_place(carried)


@dataclass(frozen=True, slots=True)
class _Ring:
    """A variable, and the CONCATENATION `join` that appends `parts` to `kept` rows of it, along `axis`.

    `first` is the first row of the variable that is used, `shift` the row of the `whole` that is the
    first to be used in the next run. `operators` go.
    """

    variable: int
    whole: int
    join: int
    parts: tuple[int, ...]
    axis: int
    first: int
    kept: int
    shift: int
    operators: frozenset[int]

    def initial(self, variable: Tensor) -> bytes | None:
        """What the whole starts with: the variable's rows that are used; the rest is written first."""
        if variable.initial is None:
            return None
        row = variable.bytes // variable.shape[self.axis]
        return variable.initial[self.first * row : (self.first + self.kept) * row]


@dataclass(frozen=True, slots=True)
class _Users:
    """Who reads and who sets a variable."""

    variable: int
    read: Op
    assign: Op


def _variables(graph: Graph) -> list[_Users]:
    """The variables that are read once, and set once after that, by operators for that alone."""
    users: dict[int, list[Op]] = {}
    for op in graph.ops:
        for tensor in (*op.inputs, *op.outputs):
            if tensor >= 0 and graph.tensors[tensor].is_variable:
                users.setdefault(tensor, []).append(op)
    found = []
    for variable, ops in users.items():
        if [op.type for op in ops] != ["READ_VARIABLE", "ASSIGN_VARIABLE"]:
            continue
        read, assign = ops
        made, kept = graph.tensors[read.outputs[0]], graph.tensors[assign.inputs[1]]
        of = graph.tensors[variable]
        same = made.shape == kept.shape == of.shape and made.dtype == kept.dtype == of.dtype
        if same and of.bytes and variable not in graph.outputs and made.id not in graph.outputs:
            found.append(_Users(variable, read, assign))
    return found


def _ring(
    graph: Graph, readers: Mapping[int, list[Op]], makers: Mapping[int, Op], users: _Users
) -> _Ring | None:
    """The rows that a variable carries, if that is what it is for; else None."""
    old, cut = users.read.outputs[0], None
    gone = {users.read.id, users.assign.id}
    using = readers.get(old, [])
    if len(using) == 1 and using[0].type in _SLICES:
        cut = using[0]
        old = cut.outputs[0]
        gone.add(cut.id)
        using = readers.get(old, [])
    join = using[0] if len(using) == 1 else None
    if join is None or join.type != "CONCATENATION" or join.inputs[0] != old:
        return None
    whole, given = graph.tensors[join.outputs[0]], join.options.get("axis", 0)
    rank = len(whole.shape)
    if not isinstance(given, int) or not -rank <= given < rank:
        return None
    axis = given % rank
    tensors = [graph.tensors[t] for t in join.inputs]
    alike = all(_alike(t, whole, axis) for t in tensors)
    plain = not join.options.get("fused_activation_function") and old not in graph.outputs
    variable = graph.tensors[users.variable]
    if not (alike and plain) or whole.id in graph.outputs:
        return None
    if (len(variable.shape), variable.dtype) != (rank, whole.dtype):
        return None
    if sum(t.shape[axis] for t in tensors) != whole.shape[axis]:
        return None
    # What of the variable is used, to its last row.
    rows = range(variable.shape[axis])
    if cut is not None:
        taken = rows_taken(graph, cut, axis)
        if taken is None or taken.stop != rows.stop:
            return None
        rows = taken
    first = rows.start
    # What is assigned: the whole itself, or some rows of it that nobody else has any use for.
    value, start = users.assign.inputs[1], 0
    if value != whole.id:
        maker = makers.get(value)
        if maker is None or maker.type not in _SLICES or maker.inputs[0] != whole.id:
            return None
        taken = rows_taken(graph, maker, axis)
        if taken is None or value in graph.outputs:
            return None
        start = taken.start
        if len(readers[value]) == 1:
            gone.add(maker.id)
    kept, shift = tensors[0].shape[axis], start + first
    if shift < 1 or kept < 1 or shift + kept > whole.shape[axis]:
        return None
    return _Ring(
        users.variable,
        whole.id,
        join.id,
        tuple(join.inputs[1:]),
        axis,
        first,
        kept,
        shift,
        frozenset({*gone, join.id}),
    )


def _alike(part: Tensor, whole: Tensor, axis: int) -> bool:
    """Whether a part's rows are the whole's, byte for byte."""
    shape = (*part.shape[:axis], *part.shape[axis + 1 :])
    rest = (*whole.shape[:axis], *whole.shape[axis + 1 :])
    scale = None if part.quant is None else (part.quant.scale, part.quant.zero_point)
    wanted = None if whole.quant is None else (whole.quant.scale, whole.quant.zero_point)
    return (
        len(part.shape) == len(whole.shape)
        and shape == rest
        and part.bytes > 0
        and math.prod(whole.shape[:axis]) == 1
        and part.dtype == whole.dtype
        and scale == wanted
    )


_SLICES = ("SLICE", "STRIDED_SLICE")


def rows_taken(graph: Graph, op: Op, axis: int) -> range | None:
    """Which indices along `axis` a SLICE or STRIDED_SLICE takes, if all of each; else None."""
    source, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    operands = [integers(graph.tensors[t]) for t in op.inputs[1:]]
    known = [v for v in operands if v is not None and len(v) == len(source.shape)]
    if not known or len(known) != len(operands) or len(out.shape) != len(source.shape):
        return None
    begins, *others = known
    taken = []
    for at, dim in enumerate(source.shape):
        if op.type == "SLICE" and len(others) == 1:
            size = others[0][at]
            rows = range(begins[at], dim if size == -1 else begins[at] + size)
        elif op.type == "STRIDED_SLICE" and len(others) == 2 and others[1][at] == 1:
            rows = _strided(op, at, dim, begins[at], others[0][at])
        else:
            return None
        taken.append(rows)
    wanted = [range(dim) for dim in source.shape]
    wanted[axis] = taken[axis]
    sound = 0 <= taken[axis].start < taken[axis].stop <= source.shape[axis]
    return (
        taken[axis] if sound and taken == wanted and len(taken[axis]) == out.shape[axis] else None
    )


def _strided(op: Op, axis: int, dim: int, begin: int, end: int) -> range:
    """Of a STRIDED_SLICE by 1: StartForAxis and StopForAxis, strided_slice_logic.h."""

    def masked(name: str) -> bool:
        mask = op.options.get(name) or 0
        return not isinstance(mask, int) or bool(mask >> axis & 1)

    if any(op.options.get(name) for name in ("ellipsis_mask", "new_axis_mask", "shrink_axis_mask")):
        return range(0)
    first, last = (min(max(v + dim if v < 0 else v, 0), dim) for v in (begin, end))
    return range(0 if masked("begin_mask") else first, dim if masked("end_mask") else last)


def _read_in_place(graph: Graph) -> Graph:
    """Let the readers of what READ_VARIABLE reads read the variable itself.

    It is assigned after the last of them, then.
    """
    readers = readers_of(graph)
    place: dict[int, int] = {}
    late: dict[int, list[Op]] = {}
    gone: set[int] = set()
    for users in _variables(graph):
        using = readers.get(users.read.outputs[0], [])
        if not using or any(op.type == "ASSIGN_VARIABLE" for op in using):
            continue  # what another variable is set to must outlive this one's own change
        place[users.read.outputs[0]] = users.variable
        gone |= {users.read.id, users.assign.id}
        last = max([users.assign.id, *(op.id for op in using)])
        late.setdefault(last, []).append(users.assign)
    ops: list[Op] = []
    for op in graph.ops:
        if op.id not in gone:
            ops.append(replace(op, inputs=tuple(place.get(t, t) for t in op.inputs)))
        ops += late.get(op.id, ())
    return with_ops(graph, ops)
