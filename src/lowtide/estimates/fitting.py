"""Which forms kernels run in: those of less scratch memory where that is worth its instructions.

As `plans.forms.fitted` has it, which is what programs get by default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lowtide.estimates.lines import ROOM, Ints, RowsOf, Run, repeated
from lowtide.lower.nodes import AnyNode, Node
from lowtide.plans.cost import CostModel, features
from lowtide.plans.forms import Costs, is_cheap, levels

Arena = Callable[[Sequence[AnyNode], Run, int], int]
"""The arena of nodes in some forms, of a run in which so many bytes are live at the peak then."""

_TRIES = 2
"""As `plans.forms` has it."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What runs, and what it costs; `normal` is that with all kernels in their normal forms. Without a
    price of nodes, none takes any instructions."""

    nodes: tuple[Node, ...]
    costs: Costs
    normal: Costs


def fitted(
    rows: RowsOf,
    stages: Sequence[tuple[int, int]],
    arena: Arena,
    state: int,
    price: Callable[[Node], int] | None,
) -> Fitted:
    """The nodes of `rows` in the forms that they run in, if their groups run in these stages and there
    are `state` bytes beside the arena. Without a `price` of nodes, those that they normally do."""
    run = rows.run(stages)
    live = run.live[run.place]
    peak = max(rows.floor, int(live.max(initial=0)))
    most = arena(rows.nodes, run, peak)
    if price is None:
        return Fitted(_nodes(rows.nodes), Costs(most + state, 0), Costs(most + state, 0))
    spent = sum(price(node) for node in _nodes(rows.nodes))
    now = Costs(most + state, spent)
    beside, formed, fixed = sure = _forms(rows, live)
    others = spent - sum(price(forms[0]) for forms in formed.values())

    def cheap() -> list[tuple[int, int]]:
        tried = levels(beside, formed, max(fixed, rows.floor), peak, price)
        each = ((upto, others + cost) for upto, cost in tried.items() if upto < most)
        return [(upto, cost) for upto, cost in each if is_cheap(Costs(upto + state, cost), now)]

    found = cheap()
    if found and found[0][0] < ROOM * peak:  # pieces may be in the way
        beside, formed, fixed = _forms(rows, rows.in_pieces(run).live[run.place])
        found = cheap()
    for upto, cost in found[:_TRIES]:
        nodes = [
            node.within(min(node.scratch, upto - beside[node.op]))
            if isinstance(node, Node) and node.op in formed
            else node
            for node in rows.nodes
        ]
        needs = (sure[0][n.op] + n.scratch for n in _nodes(nodes) if n.op in formed)
        less = Costs(arena(nodes, run, max([sure[2], rows.floor, *needs])) + state, cost)
        if less.ram < now.ram and is_cheap(less, now):
            return Fitted(_nodes(nodes), less, now)
    return Fitted(_nodes(rows.nodes), now, now)


def _forms(rows: RowsOf, live: Ints) -> tuple[dict[int, int], dict[int, list[Node]], int]:
    """What is live beside the scratch memory of operators whose kernel has several forms, these forms,
    and what all other operators need."""
    most = _by_group(rows, live)
    others = _by_group(rows, live - rows.scratch)
    beside: dict[int, int] = {}
    formed: dict[int, list[Node]] = {}
    fixed = 0
    for number, group in enumerate(rows.groups):
        nodes = _nodes(rows.nodes[group.first : group.last])
        if len(nodes) == 1 and nodes[0].forms:
            beside[group.operator] = others[number]
            formed[group.operator] = [nodes[0], *nodes[0].forms]
        else:
            fixed = max(fixed, most[number])
    return beside, formed, fixed


def _by_group(rows: RowsOf, live: Ints) -> list[int]:
    """The most of `live` in the steps of each group."""
    most = np.zeros(len(rows.groups), np.int64)
    np.maximum.at(most, repeated(np.arange(len(most)), np.diff(rows.of_group)), live)
    found: list[int] = most.tolist()
    return found


def _nodes(nodes: Sequence[AnyNode]) -> tuple[Node, ...]:
    return tuple(node for node in nodes if isinstance(node, Node))


def prices(model: CostModel) -> Callable[[Node], int]:
    """What `model` says that a node costs, worked out once for each that does the same."""
    known = _prices.setdefault(model.core, {})

    def price(node: Node) -> int:
        pointers = sum(port.count for port in (*node.inputs, *node.outputs))
        key = node.kernel, node.works.name, node.steps, pointers, node.work
        found = known.get(key)
        if found is None:
            work = node.work
            exact = work is not None and not work.is_linear
            of = features(node, work.columns, 0) if work and exact else features(node)
            if len(known) >= _MOST:
                known.clear()
            known[key] = found = round(model.of(node.kernel, of))
        return found

    return price


_prices: dict[str, dict[tuple[object, ...], int]] = {}

_MOST = 1 << 14
"""How many prices of a core are remembered."""
