"""The memory machine: the step program of a bundle, played on labels instead of numbers.

It does what kernels/include/lt_walk.h does with the program's tables: turns and loops, counters, bases
that strips move, windows of rows. What it finds in memory, a kernel's contract judges (prove/reads.py),
which also says what the kernel writes. No input has a value here, so what holds in one run holds in
all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from lowtide.prove.bundle_reader import FAR, GIVE, IN_RING, STRIP, TAKE, Bundle, Node, Port
from lowtide.prove.memory import (
    Labels,
    Memory,
    NotProvedError,
    Piece,
    Symbols,
    Value,
    apart,
    held,
    overlap,
    part,
)
from lowtide.prove.walk import walked

ARENA, CONSTANTS = 0, 1
_LAST_COUNT = 0xFFFF


@dataclass(frozen=True, slots=True)
class Slot:
    """A row that a kernel is given: where it is, and which of how many rows of its tensor it is said to
    be."""

    memory: int
    at: int
    row: int
    rows: int


Window = Sequence[Slot | None]
"""The rows of a port's window; None is a null pointer."""


Shares = Literal["never", "same", "begins", "after"]
"""Which memory of what it reads a kernel may write to: none; that of a row that it writes byte by byte
as it reads it; that which begins where such a row does, for as long as both are; or any, since it reads
everything before it writes."""


class Contract(Protocol):
    """What one node's kernel reads and writes."""

    @property
    def shares(self) -> Shares:
        """Whether an output row may be the memory of an input row."""

    @property
    def lasts(self) -> bool:
        """Whether its scratch memory must be there still in the next step."""

    def __call__(self, step: Step) -> None:
        """Judge one step: raises NotProvedError if it would not find what it needs."""


Heard = Callable[[int, int, str, str, int], None]
"""Is told (node, step, "reads" or "makes", the first label in words, bytes) of every row that is
touched."""


@dataclass(slots=True)
class Step:
    """One step of a node, as its kernel sees it: `number` is step->row, `inputs` and `outputs` are
    windows of its ports; `round` says how often it began before. What it reads and makes is told to the
    machine by the methods here."""

    machine: Machine
    node: int
    number: int
    inputs: Sequence[Window]
    outputs: Sequence[Window]
    round: int = 0
    reads: list[Piece] = field(default_factory=list)
    writes: list[tuple[Piece, Value, int]] = field(default_factory=list)

    def label(self, slot: Slot) -> int:
        """The label of a row's first byte."""
        memory = self.machine.memories[slot.memory]
        if not 0 <= slot.at < memory.size:
            raise NotProvedError(f"byte {slot.at} is outside of {memory.name}")
        return int(memory.difference[slot.at]) + slot.at

    def expects(self, slot: Slot | None, value: Value, position: int, size: int) -> None:
        """The kernel reads `size` bytes of a row, which must be those of `value` from `position` on."""
        if slot is None:
            told = self.machine.told(value, position)
            raise NotProvedError(f"a row is padding, and should begin with {told}")
        self._reads(slot, slot.at, size)
        self.machine.check_held("", slot.memory, slot.at, size, value, position)

    def is_null(self, slot: Slot | None) -> None:
        """The row must be padding."""
        if slot is not None:
            raise NotProvedError(f"row {slot.row} is given where there should be padding")

    def gathers(self, slot: Slot | None, index: Labels) -> Labels:
        """The kernel reads bytes of a row, those at `index`: their labels."""
        if slot is None:
            raise NotProvedError("a row is padding, and should not be")
        if not len(index):
            return np.zeros(0, np.int64)
        low, high = int(index.min()), int(index.max())
        self._reads(slot, slot.at + low, high + 1 - low)
        memory, at = self.machine.memories[slot.memory], slot.at + index
        found: Labels = memory.difference[at] + at
        return found

    def makes(self, slot: Slot | None, value: Value, position: int, size: int) -> None:
        """The kernel writes `size` bytes of a row: those of `value` from `position` on."""
        if slot is None:
            raise NotProvedError("it is given no row to write to")
        memory = self.machine.memories[slot.memory]
        if slot.memory not in self.machine.writable:
            raise NotProvedError(f"it writes to {memory.name}")
        if not 0 <= slot.at <= slot.at + size <= memory.size:
            raise NotProvedError(
                f"it writes bytes {slot.at} to {slot.at + size} of {memory.name}, of {memory.size}"
            )
        self.writes.append(((slot.memory, slot.at, size), value, position))
        if self.machine.heard is not None:
            first = value + position if isinstance(value, int) else int(value[position])
            told = self.machine.symbols.told(first)
            self.machine.heard(self.node, self.number, "makes", told, size)

    def _reads(self, slot: Slot, at: int, size: int) -> None:
        memory = self.machine.memories[slot.memory]
        if not 0 <= at <= at + size <= memory.size:
            raise NotProvedError(
                f"it reads bytes {at} to {at + size} of {memory.name}, which has {memory.size}"
            )
        row = self.machine.bundle.ring_row
        if slot.memory == self.machine.ring and at // row < (at + size - 1) // row:
            raise NotProvedError(f"it reads rows {at // row} and {at // row + 1} of a ring as one")
        self.reads.append((slot.memory, at, size))
        if self.machine.heard is not None and size:
            found = int(memory.difference[at]) + at
            told = self.machine.symbols.told(found)
            self.machine.heard(self.node, self.number, "reads", told, size)


