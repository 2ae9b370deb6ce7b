"""The graph of a network whose window moves on by some rows in each invocation.

What it takes are the new rows of the input. Rows that are kept are in variables, as those of networks
that were written for streams are (passes/carried.py): new rows are written where they belong, and when
an invocation is over, the rows that the next one has move to the place that they have then. An operator
is there once for each run of rows that it makes: most often those tied to the window's begin, and the
new ones with those tied to its end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lowtide.errors import ModelError, UsageError
from lowtide.ir.graph import DType, Graph, Hop, Op, Piece, Slid, Tensor
from lowtide.ir.operands import Operands
from lowtide.ir.signal import SIGNAL, state_of
from lowtide.ir.slices import sliced
from lowtide.ir.state import OfTotalOp, ShiftRowsOp, TotalOp, WriteRowsOp, keeps_state
from lowtide.ir.window import Axis, Window
from lowtide.passes.hop.cones import EATING, Cones, Rows, cones_of, rows_of
from lowtide.passes.hop.flows import Flow
from lowtide.passes.hop.keeping import ladder, usual
from lowtide.passes.hop.rows import in_rows, strided
from lowtide.passes.hop.totals import Totals, totals_of
from lowtide.passes.rewriting import next_buffer, readers_of, with_ops
from lowtide.passes.simplify.result import Simplified, changed


def slide(
    graph: Graph,
    hop: int,
    keep: int | None = None,
    time: int | None = None,
    ring: bool = False,
) -> Simplified:
    """`graph`, of `check_slides`, for a window that moves on by `hop` rows, keeping rows of the input
    and of `keep` other tensors, by default of those that save work. With a `ring`, rows of the input are
    read where the caller keeps them.

    Raises ModelError for a network that can keep nothing, UsageError for a hop that is not less than the
    window, or if axis `time` of the input is not that of its rows.
    """
    (given,) = graph.inputs
    shaped, axis = in_rows(graph)
    rows = shaped.tensors[given].shape[axis]
    if time is not None and time != (2 if graph.turned else axis):
        shape = list(shaped.tensors[given].shape)
        columns = len(shape) == 4 and axis == 1 and shape[2] > 1
        raise UsageError(
            f"--hop-axis {time}: the window slides along axis {axis} of {shape}, the first after the "
            "batch that is longer than 1" + ", or along its columns, axis 2" * columns,
            "leave it out, or export the network so that time is along "
            + ("one of these" if columns else "that axis"),
        )
    if hop >= rows:
        raise UsageError(
            f"--hop {hop}: the window has {rows} rows, and this hop replaces all of them",
            f"give a hop of 1 to {rows - 1} rows, or leave it out",
        )
    if ring and (axis > 1 or len(shaped.tensors[given].shape) == 2):
        raise UsageError(
            f"--hop and --input const: lowtide's kernels read several rows of "
            f"{list(shaped.tensors[given].shape)} along axis {axis} as one, so not from a ring",
            "leave out --input const",
        )
    cones = cones_of(shaped, axis)
    steps = ladder(shaped, cones, hop, ring)
    if len(steps) == 1:
        raise _nothing(shaped, cones, hop)
    most = len(steps) - 1
    count = usual(steps) if keep is None else min(keep, most)
    work = rows_of(shaped, cones, hop, steps[count].tensors)
    phases = math.lcm(*(cones.moving[t].period(hop) for t, of in work.items() if of.kept))
    made = _Sliding(shaped, cones, work, hop, ring)
    new = made.graph()
    slid = tuple(made.slid(t) for t in cones.moving if work[t].kept or work[t].made)
    read = new.tensors[new.inputs[0]].shape[1] if ring else 0
    new = replace(new, hop=Hop(given, rows, hop, count, most, phases, read, made.pieces, slid))
    window = graph.tensors[given]  # as its caller has it
    new = replace(new, tensors=(*new.tensors[:given], window, *new.tensors[given + 1 :]))
    return changed(graph, new)


def check_slides(graph: Graph) -> Graph:
    """`graph` itself; raises ModelError for one that keeps state of its own, or has several inputs."""
    for op in graph.ops:
        if _remembers(graph, op):
            raise ModelError(
                f"--hop: operator {op.id} ({op.label}) keeps state from one run to the next, so the "
                "network streams already",
                "leave out --hop: each run takes only the new rows",
            )
    if len(graph.inputs) != 1:
        raise ModelError(
            f"--hop: the network has {len(graph.inputs)} inputs, and lowtide cannot tell which "
            "of them slide",
            "leave out --hop",
        )
    return graph


def _remembers(graph: Graph, op: Op) -> bool:
    """Whether an operator keeps something from one run to the next; most signal operators do not."""
    if op.custom in SIGNAL:
        return state_of(Operands(graph, op)) is not None
    return keeps_state(op) or any(t >= 0 and graph.tensors[t].is_variable for t in op.inputs)


def _nothing(graph: Graph, cones: Cones, hop: int) -> ModelError:
    """Why no rows are kept: the first operator behind which there are none."""
    for op in graph.ops:
        inputs = [t for t in op.inputs if t in cones.moving]
        if not inputs:
            continue
        what = f"--hop {hop}: only the input can be kept"
        name = f"operator {op.id} ({op.label})"
        if op.type == "TRANSPOSE" and inputs[0] in graph.turned:  # which is not the file's
            readers = readers_of(graph).get(op.outputs[0], [])
            name = _making(graph, readers[0]) if readers else "an output"
        if op.id not in cones.flows:
            return ModelError(f"{what}: {name} reads the whole window at once", "leave out --hop")
        made = cones.moving[op.outputs[0]]
        if made.pace is not None and not made.shift(hop):
            least = math.lcm(hop, made.pace.numerator)
            return ModelError(
                f"{what}: {name} makes one row for every {made.pace} rows of the input",
                f"give --hop {least}",
            )
        if not made.again(hop):
            return ModelError(
                f"{what}: all rows that {name} makes depend on the window's edges",
                "leave out --hop, or give fewer rows",
            )
    return ModelError(f"--hop {hop}: only the input can be kept", "leave out --hop")


def _making(graph: Graph, op: Op) -> str:
    """An operator by what it makes: of tensors, numbers are the file's."""
    made = graph.tensors[op.outputs[0]]
    return f"the {op.label} that makes tensor {made.id} ({made.name})"


