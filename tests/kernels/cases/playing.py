"""Plays the nodes of a small network step by step, every row in a buffer of its own.

Why without a program: a kernel sees pointers to rows and nothing else, so they can lie where they are
watched. Nodes run one after the other; what a tensor holds is kept as bytes between them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import Graph
from lowtide.lower.nodes import Node, Port

from .built import Fault, Library, library
from .memory import Guarded, pointers
from .structs import Packer

Bytes = NDArray[np.uint8]
_SCRATCH_ALIGN = 4


@dataclass(frozen=True, slots=True)
class Find:
    """What a kernel did that it must not."""

    kernel: str
    what: str


class PlayedError(Exception):
    """Ends the play of a network at a find."""

    def __init__(self, find: Find) -> None:
        super().__init__(find.what)
        self.find = find


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A node whose buffers are placed; `tables` are the pointers of its inputs and outputs."""

    node: Node
    params: int
    tables: tuple[NDArray[np.uint64], NDArray[np.uint64]]
    rows: Mapping[tuple[int, int], NDArray[np.uint64]]
    scratch: int


@dataclass(frozen=True, slots=True)
class Network:
    """A graph with the nodes to play in their order. A view's tensor is that of its root."""

    graph: Graph
    nodes: tuple[Node, ...]
    views: Mapping[int, int]

    def root(self, tensor: int) -> int:
        """The tensor whose memory `tensor` is."""
        return self.views.get(tensor, tensor)


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """What a node found in its tensors and what it left, [samples, bytes] by root; its ports' keys."""

    net: Network
    node: Node
    count: int
    read: frozenset[tuple[int, int]]
    made: frozenset[tuple[int, int]]
    before: Mapping[int, Bytes]
    after: Mapping[int, Bytes]


class Memory(Protocol):
    """Where buffers are put."""

    def rows(self, size: int, count: int, align: int) -> NDArray[np.uint64]:
        """Addresses of `count` buffers of `size` bytes."""

    def place(self, data: bytes, align: int) -> int:
        """A buffer that holds `data`."""


