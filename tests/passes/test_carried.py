"""Rows that are carried from one run to the next stay in place: what is rewritten, what is not.

That it computes the same is shown in end_to_end/test_variables.py, on random networks.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest

from lowtide.ir import Graph
from lowtide.ir.state import SHIFT_ROWS, WRITE_ROWS, ShiftRowsOp, WriteRowsOp, state_order
from lowtide.passes import carry_rows, resolve_variables
from lowtide.passes.simplify import simplify
from lowtide.place.variables import place_variables
from lowtide.tflite.read import parse
from move_models import Net, Shape
from stateful import assign, handle, read


def joined(net: Net, parts: list[int], shape: Shape, axis: int = 1, activation: int = 0) -> int:
    options = schema.ConcatenationOptionsT(axis=axis, fusedActivationFunction=activation)
    return net.op("CONCATENATION", parts, shape, options=options)


def rows(net: Net, source: int, begin: int, count: int, width: int = 4) -> int:
    """Rows of a map of `width` channels."""
    where = [0, begin, 0, 0], [1, count, 1, width]
    return net.op("SLICE", [source, *map(net.const, where)], (1, count, 1, width))


def largest(net: Net, source: int, high: int) -> int:
    pool = schema.Pool2DOptionsT(
        padding=schema.Padding.VALID, strideW=1, strideH=1, filterWidth=1, filterHeight=high
    )
    return net.op("MAX_POOL_2D", [source], (1, 1, 1, 4), options=pool)


def appended(kept: int = 3, new: int = 2, begin: int | None = None) -> Graph:
    """The last `kept` rows and `new` ones, of which the greatest; those from `begin` on are kept."""
    net = Net(np.int8)
    given = net.input((1, new, 1, 4))
    state = handle(net, "ring")
    whole = joined(net, [read(net, state, (1, kept, 1, 4)), given], (1, kept + new, 1, 4))
    assign(net, state, rows(net, whole, new if begin is None else begin, kept))
    net.outputs = [largest(net, whole, kept + new)]
    return resolve_variables(parse(net.build()).graph)


def types(graph: Graph) -> list[str]:
    return [op.type for op in graph.ops]


def rows_written(graph: Graph) -> list[int]:
    """Where what is appended begins, part by part."""
    return [op.row for op in graph.ops if isinstance(op, WriteRowsOp)]


def carried(graph: Graph) -> tuple[Shape, dict[str, tuple[int, ...]]]:
    """The variable's shape, and what is done with it in the end."""
    last = graph.ops[-1]
    assert isinstance(last, ShiftRowsOp)
    assert state_order(graph)[last.id] == frozenset(range(last.id))
    return graph.tensors[last.inputs[0]].shape, {"rows": last.rows, "kept": last.kept}


def test_rows_behind_the_old_ones() -> None:
    graph = carry_rows(appended(3, 2))
    assert types(graph) == [WRITE_ROWS, "MAX_POOL_2D", SHIFT_ROWS]
    assert carried(graph) == ((1, 5, 1, 4), {"rows": (2,), "kept": (3,)})
    assert rows_written(graph) == [3]
    assert graph.ops[1].inputs == graph.ops[2].inputs


def test_each_part_is_written_behind_those_before_it() -> None:
    net = Net(np.int8)
    parts = [net.input((1, count, 1, 4)) for count in (2, 3, 1)]
    state = handle(net, "ring")
    whole = joined(net, [read(net, state, (1, 6, 1, 4)), *parts], (1, 12, 1, 4))
    assign(net, state, rows(net, whole, 6, 6))
    net.outputs = [largest(net, whole, 12)]
    graph = carry_rows(resolve_variables(parse(net.build()).graph))
    assert rows_written(graph) == [6, 8, 11]


@pytest.mark.parametrize("align", [1, 16])
@pytest.mark.parametrize(("first", "second"), [*product((1, 2, 3, 5), repeat=2)])
def test_variables_share_no_byte_that_is_needed(first: int, second: int, align: int) -> None:
    """New rows may lie where only the oldest ones of the other were, which has been read by then."""
    net, made = Net(np.int8), []
    for number, new in enumerate((first, second)):
        given, state = net.input((1, new, 1, 4)), handle(net, f"ring{number}")
        whole = joined(net, [read(net, state, (1, 3, 1, 4)), given], (1, 3 + new, 1, 4))
        assign(net, state, rows(net, whole, new, 3))
        made.append(largest(net, whole, 3 + new))
    net.outputs = made
    graph = carry_rows(resolve_variables(parse(net.build()).graph))
    low, high = place_variables(graph, range(len(graph.ops)), align=align)
    # The one that is read first, and moved last, lies behind the other.
    assert (high.span - high.size, low.span - low.size) == (4 * first, 4 * second)
    assert high.offset % align == low.offset % align == 0
    assert low.offset + low.size <= high.offset
    assert low.offset + low.span <= high.offset + 4 * first


