"""Strips: which columns of every tensor a stage touches when it makes its output strip by strip.

A stage may make its one output in vertical strips, one after the other. In a strip every operator
makes only the columns that the strip's output needs; the columns that two neighbouring strips both
need (the halo) are computed in each. Rows are still made and freed one by one, as without strips, so
that a strip needs less memory in proportion to its width, and costs the halo's multiplications again.

Tensors that the stage reads from outside are there as a whole, and so is its output; what it makes in
between exists for one strip at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from lowtide.ir import Graph, Op
from lowtide.ir.macs import BLOCK, block_macs, op_macs
from lowtide.passes.rewrites import EXPLICIT_PADDING

_SAME = frozenset(
    {"RELU", "RELU6", "LEAKY_RELU", "HARD_SWISH", "LOGISTIC", "TANH", "ABS", "ELU"}
    | {"QUANTIZE", "DEQUANTIZE"}
)
_PAIRS = frozenset({"ADD", "SUB", "MUL", "MINIMUM", "MAXIMUM"})
_WINDOWS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D"})


@dataclass(frozen=True, slots=True)
class Window:
    """Output column x reads the columns [x * stride - pad, x * stride - pad + size) of `tensor`."""

    tensor: int
    stride: int = 1
    size: int = 1
    pad: int = 0

    def reads(self, columns: range, width: int) -> range:
        """The columns of a tensor `width` wide that the output's `columns` need."""
        first = columns.start * self.stride - self.pad
        last = (columns.stop - 1) * self.stride - self.pad + self.size
        return range(max(0, first), min(width, last))

    def padding(self, columns: range, width: int) -> tuple[int, int]:
        """How many columns of the window of `columns` lie outside the tensor, left and right."""
        read = self.reads(columns, width)
        first = columns.start * self.stride - self.pad
        last = (columns.stop - 1) * self.stride - self.pad + self.size
        return read.start - first, last - read.stop


def windows(graph: Graph, op: Op) -> tuple[Window, ...] | None:
    """The windows of the operator's inputs that are maps; None if it cannot be cut into strips."""
    if len(op.outputs) != 1 or not _is_map(graph, op.outputs[0]):
        return None
    maps = [i for i in op.inputs if i >= 0 and not graph.tensors[i].is_constant]
    if not maps or not all(_is_map(graph, i) for i in maps):
        return None
    out = graph.tensors[op.outputs[0]]
    if op.type in _WINDOWS:
        return _window(graph, op) if len(maps) == 1 else None
    if op.type == BLOCK:
        stride, size, (_, _, pad, _) = block_window(op)
        return (Window(op.inputs[0], stride, size, pad),)
    if op.type == "CONCATENATION" and op.options.get("axis") in (1, 3, -1, -3):
        fits = len(maps) == len(op.inputs)
    elif op.type in _SAME:
        fits = len(maps) == 1
    elif op.type in _PAIRS:
        fits = all(graph.tensors[i].shape == out.shape for i in maps) and all(
            graph.tensors[i].elements in (1, out.shape[3])
            and (
                not graph.tensors[i].shape
                or graph.tensors[i].shape[-1] == graph.tensors[i].elements
            )
            for i in op.inputs
            if i >= 0 and graph.tensors[i].is_constant
        )
    else:
        fits = False
    return tuple(Window(i) for i in maps) if fits else None


def _is_map(graph: Graph, tensor: int) -> bool:
    of = graph.tensors[tensor]
    return len(of.shape) == 4 and of.shape[0] == 1 and of.bytes > 0 and not of.is_variable


def _window(graph: Graph, op: Op) -> tuple[Window, ...] | None:
    source, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    options = op.options
    if op.type.endswith("CONV_2D"):
        kernel = graph.tensors[op.inputs[1]].shape[2]
        dilation = _integer(options.get("dilation_w_factor", 1))
    else:
        kernel, dilation = _integer(options.get("filter_width", 1)), 1
    stride = _integer(options.get("stride_w", 1))
    size = (kernel - 1) * dilation + 1
    explicit = options.get(EXPLICIT_PADDING)
    pad = 0
    if isinstance(explicit, tuple):
        pad = int(explicit[2])
    elif options.get("padding") == 0:  # SAME
        pad = max(0, (out.shape[2] - 1) * stride + size - source.shape[2]) // 2
    if min(stride, size) < 1:
        return None
    return (Window(op.inputs[0], stride, size, pad),)


def block_window(op: Op) -> tuple[int, int, tuple[int, int, int, int]]:
    """(stride, kernel) in columns of a block, and its padding (top, bottom, left, right)."""
    sides = op.options[EXPLICIT_PADDING]
    assert isinstance(sides, tuple)
    top, bottom, left, right = (int(n) for n in sides)
    stride, size = _integer(op.options["stride_w"]), _integer(op.options["kernel_w"])
    return stride, size, (top, bottom, left, right)


def window_width(op: Op, columns: int) -> int:
    """How many columns, padding included, the block `op` reads to make `columns` of its output."""
    stride, size, _ = block_window(op)
    return (columns - 1) * stride + size


def _integer(value: object) -> int:
    return int(value) if isinstance(value, bool | int) else 1


@dataclass(frozen=True, slots=True)
class Strip:
    """What one strip touches. `made[i]` are the columns that operator i of the stage makes, `read[i]`
    those that it reads of each of its maps; `held` are the columns of a tensor that exist."""

    made: tuple[range, ...]
    read: tuple[tuple[range, ...], ...]
    held: Mapping[int, range]


@dataclass(frozen=True, slots=True)
class Stripes:
    """A stage cut into strips: `operators` in order, its maps from outside, its one output."""

    operators: tuple[int, ...]
    windows: tuple[tuple[Window, ...], ...]
    inputs: tuple[int, ...]
    output: int
    width: int
    strips: tuple[Strip, ...]
    macs: int


