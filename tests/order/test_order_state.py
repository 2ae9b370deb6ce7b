"""Operators with state outside their tensors keep their order among each other.

Why: nothing in the graph's edges says that a read of a variable must stay behind the write before
it, so a better order for memory could compute something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from order_cases import graph_of

from lowtide.ir import DType, Graph, Op
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


def named(first: str, second: str, kinds: Sequence[str] = ("READ_VARIABLE",) * 2) -> Graph:
    """`forks`, its operators 0 and 1 on the variables of these names."""
    graph = forks(*kinds)
    handles = [replace(graph.tensors[0], id=6 + n, dtype=DType.RESOURCE) for n in range(2)]
    ops = [replace(op, inputs=(6 + op.id, *op.inputs)) for op in graph.ops[:2]]
    opened = [
        Op(n, "VAR_HANDLE", (), (6 + n,), {"shared_name": name})
        for n, name in enumerate((first, second))
    ]
    every = [*opened, *ops, *graph.ops[2:]]
    numbered = tuple(replace(op, id=i) for i, op in enumerate(every))
    return replace(graph, tensors=(*graph.tensors, *handles), ops=numbered)


@pytest.mark.parametrize(
    ("names", "kinds", "free"),
    [
        (("a", "b"), ("READ_VARIABLE", "READ_VARIABLE"), True),
        (("a", "b"), ("READ_VARIABLE", "ASSIGN_VARIABLE"), True),
        (("a", "a"), ("READ_VARIABLE", "READ_VARIABLE"), True),
        (("a", "a"), ("READ_VARIABLE", "ASSIGN_VARIABLE"), False),
        (("a", "a"), ("ASSIGN_VARIABLE", "READ_VARIABLE"), False),
        (("a", "b"), ("READ_VARIABLE", "CALL_ONCE"), False),
        (("a", "b"), ("CALL_ONCE", "READ_VARIABLE"), False),
    ],
)
def test_variables_of_two_names_are_free(
    names: tuple[str, str], kinds: tuple[str, str], free: bool
) -> None:
    order = best_order(named(*names, kinds)).order
    assert (order.index(3) < order.index(2)) == free


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
