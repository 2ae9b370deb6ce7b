"""Operators with state outside their tensors keep their order among each other.

Why: nothing in the graph's edges says that a read of a variable must stay behind the write before
it, so a better order for memory could compute something else.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from order_cases import graph_of

from lowtide.ir import Graph
from lowtide.order import best_order


def forks(first: str, second: str) -> Graph:
    """Two branches from tensor 0, that of operator 1 better run first.

    It takes 100 bytes for a moment: a bad time to hold what the branch of operator 0 makes.
    """
    graph = graph_of(
        [10, 50, 10, 100, 1, 1],
        [((0,), (1,)), ((0,), (3,)), ((3,), (4,)), ((1,), (2,)), ((2, 4), (5,))],
        outputs=(5,),
    )
    kinds = [first, second, "ADD", "ADD", "ADD"]
    ops = tuple(replace(op, type=kind) for op, kind in zip(graph.ops, kinds, strict=True))
    return replace(graph, ops=ops)


def test_free_operators_change_places() -> None:
    found = best_order(forks("ADD", "ADD"))
    assert found.order.index(1) < found.order.index(0)
    assert found.peak_bytes == 111


@pytest.mark.parametrize(
    "kind",
    [
        "CALL_ONCE", "MULTINOMIAL", "RANDOM_STANDARD_NORMAL", "RANDOM_UNIFORM", "HASHTABLE",
        "HASHTABLE_IMPORT", "HASHTABLE_FIND", "HASHTABLE_SIZE", "VAR_HANDLE", "READ_VARIABLE",
        "ASSIGN_VARIABLE",
    ],
)  # fmt: skip
def test_stateful_operators_do_not(kind: str) -> None:
    found = best_order(forks(kind, "READ_VARIABLE"))
    assert found.order.index(0) < found.order.index(1)
    assert found.proved_optimal


def test_one_stateful_operator_alone_is_free() -> None:
    assert best_order(forks("READ_VARIABLE", "ADD")).order.index(0) > 0


def test_an_operator_may_read_a_variable_twice() -> None:
    graph = with_variable(0)
    ops = (replace(graph.ops[0], inputs=(*graph.ops[0].inputs, 6)), *graph.ops[1:])
    assert best_order(replace(graph, ops=ops)).order == best_order(graph).order


def with_variable(*readers: int, kind: str = "SVDF") -> Graph:
    """`forks`, with a variable tensor that `readers` use and update."""
    graph = forks("ADD", "ADD")
    variable = replace(graph.tensors[0], id=6, shape=(1000,), is_variable=True)
    return replace(
        graph,
        tensors=(*graph.tensors, variable),
        ops=tuple(
            replace(op, type=kind, inputs=(*op.inputs, 6)) if op.id in readers else op
            for op in graph.ops
        ),
    )


def test_operators_that_share_a_variable_tensor_do_not_change_places() -> None:
    found = best_order(with_variable(0, 1))
    assert found.order.index(0) < found.order.index(1)


def test_operators_that_only_read_a_variable_tensor_are_free() -> None:
    found = best_order(with_variable(0, 1, kind="ADD"))
    assert found.order.index(1) < found.order.index(0)


@pytest.mark.parametrize("readers", [(0,), (1,), (0, 4)])
def test_a_variable_tensor_of_one_branch_constrains_no_other(readers: tuple[int, ...]) -> None:
    found = best_order(with_variable(*readers))
    assert found.order.index(1) < found.order.index(0)
    assert found.peak_bytes == 111  # the variable's own 1,000 bytes are no part of the arena


def test_a_chain_of_three_users_keeps_all_three_in_order() -> None:
    """Also when the middle one shares nothing but the variable with the others."""
    graph = graph_of(
        [1, 90, 50, 10, 1],
        [((0,), (1,)), ((0,), (2,)), ((0,), (3,)), ((1, 2, 3), (4,))],
        outputs=(4,),
    )
    variable = replace(graph.tensors[0], id=5, is_variable=True)
    users = tuple(replace(op, type="SVDF", inputs=(*op.inputs, 5)) for op in graph.ops[:3])
    shared = replace(graph, tensors=(*graph.tensors, variable), ops=(*users, graph.ops[3]))
    assert best_order(shared).order == (0, 1, 2, 3)
