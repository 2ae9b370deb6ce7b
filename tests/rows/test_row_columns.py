"""Columns of strips against their definition: which output column needs which input columns.

Why: whole strips are cropped operators, padded differently. Here each tap of each kernel is looked up
in the whole map and in its crop, for operators of every stride, dilation and padding.
"""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from column_nets import cuts_of, drawn, gaps, needed, reading

from lowtide.ir import DType, Graph, Op, Tensor
from lowtide.ir.block import BlockOp
from lowtide.ir.graph import Option
from lowtide.ir.window import Axis
from lowtide.lower import columns_read
from lowtide.lower.nodes import Reads
from lowtide.plans.strips import in_strips
from lowtide.rows.columns import (
    Stripes,
    runs,
    stage_windows,
    stripes,
    widths,
)

BATCH = 30
batches = pytest.mark.parametrize("first", range(0, 240, BATCH))


@batches
def test_windows_are_what_the_definition_says(first: int) -> None:
    for seed in range(first, first + BATCH):
        draw, graph = drawn(seed)
        for op in graph.ops:
            of = columns_read(graph, op)
            assert of is not None
            assert [w.tensor for w in of] == [
                t for t in op.inputs if not graph.tensors[t].is_constant
            ]
            wide = graph.tensors[op.outputs[0]].shape[2]
            for w in of:
                whole = graph.tensors[w.tensor].shape[2]
                assert (w.axis.stride, w.axis.before) == (draw.strides[op.id], draw.pads[op.id])
                assert w.axis.size == max(draw.taps[op.id]) + 1
                for start in range(wide):
                    for stop in range(start + 1, min(wide, start + 4) + 1):
                        read = w.axis.reads(range(start, stop), whole)
                        need = set().union(
                            *(needed(draw, op.id, x, whole) for x in range(start, stop))
                        )
                        assert need <= set(read)
                        if not gaps(draw, op.id):
                            assert set(read) == need


@batches
def test_a_strip_has_what_its_operators_read_and_pads_the_rest(first: int) -> None:
    """Every tap of a cropped operator meets the column it meets in the whole map, or padding."""
    for seed in range(first, first + BATCH):
        draw, graph, cuts = cuts_of(seed)
        for _, cut in cuts:
            for strip in cut.strips if cut is not None else ():
                made_here: dict[int, range] = {}
                for op, made, reads in zip(graph.ops, strip.made, strip.read, strict=True):
                    of = columns_read(graph, op)
                    assert of is not None
                    for w, read in zip(of, reads, strict=True):
                        whole = graph.tensors[w.tensor].shape[2]
                        held = strip.held[w.tensor]
                        assert set(read) <= set(held)
                        assert w.tensor in graph.inputs or held == made_here[w.tensor]
                        left, right = w.axis.padding(made, whole)
                        assert min(left, right) >= 0
                        crop = len(read)
                        assert (crop + left + right - w.axis.size) // w.axis.stride + 1 == len(made)
                        for number, column in enumerate(made):
                            for tap in draw.taps[op.id]:
                                there = column * w.axis.stride - w.axis.before + tap
                                here = number * w.axis.stride - left + tap
                                assert (0 <= here < crop) == (0 <= there < whole), seed
                                if 0 <= here < crop:
                                    assert read.start + here == there
                    made_here[op.outputs[0]] = made
                assert made_here[graph.outputs[0]] == strip.held[graph.outputs[0]]


