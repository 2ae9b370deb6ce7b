"""The ordering problem as bitmasks: what the searches run on.

Why: a search visits hundreds of thousands of states. A state is the set of finished operators (a
downset of the graph, DESIGN: "the state graph"), kept as one int. What a state costs depends on the
set alone, not on the way there, which is what makes a search over sets exact.

Live bytes f(S) = sizes of the tensors made in S (or given) that something outside S still reads, or
that are kept to the end. Running operator o from S needs f(S) + outputs(o) bytes. f is submodular:
running an operator later never makes its own effect on f worse. `search` leans on that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lowtide.ir import Graph
from lowtide.ir.liveness import in_arena
from lowtide.ir.state import state_order

GIVEN = -1
"""The maker of a tensor that is there before the first operator runs."""


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor as the search sees it: bytes, maker, readers (a mask), kept to the end or not."""

    size: int
    maker: int
    readers: int
    kept: bool


@dataclass(frozen=True, slots=True)
class BitGraph:
    """An ordering problem over operators 0 .. n-1; bit i of a mask stands for operator i.

    `preds[i]`, `succs[i]`: direct predecessors and successors. `out[i]`: bytes that appear when i
    runs. `stays[i]`: of those, the bytes still live afterwards. `reads[i]`: (size, readers) of the
    inputs of i that die with their last reader. `base`: live bytes before anything has run.
    """

    n: int
    values: tuple[Value, ...]
    preds: tuple[int, ...]
    succs: tuple[int, ...]
    out: tuple[int, ...]
    stays: tuple[int, ...]
    reads: tuple[tuple[tuple[int, int], ...], ...]
    base: int

    @property
    def all(self) -> int:
        """The state in which every operator is finished."""
        return (1 << self.n) - 1

    def live_after(self, done: int, live: int, op: int) -> int:
        """f(done + op), given live = f(done)."""
        after = done | 1 << op
        live += self.stays[op]
        for size, readers in self.reads[op]:
            if readers & after == readers:
                live -= size
        return live

    def live_before(self, done: int, live: int, op: int) -> int:
        """f(done - op), given live = f(done) and that nothing in `done` reads from `op`."""
        live -= self.stays[op]
        for size, readers in self.reads[op]:
            if readers & done == readers:
                live += size
        return live

    def ready(self, done: int) -> Iterator[int]:
        """Operators that can run next from `done`."""
        preds = self.preds
        return (i for i in bits(self.all & ~done) if preds[i] & done == preds[i])

    def peak(self, order: Iterable[int]) -> int:
        """Peak bytes of a complete order (ValueError if an operator runs before a predecessor)."""
        done, live, peak = 0, self.base, self.base
        for op in order:
            if self.preds[op] & done != self.preds[op] or done >> op & 1:
                raise ValueError(f"operator {op} cannot run here")
            peak = max(peak, live + self.out[op])
            live = self.live_after(done, live, op)
            done |= 1 << op
        return peak


def bits(mask: int) -> Iterator[int]:
    """Indices of the set bits, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def make(n: int, values: Iterable[Value], after: Sequence[int]) -> BitGraph:
    """Build the problem; `after[i]` masks predecessors of i beyond those its inputs imply."""
    values = tuple(values)
    preds = list(after)
    out, stays = [0] * n, [0] * n
    reads: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    base = 0
    for value in values:
        if value.maker == GIVEN:
            base += value.size if value.readers or value.kept else 0
        else:
            out[value.maker] += value.size
            stays[value.maker] += value.size if value.readers or value.kept else 0
        for reader in bits(value.readers):
            if value.maker != GIVEN:
                preds[reader] |= 1 << value.maker
            if not value.kept:
                reads[reader].append((value.size, value.readers))
    succs = [0] * n
    for i, mask in enumerate(preds):
        for p in bits(mask):
            succs[p] |= 1 << i
    return BitGraph(
        n=n,
        values=values,
        preds=tuple(preds),
        succs=tuple(succs),
        out=tuple(out),
        stays=tuple(stays),
        reads=tuple(map(tuple, reads)),
        base=base,
    )


def from_graph(graph: Graph) -> BitGraph:
    """The whole main subgraph. Zero-size and constant tensors constrain nothing but the order."""
    n = len(graph.ops)
    maker = {t: op.id for op in graph.ops for t in op.outputs}
    readers: dict[int, int] = {}
    for op in graph.ops:
        for t in op.inputs:
            readers[t] = readers.get(t, 0) | 1 << op.id
    kept = set(graph.outputs)
    values = [
        Value(
            size=t.bytes if in_arena(t) else 0,
            maker=maker.get(t.id, GIVEN),
            readers=readers.get(t.id, 0),
            kept=t.id in kept,
        )
        for t in graph.tensors
        if not t.is_constant and not t.is_variable and (t.id in maker or t.id in graph.inputs)
    ]
    after = [sum(1 << op for op in before) for before in state_order(graph)]
    return make(n, values, after)


def restrict(bg: BitGraph, done: int, ops: Sequence[int]) -> BitGraph:
    """The subproblem of running `ops` (and nothing else) from the state `done`.

    Operator k of the result is `ops[k]`. What lives before and after it is kept or given.
    """
    local = {op: k for k, op in enumerate(ops)}
    inside = sum(1 << op for op in ops)
    values = []
    for value in bg.values:
        given = value.maker == GIVEN or done >> value.maker & 1
        later = value.kept or bool(value.readers & ~(done | inside))
        readers = sum(1 << local[op] for op in bits(value.readers & inside))
        if given and (readers or later):
            values.append(Value(value.size, GIVEN, readers, later))
        elif not given and inside >> value.maker & 1:
            values.append(Value(value.size, local[value.maker], readers, later))
    after = [sum(1 << local[p] for p in bits(bg.preds[op] & inside)) for op in ops]
    return make(len(ops), values, after)
