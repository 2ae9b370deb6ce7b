"""Every stage of a small network in every form of its operators, assembled, and all plans made of them.

Why stages and not plans: what a stage needs and costs does not depend on the others
(`test_plans_are_the_sum_of_their_stages`), so that all plans are known from all stages, the best for a
limit from the best stages of each cut.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby, pairwise, product
from unittest.mock import patch

from strip_nets import (
    all_edges,
    all_read,
    forms,
    ready,
    scratch_changes,
    singles,
    space_of,
    widths_of,
)

from assembled import FREE
from lowtide.errors import UsageError
from lowtide.ir.macs import op_macs
from lowtide.lower.nodes import NORMAL, Node
from lowtide.plans.cost import CostModel, Executed, FormCost, load_model
from lowtide.plans.edges import Edge
from lowtide.plans.placed import placed
from lowtide.plans.space import Space
from lowtide.program.assemble import assemble_placed
from lowtide.rows.between import exchanged
from lowtide.rows.prepare import Prepared
from lowtide.rows.scheduled import Scheduled, scheduled
from lowtide.rows.stages import Choice, Limit, Stage
from lowtide.target import ANY

Cut = tuple[int, ...]
"""The groups at which stages begin, and how many there are."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A stage in some forms, `edge` in the space: what the search says of its peak and cost, and what it
    needs, costs and computes in a program.

    `same` says that the search can know what is live: strips use the scratch memory of whole operators,
    and somebody reads all that they make. `priced` says that it can know what is run: in strips no
    blocks, and the kernels of any core.
    """

    edge: Edge
    choice: Choice
    predicted: tuple[int, int]
    peak: int
    cost: int
    macs: int
    same: bool
    priced: bool


Figures = Callable[[Staged], tuple[int, int]]
"""What a stage needs in bytes, and what it costs."""


def once(again: Collection[int]) -> Figures:
    """What stages need in programs, at no cost; those that compute something twice, as blocks in `again`
    do, need more than there is."""

    def figures(stage: Staged) -> tuple[int, int]:
        edge = stage.edge
        return (_MOST if edge.width or set(again) & set(edge.operators) else stage.peak), 0

    return figures


_MOST = 1 << 60


@dataclass(frozen=True, slots=True)
class Known:
    """A network, its space, and all its stages by their first group and the one after the last."""

    of: Prepared
    model: CostModel
    space: Space
    stages: dict[tuple[int, int], list[Staged]]

    @property
    def all(self) -> list[Staged]:
        """All stages."""
        return [stage for found in self.stages.values() for stage in found]

    @property
    def cuts(self) -> Iterator[Cut]:
        """All cuts of the operators into stages that there are."""
        count = len(self.of.groups)
        for bits in range(1 << max(0, count - 1)):
            cut = (0, *(n for n in range(1, count) if bits >> (n - 1) & 1), count)
            if all(self.stages[pair] for pair in pairwise(cut)):
                yield cut

    def least(self, limit: int, figures: Figures | None = None) -> int | None:
        """The least cost of a plan whose stages need at most `limit` bytes each, by what the search says
        of them, or by other `figures`; None if there is none."""
        of = figures or (lambda stage: stage.predicted)
        least_of = {
            pair: min((cost for peak, cost in map(of, found) if peak <= limit), default=None)
            for pair, found in self.stages.items()
        }
        sums = []
        for cut in self.cuts:
            each = [least_of[pair] for pair in pairwise(cut)]
            if None not in each:
                sums.append(sum(cost for cost in each if cost is not None))
        return min(sums, default=None)


def known(seed: int, core: str = "any", prices: str = "") -> Known:
    """Every stage of the small network of that number, lowered for `core`, at its prices or those of
    another one. Each operator is in one form from its first step to its last."""
    return _known(seed, core, prices)


@cache
def _known(seed: int, core: str, prices: str) -> Known:
    of = ready(seed, small=True, core=core)
    model = load_model(prices or of.target.priced_as)
    with patch("lowtide.plans.space.PARTS", 1):
        space = space_of(of, model=model)
    edges = {(e.operators, e.width): e for e in all_edges(space)}
    count = len(of.groups)
    stages = {
        (first, last): list(_stages_of(of, model, edges, first, last))
        for last in range(1, count + 1)
        for first in range(last)
    }
    assert edges == {}, "the space has stages that cannot be"
    return Known(of, model, space, stages)


def _stages_of(
    of: Prepared,
    model: CostModel,
    edges: dict[tuple[tuple[int, ...], int | None], Edge],
    first: int,
    last: int,
) -> Iterator[Staged]:
    """Those of groups [first, last), whose `edges` are taken out."""
    for operators in forms(of, first, last):
        for width in widths_of(of, operators):
            try:
                _rows(of, of.choice(operators, width), first, last)
            except UsageError:
                assert (operators, width) not in edges
            else:
                yield from _in_all_forms(of, model, edges.pop((operators, width)))


def _rows(of: Prepared, choice: Choice, first: int, last: int) -> Scheduled:
    """The stage, and all else operator by operator."""
    count = len(of.groups)
    return scheduled(of, (*singles(of, 0, first), choice, *singles(of, last, count)))


def _in_all_forms(of: Prepared, model: CostModel, edge: Edge) -> Iterator[Staged]:
    formed = edge.formed()
    whole = model.prices(n for op in edge.operators if op >= 0 for n in of.lowered[op].nodes)
    others = [
        op_macs(of.graph, of.graph.ops[op])
        for at, group in enumerate(of.groups)
        for op in (group.operator,)
        if op >= 0 and not edge.first <= at < edge.last
    ]
    for which in product(*(range(len(each.needs)) for each in formed)):
        both = list(zip(formed, which, strict=True))
        limits = [(each.operator, each.limits[at]) for each, at in both]
        choice = of.choice(
            edge.operators, edge.width, [Limit(*of) for of in limits if of[1] != NORMAL]
        )
        rows = _rows(of, choice, edge.first, edge.last)
        program = assemble_placed(of, placed(rows, FREE, effort=0))
        chosen = {each.operator: whole[each.operator].forms[at] for each, at in both}
        same = edge.width is None or (
            all_read(of, rows.choices, choice) and not scratch_changes(of, program, chosen)
        )
        cost = edge.cost + sum(each.costs[at] - min(each.costs) for each, at in both)
        peak = max([edge.least, *(each.needs[at] for each, at in both)])
        stage = rows.plan.stages[edge.first]
        yield Staged(
            edge,
            choice,
            (peak, cost),
            stage.peak_bytes,
            _cost(model, rows, stage),
            rows.plan.macs - sum(others),
            same,
            not edge.width or (of.target.core == ANY.core and not edge.blocks),
        )


def quickest(of: Prepared, edge: Edge) -> dict[int, FormCost]:
    """Of its operators that have several forms, the one that each is in where there is room."""
    prices = load_model(of.target.priced_as).prices(
        node for op in edge.operators for node in of.lowered[op].nodes
    )
    return {
        each.operator: prices[each.operator].forms[each.within(1 << 60)] for each in edge.formed()
    }


def _cost(model: CostModel, rows: Scheduled, stage: Stage) -> int:
    """What the kernels of a stage cost, and each run of a node's steps but the first in its strip."""
    cost, again, at = 0, 0, 0
    for segment in rows.plan.segments:
        nodes = range(segment.first, segment.last)
        count = sum(rows.nodes[node].steps for node in nodes)
        order = [node for node, _ in rows.plan.steps[at : at + count]]
        at += count
        if stage.first <= segment.first < stage.last:
            kernels = {at: of for at in nodes if isinstance(of := rows.nodes[at], Node)}
            runs = sum(1 for node, _ in groupby(order) if node in kernels)
            again += segment.times * (runs - len(kernels))
            cost += segment.times * sum(map(model.node, kernels.values()))
    return cost + again * model.again


def cost_of(found: Known, program: Executed) -> int:
    """What a program costs besides the exchange of rows with the caller, which is the same in all."""
    return found.model.run(program) - found.model.between(exchanged(found.of.nodes, found.of.graph))
