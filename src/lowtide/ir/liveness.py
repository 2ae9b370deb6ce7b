"""When each tensor is in RAM, for a given order of the operators.

Why slots: the caller fills the inputs before anything runs, so a moment exists that is no step. Slot
0 is that moment, slot k + 1 is the k-th step of the order. An operator's inputs and outputs are live
together in its slot; a graph output stays to the end; a tensor that nobody reads lives in its
maker's slot alone. These are the rules of paper 1 (section 2.1) and of TFLM's
micro_allocation_info.cc, so one definition serves both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lowtide.ir import Graph, Tensor


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Live in every slot of the half-open interval [start, end)."""

    start: int
    end: int


def in_arena(tensor: Tensor) -> bool:
    """True for what takes space in the arena: neither a constant, nor a variable, nor empty."""
    return not tensor.is_constant and not tensor.is_variable and tensor.bytes > 0


def lifetimes(graph: Graph, order: Sequence[int]) -> dict[int, Lifetime]:
    """Tensor id -> lifetime, for every tensor in the arena that is given, made or read.

    `order` lists all operators, each after the makers of its inputs.
    """
    start: dict[int, int] = dict.fromkeys(graph.inputs, 0)
    last: dict[int, int] = dict.fromkeys(graph.inputs, 0)
    for slot, index in enumerate(order, start=1):
        op = graph.ops[index]
        for tensor in op.outputs:
            start.setdefault(tensor, slot)
            last[tensor] = slot
        for tensor in op.inputs:
            last[tensor] = slot
    for tensor in graph.outputs:
        last[tensor] = len(order)
    return {
        tensor: Lifetime(first, last[tensor] + 1)
        for tensor, first in start.items()
        if in_arena(graph.tensors[tensor])
    }


def working_sets(graph: Graph, order: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Per slot, the ids of the tensors live in it, ascending: slot 0 first, then one per step."""
    sets: list[list[int]] = [[] for _ in range(len(order) + 1)]
    for tensor, life in sorted(lifetimes(graph, order).items()):
        for slot in range(life.start, life.end):
            sets[slot].append(tensor)
    return tuple(map(tuple, sets))


def peak_bytes(graph: Graph, order: Sequence[int]) -> int:
    """The largest sum of live bytes over all slots: the order's peak memory."""
    change = [0] * (len(order) + 2)
    for tensor, life in lifetimes(graph, order).items():
        size = graph.tensors[tensor].bytes
        change[life.start] += size
        change[life.end] -= size
    live = peak = 0
    for delta in change:
        live += delta
        peak = max(peak, live)
    return peak
