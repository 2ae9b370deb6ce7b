"""A plan as it will run, without its rows placed: when they are live, and which forms kernels run in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from lowtide.estimates.forms import beside_scratch, cheapest_within, levels, worth_most
from lowtide.lower.nodes import AnyNode, Node
from lowtide.place.row_boxes import ROOM, modest
from lowtide.plans.cost import CostModel, features
from lowtide.plans.peaks import GroupedRows
from lowtide.plans.worth import Costs
from lowtide.rows.stages import Segment, demand, ends_bytes, live_in, row_spans
from lowtide.rows.table import Ints, RowTable


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Steps in the order in which they run: step k of all in slot `slot[k]`. Row r is live in slots
    `start[r]` to `end[r]` - 1, as `rows.stages.row_spans` has them; in slot t, `live[t]` bytes are,
    scratch memory included."""

    slot: Ints
    start: Ints
    end: Ints
    live: Ints


def timeline_of(table: RowTable, stages: Sequence[Segment]) -> Timeline:
    """All steps, if nodes run in these stages. What is kept is one piece, from its first row on."""
    order = [node for stage in stages for node in demand(table, stage.first, stage.last)]
    slot = np.argsort(order, kind="stable").astype(np.int64) + 1
    start, end = row_spans(table, slot)
    for cut in table.cuts:
        if cut.first in table.kept:
            start[cut.first : cut.first + cut.count] = start[
                cut.first : cut.first + cut.count
            ].min()
    there = end > 0
    live = live_in(start[there], end[there], table.sizes[there], len(slot) + 1)
    live[slot] += table.step_scratch
    return Timeline(slot, start, end, live)


@dataclass(frozen=True, slots=True)
class Formed:
    """What runs, and what it costs."""

    nodes: tuple[Node, ...]
    costs: Costs


def formed(
    all_nodes: Sequence[AnyNode],
    rows: GroupedRows,
    run: Timeline,
    gap: int,
    state: int,
    price: Callable[[Node], int],
) -> Formed:
    """Nodes in the forms that they run in, if there are `state` bytes beside the arena and a `gap` in it
    that no row fits; `rows` are those that they touch."""
    floor = ends_bytes(rows.table)
    peak = max(floor, int(run.live.max(initial=0)))
    single = ((g.operator, _nodes(all_nodes[g.first : g.last])) for g in rows.groups)
    every = {op: (of[0], *of[0].forms) for op, of in single if len(of) == 1 and of[0].forms}
    forms = {op: tuple(form for form in of if not form.is_spare) for op, of in every.items()}
    operators = np.array([group.operator for group in rows.groups], np.int64)[rows.group_of]
    scratch = rows.table.step_scratch
    others = sum(price(node) for node in _nodes(all_nodes) if node.op not in forms)
    beside, fixed = beside_scratch(run.live[run.slot], scratch, operators, forms)
    most = worth_most(levels(beside, forms, max(fixed, floor), price), others, state)
    if most < ROOM * peak:  # pieces may be in the way
        apart = rows.table.kept | rows.table.given
        _, live = modest(rows.table, run.start, run.end, run.live, apart)
        beside, fixed = beside_scratch(live[run.slot], scratch, operators, forms)
        most = worth_most(levels(beside, forms, max(fixed, floor), price), others, state)
    nodes = [
        cheapest_within(every[node.op], most - beside[node.op], price)
        if isinstance(node, Node) and node.op in forms
        else node
        for node in all_nodes
    ]
    spent = sum(map(price, _nodes(nodes)))
    return Formed(_nodes(nodes), Costs(most + gap + state, spent))


def _nodes(nodes: Sequence[AnyNode]) -> tuple[Node, ...]:
    return tuple(node for node in nodes if isinstance(node, Node))


def prices(model: CostModel) -> Callable[[Node], int]:
    """What `model` says that a node costs, worked out once for each."""

    def price(node: Node) -> int:
        work = node.work
        exact = work is not None and not work.is_linear
        of = features(node, work.columns, 0) if work and exact else features(node)
        return round(model.of(node.kernel, of))

    return cache(price)
