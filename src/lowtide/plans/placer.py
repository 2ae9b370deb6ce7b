"""Plans placed: where their rows lie, each plan once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from lowtide.ir.macs import graph_macs
from lowtide.place.rows import FULL
from lowtide.plans.cost import CostModel
from lowtide.plans.placed import PlacedPlan, placed
from lowtide.rows.prepare import Prepared
from lowtide.rows.scheduled import scheduled
from lowtide.rows.stages import Choice

Tell = Callable[[str], None]
"""Is told what is going on."""


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A plan of the network `ready` that was placed. `overhead` is its MACs over the network's own; `cost` is the instructions
    that a model predicts of it."""

    macs: int
    overhead: float
    peak_bytes: int
    choices: tuple[Choice, ...]
    placed: PlacedPlan = field(repr=False)
    cost: int
    ready: Prepared = field(repr=False)

    @property
    def arena_bytes(self) -> int:
        """Bytes of arena."""
        return self.placed.arena_bytes

    @property
    def blocks(self) -> int:
        """How many of the operators that run are blocks."""
        return sum(len(choice.blocks) for choice in self.choices)


class Placer:
    """Places plans of one network, each once; they cost the instructions that `model` predicts.

    `effort` is a factor of what goes into each.
    """

    def __init__(self, ready: Prepared, model: CostModel, effort: float, tell: Tell) -> None:
        self.ready = ready
        self.model = model
        self._effort = effort
        self._tell = tell
        self._points: dict[tuple[Choice, ...], Point] = {}

    def place(self, choices: tuple[Choice, ...]) -> Point:
        """The plan of these stages, placed."""
        if choices not in self._points:
            self._tell(f"placing plan {len(self._points) + 1}")
            plan = placed(scheduled(self.ready, choices), effort=int(FULL * self._effort))
            macs, cost = plan.plan.macs, self.model.program(plan.rows.executed)
            times = macs / (graph_macs(self.ready.graph) or 1)
            self._points[choices] = Point(
                macs, times, plan.plan.peak_bytes, choices, plan, cost, self.ready
            )
        return self._points[choices]
