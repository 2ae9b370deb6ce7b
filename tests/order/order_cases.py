"""Random ordering problems, and the definition of the best order, written down as it stands.

Nothing here uses `lowtide.order`: memory is a sum over sets of tensors, and the optimum is a
minimum over all sets of finished operators. Slow, and short enough to be believed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from random import Random

from lowtide.ir import DType, Graph, Op, Tensor

STATEFUL = ("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")


def graph_of(
    sizes: Sequence[int],
    ops: Sequence[tuple[Sequence[int], Sequence[int]]],
    inputs: Sequence[int] = (0,),
    outputs: Sequence[int] = (),
) -> Graph:
    """A graph of int8 tensors of `sizes` bytes, from (inputs, outputs) of each operator."""
    return Graph(
        name="case",
        tensors=tuple(Tensor(i, f"t{i}", (size,), DType.INT8) for i, size in enumerate(sizes)),
        ops=tuple(Op(i, "ADD", tuple(ins), tuple(outs)) for i, (ins, outs) in enumerate(ops)),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
    )


def random_graph(rng: Random, most: int = 9) -> Graph:
    """Up to `most` operators: several outputs or none, dead ends, inputs of all kinds, state.

    Ids of tensors are shuffled; sizes come from one of several patterns, equal ones and 0 included.
    """
    patterns: list[Callable[[], int]] = [
        lambda: rng.choice((0, 1, 2, 3)),
        lambda: rng.randint(1, 100),
        lambda: rng.choice((1, 1, 1, 50)),
        lambda: 1 << rng.randrange(8),
    ]
    size = rng.choice(patterns)
    count = rng.randint(1, most)
    width = rng.choice((1, 2, count))  # how far back operators read: chains to wide graphs
    tensors: list[dict[str, object]] = [{"shape": (size(),)} for _ in range(rng.randint(0, 3))]
    given = len(tensors)
    constants = [len(tensors) + i for i in range(rng.choice((0, 0, 1)))]
    tensors += [{"shape": (3,), "data": b"abc"} for _ in constants]
    variables = [len(tensors) + i for i in range(rng.choice((0, 0, 0, 1, 2)))]
    tensors += [{"shape": (5,), "is_variable": True} for _ in variables]
    usable = list(range(given))
    ops: list[tuple[str, list[int], list[int]]] = []
    for _ in range(count):
        recent = usable[:given] + usable[given:][-2 * width :]
        ins = (
            [rng.choice(recent) for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 0)))] if recent else []
        )
        ins += [t for t in (*constants, *variables) if rng.random() < 0.3]
        ins += [-1] * rng.choice((0, 0, 1))
        outs = list(range(len(tensors), len(tensors) + rng.choice((1, 1, 1, 1, 2, 3, 0))))
        tensors += [{"shape": (size(),)} for _ in outs]
        usable += outs
        kind = rng.choice(("ADD", "SVDF")) if set(ins).intersection(variables) else "ADD"
        ops.append((rng.choice(STATEFUL) if rng.random() < 0.04 else kind, ins, outs))
    read = {t for _, ins, _ in ops for t in ins}
    kept = [t for t in usable if rng.random() < (0.1 if t in read else 0.6)]
    new = list(range(len(tensors)))
    rng.shuffle(new)
    new.append(-1)  # new[-1] == -1: an omitted input stays one
    built = [Tensor(new[i], "", dtype=DType.INT8, **t) for i, t in enumerate(tensors)]  # type: ignore[arg-type]  # fields of different types
    return Graph(
        name="random",
        tensors=tuple(sorted(built, key=lambda t: t.id)),
        ops=tuple(
            Op(k, kind, tuple(new[t] for t in ins), tuple(new[t] for t in outs))
            for k, (kind, ins, outs) in enumerate(ops)
        ),
        inputs=tuple(new[t] for t in range(given)),
        outputs=tuple(new[t] for t in kept),
    )


class Definition:
    """The problem of `graph` by the definition: what is in RAM when, and what may run when."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.all = frozenset(range(len(graph.ops)))
        self.maker = {t: op.id for op in graph.ops for t in op.outputs}
        self.readers = {
            t.id: frozenset(op.id for op in graph.ops if t.id in op.inputs) for t in graph.tensors
        }
        self.before = {op.id: self._predecessors(op) for op in graph.ops}

    def _predecessors(self, op: Op) -> frozenset[int]:
        """Makers of inputs; of operators that share state, those that come earlier in the file, if one
        of the two may change it."""
        found = {self.maker[t] for t in op.inputs if t in self.maker}
        for other in self.graph.ops[: op.id]:
            shared = set(op.inputs) & set(other.inputs)
            kinds = {op.type, other.type}
            seen = any(t >= 0 and self.graph.tensors[t].is_variable for t in shared)
            if seen and kinds & {"SVDF", "VAR_HANDLE", "ASSIGN_VARIABLE"}:
                found.add(other.id)
            if self._hidden(op) and self._hidden(other):
                found.add(other.id)
        return frozenset(found)

    def _hidden(self, op: Op) -> bool:
        """Whether its state is in no tensor that we see."""
        seen = any(t >= 0 and self.graph.tensors[t].is_variable for t in op.inputs)
        return op.type in STATEFUL and not (seen and op.type != "VAR_HANDLE")

    def size(self, tensor: int) -> int:
        """Bytes in the arena."""
        value = self.graph.tensors[tensor]
        return 0 if value.is_constant or value.is_variable else value.bytes

    def between(self, done: frozenset[int]) -> set[int]:
        """Tensors in RAM after the operators in `done`, and before any other."""
        there = {t for t, op in self.maker.items() if op in done} | set(self.graph.inputs)
        return {t for t in there if self.readers[t] - done or t in self.graph.outputs}

    def during(self, done: frozenset[int], op: int) -> int:
        """Bytes in RAM while `op` runs after the operators in `done`."""
        live = self.between(done) | set(self.graph.ops[op].outputs)
        return sum(self.size(t) for t in live)

    @property
    def given(self) -> int:
        """Bytes before anything runs: all graph inputs, used or not."""
        return sum(self.size(t) for t in set(self.graph.inputs))

    def can_run(self, done: frozenset[int], op: int) -> bool:
        return op not in done and self.before[op] <= done

    def peak(self, order: Sequence[int]) -> int:
        """Peak of a complete order, which must be a valid one."""
        done: frozenset[int] = frozenset()
        peak = self.given
        for op in order:
            assert self.can_run(done, op)
            peak = max(peak, self.during(done, op))
            done |= {op}
        assert done == self.all
        return peak

    def states(self) -> dict[frozenset[int], int]:
        """Every set of operators that can be finished -> least peak of the orders that finish it."""
        best = {frozenset[int](): 0}
        layer = [frozenset[int]()]
        while layer:
            following = []
            for done in layer:
                for op in self.all - done:
                    if self.before[op] <= done:
                        peak = max(best[done], self.during(done, op))
                        after = done | {op}
                        if after not in best:
                            following.append(after)
                        best[after] = min(best.get(after, peak), peak)
            layer = following
        return best

    def optimum(self) -> int:
        """The least peak of all orders."""
        return max(self.given, self.states()[self.all])


@cache
def definition(seed: int, most: int = 9) -> Definition:
    """The problem of the random graph number `seed`."""
    return Definition(random_graph(Random(seed), most))
