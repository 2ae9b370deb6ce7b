"""Commands of the same network and options search for its plan once in a process.

Why: pages of the documents and tests of options compile a few networks again and again, and what these
tests look at is what commands print and write. That the search finds the same each time is tested
elsewhere (tests/test_clock.py, tests/end_to_end/test_generated.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from lowtide.commands import compiling
from lowtide.commands.compiling import Options
from lowtide.ir import Graph
from lowtide.plans.placer import Point
from lowtide.plans.planner import Plans

_MOST = 40


@pytest.fixture(scope="session", autouse=True)
def _plans_are_kept() -> Iterator[None]:
    search, kept = compiling._point, list[tuple[Options, Graph, Point]]()

    def point(plans: Plans, options: Options) -> Point:
        if plans.strips and options.max_overhead is None and options.max_ram is None:
            return search(plans, options)  # for a front, which goes on from what was searched
        key, graph = replace(options, name=None), plans.ready.graph
        for at, (known, of, found) in enumerate(kept):
            if known == key and of == graph:
                kept.append(kept.pop(at))
                return found
        kept.append((key, graph, search(plans, options)))
        del kept[:-_MOST]
        return kept[-1][2]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "_point", point)
        yield
