"""Networks assembled with rows, and the tables that their plans were made for.

Why made again: a program keeps its nodes and its plan, but not the table between them.
"""

from __future__ import annotations

from functools import cache

from lowtide.ir import Graph
from lowtide.order import best_order
from lowtide.passes import fold_pads
from lowtide.program.assemble import Assembly, assemble
from lowtide.rows.prepare import InputMode, prepare
from lowtide.rows.table import RowTable
from lowtide.tflite.read import parse
from networks import loaded
from random_nets import random_network

MODES: tuple[tuple[InputMode, bool], ...] = (
    ("resident", False),
    ("resident", True),
    ("const", False),
)
"""Where inputs can be: (input mode, whether they are preserved)."""


@cache
def network(name: int | str) -> Graph:
    """A network of the zoo, or the random one of that number."""
    model = loaded(name) if isinstance(name, str) else parse(random_network(name))
    return fold_pads(model.graph)


def assembled(graph: Graph, mode: InputMode = "resident", preserve: bool = False) -> Assembly:
    """The program of `graph`, operators in their best order, rows interleaved."""
    return assemble(
        graph,
        best_order(graph).order,
        schedule="rows",
        input_mode=mode,
        preserve_input=preserve,
    )


def table_of(program: Assembly, preserve: bool) -> RowTable:
    """The table that `program` was planned with."""
    return prepare(
        program.graph,
        program.order,
        input_mode=program.input_mode,
        output_mode=program.output_mode,
        preserve_input=preserve,
    ).table
