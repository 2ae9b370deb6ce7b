"""Which forms kernels run in by default, in a plan whose stages are known.

As `plans.planner.default` has it, without its choice of stages: the smallest forms that are worth their
instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from lowtide.lower.nodes import Node
from lowtide.plans.worth import Costs, is_worth
from lowtide.rows.table import Ints


def beside_scratch(
    live: Ints, scratch: Ints, operators: Ints, formed: Collection[int]
) -> tuple[dict[int, int], int]:
    """The most that is live beside the scratch memory of each operator that is `formed`, and in the
    steps of all others; by step, `live` and `scratch` are in bytes, and an exchange's operator is -1."""
    others = ~np.isin(operators, list(formed))
    most = np.zeros(max(formed, default=0) + 1, np.int64)
    np.maximum.at(most, operators[~others], (live - scratch)[~others])
    return {op: int(most[op]) for op in formed}, int(live[others].max(initial=0))


def levels(
    beside: Mapping[int, int],
    formed: Mapping[int, Sequence[Node]],
    fixed: int,
    price: Callable[[Node], int],
) -> dict[int, int]:
    """Bytes of arena, the fewest first -> what operators that have several forms cost in the quickest
    ones that have room then, each less than the one before.

    `formed` are these forms; `beside` is the most that is live beside an operator's scratch memory, and
    `fixed` what all others need.
    """
    least = max([fixed, *(beside[op] + min(n.scratch for n in of) for op, of in formed.items())])
    now: dict[int, int] = {}
    wider: list[tuple[int, int, int]] = []
    for op, of in formed.items():
        each = [(beside[op] + node.scratch, price(node)) for node in of]
        now[op] = min(cost for need, cost in each if need <= least)
        wider += [(need, op, cost) for need, cost in each if need > least and cost < now[op]]
    total = sum(now.values())
    found = {least: total}
    for need, op, cost in sorted(wider):
        if cost < now[op]:
            total += cost - now[op]
            now[op] = cost
            found[need] = total
    return found


def cheapest_within(of: Sequence[Node], scratch: int, price: Callable[[Node], int]) -> Node:
    """The quickest form that fits so many bytes, of equal ones that of least scratch memory."""
    return min((n for n in of if n.scratch <= scratch), key=lambda n: (price(n), n.scratch))


def worth_most(found: Mapping[int, int], others: int, beside: int) -> int:
    """The fewest bytes of arena that are worth their instructions: `found` are `levels`, of a network
    whose other operators cost `others`, with so many bytes `beside` the arena."""
    each = {most: Costs(most + beside, others + cost) for most, cost in found.items()}
    quickest = min(costs.instructions for costs in each.values())
    return next(
        most
        for most, costs in each.items()
        if all(is_worth(costs, other, quickest) for other in each.values())
    )
