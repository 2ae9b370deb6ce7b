"""Runs an assembled program on labels instead of numbers: is every row where its reader looks?

Why: which bytes a kernel gets is decided by tables alone, and a wrong offset may show only in some
network, after some move. Here a byte of memory holds (tensor, position) of what was last written to
it; whoever reads a row must find the row's own labels. No kernel takes part, so all networks are quick.

Labels are those of the network's tensors, whatever a program makes of them: columns made in a strip have
the labels that they have in the whole map, and a part of a joined tensor those of its place in it. What
lies inside of a block is in no memory, but for its kept rows: there a row of the block's inner map has a
label of its own in every round, and the block must find those that it does not make anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import Graph, Op
from lowtide.ir.block import BlockOp
from lowtide.lower import columns_read, lower_op
from lowtide.lower.nodes import Exchange
from lowtide.program.assemble import Assembly
from lowtide.program.tables import (
    NO_TENSOR,
    ExchangeEntry,
    KernelEntry,
    MoveEntry,
    PortEntry,
    Rows,
    StripEntry,
    called,
    ports_of,
)
from lowtide.program.turns import expand
from lowtide.rows.bases import ARENA, CONSTANTS, FIRST_INPUT

_GARBAGE = -1
_SHIFT = 32  # a label is tensor << 32 | position

_Row = tuple[int, int, int, int, int]
"""(base, offset, tensor, position in it, bytes)."""

_Kept = list[tuple[_Row, int]]
"""Kept rows of a block, each with the number of the inner map's row that it is to hold."""


