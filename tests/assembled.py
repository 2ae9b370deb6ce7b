"""Programs of graphs without the road that commands take: no passes, no search, what is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from lowtide.errors import ModelError
from lowtide.ir import Graph
from lowtide.lower.nodes import Node
from lowtide.modes import InputMode, OutputMode, Schedule
from lowtide.place.rows import FULL
from lowtide.plans.changes import Worth
from lowtide.plans.cost import load_model
from lowtide.plans.placed import placed
from lowtide.plans.search import choices_of, ladder
from lowtide.plans.space import prices_of, space_of
from lowtide.program.assemble import Assembly, assemble_placed, assemble_tensors
from lowtide.rows.prepare import Prepared, prepare
from lowtide.rows.scheduled import scheduled
from lowtide.rows.stages import Choice, Limit
from lowtide.target import ANY, Target
from lowtide.tflite.read import parse


def assemble(
    graph: Graph,
    order: Sequence[int],
    *,
    schedule: Schedule = "operators",
    allocator: str = "planned",
    input_mode: InputMode = "resident",
    output_mode: OutputMode = "resident",
    preserve_input: bool = False,
    align: int = 16,
    target: Target = ANY,
) -> Assembly:
    """Lower every operator, place tensors and scratch, and resolve all indices.

    With the schedule "operators" they run one after the other in `order`, and `allocator` places
    whole tensors; with "rows" their steps are interleaved, nothing is computed twice, and every row is
    placed on its own. `preserve_input` keeps resident inputs intact to the end. Streamed inputs and
    outputs are exchanged with the caller row by row, which needs the schedule "rows". Raises
    ModelError for an operator without a kernel.
    """
    ready = prepare(
        graph,
        order,
        input_mode=input_mode,
        output_mode=output_mode,
        preserve_input=preserve_input,
        align=align,
        join=schedule == "rows",
        target=target,
    )
    if schedule == "operators":
        return assemble_tensors(ready, allocator)
    return assemble_rows(ready, smallest_choices(ready))


def assemble_lean(graph: Graph, target: Target) -> Assembly:
    """Operators one after the other; kernels that have a lean form run in it."""
    ready = prepare(graph, range(len(graph.ops)), join=False, target=target)
    lowered = {
        op: replace(of, nodes=tuple(n.leaner if isinstance(n, Node) else n for n in of.nodes))
        for op, of in ready.lowered.items()
    }
    return assemble_tensors(replace(ready, lowered=lowered), "planned")


def smallest_choices(ready: Prepared) -> tuple[Choice, ...]:
    """The stages of least live memory that compute nothing twice."""
    prices = prices_of(ready, load_model(ready.target.priced_as))
    *_, path = ladder(space_of(ready, prices, strips=False))
    return choices_of(path, ready)


def smallest_forms(operators: Sequence[int]) -> tuple[Limit, ...]:
    """Limits that have all these operators run in their forms of least scratch memory."""
    return tuple(Limit(operator, 0) for operator in sorted(operators))


FREE = Worth(lambda _: 0, 0.0)
"""Changes of form take no flash: each part of an operator runs in what there is room for."""


def assemble_rows(ready: Prepared, choices: Sequence[Choice], *, effort: int = FULL) -> Assembly:
    """Rows interleaved in the stages `choices`, which cover the operators in their order.

    `effort` goes into placing them: see `place.rows`. All changes of form are worth their flash.

    Raises UsageError for a stage that cannot run in strips of the width asked for.
    """
    return assemble_placed(ready, placed(scheduled(ready, choices), FREE, effort=effort))


def refusal(network: bytes | Graph) -> str:
    """Why a network is refused, without the operator's number and name, which must be in front of it."""
    graph = parse(network).graph if isinstance(network, bytes) else network
    with pytest.raises(ModelError) as caught:
        assemble(graph, range(len(graph.ops)))
    operator, _, cause = caught.value.cause.partition(": ")
    assert any(operator == f"operator {op.id} ({op.label})" for op in graph.ops), caught.value.cause
    return cause