class Player:
    """Plays networks in guarded memory; counts the calls of each kernel.

    What nodes find and leave is kept in `played` if that is a list.
    """

    def __init__(self, of: Library | None = None) -> None:
        self.built = of or library()
        self.memory = Guarded(self.built)
        self.calls: dict[str, int] = {}
        self.played: list[Played] | None = None

    def play(
        self, net: Network, samples: Mapping[int, NDArray[Any]], garbage: int
    ) -> dict[int, Bytes]:
        """What each tensor holds, [samples, bytes], by root. Raises PlayedError at the first find."""
        held = {net.root(t): _bytes(values) for t, values in samples.items()}
        count = len(next(iter(held.values())))
        for tensor in net.graph.tensors:
            if tensor.data is not None:
                held[tensor.id] = _repeated(tensor.data, count)
        for node in net.nodes:
            for port in node.outputs:
                size = net.graph.tensors[net.root(port.tensor)].bytes
                held.setdefault(net.root(port.tensor), np.full((count, size), garbage, np.uint8))
            self._run(net, node, held, count)
        return held

    def _run(self, net: Network, node: Node, held: dict[int, Bytes], count: int) -> None:
        self.memory.clear()
        stage = staged(net, node, self.memory, 8, self.built.kernel)
        ins, outs = (self.memory.place(table.tobytes(), 8) for table in stage.tables)
        self.memory.fence()
        made = {(net.root(p.tensor), p.row_bytes): p for p in node.outputs}
        read = {(net.root(p.tensor), p.row_bytes): p for p in node.inputs}
        writes = {tensor for tensor, _ in made}
        before = {t: held[t].copy() for t, _ in read.keys() | made.keys()} if self._keeps else {}
        for sample in range(count):
            for key in read.keys() | made.keys():
                self._spread(stage.rows[key], held[key[0]][sample], key[1])
            self._call(stage, ins, outs)
            for key in read:
                if key[0] in writes:
                    continue
                if not self._same(stage.rows[key], held[key[0]][sample], key[1]):
                    raise PlayedError(Find(_name(node), "it changes its input"))
            for key in made:
                self._gather(stage.rows[key], held[key[0]][sample], key[1])
        broken = self.memory.broken()
        if broken:
            raise PlayedError(Find(_name(node), broken))
        if self.played is not None:
            after = {t: held[t].copy() for t in before}
            keys = frozenset(read), frozenset(made)
            self.played.append(Played(net, node, count, *keys, before, after))
        name = _name(node)
        self.calls[name] = self.calls.get(name, 0) + node.steps * count
        if name != node.kernel:
            self.calls[node.kernel] = self.calls.get(node.kernel, 0) + node.steps * count

    @property
    def _keeps(self) -> bool:
        return self.played is not None

    def _call(self, stage: Stage, ins: int, outs: int) -> None:
        node, fault = stage.node, Fault()
        counts = [table.shape[1] for table in stage.tables]
        faulted = self.built.calls.cases_play(
            self.built.kernel(node.kernel),
            stage.params,
            *(ins, counts[0], outs, counts[1]),
            *(stage.scratch, node.scratch, int(node.scratch_lasts), node.steps),
            ctypes.byref(fault),
        )
        if faulted:
            line = self.built.line(fault.pc)
            what = f"signal {fault.signal} in step {fault.step} of {node.steps} at {line}"
            if fault.signal in (7, 11):
                what += f": {self.memory.where(fault.address)}"
            raise PlayedError(Find(_name(node), what))

    def _spread(self, rows: NDArray[np.uint64], data: Bytes, size: int) -> None:
        self.built.calls.cases_spread(rows.ctypes.data, data.ctypes.data, size, len(rows))

    def _gather(self, rows: NDArray[np.uint64], data: Bytes, size: int) -> None:
        self.built.calls.cases_gather(rows.ctypes.data, data.ctypes.data, size, len(rows))

    def _same(self, rows: NDArray[np.uint64], data: Bytes, size: int) -> bool:
        call = self.built.calls.cases_same
        return bool(call(rows.ctypes.data, data.ctypes.data, size, len(rows)))


def staged(
    net: Network, node: Node, memory: Memory, pointer: int, kernel: Callable[[str], int]
) -> Stage:
    """A node's buffers placed, with pointers of so many bytes."""
    packer = Packer(pointer, memory.place, kernel)
    rows: dict[tuple[int, int], NDArray[np.uint64]] = {}
    for port in (*node.inputs, *node.outputs):
        root = net.root(port.tensor)
        if (root, port.row_bytes) not in rows:
            width = max(1, net.graph.tensors[root].dtype.bits // 8)
            rows[root, port.row_bytes] = memory.rows(port.row_bytes, port.rows, width)
    tables = [
        pointers([_windows(p, rows[net.root(p.tensor), p.row_bytes], node.steps) for p in ports])
        if ports
        else np.zeros((node.steps, 1), np.uint64)
        for ports in (node.inputs, node.outputs)
    ]
    scratch = int(memory.rows(max(node.scratch, 1), 1, _SCRATCH_ALIGN)[0])
    return Stage(node, packer.params(node.params), (tables[0], tables[1]), rows, scratch)


def _name(node: Node) -> str:
    """The kernel that does the work."""
    return node.works.name


def _windows(port: Port, rows: NDArray[np.uint64], steps: int) -> NDArray[np.uint64]:
    """The pointers of each step's window, null where it is padding: [steps, count]."""
    if port.table is None:
        first = port.first + port.stride * np.arange(steps)
    else:
        first = np.array(port.table[:steps])
    at = first[:, None] + port.dilation * np.arange(port.count)
    inside = (at >= 0) & (at < port.rows)
    return np.where(inside, rows[np.clip(at, 0, port.rows - 1)], np.uint64(0))


def _bytes(values: NDArray[Any]) -> Bytes:
    flat = np.ascontiguousarray(values).reshape(len(values), -1)
    return flat.view(np.uint8).reshape(len(values), -1).copy()


def _repeated(data: bytes, count: int) -> Bytes:
    return np.tile(np.frombuffer(data, np.uint8), (count, 1))
