"""Plans of one network: their steps in order, and where their rows lie; each plan once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from lowtide.ir.macs import graph_macs
from lowtide.lower.nodes import Node
from lowtide.place.layout import RowLayouts
from lowtide.place.rows import FULL, QUICK
from lowtide.place.variables import state_bytes, variables_of
from lowtide.plans.changes import Worth
from lowtide.plans.cost import CostModel, OperatorCosts
from lowtide.plans.placed import PlacedPlan, layouts_of, placed
from lowtide.plans.refills import flash_model, refilled_by
from lowtide.plans.space import prices_of
from lowtide.rows.between import exchanged
from lowtide.rows.prepare import Prepared
from lowtide.rows.scheduled import Scheduled, scheduled
from lowtide.rows.stages import Choice

_KEPT = 5_000_000
"""Layouts are kept, so that more effort begins with what less has found, until so many pairs of rows are
live together in them: about 40 MB. Then the oldest go."""

_WORTH_FULL = 0.02
"""A plan that lies above its bound by this part of it, placed quickly, is worth the full effort."""

Tell = Callable[[str], None]
"""Is told what is going on."""


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A plan whose rows lie nowhere yet. If there is room for all that is wanted of it, a model predicts
    that its `kernels` take so many instructions, and so many the step program `between` their steps,
    that it reads so many bytes of slow flash into the part's cache (None: not known), and `waits` so
    many cycles for them."""

    rows: Scheduled = field(repr=False)
    kernels: int
    between: int
    refilled_bytes: int | None
    waits: int

    @property
    def cost(self) -> int:
        """Instructions, and cycles of waiting for flash."""
        return self.kernels + self.between + self.waits

    @property
    def macs(self) -> int:
        """MACs that it computes."""
        return self.rows.plan.macs

    @property
    def peak_bytes(self) -> int:
        """The most that is live in it."""
        return self.rows.plan.peak_bytes


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A plan of the network `ready` that was placed. `overhead` is its MACs over the network's own;
    `cost` is the `instructions` that a model predicts of it, and the cycles of waiting for slow flash,
    of which it reads `refilled_bytes` into the part's cache (None: not known). Of the instructions, the
    step program takes so many `between` the steps of kernels."""

    macs: int
    overhead: float
    peak_bytes: int
    choices: tuple[Choice, ...]
    placed: PlacedPlan = field(repr=False)
    cost: int
    ready: Prepared = field(repr=False)
    instructions: int
    refilled_bytes: int | None
    between: int

    @property
    def waits(self) -> int:
        """Cycles of waiting for slow flash."""
        return self.cost - self.instructions

    @property
    def arena_bytes(self) -> int:
        """Bytes of arena."""
        return self.placed.arena_bytes

    @property
    def ram_bytes(self) -> int:
        """Bytes of arena and state."""
        return self.arena_bytes + state_bytes(variables_of(self.ready))


def _part(quickly: Point) -> float:
    """Which part of the full effort a plan is worth that was placed quickly: the less, the less there is
    to save. What is nearly as low as it can be hardly gets lower, and takes the longest."""
    above = quickly.arena_bytes / max(1, quickly.placed.bound_bytes) - 1
    return min(1.0, above / _WORTH_FULL)


class Placer:
    """Places plans of one network, each once well and once quickly; they cost the instructions that
    `model` predicts.

    `effort` is a factor of what goes into each that is placed well. Quick tries take the same whatever
    it is: what they lead to with less effort, they lead to with more.
    """

    def __init__(self, ready: Prepared, model: CostModel, effort: float, tell: Tell) -> None:
        self.ready = ready
        self.model = model
        self._effort = effort
        self._tell = tell
        self.flash = flash_model(ready)
        self._drafts: dict[tuple[Choice, ...], Draft] = {}
        self._points: dict[tuple[tuple[Choice, ...], int], Point] = {}
        self._layouts: dict[tuple[Choice, ...], RowLayouts] = {}

    @cached_property
    def prices(self) -> OperatorCosts:
        """What each operator costs, in all its forms."""
        return prices_of(self.ready, self.model)

    @cached_property
    def spared(self) -> int:
        """Instructions that spare forms save at most."""
        nodes = (node for of in self.ready.lowered.values() for node in of.nodes)
        price = self.model.node
        return sum(
            max(0, price(node) - min(map(price, node.spare)))
            for node in nodes
            if isinstance(node, Node) and node.spare
        )

    @cached_property
    def exchanged(self) -> int:
        """Instructions that the exchange of rows with the caller takes in any plan."""
        return self.model.between(exchanged(self.ready.nodes, self.ready.graph))

    def draft(self, choices: tuple[Choice, ...]) -> Draft:
        """The plan of these stages."""
        if choices not in self._drafts:
            rows = scheduled(self.ready, choices)
            wanted = rows.having(rows.wanted) if rows.in_parts else rows
            kernels, refilled, waits = self._costs(wanted)
            beside = self.model.between(rows.between)
            self._drafts[choices] = Draft(rows, kernels, beside, refilled, waits)
        return self._drafts[choices]

    def _costs(self, rows: Scheduled) -> tuple[int, int | None, int]:
        """Instructions of kernels, bytes read of slow flash (None: not known), cycles of waiting for
        it."""
        refilled, waits = None, 0
        if self.flash is not None:
            each = refilled_by(rows, self.ready, self.flash)
            refilled, waits = sum(each), sum(map(self.flash.cache.waits, each))
        return self.model.program(rows.executed), refilled, waits

    def place(self, choices: tuple[Choice, ...], *, quick: bool = False) -> Point:
        """The plan of these stages, placed well, or `quick`, with a tenth of the full effort.

        It is placed quickly in any case, and that first: so what is found is the same whoever asks.
        """
        before = None if quick else self.place(choices, quick=True)
        effort = QUICK if before is None else int(self._effort * FULL * _part(before))
        if before is not None and effort <= QUICK:  # its layouts may be gone: less finds worse ones
            return before
        if (choices, effort) not in self._points:
            self._tell(f"placing plan {len(self._points) + 1}")
            self._points[choices, effort] = self._placed(choices, effort, before)
        return self._points[choices, effort]

    def _placed(self, choices: tuple[Choice, ...], effort: int, before: Point | None) -> Point:
        """The plan of these stages, placed with so much effort; that of less effort, which was there
        `before`, if nothing better is found."""
        draft = self.draft(choices)
        worth = Worth.of(self.model.node, draft.kernels)
        layouts, known = self._layouts_of(choices), None if before is None else before.placed
        plan = placed(draft.rows, worth, effort=effort, layouts=layouts, before=known)
        if before is not None and plan is known:
            return before
        kernels, refilled, waits = self._costs(plan.rows)
        beside = self.model.between(plan.rows.between)
        times = draft.macs / (graph_macs(self.ready.graph) or 1)
        instructions = kernels + beside
        cost = instructions + waits
        of = draft.macs, times, draft.peak_bytes, choices, plan, cost, self.ready
        return Point(*of, instructions, refilled, beside)

    def _layouts_of(self, choices: tuple[Choice, ...]) -> RowLayouts:
        """Where the rows of the plan of these stages may lie."""
        found = self._layouts.pop(choices, None) or layouts_of(self.draft(choices).rows)
        pairs = sum(layouts.pairs for layouts in self._layouts.values())
        while self._layouts and pairs > _KEPT:
            pairs -= self._layouts.pop(next(iter(self._layouts))).pairs
        self._layouts[choices] = found
        return found
