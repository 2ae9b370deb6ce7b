"""Of how many tensors a window that slides keeps rows: what limits of RAM and work ask for.

Why outside of the planner: each choice is a graph of its own (`passes.hop`), with plans of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lowtide.commands.known import Known
from lowtide.commands.options import Options
from lowtide.commands.preparing import point_of, searched
from lowtide.errors import InfeasibleError
from lowtide.ir import Model
from lowtide.plans import planner
from lowtide.plans.placer import Point, Tell


def settled(model: Model, options: Options, known: Known, tell: Tell = lambda _: None) -> Options:
    """`options` that say of how many tensors rows are kept, where limits leave that open.

    Raises InfeasibleError if no choice meets the limits.
    """
    if options.hop is None or options.keep is not None or not options.limited:
        return options
    hop = best_of(model, options, known, tell).ready.graph.hop
    assert hop is not None
    return replace(options, keep=hop.kept)


def best_of(model: Model, options: Options, known: Known, tell: Tell) -> Point:
    """The plan that limits ask for of all that there are, whatever is kept, if that is left open.

    Raises InfeasibleError if there is none.
    """
    found: list[Point] = []
    refused: InfeasibleError | None = None
    ways = [
        (way, searched(model, way, tell=tell, known=known).plans) for way in _ways(options, known)
    ]
    for way, plans in ways:
        asked = way
        if options.max_overhead is not None and options.keep is None:
            # Over the work of the way that keeps most, and not of this one.
            least = ways[-1][1].own(options.cost)
            times = options.max_overhead * least / plans.own(options.cost)
            if times < 1:
                continue
            asked = replace(way, max_overhead=times)
        try:
            found.append(point_of(plans, asked))
        except InfeasibleError as error:
            refused = refused or error  # that of the least state
    if not found:
        assert refused is not None
        raise refused
    if options.max_ram is not None or options.fastest:
        return min(found, key=lambda p: (p.cost, p.ram_bytes))
    return min(found, key=lambda p: (p.ram_bytes, p.cost))


def fronts(
    model: Model, options: Options, known: Known, tell: Tell, apart: float = 0.0
) -> list[Point]:
    """The plans that no other beats in RAM, instructions and MACs, whatever is kept; cheapest first.
    Their overhead is that over the way that keeps most. `apart` is as for `planner.front`."""
    ways: Sequence[Options] = (options,)
    if options.hop is not None and options.keep is None:
        ways = tuple(_ways(options, known))
    each = [searched(model, way, overlap=True, tell=tell, known=known).plans for way in ways]
    tried = [point for plans in each for point in planner.front(plans, apart)]
    if len(ways) == 1:
        return tried
    tried.sort(key=lambda p: (p.cost, p.ram_bytes, p.macs))
    found: list[Point] = []
    for point in tried:
        if all(p.ram_bytes > point.ram_bytes or p.macs > point.macs for p in found):
            found.append(replace(point, overhead=each[-1].times(point, "macs")))
    return found


def _ways(options: Options, known: Known) -> Iterator[Options]:
    """The options for each number of tensors that there can be, the least first."""
    hop = known.passed(options).graph.hop
    assert hop is not None
    if options.keep is not None:
        return iter((options,))
    return (replace(options, keep=keep) for keep in range(hop.most + 1))
