"""The best paths through the stages of a network, for every RAM there is.

A plan is a path over positions in the order of the operators, from edge to edge of a `Space`.
`unbeaten_paths` walks RAM from above: the cheapest path whose edges all need less than the last path's
peak, until there is none. This is exact over the edges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from lowtide.plans.space import Edge, Space
from lowtide.rows.prepare import Prepared
from lowtide.rows.stages import Choice


@dataclass(frozen=True, slots=True)
class Path:
    """A plan: its edges, the most that one of them needs in bytes, its MACs and its cost."""

    edges: tuple[Edge, ...]
    peak: int
    macs: int
    cost: int = 0


def unbeaten_paths(space: Space) -> list[Path]:
    """Every plan that nothing beats in peak, cost and lean operators; the cheapest first."""
    found: list[Path] = []
    limit: int | None = None
    while (path := cheapest(space, limit)) is not None:
        found.append(path)
        limit = path.peak - 1
    return found


def cheapest(
    space: Space,
    limit: int | None = None,
    *,
    needs: Mapping[Edge, int] = MappingProxyType({}),
    blocks: bool = True,
) -> Path | None:
    """The plan of least cost whose peak is at most `limit` bytes; if not `blocks`, one without them.

    Of those the one with the least cost in lean form or blocks, and of those the one of least peak.
    Edges of which `needs` says what they need count with that instead of their peak: rows have to be
    placed.
    """
    n = space.count
    best: list[tuple[int, int, int] | None] = [(0, 0, 0)] + [None] * n
    came: list[Edge | None] = [None] * (n + 1)
    for last in range(1, n + 1):
        least: tuple[int, int, int] | None = None
        for first, between in space.best[last - 1].items():
            before = best[first]
            if before is None:
                continue
            for edge in between:
                need = needs.get(edge, edge.peak) if needs else edge.peak
                if (limit is not None and need > limit) or (edge.blocks and not blocks):
                    continue
                slow = before[1] + edge.slow
                cost = (before[0] + edge.cost, slow, max(before[2], need))
                if least is None or cost < least:
                    least, came[last] = cost, edge
        best[last] = least
    end = best[n]
    if end is None:
        return None
    edges: list[Edge] = []
    at = n
    while at:
        step = came[at]
        assert step is not None
        edges.append(step)
        at = step.first
    macs = sum(edge.macs for edge in edges)
    return Path(tuple(edges[::-1]), end[2], macs, end[0])


def choices_of(path: Path, ready: Prepared) -> tuple[Choice, ...]:
    """The stages of a path."""
    return tuple(ready.choice(e.operators, e.width, lean=e.lean) for e in path.edges)
