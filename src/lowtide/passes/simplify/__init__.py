"""Exact simplification: what can be left out of a network so that no input gives another output.

Why: every weight, scale and zero point is known when a network is compiled. What follows from them for
every input need not be computed at run time. Nothing is approximated, and nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lowtide.ir.graph import Graph
from lowtide.passes.simplify.aliases import drop_unread
from lowtide.passes.simplify.channels import drop_channels
from lowtide.passes.simplify.clamps import drop_clamps, drop_idle
from lowtide.passes.simplify.constants import fold_constants
from lowtide.passes.simplify.counts import Price
from lowtide.passes.simplify.equal import merge_equal
from lowtide.passes.simplify.result import (
    Always,
    Channels,
    Claim,
    Dropped,
    Holds,
    Kept,
    Pass,
    Same,
    Simplified,
    Unread,
    changed,
    then,
    unchanged,
)
from lowtide.passes.simplify.tables import drop_identities, fold_tables
from lowtide.passes.simplify.undone import drop_moves

__all__ = [
    "FILE_PASSES",
    "PASSES",
    "Always",
    "Channels",
    "Claim",
    "Dropped",
    "Holds",
    "Kept",
    "Pass",
    "Price",
    "Same",
    "Simplified",
    "Unread",
    "changed",
    "priced",
    "simplify",
    "then",
    "unchanged",
]

PASSES: tuple[Pass, ...] = (
    fold_constants,
    drop_identities,
    drop_moves,
    drop_unread,
    merge_equal,
    drop_channels,
    drop_idle,
    drop_clamps,
    fold_tables,
)
"""All passes, in the order in which they are tried."""

FILE_PASSES: tuple[Pass, ...] = (
    fold_constants,
    drop_identities,
    drop_moves,
    drop_unread,
    merge_equal,
    partial(drop_channels, both_roundings=True),
    partial(drop_idle, both_roundings=True),
)
"""Those whose graphs a .tflite file can hold, and that are exact in whichever runtime runs it."""


def priced(price: Price) -> tuple[Pass, ...]:
    """All passes; constant channels stay where a core takes fewer instructions with them.

    `price` is what that core's kernels cost.
    """
    channels = partial(drop_channels, price=price)
    return tuple(channels if known is drop_channels else known for known in PASSES)


def simplify(graph: Graph, passes: Sequence[Pass] = PASSES) -> Simplified:
    """Run `passes` over and over until none of them changes anything, and tell all that they did.

    The graph itself comes back where there is nothing to simplify.
    """
    result = unchanged(graph)
    left = len(passes)  # how many more in a row must find nothing
    at = 0
    while left:
        step = passes[at % len(passes)](result.graph)
        left = left - 1 if step.graph is result.graph else len(passes)
        result = then(result, step)
        at += 1
    return result
