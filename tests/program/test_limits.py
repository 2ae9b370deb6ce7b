"""Numbers that do not fit the tables of the step program are refused, not cut down by a compiler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from assembled import assemble
from lowtide.emit.c_writer import write
from lowtide.errors import ModelError
from lowtide.ir import DType, Graph, Op, Quant, Tensor
from lowtide.ir.windows import normalise_windows
from lowtide.modes import Schedule
from lowtide.program.assemble import Assembly, ByRows
from lowtide.program.turns import Turn

_SPLIT = "split it, or its tensors, before the conversion"


def _tensor(number: int, shape: tuple[int, ...], data: bytes | None = None) -> Tensor:
    return Tensor(number, f"t{number}", shape, DType.INT8, quant=Quant((0.5,), (0,), 0), data=data)


@cache
def _small(schedule: Schedule = "operators") -> Assembly:
    """An addition of feature maps of four rows."""
    tensors = tuple(_tensor(i, (1, 4, 2, 2)) for i in range(3))
    graph = Graph("add", tensors, (Op(0, "ADD", (0, 1), (2,)),), (0, 1), (2,))
    return assemble(graph, (0,), schedule=schedule)


def _node(**fields: Any) -> Assembly:
    """The addition with other fields of its node; those of lt_node and of the values it comes from."""
    (entry,) = _small().kernels
    outer = {name: fields.pop(name) for name in ("counter",) if name in fields}
    entry = replace(entry, **outer, node=replace(entry.node, **fields))
    return replace(_small(), nodes=(entry,))


def _port(**fields: Any) -> Assembly:
    first, *rest = _small().ports
    return replace(_small(), ports=(replace(first, **fields), *rest))


def _rows(**fields: Any) -> Assembly:
    first, *rest = _small().rows
    return replace(_small(), rows=(replace(first, **fields), *rest))


@pytest.mark.parametrize(
    ("changed", "most", "what"),
    [
        (lambda n: _rows(count=n, size=1), 65535, "tensor's number of rows"),
        (lambda n: _rows(size=n // 4), (1 << 32) - 1, "tensor's size in bytes"),
        (lambda n: _port(first=n), 32767, "window's first row"),
        (lambda n: _port(table=(0, n)), 32767, "window's first row"),
        (lambda n: _port(count=n), 65535, "window's number of rows"),
        (lambda n: _port(stride=n), 255, "stride in rows"),
        (lambda n: _port(dilation=n), 255, "dilation in rows"),
        (lambda n: _node(steps=n), 65535, "number of steps"),
        (lambda n: _node(inputs=_small().kernels[0].node.inputs[:1] * n), 255, "number of inputs"),
    ],
)
def test_each_field_of_a_node_has_its_limit(
    changed: Callable[[int], Assembly], most: int, what: str
) -> None:
    write(changed(most), "net")
    with pytest.raises(ModelError) as caught:
        write(changed(most + 1), "net")
    assert caught.value.cause.startswith(
        f"operator 0 (ADD): its {what} is {most + 1}, and the step"
    )
    assert caught.value.remedy == _SPLIT


@pytest.mark.parametrize("field", ["dilation", "stride"])
def test_rows_that_stay_where_they_are_are_0_apart(field: str) -> None:
    assert write(_port(**{field: 0}), "net")


def test_a_window_may_begin_in_the_padding() -> None:
    write(_port(first=-32768), "net")
    with pytest.raises(
        ModelError, match=r"its window's first row is -32769, and .* -32768 to 32767"
    ):
        write(_port(first=-32769), "net")


@pytest.mark.parametrize(
    ("changed", "most", "what"),
    [
        (lambda n: replace(_small(), turns=(Turn(0, 1),) * n), 65535, "turns"),
        (lambda n: replace(_small(), turns=(Turn(0, n),)), 65535, "steps in one turn"),
        (lambda n: replace(_small(), rows=_small().rows[:1] * n), 65535, "cut tensors"),
        (lambda n: replace(_small(), counters=n), 65535, "counters"),
        (lambda n: replace(_small(), bases=n), 255, "bases"),
        (lambda n: _port(table=(0,) * n), 65534, "numbers of rows"),
    ],
)
def test_the_program_has_limits_as_a_whole(
    changed: Callable[[int], Assembly], most: int, what: str
) -> None:
    write(changed(most), "net")
    for schedule in (_small().schedule, _small("rows").schedule):
        with pytest.raises(ModelError) as caught:
            write(replace(changed(most + 3), schedule=schedule), "net")
        assert caught.value.cause.endswith(f" {what}, but its tables hold only {most}")
        assert ("--schedule operators" in caught.value.remedy) == isinstance(schedule, ByRows)


def test_a_tall_image_is_refused() -> None:
    weights = _tensor(1, (1, 1, 1, 1), bytes(1))
    tensors = (_tensor(0, (1, 70000, 1, 1)), weights, _tensor(2, (1, 70000, 1, 1)))
    options = {"stride_h": 1, "stride_w": 1}
    graph = Graph("tall", tensors, (Op(0, "CONV_2D", (0, 1), (2,), options),), (0,), (2,))
    with pytest.raises(ModelError, match=r"operator 0 \(CONV_2D\): its feature map has 70000 rows"):
        write(assemble(normalise_windows(graph), (0,), schedule="operators"), "net")


def test_a_join_of_many_tensors_is_refused() -> None:
    parts = tuple(_tensor(i, (1, 2)) for i in range(300))
    graph = Graph(
        "join",
        (*parts, _tensor(300, (1, 600))),
        (Op(0, "CONCATENATION", tuple(range(300)), (300,), {"axis": 1}),),
        tuple(range(300)),
        (300,),
    )
    schedules: tuple[Schedule, ...] = ("operators", "rows")
    for schedule in schedules:
        with pytest.raises(ModelError, match="its number of inputs is 300, and the step program"):
            write(assemble(graph, (0,), schedule=schedule), "net")