@batches
def test_strips_make_the_output_and_nothing_that_nobody_needs(first: int) -> None:
    for seed in range(first, first + BATCH):
        draw, graph, cuts = cuts_of(seed)
        out = graph.outputs[0]
        wide = graph.tensors[out].shape[2]
        for width, cut in cuts:
            if cut is None:
                continue
            made = [strip.held[out] for strip in cut.strips]
            assert [x for columns in made for x in columns] == list(range(wide))
            assert all(len(columns) == width for columns in made[:-1])
            assert 1 <= len(made[-1]) <= width
            for strip in cut.strips:
                need = {out: set(strip.held[out])}
                for op in reversed(graph.ops):
                    for t in op.inputs:
                        if not graph.tensors[t].is_constant:
                            of = graph.tensors[t].shape[2]
                            columns = (needed(draw, op.id, x, of) for x in need[op.outputs[0]])
                            need[t] = _filled(need.get(t, set()).union(*columns))
                    for line in op.intermediates:  # what a block keeps is all that it reads
                        of = graph.tensors[op.inputs[0]].shape[2]
                        columns = (needed(draw, op.id, x, of) for x in need[op.outputs[0]])
                        need[line] = set().union(*columns)
                exact = not any(gaps(draw, op.id) for op in graph.ops)
                for t, columns_held in strip.held.items():
                    assert need[t] <= set(columns_held)
                    assert need[t] == set(columns_held) or not exact, seed
                    assert set(columns_held) <= set(range(graph.tensors[t].shape[2]))


def _filled(columns: set[int]) -> set[int]:
    """The columns and all between them."""
    return set(range(min(columns), max(columns) + 1)) if columns else set()


@batches
def test_there_are_no_strips_only_where_one_would_read_nothing(first: int) -> None:
    empty = 0
    for seed in range(first, first + BATCH):
        _, graph, cuts = cuts_of(seed)
        out = graph.outputs[0]
        wide = graph.tensors[out].shape[2]
        for width, cut in cuts:
            nothing = False
            for start in range(0, wide, width):
                held = {out: range(start, min(wide, start + width))}
                for op in reversed(graph.ops):
                    for w in columns_read(graph, op) or ():
                        read = w.axis.reads(held[op.outputs[0]], graph.tensors[w.tensor].shape[2])
                        old = held.get(w.tensor, read)
                        nothing |= not len(read)
                        held[w.tensor] = range(min(old.start, read.start), max(old.stop, read.stop))
            assert (cut is None) == nothing, seed
            empty += nothing
    assert empty


@batches
def test_macs_are_counted_column_by_column(first: int) -> None:
    for seed in range(first, first + BATCH):
        draw, graph, cuts = cuts_of(seed)
        for _, cut in cuts:
            if cut is None:
                continue
            count = 0
            for strip in cut.strips:
                for op, made in zip(graph.ops, strip.made, strict=True):
                    _, high, _, deep = graph.tensors[op.outputs[0]].shape
                    for _ in made:
                        if op.type == "CONV_2D":
                            each = len(draw.taps[op.id]) * graph.tensors[op.inputs[0]].shape[3]
                            count += high * deep * each
                        elif op.type == "DEPTHWISE_CONV_2D":
                            count += high * deep * len(draw.taps[op.id])
                        elif isinstance(op, BlockOp):
                            count += high * op.pixel_macs
                    if isinstance(op, BlockOp):  # what it reads, it expands
                        of = graph.tensors[op.inputs[0]].shape[2]
                        read = set().union(*(needed(draw, op.id, x, of) for x in made))
                        count += len(read) * op.expanded_rows * op.expand_macs
            assert cut.macs == count, seed


@batches
def test_runs_are_strips_alike_at_even_distances(first: int) -> None:
    for seed in range(first, first + BATCH):
        _, graph, cuts = cuts_of(seed)
        for _, cut in cuts:
            if cut is None:
                continue
            found = runs(cut)
            assert [n for r in found for n in range(r.first, r.first + r.times)] == list(
                range(len(cut.strips))
            )
            for run in found:
                assert set(run.start) == set(run.shift) == {*cut.inputs, cut.output}
                for number in range(run.times):
                    strip = cut.strips[run.first + number]
                    assert _form(graph, cut, run.first + number) == _form(graph, cut, run.first)
                    for t, start in run.start.items():
                        assert strip.held[t].start == start + number * run.shift[t], seed
            for one, other in pairwise(found):
                # Neighbouring runs are kept apart by their form, or by the distance.
                same = _form(graph, cut, one.first) == _form(graph, cut, other.first)
                if same:
                    last = cut.strips[other.first - 1].held
                    step = {t: cut.strips[other.first].held[t].start - last[t].start for t in last}
                    assert any(step[t] != one.shift[t] for t in one.shift), seed


