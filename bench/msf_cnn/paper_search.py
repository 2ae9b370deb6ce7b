"""The msf-CNN paper's searches for a fusion setting (its section 6), over its graph of fused blocks.

Why: the answers are worked out here from the costs in `msf_cnn_model` alone, so that agreement with the
published ones means something, and any other `Accounting` can be searched the same way.

Nodes are the places between layers, 0 before the first one. An edge from i to j is the block of the
layers [i, j). A path from the first node to the last is a setting.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.msf_cnn.paper_costs import Accounting, Block, Cost, block_cost, may_fuse


@dataclass(frozen=True, slots=True)
class Edge:
    """The block of the layers [first, stop)."""

    first: int
    stop: int
    cost: Cost


@dataclass(frozen=True, slots=True)
class FusionGraph:
    """`into[node]` are the edges that end there, by where they begin."""

    into: tuple[tuple[Edge, ...], ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """A path: the nodes it visits, its greatest bytes (equation 6), its sum of MACs (equation 7)."""

    cuts: tuple[int, ...]
    cost: Cost


def fusion_graph(layers: Block, accounting: Accounting) -> FusionGraph:
    """G of section 5: every layer alone, and every block that may be fused, with its cost."""
    into: list[tuple[Edge, ...]] = [()]
    for stop in range(1, len(layers) + 1):
        begins = [i for i in range(stop) if may_fuse(layers[i:stop], accounting)]
        edges = (Edge(i, stop, block_cost(layers, i, stop, accounting)) for i in begins)
        into.append(tuple(edges))
    return FusionGraph(tuple(into))


def vanilla(graph: FusionGraph) -> Setting:
    """No block has more than one layer."""
    return _setting(tuple(edges[-1] for edges in graph.into[1:]))


def least_peak(graph: FusionGraph) -> Setting:
    """P1 without a limit: the minimax path (section 6.1)."""
    found = _best_path(graph, lambda edge: edge.cost.bytes, max)
    assert found is not None, "layers alone are a path"
    return found


def heuristic(graph: FusionGraph) -> Setting:
    """MCUNetV2's: the minimax path where only a block at the network's head may be fused."""
    heads = (
        tuple(edge for edge in edges if edge.first in (0, edge.stop - 1)) for edges in graph.into
    )
    return least_peak(FusionGraph(tuple(heads)))


def candidates(graph: FusionGraph, below: int | None = None) -> Iterator[Setting]:
    """S_0, S_1, ... of equations 8 to 10, each once: fewer bytes and no fewer MACs every time.

    The paper takes the path of fewest MACs, removes the edges of most bytes, and so on until there is
    no path. A path stays the best one until an edge of its own goes, so all edges with at least its
    bytes go at once. `below`: edges with at least so many bytes are gone from the start.
    """
    found = _cheapest(graph, below)
    while found is not None:
        yield found
        found = _cheapest(graph, found.cost.bytes)


def least_ram(graph: FusionGraph, most_macs: float) -> Setting | None:
    """P1: of the candidates that keep to `most_macs`, the one with fewest bytes. None if none does.

    The limit itself is allowed, as in the released code; equation 2 says less than it.
    """
    best = None
    for candidate in candidates(graph):
        if candidate.cost.macs > most_macs:
            break
        best = candidate
    return best


def least_macs(graph: FusionGraph, limit: int) -> Setting | None:
    """P2: the path of fewest MACs that stays below `limit` bytes (equation 4). None if there is none.

    Of all paths with as few MACs the one with fewest bytes, as in the released code; section 6.2 has
    no rule for ties.
    """
    best = None
    for candidate in candidates(graph, limit):
        if best is not None and candidate.cost.macs > best.cost.macs:
            break
        best = candidate
    return best


def _cheapest(graph: FusionGraph, below: int | None) -> Setting | None:
    return _best_path(graph, lambda edge: edge.cost.macs, operator.add, below)


def _best_path(
    graph: FusionGraph,
    weight: Callable[[Edge], int],
    join: Callable[[int, int], int],
    below: int | None = None,
) -> Setting | None:
    """The path with the least weights joined, over edges of fewer bytes than `below`.

    Edges lead upwards, so one pass over the nodes does what Dijkstra's algorithm does. Of equal ways
    to a node, it takes that by the node Dijkstra settles first: the nearest, then the lowest.
    """
    distance = {0: 0}
    came_by: dict[int, Edge] = {}
    for node, edges in enumerate(graph.into):
        ways = [
            (join(distance[edge.first], weight(edge)), distance[edge.first], edge.first, edge)
            for edge in edges
            if edge.first in distance and (below is None or edge.cost.bytes < below)
        ]
        if ways:
            distance[node], _, _, came_by[node] = min(ways, key=lambda way: way[:3])
    node = len(graph.into) - 1
    if node not in distance:
        return None
    path: list[Edge] = []
    while node:
        path.append(came_by[node])
        node = came_by[node].first
    return _setting(tuple(reversed(path)))


def _setting(path: tuple[Edge, ...]) -> Setting:
    cost = Cost(max(edge.cost.bytes for edge in path), sum(edge.cost.macs for edge in path))
    return Setting((0, *(edge.stop for edge in path)), cost)
