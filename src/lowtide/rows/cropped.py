"""A stage in strips as operators of their own, on tensors that are some columns of the network's.

Why here and not in kernels: an operator on fewer columns, padded differently, is an operator like any
other. It is lowered, placed and checked as such; only where its first column lies moves from strip to
strip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lowtide.ir import Graph, Op, Tensor
from lowtide.ir.block import BlockOp
from lowtide.lower.common import image_rows
from lowtide.lower.nodes import Crop
from lowtide.rows.columns import Stripes, runs


@dataclass(frozen=True, slots=True)
class StripTensor:
    """A tensor made strip by strip: in its round i it is the `columns[i]` of `tensor`, or of the first
    `rows` rows of it."""

    tensor: int
    columns: tuple[range, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class CroppedRun:
    """Operators of `times` equal strips. Rows of tensor t begin `start[t]` bytes after the whole rows
    in the first of them, and `shift[t]` bytes further in each next one."""

    operators: tuple[int, ...]
    times: int
    start: Mapping[int, int]
    shift: Mapping[int, int]


class Cropper:
    """Adds operators and tensors to a graph, stage by stage; those of the graph keep their numbers.

    `crops` (those of joined tensors included) and `parts` are by tensor, `origin` is new operator ->
    the graph's, `inner` block -> the two tensors inside of it, -1 for one that is not there.
    """

    def __init__(self, graph: Graph, crops: Mapping[int, Crop]) -> None:
        self._graph = graph
        self._tensors = list(graph.tensors)
        self._ops = list(graph.ops)
        self.crops: dict[int, Crop] = dict(crops)
        self.parts: dict[int, StripTensor] = {}
        self.origin: dict[int, int] = {}
        self.inner: dict[int, tuple[int, int]] = {}

    @property
    def graph(self) -> Graph:
        """The graph with everything added so far."""
        return replace(self._graph, tensors=tuple(self._tensors), ops=tuple(self._ops))

    def stage(self, cut: Stripes) -> list[CroppedRun]:
        """Add the operators of a stage in strips."""
        return [self._run(cut, run.first, run.times, run.start, run.shift) for run in runs(cut)]

    def _run(
        self,
        cut: Stripes,
        first: int,
        times: int,
        start: Mapping[int, int],
        shift: Mapping[int, int],
    ) -> CroppedRun:
        strip = cut.strips[first]
        same = cut.strips[first : first + times]
        instances: dict[int, int] = {}
        operators = []
        for i, (number, windows) in enumerate(zip(cut.operators, cut.windows, strict=True)):
            op = self._graph.ops[number]
            reads = iter(zip(windows, strip.read[i], strict=True))
            inputs, padding = [], (0, 0)
            for tensor in op.inputs:
                if tensor < 0 or self._graph.tensors[tensor].is_constant:
                    inputs.append(tensor)
                    continue
                window, columns = next(reads)
                held = strip.held[tensor]
                if tensor not in instances:
                    inputs.append(self._crop(tensor, columns, start[tensor], tensor, moves=True))
                elif columns == held:
                    inputs.append(instances[tensor])
                else:
                    root = instances[tensor]
                    inputs.append(self._crop(tensor, columns, held.start, root, moves=False))
                whole = self._graph.tensors[tensor].shape[2]
                padding = window.axis.padding(strip.made[i], whole)
            target = op.outputs[0]
            if target == cut.output:
                output = self._crop(target, strip.made[i], start[target], target, moves=True)
            else:
                output = self._columns(target, strip.made[i])
                instances[target] = output
            made = tuple(s.made[i] for s in same)
            self.parts[output] = StripTensor(target, made, image_rows(self._tensors[target])[0])
            read = len(strip.read[i][0]) if strip.read[i] else 0
            operators.append(self._operator(op, tuple(inputs), output, padding, read))
            new = self._ops[operators[-1]]
            if isinstance(new, BlockOp):
                self._inside(new, tuple(s.read[i][0] for s in same), made)
        return CroppedRun(
            tuple(operators),
            times,
            {t: self._column_bytes(t) * column for t, column in start.items()},
            {t: self._column_bytes(t) * column for t, column in shift.items()},
        )

    def full_width(self, op: BlockOp) -> None:
        """A block at full width: so is what is inside of it."""
        made = self._graph.tensors[op.outputs[0]].shape[2]
        self._inside(op, (range(op.expanded_columns),), (range(made),))

    def _inside(self, op: BlockOp, read: tuple[range, ...], made: tuple[range, ...]) -> None:
        """Tensors for what a block makes that is in no memory: they can be traced."""
        found = []
        for maker, columns, rows in (
            (op.expand, read, op.expanded_height),
            (op.core, made, image_rows(self._tensors[op.outputs[0]])[0]),
        ):
            if maker is None or (maker == op.core and op.project is None):
                found.append(-1)
                continue
            tensor = self._graph.ops[maker].outputs[0]
            found.append(self._columns(tensor, columns[0]))
            self.parts[found[-1]] = StripTensor(tensor, columns, rows)
        self.inner[op.id] = found[0], found[1]

    def _operator(
        self,
        op: Op,
        inputs: tuple[int, ...],
        output: int,
        padding: tuple[int, int],
        read: int,
    ) -> int:
        """`op` on other tensors; what lies outside of them in the first window is padding. `read` is how
        many columns it reads."""
        number = len(self._ops)
        new = replace(op, id=number, inputs=inputs, outputs=(output,))
        if new.window is not None:
            before, after = padding
            columns = replace(new.window.columns, before=before, after=after)
            new = replace(new, window=replace(new.window, columns=columns))
        if isinstance(new, BlockOp):
            lines = tuple(self._columns(t, range(read)) for t in new.kept_rows)
            new = replace(new, intermediates=lines, expanded_columns=read)
        self._ops.append(new)
        self.origin[number] = op.id
        return number

    def _crop(self, tensor: int, columns: range, origin: int, root: int, *, moves: bool) -> int:
        """A tensor that is `columns` of `tensor`, in the memory of `root`, which begins at `origin`."""
        made = self._columns(tensor, columns)
        offset = (columns.start - origin) * self._column_bytes(tensor)
        _, pitch = image_rows(self._tensors[root])
        self.crops[made] = Crop(root, pitch, offset, moves=moves)
        return made

    def _columns(self, tensor: int, columns: range) -> int:
        of: Tensor = self._graph.tensors[tensor]
        shape = (*of.shape[:2], len(columns), of.shape[3])
        self._tensors.append(replace(of, id=len(self._tensors), shape=shape))
        return len(self._tensors) - 1

    def _column_bytes(self, tensor: int) -> int:
        of = self._graph.tensors[tensor]
        return image_rows(of)[1] // of.shape[2]
