"""A stage in strips as operators of their own, on tensors that are some columns of the network's.

Why here and not in kernels: an operator on fewer columns, padded differently, is an operator like any
other. It is lowered, placed and checked as such; only where its first column lies moves from strip to
strip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from lowtide.ir import Graph, Op, Tensor
from lowtide.ir.graph import Option
from lowtide.ir.macs import BLOCK
from lowtide.lower.nodes import Crop
from lowtide.passes.rewrites import EXPLICIT_PADDING
from lowtide.rows.blocks import whole
from lowtide.rows.columns import Stripes, block_window, runs


@dataclass(frozen=True, slots=True)
class Part:
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
        self.parts: dict[int, Part] = {}
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
                padding = window.padding(strip.made[i], whole)
            target = op.outputs[0]
            if target == cut.output:
                output = self._crop(target, strip.made[i], start[target], target, moves=True)
            else:
                output = self._columns(target, strip.made[i])
                instances[target] = output
            made = tuple(s.made[i] for s in same)
            self.parts[output] = Part(target, made, self._tensors[target].shape[1])
            read = len(strip.read[i][0]) if strip.read[i] else 0
            operators.append(self._operator(op, tuple(inputs), output, padding, read))
            if op.type == BLOCK:
                self._inside(operators[-1], tuple(s.read[i][0] for s in same), made)
        return CroppedRun(
            tuple(operators),
            times,
            {t: self._column_bytes(t) * column for t, column in start.items()},
            {t: self._column_bytes(t) * column for t, column in shift.items()},
        )

    def full_width(self, op: Op) -> None:
        """A block at full width: so is what is inside of it."""
        made = self._graph.tensors[op.outputs[0]].shape[2]
        self._inside(op.id, (range(whole(op, "expanded_columns")),), (range(made),))

    def _inside(self, number: int, read: tuple[range, ...], made: tuple[range, ...]) -> None:
        """Tensors for what a block makes that is in no memory: they can be traced."""
        op = self._ops[number]
        found = []
        for maker, columns, rows in (
            (whole(op, "expand"), read, whole(op, "expanded_height")),
            (whole(op, "depthwise"), made, self._tensors[op.outputs[0]].shape[1]),
        ):
            tensor = self._graph.ops[maker].outputs[0] if maker >= 0 else -1
            if tensor < 0 or (maker == whole(op, "depthwise") and whole(op, "project") < 0):
                found.append(-1)
                continue
            found.append(self._columns(tensor, columns[0]))
            self.parts[found[-1]] = Part(tensor, columns, rows)
        self.inner[number] = found[0], found[1]

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
        options, lines = op.options, op.intermediates
        if op.type == BLOCK:
            lines = tuple(self._columns(t, range(read)) for t in lines)
            sides = (*block_window(op)[2][:2], *padding)
            changes: dict[str, Option] = {EXPLICIT_PADDING: sides, "expanded_columns": read}
            options = MappingProxyType({**op.options, **changes})
        elif op.type.endswith("CONV_2D") or op.type.endswith("POOL_2D"):
            sides = (*self._above_below(op), *padding)
            options = MappingProxyType({**op.options, EXPLICIT_PADDING: sides})
        new = replace(op, id=number, inputs=inputs, outputs=(output,), options=options)
        self._ops.append(replace(new, intermediates=lines))
        self.origin[number] = op.id
        return number

    def _above_below(self, op: Op) -> tuple[int, int]:
        """The rows of padding of a convolution or pool."""
        explicit = op.options.get(EXPLICIT_PADDING)
        if isinstance(explicit, tuple):
            return int(explicit[0]), int(explicit[1])
        if op.options.get("padding") != 0:  # VALID
            return 0, 0
        source, out = self._graph.tensors[op.inputs[0]], self._graph.tensors[op.outputs[0]]
        if op.type.endswith("CONV_2D"):
            kernel = self._graph.tensors[op.inputs[1]].shape[1]
        else:
            kernel = _integer(op.options.get("filter_height"))
        stride = _integer(op.options.get("stride_h"))
        size = (kernel - 1) * _integer(op.options.get("dilation_h_factor")) + 1
        total = max(0, (out.shape[1] - 1) * stride + size - source.shape[1])
        return total // 2, total - total // 2

    def _crop(self, tensor: int, columns: range, origin: int, root: int, *, moves: bool) -> int:
        """A tensor that is `columns` of `tensor`, in the memory of `root`, which begins at `origin`."""
        made = self._columns(tensor, columns)
        offset = (columns.start - origin) * self._column_bytes(tensor)
        of = self._tensors[root]
        self.crops[made] = Crop(root, of.bytes // of.shape[1], offset, moves=moves)
        return made

    def _columns(self, tensor: int, columns: range) -> int:
        of: Tensor = self._graph.tensors[tensor]
        shape = (*of.shape[:2], len(columns), of.shape[3])
        self._tensors.append(replace(of, id=len(self._tensors), shape=shape))
        return len(self._tensors) - 1

    def _column_bytes(self, tensor: int) -> int:
        of = self._graph.tensors[tensor]
        return of.bytes // of.shape[1] // of.shape[2]


def _integer(value: object) -> int:
    """An option of 1 or more; 1 where it is missing."""
    return int(value) if isinstance(value, bool | int) else 1