def stage_windows(
    graph: Graph,
    operators: Sequence[int],
    outside: frozenset[int],
    known: Callable[[int], tuple[Window, ...] | None] | None = None,
) -> tuple[tuple[tuple[Window, ...], ...], int] | None:
    """(windows per operator, output tensor) if the stage can run in strips, else None.

    `outside` are the tensors that are read after the stage, or are outputs of the graph. The stage
    must make exactly one of them, in its last operator. `known(op)` is `windows` of an operator.
    """
    known = known or (lambda op: windows(graph, graph.ops[op]))
    made = [t for op in operators for t in graph.ops[op].outputs]
    output = graph.ops[operators[-1]].outputs[0] if made else -1
    if [t for t in made if t in outside] != [output] or graph.tensors[output].shape[2:3] == (1,):
        return None
    found = tuple(known(op) for op in operators)
    if any(w is None for w in found):
        return None
    read = {w.tensor for of in found for w in of or ()}
    if output in read or any(t != output and t not in read for t in made):
        return None
    return tuple(w for w in found if w is not None), output


def stripes(
    graph: Graph,
    operators: Sequence[int],
    of: Sequence[tuple[Window, ...]],
    output: int,
    width: int,
) -> Stripes | None:
    """The stage in strips of `width` columns of its output; None where a strip would read nothing."""
    made = {graph.ops[op].outputs[0] for op in operators}
    inputs = tuple(dict.fromkeys(w.tensor for ws in of for w in ws if w.tensor not in made))
    whole = graph.tensors[output].shape[2]
    strips = []
    macs = 0
    shape = {w.tensor: graph.tensors[w.tensor].shape[2] for ws in of for w in ws}
    for start in range(0, whole, width):
        held: dict[int, range] = {output: range(start, min(whole, start + width))}
        made_columns: list[range] = []
        read_columns: list[tuple[range, ...]] = []
        for op, ws in zip(reversed(operators), reversed(of), strict=True):
            columns = held[graph.ops[op].outputs[0]]
            reads = tuple(w.reads(columns, shape[w.tensor]) for w in ws)
            if any(not len(r) for r in reads):
                return None
            for w, r in zip(ws, reads, strict=True):
                old = held.get(w.tensor, r)
                held[w.tensor] = range(min(old.start, r.start), max(old.stop, r.stop))
            for line in kept_rows(graph.ops[op]):
                held[line] = reads[0]
            made_columns.append(columns)
            read_columns.append(reads)
            each = column_macs(graph, graph.ops[op])
            macs += each[0] * len(columns) + each[1] * len(reads[0])
        strips.append(Strip(tuple(made_columns[::-1]), tuple(read_columns[::-1]), held))
    return Stripes(tuple(operators), tuple(of), inputs, output, width, tuple(strips), macs)


def column_macs(graph: Graph, op: Op) -> tuple[int, int]:
    """MACs of an operator in strips per column that it makes, and per column that it reads."""
    if op.type == BLOCK:
        rows = graph.tensors[op.outputs[0]].shape[1]
        return block_macs(op, rows, 1, 0), block_macs(op, 0, 0, 1)
    return op_macs(graph, op) // graph.tensors[op.outputs[0]].shape[2], 0


def kept_rows(op: Op) -> tuple[int, ...]:
    """The tensor of the rows that a block keeps, if it does."""
    return op.intermediates if op.type == BLOCK else ()


@cache
def outside(columns: int, first: int, width: int, stride: int, dilation: int, kernel: int) -> int:
    """How many columns of the windows of `columns` output columns lie outside of [0, width)."""
    return sum(
        not 0 <= first + x * stride + k * dilation < width
        for x in range(columns)
        if first + x * stride < 0 or first + x * stride + (kernel - 1) * dilation >= width
        for k in range(kernel)
    )


def widths(whole: int) -> list[int]:
    """The widths worth trying: the least that gives each possible number of strips, narrowest first."""
    return sorted({math.ceil(whole / count) for count in range(2, whole + 1)})


@dataclass(frozen=True, slots=True)
class Run:
    """`times` consecutive strips, from number `first`, of the same shape: one is like the next, only
    further right. `start[t]` is the first column of outside tensor t that the first of them touches,
    `shift[t]` how much further right that is in the next."""

    first: int
    times: int
    start: Mapping[int, int]
    shift: Mapping[int, int]


def runs(cut: Stripes) -> list[Run]:
    """The strips as runs, from left to right."""
    outer = (*cut.inputs, cut.output)
    found: list[Run] = []
    shapes = [_shape(cut, strip) for strip in cut.strips]
    for number, strip in enumerate(cut.strips):
        start = {t: strip.held[t].start for t in outer}
        if found and shapes[number] == shapes[number - 1]:
            last = found[-1]
            before = cut.strips[number - 1].held
            shift = {t: strip.held[t].start - before[t].start for t in outer}
            if last.times == 1 or shift == last.shift:
                found[-1] = Run(last.first, last.times + 1, last.start, shift)
                continue
        found.append(Run(number, 1, start, dict.fromkeys(outer, 0)))
    return found


def _shape(cut: Stripes, strip: Strip) -> tuple[object, ...]:
    """Everything about a strip but where it is."""
    return tuple(
        (
            len(columns),
            tuple(
                (
                    len(read),
                    read.start - strip.held[w.tensor].start,
                    len(strip.held[w.tensor]) if w.tensor not in cut.inputs else 0,
                    columns.start * w.stride - w.pad - read.start,
                )
                for w, read in zip(ws, reads, strict=True)
            ),
        )
        for columns, reads, ws in zip(strip.made, strip.read, cut.windows, strict=True)
    )
