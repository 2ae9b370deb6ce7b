"""The worked example of the operator-reordering paper, line by line.

Appendix A lists, for the graph of its figure 1, the tensors in RAM and their bytes at every step, for
the file's order and for the best one. Tensor 0 is the input, tensor k the output of operator #k.
"""

from __future__ import annotations

import pytest

from lowtide.commands.analysis import Timeline, analyze, timeline
from lowtide.ir import Graph
from lowtide.ir.liveness import peak_bytes, working_sets
from lowtide.order import best_order
from networks import loaded

Row = tuple[int, str, set[int], int]
"""(operator #, type, outputs of which operators are in RAM, bytes)."""

DEFAULT: list[Row] = [
    (1, "CONV_2D", {0, 1}, 4704),
    (2, "CONV_2D", {1, 2}, 4704),
    (3, "DEPTHWISE_CONV_2D", {1, 2, 3}, 5216),
    (4, "CONV_2D", {1, 3, 4}, 4160),
    (5, "CONV_2D", {3, 4, 5}, 1280),
    (6, "CONV_2D", {4, 5, 6}, 1024),
    (7, "CONCATENATION", {5, 6, 7}, 1024),
]
OPTIMISED: list[Row] = [
    (1, "CONV_2D", {0, 1}, 4704),
    (4, "CONV_2D", {1, 4}, 3648),
    (6, "CONV_2D", {1, 4, 6}, 3904),
    (2, "CONV_2D", {1, 2, 6}, 4960),
    (3, "DEPTHWISE_CONV_2D", {2, 3, 6}, 2336),
    (5, "CONV_2D", {3, 5, 6}, 1024),
    (7, "CONCATENATION", {5, 6, 7}, 1024),
]


def figure1() -> Graph:
    return loaded("figure1").graph


def source_of(graph: Graph, tensor: int) -> int:
    """The paper's number of a tensor: that of its operator, or 0."""
    return next((op.id + 1 for op in graph.ops if tensor in op.outputs), 0)


def rows(graph: Graph, order: Timeline) -> list[Row]:
    return [
        (
            step.operator + 1,
            step.type,
            {source_of(graph, t) for t in step.working_set},
            step.bytes,
        )
        for step in order.steps
    ]


def test_tensors_have_the_sizes_of_the_figure() -> None:
    graph = figure1()
    sizes = {source_of(graph, t.id): t.bytes for t in graph.tensors if not t.is_constant}
    assert sizes == {0: 1568, 1: 3136, 2: 1568, 3: 512, 4: 512, 5: 256, 6: 256, 7: 512}


def test_memory_with_the_default_order() -> None:
    found = analyze(figure1())
    assert rows(figure1(), found.file) == DEFAULT
    assert found.peak_bytes == found.file.peak_bytes == 5216
    assert found.file.peak_step == 2
    assert found.file.start_bytes == 1568


def test_memory_with_the_optimised_order() -> None:
    order = [row[0] - 1 for row in OPTIMISED]
    found = timeline(figure1(), order, [0] * len(order))
    assert rows(figure1(), found) == OPTIMISED
    assert found.peak_bytes == 4960
    assert found.peak_step == 3
    assert {source_of(figure1(), t) for t in found.peak_set} == {1, 2, 6}


def test_the_best_order_has_the_paper_s_peak_and_a_proof() -> None:
    found = best_order(figure1())
    assert found.peak_bytes == 4960
    assert found.proved_optimal
    assert peak_bytes(figure1(), found.order) == 4960
    assert analyze(figure1()).best.peak_bytes == 4960


@pytest.mark.parametrize(("table", "peak"), [(DEFAULT, 5216), (OPTIMISED, 4960)])
def test_working_sets_and_peaks_of_both_orders(table: list[Row], peak: int) -> None:
    graph = figure1()
    order = [row[0] - 1 for row in table]
    start, *sets = working_sets(graph, order)
    assert start == graph.inputs
    assert [{source_of(graph, t) for t in live} for live in sets] == [row[2] for row in table]
    assert peak_bytes(graph, order) == peak
