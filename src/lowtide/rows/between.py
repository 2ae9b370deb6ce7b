"""What the step program does between the steps of kernels, counted: it goes from node to node, and
exchanges rows with the caller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from lowtide.ir import Graph
from lowtide.lower.counts import Features
from lowtide.lower.nodes import AnyNode, Exchange, Node

Run = tuple[AnyNode, int]
"""A node, and how many of its steps follow each other."""


def runs_of(steps: Iterable[tuple[int, int]], nodes: Sequence[AnyNode]) -> list[Run]:
    """Steps, (node, number of step) pairs, by runs of the same node."""
    return [(nodes[node], sum(1 for _ in of)) for node, of in groupby(steps, lambda of: of[0])]


def begun(executed: Iterable[tuple[Node, int]]) -> int:
    """How often kernels' nodes begin: `executed` are nodes or parts of them, and how often each runs."""
    return sum(times for node, times in executed if node.first == 0)


def exchanged(nodes: Iterable[AnyNode], graph: Graph) -> Features:
    """What is done in any program of `nodes` to exchange rows with the caller."""
    return between(((node, node.steps) for node in nodes if isinstance(node, Exchange)), 0, graph)


def between(runs: Iterable[Run], begin: int, graph: Graph) -> Features:
    """What is done between `runs` of a program of `graph`, whose kernels' nodes `begin` so many times.

    The price of a node holds the first run of its steps; each further one is `again`. The caller gives
    so many rows (`given`) of so many bytes, unless they are in its ring, and takes others (`taken`).
    """
    done = {"again": -begin, "given": 0, "given_bytes": 0, "taken": 0}
    copies = graph.hop is None or not graph.hop.ring
    for node, steps in runs:
        if not isinstance(node, Exchange):
            done["again"] += 1
        elif node.given:
            done["given"] += steps
            done["given_bytes"] += steps * node.port.row_bytes * copies
        else:
            done["taken"] += steps
    return done