@dataclass(slots=True)
class _Run:
    """Rows `rows` of a tensor, as every `step`-th row of tensor `tensor` of the new graph, from row `at`
    on."""

    rows: range
    tensor: int
    at: int = 0
    step: int = 1


@dataclass(slots=True)
class _Sliding:
    """The new graph, operator by operator."""

    old: Graph
    cones: Cones
    work: dict[int, Rows]
    hop: int
    ring: bool
    tensors: list[Tensor] = field(init=False)
    ops: list[Op] = field(default_factory=list)
    shifted: list[tuple[int, int, int]] = field(default_factory=list)
    there: dict[int, list[_Run]] = field(default_factory=dict)
    cut: dict[tuple[int, range], int] = field(default_factory=dict)
    pieces: dict[int, Piece] = field(default_factory=dict)
    variables: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tensors = list(self.old.tensors)

    def graph(self) -> Graph:
        """All of it."""
        given = self.old.inputs[0]
        rows = self.work[given].around if self.ring else self.work[given].made[0]
        taken = new = self.like(given, rows)
        axis, shape = self.cones.moving[given].axis, self.tensors[new].shape
        if axis > 1 or len(shape) == 2:  # rows of a map, for its caller
            in_rows = (1, len(rows), *(shape[axis + 1 :] or (1,)))
            taken = self.add(replace(self.tensors[new], shape=in_rows))
            self.ops.append(Op(-1, "RESHAPE", (taken,), (new,)))
        if self.ring:
            self.there[given] = [_Run(rows, new)]
        else:
            self.settle(given, [_Run(rows, new)])
        for op in self.old.ops:
            flow = self.cones.flows.get(op.id)
            totals = totals_of(self.old, self.cones, self.work, op, self.hop)
            if totals is not None and not (self.ring and totals.source == given):
                self.total(op, totals)
            elif flow is None:
                inputs = tuple(self.read(op, t) if t in self.there else t for t in op.inputs)
                self.ops.append(replace(op, inputs=inputs))
            else:
                made = op.outputs[0]
                self.settle(made, [self.piece(op, flow, run) for run in self.work[made].made])
        for tensor in dict.fromkeys(self.old.outputs):
            if tensor in self.there:
                self.hand_over(tensor)
        self.shifted.reverse()  # as in passes/carried.py: place/variables.py says why
        if self.shifted:
            variables, shifts, kept = zip(*self.shifted, strict=True)
            self.ops.append(ShiftRowsOp(id=-1, inputs=variables, rows=shifts, kept=kept))
        whole = replace(self.old, tensors=tuple(self.tensors), inputs=(taken,))
        return with_ops(whole, self.ops)

    def total(self, op: Op, of: Totals) -> None:
        """A sum over all rows, as totals to which new rows are added, and from which the oldest are
        subtracted when they have been read."""
        source, made = self.old.tensors[of.source], op.outputs[0]
        shape = (1, 1, 1, source.shape[-1])
        name = f"{source.name}/totals"
        totals = self.add(
            replace(source, name=name, shape=shape, dtype=DType.INT32, is_variable=True)
        )
        new = self.like(made, range(1)) if made in self.cones.moving else made
        self.ops += [
            TotalOp(id=-1, inputs=(totals, self.take(of.source, of.new)), zero=of.zero),
            OfTotalOp(
                id=-1,
                inputs=(totals,),
                outputs=(new,),
                options=op.options,
                kind=op.type,
                count=of.count,
                zero=of.zero,
            ),
        ]
        oldest = self.take(of.source, of.oldest)
        self.ops.append(TotalOp(id=-1, inputs=(totals, oldest), zero=of.zero, leave=True))
        if made in self.cones.moving:
            self.settle(made, [_Run(range(1), new)])

    def slid(self, tensor: int) -> Slid:
        """What became of a tensor's rows."""
        of, rows = self.work[tensor], self.cones.moving[tensor].rows
        made = sum(map(len, of.made))
        return Slid(tensor, rows, len(of.kept), made, self.variables.get(tensor))

    def add(self, tensor: Tensor) -> int:
        """A new tensor; its id."""
        self.tensors.append(replace(tensor, id=len(self.tensors)))
        return len(self.tensors) - 1

    def constant(self, values: Sequence[int]) -> int:
        """A new tensor of integers."""
        data = np.array(values, "<i4").tobytes()
        buffer = next_buffer(self.tensors)
        return self.add(Tensor(0, "rows", (len(values),), DType.INT32, None, data, buffer))

    def like(self, tensor: int, rows: range) -> int:
        """A new tensor for some rows of one."""
        of, axis = self.old.tensors[tensor], self.cones.moving[tensor].axis
        shape = (*of.shape[:axis], len(rows), *of.shape[axis + 1 :])
        return self.add(replace(of, shape=shape, name=f"{of.name}[{rows.start}:{rows.stop}]"))

    def settle(self, tensor: int, pieces: list[_Run]) -> None:
        """Put pieces of a tensor together with the rows that are kept of it."""
        of = self.work[tensor]
        if of.kept and of.apart:
            self.there[tensor] = self.beside(tensor, pieces)
            return
        found = []
        for run in of.there:
            inside = [piece for piece in pieces if piece.rows.start in run]
            if of.kept and of.kept.start in run:
                found.append(self.in_place(tensor, run, inside))
            else:
                found += inside
        self.there[tensor] = found

    def in_place(self, tensor: int, run: range, pieces: list[_Run]) -> _Run:
        """A run with rows that are kept, in a variable."""
        of, variable = self.work[tensor], self.variable(tensor, run, len(run))
        for piece in pieces:
            row = piece.rows.start - run.start
            self.ops.append(WriteRowsOp(id=-1, inputs=(variable, piece.tensor), row=row))
        shift = self.cones.moving[tensor].shift(self.hop)
        self.shifted.append((variable, shift, of.kept.stop - run.start))
        return _Run(run, variable)

    def beside(self, tensor: int, pieces: list[_Run]) -> list[_Run]:
        """Rows that are kept in a variable, behind them the new ones that will be; the others are beside
        them, for this invocation alone."""
        of, moving = self.work[tensor], self.cones.moving[tensor]
        period, shift = moving.period(self.hop), moving.shift(self.hop)
        slots = of.slots(period, shift)
        variable = self.variable(tensor, of.stored, slots)
        self.there[tensor] = pieces
        new = self.take(tensor, range(of.kept.stop, of.stored.stop))
        self.ops.append(WriteRowsOp(id=-1, inputs=(variable, new), row=slots - shift))
        self.shifted.append((variable, shift, slots - shift))
        if period == 1:
            kept = [_Run(of.stored, variable)]
        elif shift == 1:
            kept = [_Run(of.kept, variable, step=period)]
        else:  # each period's, of which the oldest are cut off
            kept, stop, at = [], of.kept.stop, slots - (period + 1) * shift
            while stop > of.kept.start:
                rows = range(max(of.kept.start, stop - shift), stop)
                kept.append(_Run(rows, variable, max(0, at)))
                stop, at = stop - shift, at - period * shift
        return sorted([*pieces, *kept], key=lambda part: part.rows.start)

    def variable(self, tensor: int, rows: range, slots: int) -> int:
        """A new variable for some rows of a tensor, of as many as `slots`."""
        made = self.like(tensor, rows)
        axis, shape = self.cones.moving[tensor].axis, self.tensors[made].shape
        shape = (*shape[:axis], slots, *shape[axis + 1 :])
        self.tensors[made] = replace(self.tensors[made], shape=shape, is_variable=True)
        self.variables[tensor] = made
        return made

    def piece(self, op: Op, flow: Flow, rows: range) -> _Run:
        """Some rows of what `op` makes, as an operator of their own."""
        inputs, made = list(op.inputs), op.outputs[0]
        full = len(rows) == self.cones.moving[made].rows and made not in self.old.outputs
        new = made if full else self.like(made, rows)
        sides = (0, 0)
        for index, axis in flow.reads:
            length = self.cones.moving[op.inputs[index]].rows
            inputs[index] = self.take(op.inputs[index], axis.reads(rows, length))
            sides = axis.padding(rows, length)
        if new != made:
            self.pieces[new] = Piece(made, flow.axis, rows.start)
        piece = replace(op, inputs=tuple(inputs), outputs=(new,))
        if op.window is not None:
            piece = replace(piece, window=_padded(op.window, flow.axis, sides))
        elif op.type in ("SLICE", "STRIDED_SLICE"):
            piece = self.slice_of(op, inputs[0], new, flow)
        elif op.type in ("RESHAPE", "SQUEEZE", "EXPAND_DIMS"):
            piece = replace(piece, type="RESHAPE", inputs=(inputs[0],), options={})
        self.ops.append(piece)
        return _Run(rows, new)

    def slice_of(self, op: Op, source: int, made: int, flow: Flow) -> Op:
        """A slice that takes the rows it is given, each of them as `op` takes it."""
        taken = list(sliced(Operands(self.old, op)))
        rows = self.tensors[source].shape[flow.axis]
        taken[flow.axis] = range(0, rows, taken[flow.axis].step)
        return strided(source, made, taken, self.constant)

    def take(self, tensor: int, rows: range) -> int:
        """The tensor that has these rows of `tensor`, and no others."""
        run = self.run_from(tensor, rows.start)
        axis = self.cones.moving[tensor].axis
        if run.rows == rows and self.tensors[run.tensor].shape[axis] == len(rows):
            return run.tensor
        if (tensor, rows) not in self.cut:
            inside = rows.stop <= run.rows.stop
            made = self.part(tensor, rows, run) if inside else self.joined(tensor, rows)
            self.cut[tensor, rows] = made
        return self.cut[tensor, rows]

    def run_from(self, tensor: int, row: int) -> _Run:
        """The run that has most rows of `tensor` from `row` on."""
        return max((r for r in self.there[tensor] if row in r.rows), key=lambda r: r.rows.stop)

    def part(self, tensor: int, rows: range, run: _Run) -> int:
        """A tensor for some rows of a run."""
        made = self.like(tensor, rows)
        shape, axis = self.tensors[run.tensor].shape, self.cones.moving[tensor].axis
        first = run.at + run.step * (rows.start - run.rows.start)
        taken = [range(n) for n in shape]
        taken[axis] = range(first, first + run.step * (len(rows) - 1) + 1, run.step)
        self.ops.append(strided(run.tensor, made, taken, self.constant))
        return made

    def joined(self, tensor: int, rows: range) -> int:
        """A tensor for rows of several runs."""
        parts, first = [], rows.start
        while first < rows.stop:
            run = self.run_from(tensor, first).rows
            later = (r.rows for r in self.there[tensor] if r.rows.stop > run.stop)
            stop = min(rows.stop, run.stop, *(r.start for r in later))  # pieces stay whole
            parts.append(self.take(tensor, range(first, stop)))
            first = stop
        made = self.like(tensor, rows)
        options = {"axis": self.cones.moving[tensor].axis, "fused_activation_function": 0}
        self.ops.append(Op(-1, "CONCATENATION", tuple(parts), (made,), options))
        return made

    def read(self, op: Op, tensor: int) -> int:
        """The tensor that has all rows of `tensor`, for an operator that may read several as one: those
        of a ring are copied."""
        source = self.whole(tensor)
        if not self.ring or tensor != self.old.inputs[0] or op.type in EATING:
            return source
        made = self.like(tensor, range(self.cones.moving[tensor].rows))
        taken = [range(n) for n in self.tensors[source].shape]
        self.ops.append(strided(source, made, taken, self.constant))
        return made

    def whole(self, tensor: int) -> int:
        """The tensor that has all rows of `tensor`."""
        return self.take(tensor, range(self.cones.moving[tensor].rows))

    def hand_over(self, tensor: int) -> None:
        """Make an output of all rows of it."""
        source = self.whole(tensor)
        shape = self.tensors[source].shape
        self.ops.append(strided(source, tensor, [range(n) for n in shape], self.constant))


def _padded(window: Window, axis: int, sides: tuple[int, int]) -> Window:
    """`window` with `sides` of padding along an axis of the map."""

    def padded(along: Axis) -> Axis:
        return replace(along, before=sides[0], after=sides[1])

    if axis == 1:
        return replace(window, rows=padded(window.rows))
    return replace(window, columns=padded(window.columns))
