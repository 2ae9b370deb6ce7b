"""Runs an assembled program on labels instead of numbers: is every row where its reader looks?

Why: which bytes a kernel gets is decided by tables alone, and a wrong offset may show only in some
network, after some move. Here a byte of memory holds (tensor, position) of what was last written to
it; whoever reads a row must find the row's own labels. No kernel takes part, so all networks are quick.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.emit.assemble import (
    ARENA,
    CONSTANTS,
    FIRST_INPUT,
    NO_TENSOR,
    Assembly,
    PortEntry,
    Rows,
)
from lowtide.emit.program import Node
from lowtide.emit.turns import expand

_GARBAGE = -1
_SHIFT = 32  # a label is tensor << 32 | position


@dataclass(slots=True)
class Memory:
    """The memory of one inference of `assembly`; `moved` counts bytes that moves have copied.

    `pulled` and `taken` say how far each streamed input and output has come, in bytes.
    """

    assembly: Assembly
    arena: NDArray[np.int64] = field(init=False)
    given: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    pulled: dict[int, int] = field(default_factory=dict)
    taken: dict[int, int] = field(default_factory=dict)
    moved: int = 0

    def __post_init__(self) -> None:
        self.arena = np.full(self.assembly.arena_bytes, _GARBAGE, np.int64)
        for variable in self.assembly.variables:
            self._write(ARENA, variable.offset, variable.tensor, 0, variable.size)

    def give(self) -> None:
        """Write the inputs, as the caller does before each inference; streamed ones come later."""
        graph = self.assembly.graph
        self.pulled.clear()
        self.taken.clear()
        for number, tensor in enumerate(graph.inputs):
            if tensor not in self.assembly.given:
                continue
            size = graph.tensors[tensor].bytes
            base, offset = self.assembly.given[tensor]
            if base >= FIRST_INPUT:
                assert base == FIRST_INPUT + number
                self.given[base] = np.full(size, _GARBAGE, np.int64)
            self._write(base, offset, tensor, 0, size)

    def run(self) -> None:
        """Run all turns; an assertion fails where a row is not what its reader asks for."""
        steps = [0] * len(self.assembly.nodes)
        for node in expand(self.assembly.turns):
            self._step(node, steps[node])
            steps[node] += 1
        assert steps == [entry.node.steps for entry in self.assembly.nodes]

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
        inputs, outputs = len(entry.node.inputs), len(entry.node.outputs)
        ports = self.assembly.ports[entry.ports : entry.ports + inputs + outputs]
        if entry.node.exchange is not None:
            self._exchange(entry.node, ports, step)
            return
        if entry.node.op < 0:
            source, target = (self.assembly.rows[port.rows] for port in ports)
            assert source.size == target.size
            assert source.tensor == target.tensor == NO_TENSOR
            old = self.arena[source.offset : source.offset + source.size].copy()
            self.arena[target.offset : target.offset + target.size] = old
            self.moved += source.size
            return
        read = [row for port in ports[:inputs] for row in self._rows(port, step)]
        written = [row for port in ports[inputs:] for row in self._rows(port, step)]
        for row in read:
            self._read(*row)
        self._scratch(number, step)
        for row in written:
            self._write(*row)
        for row in read:  # nothing is written over what is read in the same step
            if row[2] not in {other[2] for other in written}:
                self._read(*row)

    def _exchange(self, node: Node, ports: Sequence[PortEntry], step: int) -> None:
        """The caller gives or takes the next row of an input or output: lt_run hands out no other."""
        (port,) = ports
        ((base, offset, _, position, size),) = self._rows(port, step)
        number = node.exchange
        assert number is not None
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
        if not entry.node.scratch:
            return
        at = _place(self.assembly.rows[entry.scratch], step)
        assert 0 <= at <= at + entry.node.scratch <= len(self.arena)
        memory = self.arena[at : at + entry.node.scratch]
        mine = _GARBAGE - 1 - number
        if step and entry.node.scratch_lasts:
            assert (memory == mine).all(), f"scratch of node {number}"
        memory[:] = mine

    def _rows(self, port: PortEntry, step: int) -> list[tuple[int, int, int, int, int]]:
        """(base, offset, tensor, position in it, bytes) of the rows of a port's window."""
        cut = self.assembly.rows[port.rows]
        first = port.table[step] if port.table else port.first + step * port.stride
        window = (first + k * port.dilation for k in range(port.count))
        return [
            (cut.base, _place(cut, row), cut.tensor, row * cut.size, cut.size)
            for row in window
            if 0 <= row < cut.count
        ]

    def _of(self, base: int) -> NDArray[np.int64]:
        return self.arena if base == ARENA else self.given[base]

    def _labels(self, tensor: int, position: int, size: int) -> NDArray[Any]:
        root = self.assembly.views.get(tensor, tensor)
        return (root << _SHIFT) + position + np.arange(size, dtype=np.int64)

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
    return cut.offset + row * cut.pitch if cut.places is None else cut.places[row]
