"""The tables that plans of networks were made for, and where their inputs can be.

Why made again: a program keeps its nodes and its plan, but not the table between them.
"""

from __future__ import annotations

from lowtide.modes import InputMode
from lowtide.place.rows import QUICK
from lowtide.plans.placed import placed
from lowtide.program.assemble import Assembly
from lowtide.rows.prepare import prepare
from lowtide.rows.scheduled import scheduled
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
    planned = placed(scheduled(ready, stages), effort=QUICK).rows
    assert planned.plan.steps == program.plan.steps
    return planned.table
