"""What is known of one model while it is compiled in several ways: what two of them need is made once.

Why a value that is passed on: it lives as long as a command needs it, and as all of it follows from the
model and the options alone, no result depends on what was asked before.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from lowtide.commands.ends import check_streamed
from lowtide.commands.options import Options
from lowtide.commands.passing import passed
from lowtide.emit.one_core import Gain, gains
from lowtide.ir import Graph, Model
from lowtide.lower.lowerings import Lowerings
from lowtide.machines.board import find_target
from lowtide.order import OrderResult, best_order
from lowtide.passes.simplify.result import Simplified
from lowtide.plans.cost import priced_cores
from lowtide.rows.prepare import Prepared, prepare

_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Of `model`. Graphs and prepared networks that are given to it must be those that came from it, and
    so are kept."""

    model: Model
    _made: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def once(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """What `make` makes of the model, which `key` tells from all else that is known of it."""
        if key not in self._made:
            self._made[key] = make()
        found: _Made = self._made[key]
        return found

    def passed(self, options: Options) -> Simplified:
        """`commands.passing.passed`, of the model; errors, too."""
        check_streamed(self.model.graph, options)
        key = replace(
            options,
            input_mode="const" if options.ring else "resident",
            max_ram=None,
            max_overhead=None,
            cost="macs",
            fastest=False,
            smallest=False,
            stages=None,
            stages_of=None,
        )
        return self.once(("passed", key), lambda: passed(self.model, key))

    def order(self, graph: Graph, effort: float) -> OrderResult:
        """The best order of a graph."""
        return self.once(("order", id(graph), effort), lambda: best_order(graph, effort=effort))

    def lowerings(self, graph: Graph) -> Lowerings:
        """The operators of a graph, lowered as they are asked for."""
        return self.once(("lowered", id(graph)), lambda: Lowerings(graph))

    def prepared(self, graph: Graph, order: tuple[int, ...], options: Options) -> Prepared:
        """A graph made ready for a program. Raises as `prepare`."""
        modes = options.input_mode, options.output_mode, options.preserve_input
        key = "prepared", id(graph), order, *modes, options.align, options.schedule, options.target
        return self.once(
            key,
            lambda: prepare(
                graph,
                order,
                input_mode=options.input_mode,
                output_mode=options.output_mode,
                preserve_input=options.preserve_input,
                align=options.align,
                join=options.schedule == "rows",
                target=options.target,
                lowerings=self.lowerings(graph),
            ),
        )

    def gains(self, graph: Graph) -> tuple[Gain, ...]:
        """What programs for the cores that can be priced would save."""
        cores = map(find_target, priced_cores())
        return self.once(("gains", id(graph)), lambda: gains(self.lowerings(graph), cores))