@dataclass(slots=True)
class Memory:
    """The memory of one inference of `assembly`; `moved` counts bytes that moves have copied.

    `pulled` and `taken` say how far each streamed input and output has come, in bytes. `moving` says
    where the bases of strips are, `rounds` how often each tensor of a strip was begun.
    """

    assembly: Assembly
    arena: NDArray[np.int64] = field(init=False)
    given: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    pulled: dict[int, int] = field(default_factory=dict)
    taken: dict[int, int] = field(default_factory=dict)
    moved: int = 0
    moving: dict[int, tuple[int, int]] = field(default_factory=dict)
    rounds: dict[int, int] = field(default_factory=dict)
    _joins: dict[int, tuple[int, tuple[int, int], int]] = field(init=False)
    _columns: dict[int, tuple[int, tuple[range, ...]]] = field(init=False)
    _next: list[int] = field(init=False)
    _round: int = 0
    _waits: bool = False

    def __post_init__(self) -> None:
        _check_hidden(self.assembly)
        self._joins = _joins(self.assembly)
        self._columns = _columns(self.assembly)
        self._next = [0] * self.assembly.counters
        self.arena = np.full(self.assembly.arena_bytes, _GARBAGE, np.int64)
        state = self.assembly.state_base
        self.given[state] = np.full(self.assembly.state_bytes, _GARBAGE, np.int64)
        for variable in self.assembly.variables:
            self._write(state, variable.offset, variable.tensor, 0, variable.size)

    def give(self) -> None:
        """Write the inputs, as the caller does before each inference; streamed ones come later.

        What was in the arena is lost before: between two inferences it may serve something else.
        """
        graph = self.assembly.graph
        self.arena[:] = _GARBAGE
        self.pulled.clear()
        self.taken.clear()
        for number, tensor in enumerate(graph.inputs):
            if tensor not in self.assembly.given:
                continue
            size = graph.tensors[tensor].bytes
            base, offset = self.assembly.given[tensor]
            if base >= FIRST_INPUT:
                assert base == FIRST_INPUT + number < self.assembly.state_base
                self.given[base] = np.full(size, _GARBAGE, np.int64)
            self._write(base, offset, tensor, 0, size)

    def run(self) -> None:
        """Run all turns; an assertion fails where a row is not what its reader asks for."""
        self._next = [0] * self.assembly.counters
        self.moving.clear()
        self.rounds.clear()
        under_way: dict[int, int] = {}  # counter -> node, in a strip
        for number in expand(self.assembly.turns):
            entry = self.assembly.nodes[number]
            if isinstance(entry, StripEntry):
                self._check_done(under_way)
                under_way.clear()
                self._begin(entry)
                continue
            step = self._next[entry.counter]
            assert under_way.setdefault(entry.counter, number) == number
            self._next[entry.counter] += 1
            self._step(number, step)
        self._check_done(under_way)
        nowhere = {tensor for inner in self.assembly.inner.values() for tensor in inner}
        for tensor, part in self.assembly.parts.items():
            assert tensor in nowhere or self.rounds[tensor] == len(part.columns)

    def _check_done(self, under_way: dict[int, int]) -> None:
        """Every step of every node has run."""
        for counter, number in under_way.items():
            entry = self.assembly.nodes[number]
            run = entry.exchange if isinstance(entry, ExchangeEntry) else called(entry)
            assert run is not None
            assert self._next[counter] == run.steps

    def _begin(self, strip: StripEntry) -> None:
        """What begin_strip of lowtide.c does. A loop's first round begins where it was told before."""
        again = any(base == source for base, source, _ in strip.shifts)
        self._round = self._round + 1 if again and not self._waits else 0
        self._waits = not again
        for base, source, offset in strip.shifts:
            root, at = self.moving.get(source, (source, 0))
            self.moving[base] = (root, at + offset)
        for counter in strip.counters:
            self._next[counter] = 0

    def finish(self) -> None:
        """Check that every output is where the program's caller looks for it, or was taken whole."""
        graph = self.assembly.graph
        for number, tensor in enumerate(graph.outputs):
            size = graph.tensors[tensor].bytes
            if self.assembly.output_mode == "streamed":
                assert self.taken.get(number, 0) == size
                continue
            base, offset = self.assembly.left[tensor]
            self._read(base, offset, tensor, 0, size)
        if self.assembly.input_mode == "streamed":
            for number, tensor in enumerate(graph.inputs):
                assert self.pulled.get(number, 0) == graph.tensors[tensor].bytes

    def input_is_intact(self, tensor: int) -> bool:
        """Whether the caller finds input `tensor` as it was given."""
        base, offset = self.assembly.given[tensor]
        size = self.assembly.graph.tensors[tensor].bytes
        return bool((self._of(base)[offset : offset + size] == self._labels(tensor, 0, size)).all())

    def _step(self, number: int, step: int) -> None:
        entry = self.assembly.nodes[number]
        assert not isinstance(entry, StripEntry)
        inputs, outputs = map(len, ports_of(entry))
        ports = self.assembly.ports[entry.ports : entry.ports + inputs + outputs]
        if isinstance(entry, ExchangeEntry):
            self._exchange(entry.exchange, ports, step)
            return
        if isinstance(entry, MoveEntry):
            source, target = (self.assembly.rows[port.rows] for port in ports)
            assert source.size == target.size
            assert source.tensor == target.tensor == NO_TENSOR
            old = self.arena[source.offset : source.offset + source.size].copy()
            self.arena[target.offset : target.offset + target.size] = old
            self.moved += source.size
            return
        op = self.assembly.program_graph.ops[entry.node.op]
        read = [row for port in ports[:inputs] for row in self._rows(port, step)]
        touched = [row for port in ports[inputs:] for row in self._rows(port, step)]
        lines = [row for row in touched if isinstance(op, BlockOp) and row[2] in op.kept_rows]
        written = [row for row in touched if row not in lines]
        for row in read:
            self._read(*row)
        found = self._kept(op, lines, read, written) if isinstance(op, BlockOp) else []
        self._scratch(number, step)
        self._waits = False  # a single strip has no loop
        for row in written:
            if row[2] in self.assembly.parts:
                self.rounds[row[2]] = self._round + 1
            self._write(*row)
        for line, inner in found:  # nothing is written over what is read in the same step
            self._check_line(line, inner)
        if lines:
            assert isinstance(op, BlockOp)
            found = self._keep(op, lines, read)
            for row in written:
                self._read(*row)
            for line, inner in found:
                self._check_line(line, inner)
        for row in read:
            if row[2] not in {other[2] for other in written}:
                self._read(*row)

    def _kept(
        self, op: Op, lines: Sequence[_Row], read: Sequence[_Row], made: Sequence[_Row]
    ) -> _Kept:
        """The kept rows that a block needs to make its row `made`, and which inner rows they must be:
        those of the depthwise convolution's window that it does not make from what it reads."""
        graph = self.assembly.graph
        members = self.assembly.members[op.id]
        core = next(n for n in members if graph.ops[n].type == "DEPTHWISE_CONV_2D")
        (port,) = lower_op(graph, graph.ops[core]).nodes[0].inputs
        fresh = {position // size for _, _, _, position, size in read}
        found = []
        for _, _, _, position, size in made:
            first = port.first + position // size * port.stride
            for inner in range(max(0, first), min(port.rows, first + port.count)):
                if inner not in fresh:
                    assert lines, f"block {op.id} lacks row {inner}"
                    found.append((lines[inner % len(lines)], inner))
        for line, inner in found:
            self._check_line(line, inner)
        return found

    def _keep(self, op: BlockOp, lines: Sequence[_Row], read: Sequence[_Row]) -> _Kept:
        """Write what the next steps of a block need into its kept rows: the last rows that it made."""
        made = sorted({position // size for _, _, _, position, size in read})
        assert len(lines) == op.kept == len({line[1] for line in lines})
        found = [(lines[inner % len(lines)], inner) for inner in made[-len(lines) :]]
        for (base, offset, _, _, size), inner in found:
            memory = self._of(base)
            assert base == ARENA
            assert 0 <= offset <= offset + size <= len(memory)
            memory[offset : offset + size] = self._line(op.intermediates[0], inner, size)
        return found

    def _line(self, tensor: int, inner: int, size: int) -> NDArray[np.int64]:
        """Labels of row `inner` of what a block keeps, in this round."""
        at = (self._round << 16 | inner) * size + np.arange(size, dtype=np.int64)
        return np.asarray((tensor << _SHIFT) + at)

    def _check_line(self, line: _Row, inner: int) -> None:
        base, offset, tensor, _, size = line
        memory = self._of(base)[offset : offset + size]
        assert (memory == self._line(tensor, inner, size)).all(), f"kept row {inner} of {tensor}"

    def _exchange(self, node: Exchange, ports: Sequence[PortEntry], step: int) -> None:
        """The caller gives or takes the next row of an input or output: lt_run hands out no other."""
        (port,) = ports
        ((base, offset, _, position, size),) = self._rows(port, step)
        number = node.number
        assert base == ARENA or node.inputs
        graph = self.assembly.graph
        done = self.taken if node.inputs else self.pulled
        tensor = graph.outputs[number] if node.inputs else graph.inputs[number]
        assert position == done.get(number, 0) == step * size
        done[number] = position + size
        if node.inputs:
            self._read(base, offset, tensor, position, size)
        else:
            self._write(base, offset, tensor, position, size)

    def _scratch(self, number: int, step: int) -> None:
        """Use scratch memory; what must last from step to step is there still."""
        entry = self.assembly.nodes[number]
        assert isinstance(entry, KernelEntry)
        if not entry.node.scratch:
            return
        at = _place(self.assembly.rows[entry.scratch], step)
        assert 0 <= at <= at + entry.node.scratch <= len(self.arena)
        memory = self.arena[at : at + entry.node.scratch]
        mine = _GARBAGE - 1 - number
        if step and entry.node.scratch_lasts:
            assert (memory == mine).all(), f"scratch of node {number}"
        memory[:] = mine

    def _rows(self, port: PortEntry, step: int) -> list[_Row]:
        """The rows of a port's window."""
        cut = self.assembly.rows[port.rows]
        base, moved = self.moving.get(cut.base, (cut.base, 0))
        first = port.table[step] if port.table else port.first + step * port.stride
        window = (first + k * port.dilation for k in range(port.count))
        return [
            (base, moved + _place(cut, row), cut.tensor, row * cut.size, cut.size)
            for row in window
            if 0 <= row < cut.count
        ]

    def _of(self, base: int) -> NDArray[np.int64]:
        return self.arena if base == ARENA else self.given[base]

    def _labels(self, tensor: int, position: int, size: int) -> NDArray[Any]:
        """Labels of `size` bytes of `tensor`, in the network's terms."""
        at = position + np.arange(size, dtype=np.int64)
        if tensor in self._columns:
            tensor, rounds = self._columns[tensor]
            of, columns = self.assembly.graph.tensors[tensor], rounds[self._round]
            column = of.bytes // of.shape[0] // of.shape[1] // of.shape[2]
            row, inside = np.divmod(at, len(columns) * column)
            at = (row * of.shape[2] + columns.start) * column + inside
        while tensor in self._joins:
            whole, before, after = self._joins[tensor]
            # Per element of the axes before the joined one: so many bytes of the part, of the whole.
            mine, all_of_it = before
            tensor, at = whole, at // mine * all_of_it + after + at % mine
        root = self.assembly.views.get(tensor, tensor)
        return np.asarray((root << _SHIFT) + at)

    def _write(self, base: int, offset: int, tensor: int, position: int, size: int) -> None:
        assert base != CONSTANTS
        memory = self._of(base)
        assert 0 <= offset <= offset + size <= len(memory)
        memory[offset : offset + size] = self._labels(tensor, position, size)

    def _read(self, base: int, offset: int, tensor: int, position: int, size: int) -> None:
        if base == CONSTANTS:
            data = self.assembly.graph.tensors[tensor].data
            assert data is not None
            assert self.assembly.constants[offset : offset + size] == data[position:][:size]
            return
        found = self._of(base)[offset : offset + size]
        assert (found == self._labels(tensor, position, size)).all(), (
            f"tensor {tensor}: {found[:4]}"
        )


def _place(cut: Rows, row: int) -> int:
    return cut.offset + (row * cut.pitch if cut.places is None else cut.places[row])


def _joins(assembly: Assembly) -> dict[int, tuple[int, tuple[int, int], int]]:
    """Part -> (whole, (bytes of the part, bytes of the whole) that come in turn, and where in these).

    Those of the concatenations, splits and slices that no node of the program carries out.
    """
    graph = assembly.graph
    run = {op for e in assembly.kernels for op in assembly.members[e.node.op]}
    found: dict[int, tuple[int, tuple[int, int], int]] = {}
    for op in graph.ops:
        if op.id in run or op.type not in (*_SLICES, "CONCATENATION", "SPLIT", "SPLIT_V"):
            continue
        if op.outputs[0] in assembly.views:
            continue
        if op.type in _SLICES:
            found[op.outputs[0]] = _slice(graph, op)
            continue
        if op.type == "CONCATENATION":
            whole, parts = op.outputs[0], op.inputs
        else:
            whole, parts = op.inputs[1 if op.type == "SPLIT" else 0], op.outputs
        axis = _axis(graph, whole, parts)
        at = 0
        for part in parts:
            mine, all_of_it = (_inner(graph, t, axis) for t in (part, whole))
            found[part] = (whole, (mine, all_of_it), at)
            at += mine
    return found


_SLICES = ("SLICE", "STRIDED_SLICE")


def _slice(graph: Graph, op: Op) -> tuple[int, tuple[int, int], int]:
    """The same for what is cut out along one axis, or is all there is."""
    whole, begin, part = op.inputs[0], graph.tensors[op.inputs[1]].data, op.outputs[0]
    of, made = graph.tensors[whole].shape, graph.tensors[part].shape
    axis = next((a for a, (x, y) in enumerate(zip(of, made, strict=True)) if x != y), None)
    if axis is None or begin is None:
        return whole, (graph.tensors[part].bytes, graph.tensors[whole].bytes), 0
    first = int(np.frombuffer(begin, f"<i{len(begin) // len(of)}")[axis])
    mask = op.options.get("begin_mask")
    first = 0 if isinstance(mask, int) and mask >> axis & 1 else first % of[axis]
    mine, all_of_it = (_inner(graph, t, axis) for t in (part, whole))
    return whole, (mine, all_of_it), first * all_of_it // of[axis]


def _axis(graph: Graph, whole: int, parts: Sequence[int]) -> int:
    """The axis along which the parts are joined: where their sizes add up, and others agree."""
    shape = graph.tensors[whole].shape
    maps = [graph.tensors[part].shape for part in parts]
    return next(
        axis
        for axis in range(len(shape))
        if sum(m[axis] for m in maps) == shape[axis]
        and all(m[:axis] + m[axis + 1 :] == shape[:axis] + shape[axis + 1 :] for m in maps)
    )


def _inner(graph: Graph, tensor: int, axis: int) -> int:
    """Bytes of a tensor per element of the axes before `axis`."""
    of = graph.tensors[tensor]
    return of.bytes // int(np.prod(of.shape[:axis], dtype=np.int64))


def _columns(assembly: Assembly) -> dict[int, tuple[int, tuple[range, ...]]]:
    """Tensor of a strip -> (tensor of the network, its columns in each round).

    What an operator makes, the program says; what it then reads is worked out here.
    """
    graph, program = assembly.graph, assembly.program_graph
    found = {t: (part.tensor, part.columns) for t, part in assembly.parts.items()}
    for op in program.ops:
        if not op.outputs or op.outputs[0] not in assembly.parts:
            continue
        made = assembly.parts[op.outputs[0]].columns
        first, *others = (graph.ops[n] for n in assembly.members[op.id])
        inner = [t for t in assembly.inner.get(op.id, ()) if t >= 0]
        for inside in reversed(others):  # of a block
            (window,) = columns_read(graph, inside) or ()
            wide = graph.tensors[window.tensor].shape[2]
            made = tuple(window.axis.reads(of, wide) for of in made)
            part = assembly.parts[inner.pop()]
            assert (part.tensor, part.columns) == (window.tensor, made)
        reads = iter(columns_read(graph, first) or ())
        for mine, tensor in zip(op.inputs[: len(first.inputs)], first.inputs, strict=True):
            if tensor < 0 or graph.tensors[tensor].is_constant:
                continue
            window = next(reads)
            wide = graph.tensors[tensor].shape[2]
            columns = tuple(window.axis.reads(of, wide) for of in made)
            assert all(len(read) == program.tensors[mine].shape[2] for read in columns)
            assert found.setdefault(mine, (tensor, columns)) == (tensor, columns)
    return found


def _check_hidden(assembly: Assembly) -> None:
    """What is made inside of blocks is in no memory; kept rows belong to one block each."""
    graph = assembly.graph
    hidden = {tensor for inner in assembly.inner.values() for tensor in inner}
    lines: set[int] = set()
    for number in {entry.node.op for entry in assembly.kernels}:
        op = assembly.program_graph.ops[number]
        if isinstance(op, BlockOp):
            inside = [t for n in assembly.members[number][:-1] for t in graph.ops[n].outputs]
            assert inside == [assembly.parts[t].tensor for t in assembly.inner[number] if t >= 0]
            assert assembly.untraced.issuperset(inside)
            hidden.update(inside)
            assert lines.isdisjoint(op.intermediates)
            lines.update(op.intermediates)
    seen = {rows.tensor for rows in assembly.rows} | {cut.tensor for cut in assembly.cuts}
    assert hidden.isdisjoint(seen)
    for entry in assembly.kernels:
        own = assembly.program_graph.ops[entry.node.op].intermediates
        ports = {p.tensor for p in (*entry.node.inputs, *entry.node.outputs)}
        assert ports & lines <= set(own)
        assert {p.tensor for p in entry.node.inputs}.isdisjoint(lines)