@dataclass(slots=True, eq=False)
class _Ready:
    """A node made ready to run: its ports, its contract, its scratch memory's size and label."""

    node: Node
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    contract: Contract
    scratch: int
    mark: int
    rounds: int = -1


@dataclass(slots=True, eq=False)
class Machine:
    """The memory of one run of `bundle`, and what it has exchanged so far.

    Rows of a ring of the caller's lie in memory `ring`, one after the other. Behind one of them they go
    on elsewhere in the caller's memory, so no kernel may read beyond a row.

    `contract(number)` is the contract of a node that runs a kernel, and bytes of its scratch memory.
    `inputs` and `outputs` are the values of the network's.
    """

    bundle: Bundle
    symbols: Symbols
    contract: Callable[[int], tuple[Contract, int]]
    inputs: Sequence[Value]
    outputs: Sequence[Value]
    heard: Heard | None = None
    memories: list[Memory] = field(init=False)
    writable: set[int] = field(init=False)
    bases: dict[int, tuple[int, int]] = field(init=False)
    ring: int = -1
    steps: int = 0
    _next: list[int] = field(init=False)
    _ready: dict[int, _Ready] = field(default_factory=dict)
    _given: dict[int, int] = field(default_factory=dict)
    _taken: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        bundle = self.bundle
        self.memories = [Memory.empty("the arena", bundle.arena)]
        self.bases = {ARENA: (0, 0)}
        self.writable = {0}
        constants = Memory.empty("the constants", len(bundle.constants))
        constants.write(0, constants.size, held(np.frombuffer(bundle.constants, np.uint8)))
        self._add(CONSTANTS, constants)
        if bundle.state_base is not None:
            self.writable.add(len(self.memories))
            self._add(bundle.state_base, Memory.empty("the state", bundle.state))
        if bundle.const_base is not None:
            for number, given in enumerate(bundle.inputs):
                memory = Memory.empty(f"input {number}", given.bytes)
                memory.write(0, given.bytes, self.inputs[number])
                self._add(bundle.const_base + number, memory)
        if bundle.ring_row:
            self.ring = self.bases[bundle.const_base or 0][0]
        self._next = [0] * bundle.counters

    def _add(self, base: int, memory: Memory) -> None:
        if base in self.bases:
            raise NotProvedError(f"base {base} is two pieces of memory")
        self.bases[base] = (len(self.memories), 0)
        self.memories.append(memory)

    def told(self, value: Value, position: int) -> str:
        """What one byte of a value is, in words."""
        return self.symbols.told(
            value + position if isinstance(value, int) else int(value[position])
        )

    def difference(self, memory: Memory, at: int, size: int, value: Value, position: int) -> str:
        """The first byte that is not what it should be, in words."""
        found = memory.labels(at, size)
        whole = part(value, position, size)
        first = int(np.flatnonzero(found != whole)[0])
        wanted, there = (self.symbols.told(int(labels[first])) for labels in (whole, found))
        return f"byte {at + first} of {memory.name} should be {wanted}, and is {there}"

    def run(self) -> None:
        """Play all turns. Raises NotProvedError with the node and the step at fault."""
        self._next = [0] * self.bundle.counters
        for number, steps in walked(self.bundle.turns):
            node = self._node(number)
            for _ in range(1 if node.kind == STRIP else steps):
                try:
                    self._one(number, node)
                except NotProvedError as failure:
                    raise NotProvedError(f"node {number}{self._step_of(node)}: {failure}") from None

    def _step_of(self, node: Node) -> str:
        if node.kind == STRIP or not 0 <= node.counter < len(self._next):
            return ""
        return f", step {max(0, self._next[node.counter] - 1)}"

    def _one(self, number: int, node: Node) -> None:
        if node.kind == STRIP:
            self._begin(node)
            return
        if not 0 <= node.counter < len(self._next):
            raise NotProvedError(f"its counter is number {node.counter} of {len(self._next)}")
        step = self._next[node.counter]
        if step >= _LAST_COUNT:
            raise NotProvedError("its counter overflows")
        self._next[node.counter] = step + 1
        if node.kind in (GIVE, TAKE):
            self._exchange(number, node, step)
        else:
            self._step(number, step)

    def _node(self, number: int) -> Node:
        if number >= len(self.bundle.nodes):
            raise NotProvedError(f"there is no node {number}")
        return self.bundle.nodes[number]

    def _begin(self, node: Node) -> None:
        """begin_strip of lt_walk.h."""
        strip = self.bundle.strip(node.params)
        for base, source, offset in strip.shifts:
            if source not in self.bases:
                raise NotProvedError(f"base {source} is not set")
            if not 0 <= base < self.bundle.bases or base in (ARENA, CONSTANTS, *self._fixed):
                raise NotProvedError(f"a strip sets base {base}")
            memory, at = self.bases[source]
            if not 0 <= at + offset <= self.memories[memory].size:
                raise NotProvedError(f"base {base} is set outside of {self.memories[memory].name}")
            self.bases[base] = memory, at + offset
        for counter in strip.counters:
            if not 0 <= counter < len(self._next):
                raise NotProvedError(f"there is no counter {counter}")
            self._next[counter] = 0

    @property
    def _fixed(self) -> tuple[int, ...]:
        """Bases that a caller sets."""
        state, const = self.bundle.state_base, self.bundle.const_base
        count = len(self.bundle.inputs) + (self.bundle.ring_row > 0)
        inputs = () if const is None else range(const, const + count)
        return (*inputs, *(() if state is None else (state,)))

    def window(self, port: Port, step: int) -> list[Slot | None]:
        """The rows of a port at a step: window of lt_walk.h."""
        bundle = self.bundle
        if not 0 <= port.rows < len(bundle.rows):
            raise NotProvedError(f"there are no rows {port.rows}")
        cut = bundle.rows[port.rows]
        if port.table is None:
            row = port.first + step * port.stride
        else:
            if not 0 <= port.table + step < len(bundle.tables):
                raise NotProvedError(f"a port's table has no entry {port.table + step}")
            row = bundle.tables[port.table + step]
        found: list[Slot | None] = []
        for _ in range(port.count):
            if 0 <= row < cut.count:
                memory, at = self._place(port.rows, row)
                found.append(Slot(memory, at, row, cut.count))
            else:
                found.append(None)
            row += port.dilation
        return found

    def _place(self, rows: int, row: int) -> tuple[int, int]:
        """place of lt_walk.h."""
        bundle = self.bundle
        cut = bundle.rows[rows]
        if cut.base not in self.bases:
            raise NotProvedError(f"base {cut.base} is not set")
        memory, at = self.bases[cut.base]
        if (cut.apart == IN_RING) != (memory == self.ring):
            raise NotProvedError(f"rows {rows} are in a ring, or are said to be, and not both")
        if cut.apart in (0, IN_RING):
            return memory, at + cut.offset + row * cut.pitch
        code = cut.pitch % (1 << 16) + row
        if not 0 <= code < len(bundle.codes):
            raise NotProvedError(f"there is no code {code}")
        block = row // 256 * 256 if cut.apart == FAR else 0
        place = (cut.pitch >> 16) + block + bundle.codes[code]
        if place >= len(bundle.places):
            raise NotProvedError(f"there is no place {place}")
        return memory, at + cut.offset + (bundle.places[place] << bundle.place_shift)

    def _made_ready(self, number: int) -> _Ready:
        bundle, node = self.bundle, self.bundle.nodes[number]
        if not 0 <= node.kind < len(bundle.kinds):
            raise NotProvedError(f"there is no kind {node.kind}")
        kind = bundle.kinds[node.kind]
        ports = bundle.ports[node.ports : node.ports + kind.inputs + kind.outputs]
        if len(ports) != kind.inputs + kind.outputs:
            raise NotProvedError(f"its ports are beyond the {len(bundle.ports)} there are")
        if sum(port.count for port in ports) > bundle.pointers:
            raise NotProvedError(f"its windows have more than {bundle.pointers} rows")
        if not 0 <= node.scratch < len(bundle.rows):
            raise NotProvedError(f"there are no rows {node.scratch}")
        contract, scratch = self.contract(number)
        mark = self.symbols.new(f"scratch memory of node {number}")
        inputs = ports[: kind.inputs]
        return _Ready(node, inputs, ports[kind.inputs :], contract, scratch, mark)

    def _step(self, number: int, step: int) -> None:
        ready = self._ready.get(number)
        if ready is None:
            ready = self._ready[number] = self._made_ready(number)
        if step == 0:
            ready.rounds += 1
        seen = Step(
            self,
            number,
            step,
            [self.window(port, step) for port in ready.inputs],
            [self.window(port, step) for port in ready.outputs],
            ready.rounds,
        )
        scratch = self._scratch(ready, step)
        ready.contract(seen)
        self._check_apart(seen, ready, scratch)
        if scratch is not None:
            self.memories[0].write(scratch[1], scratch[2], ready.mark)
        for (memory, at, size), value, position in seen.writes:
            self.memories[memory].write(at, size, value, position)
        self.steps += 1

    def _scratch(self, ready: _Ready, step: int) -> Piece | None:
        """Where its scratch memory is; what must last is there still."""
        memory, at = self._place(ready.node.scratch, step)
        if not ready.scratch:
            return None
        size = ready.scratch
        if memory != 0 or not 0 <= at <= at + size <= self.bundle.arena:
            raise NotProvedError(f"its scratch memory, {size} bytes at {at}, is not in the arena")
        arena = self.memories[0]
        if ready.contract.lasts and step and not arena.holds(at, size, ready.mark):
            wrong = self.difference(arena, at, size, ready.mark, 0)
            raise NotProvedError(f"what it keeps is lost: {wrong}")
        return memory, at, size

    def _check_apart(self, step: Step, ready: _Ready, scratch: Piece | None) -> None:
        """Nothing that is read is overwritten in the same step, and nothing is written twice."""
        writes = [piece for piece, _, _ in step.writes]
        if not apart(writes):
            raise NotProvedError("two rows that it writes overlap")
        if scratch is not None and any(overlap(scratch, p) for p in (*writes, *step.reads)):
            raise NotProvedError("its scratch memory overlaps a row that it reads or writes")
        for piece in writes:
            for read in step.reads:
                if overlap(piece, read) and not self._may_share(step, ready, piece, read):
                    raise NotProvedError(
                        f"it writes bytes {piece[1]} to {piece[1] + piece[2]}, and reads "
                        f"{read[1]} to {read[1] + read[2]}"
                    )

    @staticmethod
    def _may_share(step: Step, ready: _Ready, made: Piece, read: Piece) -> bool:
        """Whether the kernel may write over what it reads: the same row, or one that it keeps."""
        kept = any(made[1] == slot.at for port in step.outputs[1:] for slot in port if slot)
        shares = ready.contract.shares
        if kept and made == read:
            return True
        begins = shares == "begins" and made[1] == read[1] and read == step.reads[0]
        return shares == "after" or begins or (shares == "same" and made == read)

    def _exchange(self, number: int, node: Node, step: int) -> None:
        """The caller gives or takes a row: rows are asked for in order, and each once."""
        bundle = self.bundle
        gives = node.kind == GIVE
        ends, done = (bundle.inputs, self._given) if gives else (bundle.outputs, self._taken)
        if not bundle.exchanges & (1 if gives else 2):
            raise NotProvedError("the program says that it makes no such exchange")
        if node.scratch >= len(ends) or ends[node.scratch].rows is None:
            raise NotProvedError(f"number {node.scratch} is not exchanged row by row")
        if not 0 <= node.ports < len(bundle.ports):
            raise NotProvedError(f"there is no port {node.ports}")
        end = ends[node.scratch]
        rows = end.rows or 1
        size = end.bytes // rows
        port = bundle.ports[node.ports]
        if port.count != 1:
            raise NotProvedError("it exchanges more than one row")
        seen = Step(self, number, step, (), ())
        (slot,) = self.window(port, step)
        if step != done.get(node.scratch, 0) or step >= rows:
            raise NotProvedError(f"it exchanges row {step} out of turn, of {rows}")
        done[node.scratch] = step + 1
        value = (self.inputs if gives else self.outputs)[node.scratch]
        if gives:
            seen.makes(slot, value, step * size, size)
            for (memory, at, many), written, position in seen.writes:
                self.memories[memory].write(at, many, written, position)
        else:
            seen.expects(slot, value, step * size, size)

    def give(self, values: Mapping[int, Value]) -> None:
        """Write resident inputs, as the caller does before each run; `values` by their numbers."""
        for number, value in values.items():
            base, offset = self.bundle.given[number]
            memory, at = self.bases[base]
            size = self.bundle.inputs[number].bytes
            if memory not in self.writable or at + offset + size > self.memories[memory].size:
                raise NotProvedError(f"input {number} is not within {self.memories[memory].name}")
            self.memories[memory].write(at + offset, size, value)

    def check_ends(self, kept: Mapping[int, Value]) -> None:
        """Every output is where the caller looks for it, or was taken whole; streamed inputs were given
        whole, and inputs that must be `kept` are what they were."""
        for number, end in enumerate(self.bundle.outputs):
            if end.rows is not None:
                if self._taken.get(number, 0) != end.rows:
                    raise NotProvedError(f"output {number} is not taken to its end")
                continue
            if number not in self.bundle.left:
                raise NotProvedError(f"nothing says where output {number} is")
            self._check(
                f"output {number}", self.bundle.left[number], end.bytes, self.outputs[number]
            )
        for number, end in enumerate(self.bundle.inputs):
            if end.rows is not None and self._given.get(number, 0) != end.rows:
                raise NotProvedError(f"input {number} is not asked for to its end")
        if self.bundle.row_count and self.bundle.row_count != self.bundle.inputs[0].rows:
            raise NotProvedError("the program asks for another number of rows than there are")
        for number, value in kept.items():
            size = self.bundle.inputs[number].bytes
            self._check(f"input {number}", self.bundle.given[number], size, value)

    def _check(self, what: str, place: tuple[int, int], size: int, value: Value) -> None:
        memory, at = self.bases[place[0]]
        self.check_held(what, memory, at + place[1], size, value)

    def check_held(
        self, what: str, memory: int, at: int, size: int, value: Value, position: int = 0
    ) -> None:
        """Some memory holds `size` bytes of a value, from `position` on; `what` that is, for errors."""
        of = self.memories[memory]
        if not 0 <= at <= at + size <= of.size:
            raise NotProvedError(f"{what} is not within {of.name}")
        if memory == CONSTANTS:  # there bytes are known by what they hold
            value, position = self.symbols.resolved(part(value, position, size)), 0
        if not of.holds(at, size, value, position):
            told = f"{what}: " if what else ""
            raise NotProvedError(f"{told}{self.difference(of, at, size, value, position)}")
