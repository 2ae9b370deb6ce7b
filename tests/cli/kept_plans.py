"""Commands of the same network and options search for its plan once in a process.

Why: pages of the documents and tests of options compile a few networks again and again, and what these
tests look at is what commands print and write. That the search finds the same each time is tested
elsewhere (tests/test_clock.py, tests/end_to_end/test_generated.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lowtide.commands.options import Options
from lowtide.ir import Graph
from lowtide.plans.placer import Point
from lowtide.plans.planner import Plans

Search = Callable[[Plans, Options], Point]

_MOST = 40


_kept: list[tuple[Options, Graph, Point]] = []


def kept(search: Search) -> Search:
    """As `search`, which is `preparing.point_of`; but what was found is not searched again."""

    def point(plans: Plans, options: Options) -> Point:
        if plans.strips and options.max_overhead is None and options.max_ram is None:
            return search(plans, options)  # for a front, which goes on from what was searched
        key, graph = replace(options, name=None), plans.ready.graph
        for at, (known, of, found) in enumerate(_kept):
            if known == key and of == graph:
                _kept.append(_kept.pop(at))
                return found
        _kept.append((key, graph, search(plans, options)))
        del _kept[:-_MOST]
        return _kept[-1][2]

    return point
