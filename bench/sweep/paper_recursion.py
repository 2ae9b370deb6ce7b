"""The peer: the least peak memory of operators in any order, as "Operator reordering" has it.

Why written here: architecture searches compute that paper's Algorithm 1 for every candidate in plain
Python. This is its recursion over sets of tensors, undone operator by operator from the outputs, with
the results of sets kept. One thing differs from the paper's lines: tensors that nothing makes stay in
the set, as an input that is read a second time would be counted twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from lowtide.ir import Graph


class GaveUpError(Exception):
    """There was no answer within the limit."""


def least_peak(graph: Graph, limit: float) -> int:
    """Bytes at the peak of the best order. Raises GaveUpError after `limit` seconds of CPU time."""
    end = time.process_time() + limit
    size = {tensor.id: tensor.bytes for tensor in graph.tensors}
    producer = {out: op for op in graph.ops for out in op.outputs}
    reads = {
        out: frozenset(t for t in op.inputs if not graph.tensors[t].is_constant)
        for out, op in producer.items()
    }
    before = _predecessors(reads)
    known: dict[frozenset[int], int] = {}

    def mem(tensors: frozenset[int]) -> int:
        if tensors in known:
            return known[tensors]
        if time.process_time() > end:
            raise GaveUpError
        made = [x for x in tensors if x in producer]
        if not made:
            return sum(size[t] for t in tensors)
        least: int | None = None
        for x in made:
            rest = tensors - {x}
            if any(x in before(r) for r in rest):
                continue  # its operator would have to run twice
            needed = rest | reads[x]
            peak = max(mem(needed), sum(size[t] for t in needed | {x}))
            least = peak if least is None else min(least, peak)
        assert least is not None
        known[tensors] = least
        return least

    return mem(frozenset(graph.outputs))


def _predecessors(
    reads: dict[int, frozenset[int]],
) -> Callable[[int], frozenset[int]]:
    """Which tensors a tensor needs, directly or not."""
    known: dict[int, frozenset[int]] = {}

    def before(tensor: int) -> frozenset[int]:
        if tensor not in known:
            direct = reads.get(tensor, frozenset())
            known[tensor] = direct.union(*(before(t) for t in direct))
        return known[tensor]

    return before
