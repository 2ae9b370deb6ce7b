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

from lowtide.ir import Graph, Op
from lowtide.ir.block import BlockOp
from lowtide.ir.macs import op_macs
from lowtide.lower.common import image_rows
from lowtide.lower.nodes import Reads


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
    windows: tuple[tuple[Reads, ...], ...]
    inputs: tuple[int, ...]
    output: int
    width: int
    strips: tuple[Strip, ...]
    macs: int


def stage_windows(
    graph: Graph,
    operators: Sequence[int],
    outside: frozenset[int],
    columns: Callable[[int], tuple[Reads, ...] | None],
) -> tuple[tuple[tuple[Reads, ...], ...], int] | None:
    """(what each operator reads, output tensor) if the stage can run in strips, else None.

    `outside` are the tensors that are read after the stage, or are outputs of the graph. The stage
    must make exactly one of them, in its last operator. `columns(op)` is `Lowered.columns`.
    """
    made = [t for op in operators for t in graph.ops[op].outputs]
    output = graph.ops[operators[-1]].outputs[0] if made else -1
    if [t for t in made if t in outside] != [output] or graph.tensors[output].shape[2:3] == (1,):
        return None
    found = tuple(columns(op) for op in operators)
    if any(w is None for w in found):
        return None
    read = {w.tensor for of in found for w in of or ()}
    if output in read or any(t != output and t not in read for t in made):
        return None
    return tuple(w for w in found if w is not None), output


def stripes(
    graph: Graph,
    operators: Sequence[int],
    of: Sequence[tuple[Reads, ...]],
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
            reads = tuple(w.axis.reads(columns, shape[w.tensor]) for w in ws)
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
    if isinstance(op, BlockOp):
        rows, _ = image_rows(graph.tensors[op.outputs[0]])
        return op.macs(rows, 1, 0), op.macs(0, 0, 1)
    return op_macs(graph, op) // graph.tensors[op.outputs[0]].shape[2], 0


def kept_rows(op: Op) -> tuple[int, ...]:
    """The tensor of the rows that a block keeps, if it does."""
    return op.kept_rows if isinstance(op, BlockOp) else ()


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
                    w.axis.touched(columns).start - read.start,
                )
                for w, read in zip(ws, reads, strict=True)
            ),
        )
        for columns, reads, ws in zip(strip.made, strip.read, cut.windows, strict=True)
    )