def test_variables_that_are_in_use_together_share_nothing() -> None:
    """The second is written before the first is read: both are needed whole."""
    net, wholes = Net(np.int8), []
    for number in range(2):
        given, state = net.input((1, 2, 1, 4)), handle(net, f"ring{number}")
        wholes.append(joined(net, [read(net, state, (1, 3, 1, 4)), given], (1, 5, 1, 4)))
        assign(net, state, rows(net, wholes[-1], 2, 3))
    net.outputs = [largest(net, whole, 5) for whole in wholes]
    graph = carry_rows(resolve_variables(parse(net.build()).graph))
    low, high = place_variables(graph, range(len(graph.ops)))
    assert (low.offset, low.span, high.offset) == (0, 20, 20)


def test_some_of_the_new_rows_need_not_be_kept() -> None:
    assert carried(carry_rows(appended(3, 4, begin=1)))[1] == {"rows": (1,), "kept": (3,)}


def test_the_oldest_row_is_dropped_before() -> None:
    net = Net(np.int8)
    given = net.input((1, 1, 1, 4))
    state = handle(net, "ring")
    old = rows(net, read(net, state, (1, 6, 1, 4)), 1, 5)
    whole = joined(net, [old, given], (1, 6, 1, 4))
    assign(net, state, whole)
    net.outputs = [largest(net, whole, 6)]
    graph = carry_rows(resolve_variables(parse(net.build()).graph))
    assert types(graph) == [WRITE_ROWS, "MAX_POOL_2D", SHIFT_ROWS]
    assert carried(graph) == ((1, 6, 1, 4), {"rows": (1,), "kept": (5,)})


def test_first_values_are_those_of_the_rows_that_are_used() -> None:
    graph = appended(3, 2)
    values = bytes(range(12))
    tensors = tuple(replace(t, initial=values) if t.is_variable else t for t in graph.tensors)
    with_values = replace(graph, tensors=tensors)
    ring = carry_rows(with_values)
    assert ring.tensors[ring.ops[-1].inputs[0]].initial == values


def test_what_a_value_is_read_for_elsewhere_is_copied_no_more() -> None:
    """No ring: the old value is read twice. Its readers read the variable, which is set after them."""
    net = Net(np.int8)
    given = net.input((1, 2, 1, 4))
    state = handle(net, "old")
    old = read(net, state, (1, 2, 1, 4))
    assign(net, state, given)
    net.outputs = [largest(net, old, 2), largest(net, joined(net, [old, given], (1, 4, 1, 4)), 4)]
    graph = carry_rows(resolve_variables(parse(net.build()).graph))
    assert types(graph) == ["MAX_POOL_2D", "CONCATENATION", "ASSIGN_VARIABLE", "MAX_POOL_2D"]
    variable = graph.ops[2].inputs[0]
    assert graph.ops[0].inputs[0] == graph.ops[1].inputs[0] == variable
    assert state_order(graph)[2] == {0, 1}


@pytest.mark.parametrize(
    "what", ["read again", "an output", "newest first", "not to the end", "activation", "exchanged"]
)
def test_what_stays_as_it_is(what: str) -> None:
    net = Net(np.int8)
    given = net.input((1, 2, 1, 4))
    state = handle(net, "ring")
    old = read(net, state, (1, 3, 1, 4))
    parts = [given, old] if what == "newest first" else [old, given]
    whole = joined(net, parts, (1, 5, 1, 4), activation=int(what == "activation"))
    net.outputs = [largest(net, whole, 5)]
    if what == "an output":
        net.outputs.append(whole)
    if what == "not to the end":
        assign(
            net, state, joined(net, [rows(net, whole, 2, 2), rows(net, whole, 0, 1)], (1, 3, 1, 4))
        )
    elif what == "exchanged":
        other = handle(net, "other")
        value = read(net, other, (1, 3, 1, 4))
        assign(net, other, old)
        assign(net, state, value)
    else:
        assign(net, state, rows(net, whole, 2, 3))
    if what == "read again":
        net.outputs.append(largest(net, read(net, state, (1, 3, 1, 4)), 3))
    graph = resolve_variables(parse(net.build()).graph)
    after = carry_rows(graph)
    assert SHIFT_ROWS not in types(after)
    if what in ("read again", "exchanged"):
        assert types(after) == types(graph)
    else:
        assert "READ_VARIABLE" not in types(after)


def test_a_function_whose_value_only_sets_a_variable_is_simplified() -> None:
    """Its one reader has no output to be a function of."""
    net = Net(np.int8)
    given = net.input((1, 2, 1, 4))
    state = handle(net, "old")
    net.outputs = [largest(net, read(net, state, (1, 2, 1, 4)), 2)]
    assign(net, state, net.op("RELU", [given], (1, 2, 1, 4), output=False))
    graph = carry_rows(resolve_variables(parse(net.build()).graph))
    assert types(simplify(graph).graph)[-1] == "ASSIGN_VARIABLE"
