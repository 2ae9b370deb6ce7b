"""Networks to order, and a judge of orders that shares no code with lowtide's scheduler.

Why: "always equals brute force" says something only if the brute force follows from the definition
alone. In RAM while an operator runs are its outputs, every tensor that it or a later operator reads,
and every graph output already made; before the first one, all graph inputs. `peak_of` and
`brute_force` say that with plain sets.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from lowtide.ir import DType, Graph, Op, Tensor
from lowtide.ir.soundness import verify

GIVEN = -1


def peak_of(graph: Graph, order: Sequence[int]) -> int:
    """Peak bytes of an order. Raises ValueError if it is no valid order of all operators."""
    if sorted(order) != list(range(len(graph.ops))):
        raise ValueError("an order must list every operator once")
    made = dict.fromkeys(graph.inputs, GIVEN)
    read: dict[int, int] = {}
    for step, index in enumerate(order):
        for tensor in _read_by(graph, index):
            if tensor not in made:
                raise ValueError(f"operator {index} reads tensor {tensor} before it is made")
            read[tensor] = step
        made |= dict.fromkeys(graph.ops[index].outputs, step)
    kept = set(graph.outputs)
    peak = sum(_size(graph, tensor) for tensor in set(graph.inputs))
    for step in range(len(order)):
        live = (
            tensor
            for tensor, since in made.items()
            if since == step or (since < step and (tensor in kept or read.get(tensor, -1) >= step))
        )
        peak = max(peak, sum(_size(graph, tensor) for tensor in live))
    return peak


def brute_force(graph: Graph) -> int:
    """The least peak over all orders, by trying them one by one; few operators only.

    An order is given up as soon as it needs as much as the best complete one; nothing else is cut.
    """
    ops = range(len(graph.ops))
    maker = {tensor: op for op in ops for tensor in graph.ops[op].outputs}
    reads = [_read_by(graph, op) for op in ops]
    before = [{maker[tensor] for tensor in reads[op] if tensor in maker} for op in ops]
    tensors = {*graph.inputs, *maker}
    kept = set(graph.outputs)
    known: dict[frozenset[int], int] = {}
    start = sum(_size(graph, tensor) for tensor in set(graph.inputs))
    best = peak_of(graph, ops)  # the file's order is one of them

    def waiting(done: frozenset[int]) -> int:
        """Bytes that must be kept once the operators `done` have run."""
        if done not in known:
            ahead = {tensor for op in ops if op not in done for tensor in reads[op]}
            known[done] = sum(
                _size(graph, tensor)
                for tensor in tensors
                if maker.get(tensor, GIVEN) in {GIVEN, *done}
                and (tensor in kept or tensor in ahead)
            )
        return known[done]

    def go_on(done: frozenset[int], peak: int) -> None:
        nonlocal best
        if len(done) == len(ops):
            best = min(best, peak)
            return
        for op in ops:
            if op not in done and before[op] <= done:
                here = waiting(done) + sum(_size(graph, t) for t in set(graph.ops[op].outputs))
                if max(peak, here) < best:
                    go_on(done | {op}, max(peak, here))

    if start < best:
        go_on(frozenset(), start)
    return best


def _size(graph: Graph, tensor: int) -> int:
    return graph.tensors[tensor].bytes


def _read_by(graph: Graph, op: int) -> set[int]:
    return {t for t in graph.ops[op].inputs if t >= 0 and not graph.tensors[t].is_constant}


class Sketch:
    """Collects tensors and operators, then gives a verified graph."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.ops: list[Op] = []
        self.inputs: list[int] = []

    def tensor(self, *shape: int, data: bytes | None = None) -> int:
        number = len(self.tensors)
        self.tensors.append(Tensor(number, f"t{number}", shape, DType.INT8, data=data))
        return number

    def given(self, *shape: int) -> int:
        """A graph input."""
        self.inputs.append(self.tensor(*shape))
        return self.inputs[-1]

    def op(self, kind: str, inputs: Iterable[int], *shape: int) -> int:
        """An operator with one output of that shape; returns the output."""
        return self.op_of(kind, inputs, [self.tensor(*shape)])[0]

    def op_of(self, kind: str, inputs: Iterable[int], outputs: list[int]) -> list[int]:
        self.ops.append(Op(len(self.ops), kind, tuple(inputs), tuple(outputs)))
        return outputs

    def graph(self, name: str, outputs: Iterable[int]) -> Graph:
        made = Graph(name, tuple(self.tensors), tuple(self.ops), tuple(self.inputs), tuple(outputs))
        return verify(made)