def _form(graph: Graph, cut: Stripes, number: int) -> list[object]:
    """Sizes, places within what is held, and padding of everything in a strip."""
    strip = cut.strips[number]
    form: list[object] = []
    for op, made, reads in zip(graph.ops, strip.made, strip.read, strict=True):
        form.append(len(made))
        for w, read in zip(columns_read(graph, op) or (), reads, strict=True):
            held = strip.held[w.tensor]
            form += [len(read), read.start - held.start]
            form.append(w.axis.padding(made, graph.tensors[w.tensor].shape[2]))
            if w.tensor not in cut.inputs:
                form.append(len(held))
    return form


@batches
def test_all_widths_at_once_are_what_each_is_alone(first: int) -> None:
    """Every stage of every network: which widths there are, MACs, runs, and columns of each tensor."""
    several = 0
    for seed in range(first, first + BATCH):
        _, graph = drawn(seed)
        for begin, end in combinations(range(len(graph.ops) + 1), 2):
            operators = range(begin, end)
            later = {t for op in graph.ops[end:] for t in op.inputs} | set(graph.outputs)
            found = stage_windows(graph, operators, frozenset(later), reading(graph))
            if found is None:
                continue
            of, output = found
            lines = {t for op in graph.ops[begin:end] for t in op.intermediates}
            tensors = [*{w.tensor for windows_of in of for w in windows_of}, output, *lines]
            cuts = [
                cut
                for width in widths(graph.tensors[output].shape[2])
                if (cut := stripes(graph, operators, of, output, width)) is not None
            ]
            at_once = in_strips(graph, operators, of, output, tensors)
            assert [(w.width, w.macs) for w in at_once] == [(cut.width, cut.macs) for cut in cuts]
            for cut, both in zip(cuts, at_once, strict=True):
                of_cut = runs(cut)
                held = [[len(cut.strips[r.first].held[t]) for r in of_cut] for t in tensors]
                assert both.held.tolist() == held, seed
                assert both.first_alone == (of_cut[0].times == 1)
                assert both.last_alone == (of_cut[-1].times == 1)
                several += len(of_cut) > 2
    assert several > 100


def test_windows_by_hand() -> None:
    window = Axis(3, stride=2, before=1)
    assert window.reads(range(1), 8) == range(2)
    assert window.reads(range(1, 3), 8) == range(1, 6)
    assert window.reads(range(3, 4), 8) == range(5, 8)
    assert window.padding(range(1), 8) == (1, 0)
    assert window.padding(range(4), 7) == (1, 1)
    assert not len(Axis(before=2).reads(range(2), 8))


def _maps(*shapes: tuple[int, ...], variable: bool = False) -> list[Tensor]:
    return [Tensor(i, f"t{i}", s, DType.INT8, is_variable=variable) for i, s in enumerate(shapes)]


def _constant(number: int, shape: tuple[int, ...]) -> Tensor:
    return Tensor(number, f"t{number}", shape, DType.INT8, data=b"x")


MAP = (1, 4, 6, 3)


@pytest.mark.parametrize(
    ("kind", "tensors", "inputs", "options"),
    [
        ("MEAN", _maps(MAP, (1, 3)), (0,), {}),
        ("FULLY_CONNECTED", _maps((1, 18), (1, 4)), (0,), {}),
        ("SOFTMAX", _maps(MAP, MAP), (0,), {}),
        ("RESIZE_BILINEAR", _maps(MAP, (1, 8, 12, 3)), (0,), {}),
        ("CONCATENATION", _maps(MAP, MAP, (1, 4, 12, 3)), (0, 1), {"axis": 2}),
        ("CONCATENATION", _maps(MAP, MAP, (1, 4, 12, 3)), (0, 1), {"axis": -2}),
        ("CONCATENATION", [*_maps(MAP), _constant(1, MAP), *_maps(MAP)], (0, 1), {"axis": 3}),
        ("ADD", _maps(MAP, (1, 1, 6, 3), MAP), (0, 1), {}),
        ("ADD", _maps((4, 6, 3), (4, 6, 3)), (0, 0), {}),
        ("MUL", [*_maps(MAP), _constant(1, (1, 1, 6, 1)), *_maps(MAP)], (0, 1), {}),
        ("MUL", [*_maps(MAP), _constant(1, MAP), *_maps(MAP)], (0, 1), {}),
        ("MUL", [*_maps(MAP), _constant(1, (1, 1, 3, 1)), *_maps(MAP)], (0, 1), {}),
        ("RELU", _maps(MAP, MAP, variable=True), (0,), {}),
        ("RELU", [_constant(0, MAP), *_maps(MAP, MAP)], (0,), {}),
        ("CONV_2D", _maps(MAP, (2, 1, 1, 3), (1, 4, 6, 2)), (0, 1), {}),  # weights are computed
        ("CONV_2D", _maps(MAP, (1, 4, 6, 2)), (0, 0), {"stride_w": 0}),
    ],
)
def test_what_cannot_be_cut_into_strips(
    kind: str, tensors: list[Tensor], inputs: tuple[int, ...], options: dict[str, Option]
) -> None:
    numbered = tuple(
        Tensor(i, t.name, t.shape, t.dtype, data=t.data, is_variable=t.is_variable)
        for i, t in enumerate(tensors)
    )
    op = Op(0, kind, inputs, (len(numbered) - 1,), options)
    assert columns_read(Graph("no", numbered, (op,), (0,), (op.outputs[0],)), op) is None


