"""Compilations of one model that share what they need make what each of them makes alone."""

from __future__ import annotations

import pytest

from lowtide.commands.compiling import compile_model
from lowtide.commands.known import Known
from lowtide.commands.options import Options
from lowtide.commands.planned import planned_model
from lowtide.machines.board import find_target
from networks import loaded

WAYS = (
    Options(),
    Options(input_mode="streamed"),
    Options(max_overhead=1.25),
    Options(target=find_target("cortex-m4")),
    Options(simplify=False, cost="instructions"),
    Options(schedule="operators"),
)


@pytest.mark.parametrize("name", ["figure1", "streaming-voice-activity"])
def test_no_program_depends_on_what_was_made_before(name: str) -> None:
    model = loaded(name)
    alone = [compile_model(model, options).files for options in WAYS]
    forth, back = Known(model), Known(model)
    planned_model(model, WAYS[0], front=True, known=forth)
    assert [compile_model(model, options, known=forth).files for options in WAYS] == alone
    made = [compile_model(model, options, known=back).files for options in reversed(WAYS)]
    assert made[::-1] == alone


def test_what_is_known_is_not_made_again() -> None:
    known = Known(loaded("figure1"))
    resident = known.passed(Options())
    streamed = known.passed(Options(input_mode="streamed", max_ram=4096))
    assert resident is streamed
    assert known.passed(Options(simplify=False)) is not resident
    graph = resident.graph
    order = known.order(graph, 1.0).order
    ready = known.prepared(graph, order, Options())
    assert known.prepared(graph, order, Options(max_overhead=2.0)) is ready
    other = known.prepared(graph, order, Options(input_mode="streamed"))
    assert other is not ready
    assert all(other.lowered[op.id] is ready.lowered[op.id] for op in graph.ops)