def random_dag(seed: int) -> Graph:
    """Up to 9 operators and all that real graphs have.

    Several graph inputs, some with several consumers, some unread; several outputs of an operator;
    graph outputs that are also read; dead operators; constants; omitted, repeated and empty tensors.
    """
    rng = random.Random(seed)
    sketch = Sketch()
    sizes = rng.choice([(1, 100), (1, 4), (50, 60), (0, 1000)])

    def size() -> int:
        return rng.randint(*sizes) * (20 if rng.random() < 0.1 else 1)

    live = [sketch.given(size()) for _ in range(rng.choice((1, 1, 2, 3)))]
    recent = rng.choice((2, 4, 99))  # how far back an operator looks
    for _ in range(rng.randint(1, 9)):
        pool = live[-recent:] if rng.random() < 0.8 else live
        reads = [rng.choice(pool) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
        if rng.random() < 0.2:
            reads.append(rng.choice((-1, sketch.tensor(8, data=bytes(8)))))
        outputs = [sketch.tensor(size()) for _ in range(rng.choice((1, 1, 1, 1, 2, 3)))]
        live += sketch.op_of("CUSTOM", reads, outputs)
    read = {tensor for op in sketch.ops for tensor in op.inputs}
    last = sketch.ops[-1].outputs
    ends = [t for t in live if rng.random() < (0.1 if t in read else 0.85)]
    return sketch.graph(f"random {seed}", ends or last)


def several_readers(graph: Graph) -> bool:
    """True if a graph input has more than one consumer."""
    return any(sum(t in op.inputs for op in graph.ops) > 1 for t in graph.inputs)


def chain(length: int, seed: int) -> Graph:
    """Operators that each read the one before."""
    rng = random.Random(seed)
    sketch = Sketch()
    at = sketch.given(rng.randint(1, 5000))
    for _ in range(length):
        at = sketch.op("CONV_2D", [at], rng.randint(1, 5000))
    return sketch.graph(f"chain of {length}", [at])


def parallel_branches(sizes: Sequence[Sequence[int]], first: int, *, joined: bool) -> Graph:
    """A branch of convolutions for each list of sizes; they meet in a concat, or are all outputs."""
    sketch = Sketch()
    source = sketch.given(first)
    ends = []
    for branch in sizes:
        at = source
        for size in branch:
            at = sketch.op("CONV_2D", [at], size)
        ends.append(at)
    if joined:
        ends = [sketch.op("CONCATENATION", ends, sum(branch[-1] for branch in sizes))]
    return sketch.graph("parallel branches", ends)


def branch_patterns(branches: int, seeds: int) -> list[tuple[str, list[list[int]]]]:
    """(name, sizes of three operators per branch): structured patterns, then random ones."""
    r = range(branches)
    patterns = [
        ("equal", [[64, 64, 64] for _ in r]),
        ("narrowing", [[96, 48, 24] for _ in r]),
        ("widening", [[24, 48, 96] for _ in r]),
        ("wide in the middle", [[16, 96, 16] for _ in r]),
        ("narrow in the middle", [[96, 16, 96] for _ in r]),
        ("a different peak per branch", [[8 + k, 100 + 7 * k, 20 - k] for k in r]),
        ("powers of two", [[1 << k, 1 << (branches - k), 1 << k] for k in r]),
        ("half narrowing, half widening", [[90, 50, 10][:: 1 - 2 * (k % 2)] for k in r]),
    ]
    for seed in range(seeds):
        rng = random.Random(seed)
        patterns.append((f"random {seed}", [[rng.randint(1, 1000) for _ in range(3)] for _ in r]))
    return patterns


def randomly_wired(operators: int, seed: int) -> Graph:
    """One stage of Xie et al., "Exploring Randomly Wired Neural Networks" (2019), sections 3.3, 4.

    Watts-Strogatz graph WS(K = 4, P = 0.75), edges from the lower to the higher node. A node adds up
    what comes in, then is a separable 3x3 convolution: binary ADDs, DEPTHWISE_CONV_2D, CONV_2D. All
    feature maps are 28 x 28 x 78. As many nodes as fit; 1 x 1 convolutions fill up to `operators`.
    """
    nodes = operators // 3  # a node takes three operators at least, on average
    while True:
        sketch, at = _wired_stage(nodes, seed)
        if len(sketch.ops) <= operators:
            break
        nodes -= 1
    while len(sketch.ops) < operators:
        at = sketch.op("CONV_2D", [at], 1, 28, 28, 78)
    return sketch.graph(f"randomly wired {seed}", [at])


def _wired_stage(nodes: int, seed: int) -> tuple[Sketch, int]:
    rng = random.Random(seed)
    shape = (1, 28, 28, 78)
    edges = {frozenset((i, (i + step) % nodes)) for i in range(nodes) for step in (1, 2)}
    for step in (1, 2):
        for i in range(nodes):
            free = [j for j in range(nodes) if j != i and frozenset((i, j)) not in edges]
            if rng.random() < 0.75 and free:
                edges.discard(frozenset((i, (i + step) % nodes)))
                edges.add(frozenset((i, rng.choice(free))))
    sources: list[list[int]] = [[] for _ in range(nodes)]
    for low, high in sorted(tuple(sorted(edge)) for edge in edges):
        sources[high].append(low)
    sketch = Sketch()
    image = sketch.given(*shape)

    def total(tensors: Sequence[int]) -> int:
        at = tensors[0]
        for tensor in tensors[1:]:
            at = sketch.op("ADD", [at, tensor], *shape)
        return at

    made: list[int] = []
    for node in range(nodes):
        at = total([made[source] for source in sources[node]] or [image])
        made.append(sketch.op("CONV_2D", [sketch.op("DEPTHWISE_CONV_2D", [at], *shape)], *shape))
    ends = set(range(nodes)) - {source for node in sources for source in node}
    return sketch, total([made[node] for node in sorted(ends)])
