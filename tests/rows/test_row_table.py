"""Which rows each step reads and writes, worked out by hand for small nodes.

Why: searches and placement believe these numbers; a row left out is overwritten while it is needed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lowtide.errors import FaultError
from lowtide.ir import DType, Graph, Tensor
from lowtide.lower.nodes import Crop, Exchange, Node, Params, Port
from lowtide.rows.table import Cut, RowTable, row_table

SIZES = (60, 60, 40, 24)


def graph_of(
    *sizes: int, inputs: tuple[int, ...] = (0,), outputs: tuple[int, ...] = (), **of: Any
) -> Graph:
    """int8 tensors of `sizes` bytes; t1=dict(...) sets fields of tensor 1."""
    tensors = tuple(
        Tensor(i, f"t{i}", (size,), DType.INT8, **of.get(f"t{i}", {}))
        for i, size in enumerate(sizes)
    )
    return Graph("rows", tensors, (), inputs, outputs)


def node(inputs: list[Port], outputs: list[Port], steps: int, **fields: Any) -> Node:
    params = Params("none", ())
    return Node(0, "none", "none.h", params, tuple(inputs), tuple(outputs), steps, **fields)


def line(tensor: int, rows: int, size: int, **fields: Any) -> Port:
    return Port(tensor, rows, size, **fields)


def copy(source: int, target: int, rows: int, size: int, **fields: Any) -> Node:
    return node([line(source, rows, size)], [line(target, rows, size)], rows, **fields)


def window(rows: int, first: int, stride: int, count: int, dilation: int, steps: int) -> RowTable:
    """The table of one node that reads tensor 0 through such a window."""
    source = line(0, rows, 60 // rows, first=first, stride=stride, count=count, dilation=dilation)
    target = line(1, steps, 60 // steps)
    return row_table(graph_of(60, 60), [node([source], [target], steps)], {})


@pytest.mark.parametrize(
    ("table", "reads"),
    [
        # 6 rows, 3 x 3, padding SAME
        (window(6, -1, 1, 3, 1, 6), ["01", "012", "123", "234", "345", "45"]),
        # ... VALID
        (window(6, 0, 1, 3, 1, 4), ["012", "123", "234", "345"]),
        # ... stride 2: SAME pads below only
        (window(6, 0, 2, 3, 1, 3), ["012", "234", "45"]),
        # 5 rows, stride 2, padding on both sides
        (window(5, -1, 2, 3, 1, 3), ["01", "123", "34"]),
        # dilation 2: rows that are left out stay out
        (window(6, -2, 1, 3, 2, 6), ["02", "13", "024", "135", "24", "35"]),
        # stride beyond the kernel: rows that nobody reads
        (window(6, 0, 3, 1, 1, 2), ["0", "3"]),
        # a window that is padding alone
        (window(2, -3, 3, 2, 1, 3), ["", "01", ""]),
    ],
)
def test_windows(table: RowTable, reads: list[str]) -> None:
    assert table.reads == (tuple(tuple(map(int, rows)) for rows in reads),)
    first = table.cuts[1].first
    assert table.writes == (tuple((first + step,) for step in range(len(reads))),)
    assert table.steps(0) == len(reads)
    assert table.nodes == 1


def test_rows_by_a_table() -> None:
    source = line(0, 3, 20, table=(2, 0, -1, 2, 3))
    table = row_table(graph_of(60, 60), [node([source], [line(1, 5, 12)], 5)], {})
    assert table.reads == (((2,), (0,), (), (2,), ()),)


def test_rows_sizes_and_makers() -> None:
    """A chain of two nodes: numbers run through the tensors, graph inputs first."""
    graph = graph_of(*SIZES, outputs=(2,))
    nodes = [copy(0, 1, 6, 10), node([line(1, 6, 10, stride=2)], [line(2, 2, 20)], 2)]
    table = row_table(graph, nodes, {})
    assert table.cuts == (Cut(0, 0, 6, 10), Cut(1, 6, 6, 10), Cut(2, 12, 2, 20))
    assert table.size == (10,) * 12 + (20, 20)
    assert table.makers[:6] == ((),) * 6
    assert table.makers[6:12] == tuple(((0, step),) for step in range(6))
    assert table.makers[12:] == (((1, 0),), ((1, 1),))
    assert table.reads[1] == ((6,), (8,))
    assert table.given == frozenset(range(6))
    assert table.kept == {12, 13}
    assert table.scratch == (0, 0)
    assert table.lasting == (-1, -1)


def test_rows_take_as_much_as_their_alignment_makes_them() -> None:
    """Rows beside wider ones; inputs and outputs are in one piece."""
    graph = graph_of(60, 60, 60, 60, outputs=(3,))
    wide = replace(graph.tensors[2], shape=(30,), dtype=DType.INT16)
    tensors = (*graph.tensors[:2], wide, graph.tensors[3])
    nodes = [copy(0, 1, 12, 5), copy(1, 2, 6, 10), copy(2, 3, 12, 5)]
    table = row_table(replace(graph, tensors=tensors), nodes, {})
    assert table.align == 2
    assert table.size == (5,) * 12 + (10,) * 6 + (10,) * 6 + (5,) * 12
    nodes = [copy(0, 1, 12, 5), copy(0, 2, 12, 5), *nodes[2:]]
    alone = row_table(replace(graph, tensors=tensors), nodes, {})
    assert alone.size == (5,) * 12 + (6,) * 12 + (6,) * 12 + (5,) * 12


def test_a_view_is_the_tensor_it_looks_at() -> None:
    graph = graph_of(60, 60, 60, 60, outputs=(2,))
    table = row_table(graph, [copy(0, 1, 6, 10), copy(2, 3, 6, 10)], {2: 1})
    assert [cut.tensor for cut in table.cuts] == [0, 1, 3]
    assert table.reads[1] == table.writes[0]
    assert table.kept == set(range(6, 12))


@pytest.mark.parametrize("views", [{}, {2: 1}])
def test_a_tensor_cut_in_ways_that_do_not_fit_is_one_row(views: dict[int, int]) -> None:
    """It is whole when its last step has run, and every reader needs all of it."""
    graph = graph_of(60, 60, 60, 60)
    nodes = [copy(0, 1, 6, 10), copy(2 if views else 1, 3, 5, 12)]
    table = row_table(graph, nodes, views)
    assert table.cuts[:2] == (Cut(0, 0, 6, 10), Cut(1, 6, 1, 60))
    assert table.writes[0] == ((6,),) * 6
    assert table.reads[1] == ((6,),) * 5
    assert table.makers[6] == ((0, 5),)
    assert table.size[6] == 60


def cut_by(*ways: tuple[int, int]) -> RowTable:
    """A tensor of 240 bytes, tensor 1, that one node makes and others read: (rows, bytes of a row)."""
    (rows, size), *readers = ways
    nodes = [copy(0, 1, rows, size)]
    nodes += [copy(1, 2 + i, rows, size) for i, (rows, size) in enumerate(readers)]
    return row_table(graph_of(*[240] * (2 + len(readers))), nodes, {})


@pytest.mark.parametrize(
    ("ways", "size"),
    [
        (((20, 12), (20, 12)), 12),
        (((20, 12), (10, 24)), 24),  # two of the one are one of the other
        (((10, 24), (20, 12)), 24),
        (((20, 12), (12, 20)), 60),  # the least common multiple
        (((30, 8), (20, 12), (12, 20)), 120),
        (((20, 12), (15, 16), (12, 20)), 240),
        (((20, 12), (1, 240)), 240),
        (((40, 6), (16, 15)), 30),
        (((20, 12), (7, 12)), 240),  # a port of another tensor's size knows no rows
    ],
)
def test_cuts_are_joined(ways: tuple[tuple[int, int], ...], size: int) -> None:
    """A row is as small as it can be with every port's rows within one."""
    table = cut_by(*ways)
    made, count = table.cuts[1], 240 // size
    assert (made.count, made.size) == (count, size)
    first = made.first
    for node, (rows, each) in enumerate(ways):
        touched = table.reads[node] if node else table.writes[node]
        assert len(touched) == rows
        for step, found in enumerate(touched):
            assert found == (first + min(step * each // size, count - 1),)
    rows, each = ways[0]
    last = [max(s for s in range(rows) if s * each // size == row) for row in range(count)]
    assert table.makers[first : first + count] == tuple(((0, step),) for step in last)


def test_a_window_over_rows_of_rows() -> None:
    """Three rows of 8 bytes, two of which are one of 16: the window is one or two of those."""
    source = line(1, 6, 8, first=-1, count=3)
    nodes = [copy(0, 1, 3, 16), node([source], [line(2, 6, 8)], 6)]
    table = row_table(graph_of(48, 48, 48), nodes, {})
    first = table.cuts[1].first
    assert [tuple(row - first for row in rows) for rows in table.reads[1]] == [
        *((0,), (0, 1), (0, 1), (1, 2), (1, 2), (2,))
    ]


def test_a_view_is_cut_as_what_it_looks_at() -> None:
    """A reshape from 4 rows of 12 bytes to 2 of 24 is no barrier."""
    graph = graph_of(48, 48, 48, 48)
    table = row_table(graph, [copy(0, 1, 4, 12), copy(2, 3, 2, 24)], {2: 1})
    assert [(cut.tensor, cut.count, cut.size) for cut in table.cuts] == [
        *((0, 4, 12), (1, 2, 24), (3, 2, 24))
    ]
    assert table.writes[0] == ((4,), (4,), (5,), (5,))
    assert table.reads[1] == ((4,), (5,))


def test_a_part_of_a_view_is_counted_in_the_views_rows() -> None:
    """Tensor 1 is tensor 0, 4 rows of 12 bytes, as 6 rows of 8; tensors 2 and 3 are 2 and 4 of them."""
    graph = graph_of(48, 48, 16, 32, 16, 32, 48)
    crops = {2: Crop(0, 8, 0), 3: Crop(0, 8, 0, row=2)}
    nodes = [copy(2, 4, 2, 8), copy(3, 5, 4, 8)]
    table = row_table(graph, nodes, {1: 0, 2: 0, 3: 0}, crops=crops)
    assert table.cuts[0] == Cut(0, 0, 6, 8)
    assert table.reads == (((0,), (1,)), ((2,), (3,), (4,), (5,)))
    table = row_table(graph, [*nodes, copy(0, 6, 4, 12)], {1: 0, 2: 0, 3: 0}, crops=crops)
    assert table.cuts[0] == Cut(0, 0, 2, 24)  # whoever sees it in its own rows, too
    assert table.reads[:2] == (((0,), (0,)), ((0,), (1,), (1,), (1,)))


def test_what_is_read_before_it_is_made_is_a_fault() -> None:
    with pytest.raises(FaultError) as caught:
        row_table(graph_of(60, 60, 60), [copy(1, 2, 6, 10), copy(0, 1, 6, 10)], {})
    assert str(caught.value) == (
        "node 0 of the program reads row 6 before it is made\n"
        "  remedy: this is an internal error of lowtide; report it, with the model"
    )
    with pytest.raises(FaultError, match="node 0 of the program reads row 1 before it is made"):
        row_table(graph_of(60, 60, 60), [copy(1, 2, 6, 10)], {})


def test_rows_that_are_exchanged_are_neither_given_nor_kept() -> None:
    graph = graph_of(60, 60, outputs=(1,))
    pull = Exchange(0, line(0, 6, 10), given=True)
    take = Exchange(0, line(1, 6, 10), given=False)
    table = row_table(graph, [pull, copy(0, 1, 6, 10), take], {})
    assert table.given == table.kept == set()
    assert table.makers[:6] == tuple(((0, step),) for step in range(6))
    assert table.reads[2] == table.writes[1] == tuple((6 + step,) for step in range(6))
    assert row_table(graph, [pull, copy(0, 1, 6, 10)], {}).kept == set(range(6, 12))
    assert row_table(graph, [copy(0, 1, 6, 10), take], {}).given == set(range(6))


def test_a_step_whose_row_is_padding_makes_nothing_of_a_tensor_in_rows() -> None:
    """Reductions write one row, in their last step."""
    eats = node([line(0, 6, 10)], [line(1, 1, 60, first=-5)], 6)
    table = row_table(graph_of(60, 60), [eats], {})
    assert table.writes == (((),) * 5 + ((6,),),)
    assert table.makers[6] == ((0, 5),)


def test_two_nodes_that_fill_one_tensor() -> None:
    """A concatenation along the rows: each row has its own maker."""
    halves = [
        node([line(0, 3, 10)], [line(2, 6, 10)], 3),
        node([line(1, 3, 10)], [line(2, 6, 10, first=3)], 3),
    ]
    table = row_table(graph_of(30, 30, 60, inputs=(0, 1)), halves, {})
    assert table.makers[6:] == (
        *(((0, 0),), ((0, 1),), ((0, 2),)),
        *(((1, 0),), ((1, 1),), ((1, 2),)),
    )
    reader = node([line(2, 1, 60)], [line(3, 1, 60)], 1)
    table = row_table(graph_of(30, 30, 60, 60, inputs=(0, 1)), [*halves, reader], {})
    assert table.makers[6] == ((0, 2), (1, 2))  # as one row, it needs both


def test_scratch_that_lasts_is_a_row_of_every_step() -> None:
    graph = graph_of(60, 60, 60)
    nodes = [copy(0, 1, 6, 10, scratch=7), copy(1, 2, 6, 10, scratch=9, scratch_lasts=False)]
    table = row_table(graph, nodes, {})
    assert table.scratch == (0, 9)
    assert table.lasting == (18, -1)
    assert table.size[18] == 7
    assert len(table.size) == 19
    assert all(rows[-1] == 18 for rows in table.writes[0])
    assert table.makers[18] == ((0, 5),)
    assert not any(18 in rows for rows in table.reads[0])
    assert 18 not in {*table.given, *table.kept}


def test_scratch_of_no_bytes_is_no_row() -> None:
    table = row_table(graph_of(60, 60), [copy(0, 1, 6, 10, scratch=0, scratch_lasts=True)], {})
    assert len(table.size) == 12
    assert table.lasting == (-1,)


def test_inputs_kept_elsewhere_take_no_rows() -> None:
    graph = graph_of(60, 60, 60, inputs=(0, 1))
    both = node([line(0, 6, 10), line(1, 6, 10)], [line(2, 6, 10)], 6)
    table = row_table(graph, [both], {}, outside=(0,))
    assert [cut.tensor for cut in table.cuts] == [1, 2]
    assert table.given == set(range(6))
    assert table.reads == (tuple((step,) for step in range(6)),)
    nothing = row_table(graph, [both], {}, outside=(0, 1), preserve=True)
    assert nothing.given == nothing.kept == set()
    assert nothing.reads == (((),) * 6,)


@pytest.mark.parametrize("field", [{"data": b"x" * 60}, {"is_variable": True}])
def test_constants_and_variables_take_no_rows(field: dict[str, Any]) -> None:
    graph = graph_of(60, 60, 60, t1=field)
    both = node([line(0, 6, 10), line(1, 6, 10)], [line(2, 6, 10)], 6)
    table = row_table(graph, [both], {})
    assert [cut.tensor for cut in table.cuts] == [0, 2]
    assert table.reads == (tuple((step,) for step in range(6)),)


def test_a_preserved_input_is_kept_to_the_end() -> None:
    graph = graph_of(60, 60, outputs=(1,))
    nodes = [copy(0, 1, 6, 10)]
    assert row_table(graph, nodes, {}).kept == set(range(6, 12))
    assert row_table(graph, nodes, {}, preserve=True).kept == set(range(12))


def test_an_input_that_nobody_reads_is_there_all_the_same() -> None:
    """Its caller writes it: one row, before all others in use."""
    table = row_table(graph_of(60, 60, 60, inputs=(2, 0)), [copy(0, 1, 6, 10)], {})
    assert table.cuts[0] == Cut(2, 0, 1, 60)
    assert table.given == set(range(7))


def test_a_tensor_read_twice_in_a_step_is_listed_once() -> None:
    square = node([line(0, 6, 10), line(0, 6, 10)], [line(1, 6, 10)], 6)
    table = row_table(graph_of(60, 60), [square], {})
    assert table.reads == (tuple((step,) for step in range(6)),)
