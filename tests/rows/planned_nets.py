"""The tables that plans of networks were made for, and where their inputs can be.

Why made again: a program keeps its nodes and its plan, but not the table between them.
"""

from __future__ import annotations

from lowtide.modes import InputMode
from lowtide.plans.cost import load_model
from lowtide.plans.placer import Placer
from lowtide.program.assemble import Assembly
from lowtide.rows.prepare import prepare
from lowtide.rows.table import RowTable

MODES: tuple[tuple[InputMode, bool], ...] = (
    ("resident", False),
    ("resident", True),
    ("const", False),
)
"""Where inputs can be: (input mode, whether they are preserved)."""


def table_of(program: Assembly, preserve: bool) -> RowTable:
    """The table that `program` was planned with."""
    ready = prepare(
        program.graph,
        program.order,
        input_mode=program.input_mode,
        output_mode=program.output_mode,
        preserve_input=preserve,
    )
    if program.plan is None:
        return ready.table
    stages = [stage.choice for stage in program.plan.stages]
    placer = Placer(ready, load_model(ready.target.priced_as), 1.0, lambda _: None)
    planned = placer.place(tuple(stages), quick=True).placed.rows
    assert planned.plan.steps == program.plan.steps
    return planned.table
