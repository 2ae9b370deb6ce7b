"""Plans placed: where their rows lie, with little effort or with much, each plan once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from lowtide.ir.macs import graph_macs
from lowtide.place.rows import FULL, QUICK
from lowtide.plans.cost import CostModel, known_model
from lowtide.plans.placed import PlacedPlan, placed
from lowtide.rows.prepare import Prepared
from lowtide.rows.scheduled import scheduled
from lowtide.rows.stages import Choice

Tell = Callable[[str], None]
"""Is told what is going on."""


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A plan that was placed. `overhead` is its MACs over the network's own; `cost` is what plans are
    compared by, MACs or instructions as a model predicts them."""

    macs: int
    overhead: float
    peak_bytes: int
    choices: tuple[Choice, ...]
    placed: PlacedPlan = field(repr=False)
    cost: int

    @property
    def arena_bytes(self) -> int:
        """Bytes of arena."""
        return self.placed.arena_bytes


class Placer:
    """Places plans of one network, each once; with a `model`, they cost the instructions it predicts.

    `effort` is a factor of what goes into each.
    """

    def __init__(self, ready: Prepared, model: CostModel | None, effort: float, tell: Tell) -> None:
        self.ready = ready
        self._model = model
        self._effort = effort
        self._tell = tell
        self.prices = model or known_model(ready.target.priced_as)
        self._quick: dict[tuple[Choice, ...], Point] = {}
        self._best: dict[tuple[Choice, ...], Point] = {}

    def quick(self, choices: tuple[Choice, ...]) -> Point:
        """The plan of these stages, placed in short time."""
        if choices not in self._quick:
            self._tell(f"placing plan {len(self._quick) + 1}")
            plan = placed(scheduled(self.ready, choices), effort=int(QUICK * self._effort))
            macs = plan.plan.macs
            cost = macs
            if self._model is not None:
                cost = self._model.program(plan.rows.executed)
            own = graph_macs(self.ready.graph) or 1
            self._quick[choices] = Point(
                macs, macs / own, plan.plan.peak_bytes, choices, plan, cost
            )
        return self._quick[choices]

    def best(self, choices: tuple[Choice, ...]) -> Point:
        """The plan of these stages, placed as well as can be."""
        if choices not in self._best:
            quick = best = self.quick(choices)
            if quick.arena_bytes > quick.placed.placement.lower_bound_bytes:
                best = replace(
                    quick, placed=placed(quick.placed.rows, effort=int(FULL * self._effort))
                )
            # More effort goes other ways, which need not be better.
            self._best[choices] = min(best, quick, key=lambda p: p.arena_bytes)
        return self._best[choices]

    def instructions(self, point: Point) -> int | None:
        """Those of a plan, as predicted for the core; None if there is no model of it."""
        model = self.prices
        return None if model is None else model.program(point.placed.rows.executed)