def test_an_operator_of_two_outputs_cannot_be_cut() -> None:
    graph = Graph("no", tuple(_maps(MAP, MAP, MAP)), (), (0,), (1,))
    assert columns_read(graph, Op(0, "RELU", (0,), (1, 2))) is None
    assert columns_read(graph, Op(0, "RELU", (0,), (1,))) == (Reads(0),)


def _line(*reads: tuple[int, ...], shape: tuple[int, ...] = MAP) -> Graph:
    """Sums; operator i makes tensor i + 1."""
    tensors = tuple(_maps(*[shape] * (len(reads) + 1)))
    ops = tuple(
        Op(i, "ADD", of if len(of) == 2 else (of[0], of[0]), (i + 1,)) for i, of in enumerate(reads)
    )
    return Graph("line", tensors, ops, (0,), (len(reads),))


@pytest.mark.parametrize(
    ("graph", "operators", "outside", "fits"),
    [
        (_line((0,), (1,), (2,)), (0, 1, 2), {3}, True),
        (_line((0,), (1,), (2,)), (1, 2), {3}, True),
        (_line((0,), (1,), (2,)), (1,), {2}, True),
        (_line((0,), (1,), (2,)), (0, 1, 2), {2, 3}, False),  # two are wanted
        (_line((0,), (1,), (2,)), (0, 1, 2), {2}, False),  # the last one is not
        (_line((0,), (1,), (2,)), (0, 1, 2), set(), False),
        (_line((0,), (0,), (1,)), (0, 1, 2), {3}, False),  # tensor 2 is read by nobody
        (_line((0,), (1,), (0, 2)), (0, 1, 2), {3}, True),
        (_line((0,), (1,), shape=(1, 4, 1, 3)), (0, 1), {2}, False),  # one column
        (_line((0,), (1,), shape=(4, 6, 3)), (0, 1), {2}, False),
        (_line((0,)), (), set(), False),
    ],
)
def test_stages_in_strips(
    graph: Graph, operators: tuple[int, ...], outside: set[int], fits: bool
) -> None:
    found = stage_windows(graph, operators, frozenset(outside), reading(graph))
    assert (found is not None) == fits
    if found is not None:
        of, output = found
        assert output == operators[-1] + 1
        assert list(of) == [columns_read(graph, graph.ops[op]) for op in operators]


def test_widths_are_the_least_of_each_number_of_strips() -> None:
    for whole in range(1, 70):
        least: dict[int, int] = {}
        for width in range(whole, 0, -1):
            least[-(-whole // width)] = width
        assert widths(whole) == sorted(least[n] for n in least if n > 1)


def test_batches_can_be_cut_into_strips() -> None:
    tensors = _maps((2, 4, 6, 3), (2, 4, 6, 3))
    op = Op(0, "ADD", (0, 0), (1,))
    assert columns_read(Graph("yes", tuple(tensors), (op,), (0,), (1,)), op) == (Reads(0), Reads(0))
