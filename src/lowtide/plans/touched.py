"""Which rows the steps of a stage touch, and when: what the peak of a stage is counted from.

Why arrays: there are as many stages as pairs of positions in the order of operators, and all that end
at one of them have their steps in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lowtide.rows.table import RowTable

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Touched:
    """A stage's rows, the first and last step that touches each, and the scratch of its steps.

    `lean` is their scratch in the lean form, `nodes` whose steps they are; `touches` is how many rows
    they touch, each step's counted.
    """

    nodes: Ints
    rows: Ints
    start: Ints
    end: Ints
    scratch: Ints
    lean: Ints
    touches: int


class Steps:
    """A sequence of steps as arrays, to be looked at without the nodes before some node."""

    def __init__(self, table: RowTable, steps: Sequence[tuple[int, int]]) -> None:
        self.nodes = np.array([node for node, _ in steps], np.int64)
        self.scratch = np.array([table.scratch[node] for node, _ in steps], np.int64)
        self.lean = np.array([table.lean_scratch[node] for node, _ in steps], np.int64)
        touches = [
            (at, row)
            for at, (node, step) in enumerate(steps)
            for row in (*table.reads[node][step], *table.writes[node][step])
        ]
        pairs = np.array(touches, np.int64).reshape(-1, 2)
        self.at, self.row = pairs[:, 0], pairs[:, 1]
        self.rows = len(table.size)

    def from_node(self, first: int) -> Touched:
        """The steps of the nodes from `first` on."""
        stays = self.nodes >= first
        place = np.cumsum(stays) - 1
        touch = stays[self.at]
        at, row = place[self.at[touch]], self.row[touch]
        # Of equal rows, the one that is assigned last stays.
        start, end = np.full((2, self.rows), -1)
        start[row[::-1]] = at[::-1]
        end[row] = at
        rows = np.flatnonzero(end >= 0)
        return Touched(
            self.nodes[stays],
            rows,
            start[rows],
            end[rows],
            self.scratch[stays],
            self.lean[stays],
            len(row),
        )
