"""Small graphs and analyses by hand, for what no network of the zoo shows."""

from __future__ import annotations

from dataclasses import replace

from lowtide.commands.analysis import Analysis, analyze
from lowtide.ir import DType, Graph, Op, Tensor
from lowtide.order import OrderResult


def tensor(index: int, *shape: int, name: str = "", **fields: object) -> Tensor:
    """An INT8 tensor; `fields` are other fields of Tensor."""
    made = Tensor(id=index, name=name, shape=shape, dtype=DType.INT8)
    return replace(made, **fields)  # type: ignore[arg-type]  # the tests give each its type


def chain(*names: str) -> Graph:
    """Tensors of 4 bytes, each made from the one before by an ADD."""
    return Graph(
        name="main",
        tensors=tuple(tensor(i, 1, 4, name=name) for i, name in enumerate(names)),
        ops=tuple(Op(i, "ADD", (i, i), (i + 1,)) for i in range(len(names) - 1)),
        inputs=(0,),
        outputs=(len(names) - 1,),
    )


def peak_at_start() -> Graph:
    """Two inputs of 1,000 bytes, of which only the first is read, into one byte."""
    return Graph(
        name="main",
        tensors=(tensor(0, 1000), tensor(1, 1000), tensor(2, 1)),
        ops=(Op(0, "MEAN", (0,), (2,)),),
        inputs=(0, 1),
        outputs=(2,),
    )


def with_variable() -> Graph:
    """An operator with an input, a state kept between invocations, weights and a scalar output."""
    return Graph(
        name="main",
        tensors=(
            tensor(0, 8, name="in"),
            tensor(1, 1, 20, name="state", is_variable=True),
            tensor(2, 8, name="weights", data=bytes(8), buffer=1),
            tensor(3, name="out"),
            tensor(4, 2, name="stray"),
        ),
        ops=(Op(0, "SVDF", (0, 2, -1, 1), (3,)),),
        inputs=(0,),
        outputs=(3,),
    )


def unproved(graph: Graph, lower_bound: int) -> Analysis:
    """The analysis of `graph` as if the search had ended with this lower bound."""
    found = analyze(graph)
    order = found.best_order
    return replace(found, best_order=OrderResult(order.peak_bytes, lower_bound, order.order))
