"""Columns of strips against their definition: which output column needs which input columns.

Why: whole strips are cropped operators, padded differently. Here each tap of each kernel is looked up
in the whole map and in its crop, for operators of every stride, dilation and padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from random import Random

import pytest

from lowtide.ir import DType, Graph, Op, Tensor
from lowtide.ir.graph import Option
from lowtide.ir.macs import BLOCK
from lowtide.ir.passes import EXPLICIT_PADDING
from lowtide.rows import blocks
from lowtide.rows.columns import (
    Stripes,
    Window,
    runs,
    stage_windows,
    stripes,
    widths,
    windows,
)
from lowtide.rows.weigh import weighed

BATCH = 30
batches = pytest.mark.parametrize("first", range(0, 240, BATCH))
SAME, VALID = 0, 1


@dataclass(slots=True)
class Drawing:
    """Operators on maps 1 x H x W x C; `taps[op]` are the columns of the kernel before stride and pad.

    `pads[op]` is how far left of the map the first window begins.
    """

    rng: Random
    tensors: list[Tensor] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    taps: list[tuple[int, ...]] = field(default_factory=list)
    strides: list[int] = field(default_factory=list)
    pads: list[int] = field(default_factory=list)

    def tensor(self, shape: Sequence[int], *, constant: bool = False) -> int:
        data = b"" if constant else None
        number = len(self.tensors)
        self.tensors.append(Tensor(number, f"t{number}", tuple(shape), DType.INT8, data=data))
        return number

    def add(
        self,
        kind: str,
        inputs: Sequence[int],
        shape: Sequence[int],
        taps: tuple[int, ...] = (0,),
        stride: int = 1,
        pad: int = 0,
        **options: Option,
    ) -> int:
        out = self.tensor(shape)
        self.ops.append(Op(len(self.ops), kind, tuple(inputs), (out,), options))
        self.taps.append(taps)
        self.strides.append(stride)
        self.pads.append(pad)
        return out

    def shape(self, tensor: int) -> tuple[int, ...]:
        return self.tensors[tensor].shape

    def window(self, x: int, *, keep: bool = False) -> int:
        """A convolution or a pool; `keep` keeps the width. Its kernel may be wider than the map."""
        rng, (_, high, wide, deep) = self.rng, self.shape(x)
        kind = rng.choice(("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D"))
        kernel, stride, dilation = rng.choice((1, 1, 2, 3, 5, 9)), rng.choice((1, 1, 2, 3)), 1
        if kind.endswith("CONV_2D"):
            dilation = rng.choice((1, 1, 2, 3))
        padding = rng.choice((SAME, VALID, EXPLICIT_PADDING))
        if keep:
            stride, padding = 1, SAME
        size = (kernel - 1) * dilation + 1
        options: dict[str, Option] = {"stride_w": stride, "stride_h": 1, "padding": VALID}
        left, right = 0, 0
        if padding == SAME:
            out = -(-wide // stride)
            total = max(0, (out - 1) * stride + size - wide)
            left, right = total // 2, total - total // 2
            options["padding"] = SAME
        elif padding == EXPLICIT_PADDING:
            left, right = rng.randint(0, size), rng.randint(0, size)  # windows may miss the map
            options[EXPLICIT_PADDING] = (0, 0, left, right)
        out = (wide + left + right - size) // stride + 1
        if out < 1:
            return self.window(x, keep=keep)
        taps = tuple(k * dilation for k in range(kernel))
        if kind.endswith("POOL_2D"):
            options |= {"filter_width": kernel, "filter_height": 1}
            return self.add(kind, [x], (1, high, out, deep), taps, stride, left, **options)
        options["dilation_w_factor"] = dilation
        many = deep if kind[0] == "D" else rng.randint(1, 4)
        filters = (1, 1, kernel, deep) if kind[0] == "D" else (many, 1, kernel, deep)
        weights = self.tensor(filters, constant=True)
        return self.add(kind, [x, weights], (1, high, out, many), taps, stride, left, **options)

    def plain(self, x: int) -> int:
        kind = self.rng.choice(("RELU", "TANH", "QUANTIZE", "ADD", "MUL", "MINIMUM"))
        inputs = [x]
        if kind in ("ADD", "MUL", "MINIMUM"):
            inputs.append(
                self.tensor(self.rng.choice(((), (1,), self.shape(x)[3:])), constant=True)
            )
        return self.add(kind, inputs, self.shape(x))

    def block(self, x: int) -> int:
        """A block whose rows need not be counted: only its columns are looked at."""
        rng, (_, high, wide, deep) = self.rng, self.shape(x)
        kernel = rng.choice((1, 2, 3, 3, 5))
        stride = rng.randint(1, min(kernel, 3))
        left, right = rng.randint(0, kernel), rng.randint(0, kernel)
        out = (wide + left + right - kernel) // stride + 1
        if out < 1:
            return self.window(x)
        options: dict[str, Option] = {
            "kernel_w": kernel,
            "stride_w": stride,
            EXPLICIT_PADDING: (0, 0, left, right),
            "expanded_rows": rng.randint(1, 3 * high),
            "expanded_columns": min(wide, (out - 1) * stride + kernel - left),
            "expand_macs": rng.choice((0, 7)),
            "pixel_macs": rng.randint(1, 9),
        }
        lines = []
        if rng.random() < 0.6:
            lines.append(self.tensor((1, 2, wide, 2 * deep)))
        made = self.add(
            BLOCK, [x], (1, high, out, deep), tuple(range(kernel)), stride, left, **options
        )
        self.ops[-1] = replace(self.ops[-1], intermediates=tuple(lines))
        return made

    def branches(self, x: int) -> int:
        """Two ways to the same width, put together again."""
        one, other = self.window(x, keep=True), x
        if self.rng.random() < 0.5:
            other = self.window(x, keep=True)
        a, b = self.shape(one), self.shape(other)
        if a == b and self.rng.random() < 0.6:
            return self.add("ADD", [one, other], a)
        axis = 1 if a[3] == b[3] and self.rng.random() < 0.5 else 3
        shape = list(a)
        shape[axis] += b[axis]
        signed = axis - 4 if self.rng.random() < 0.5 else axis
        return self.add("CONCATENATION", [one, other], shape, axis=signed)


def drawn(seed: int) -> tuple[Drawing, Graph]:
    """A network whose operators can all run as one stage in strips, and its last tensor's maker."""
    draw = Drawing(Random(seed))
    rng = draw.rng
    source = draw.tensor((1, rng.randint(1, 3), rng.randint(1, 17), rng.randint(1, 4)))
    x = source
    for _ in range(rng.randint(1, 4)):
        x = rng.choice((*[draw.window] * 3, draw.plain, draw.branches, draw.block))(x)
    return draw, Graph("columns", tuple(draw.tensors), tuple(draw.ops), (source,), (x,))


def needed(draw: Drawing, op: int, column: int, wide: int) -> set[int]:
    """The columns of an input `wide` wide that the operator's output column needs."""
    left = column * draw.strides[op] - draw.pads[op]
    return {left + tap for tap in draw.taps[op] if 0 <= left + tap < wide}


def gaps(draw: Drawing, op: int) -> bool:
    """Whether windows leave columns out; one beside the map may then reach into it for nothing."""
    size = max(draw.taps[op]) + 1
    return len(draw.taps[op]) < size or draw.strides[op] > size


def cuts_of(seed: int) -> tuple[Drawing, Graph, list[tuple[int, Stripes | None]]]:
    """The network in strips of every width, also wider ones than the map."""
    draw, graph = drawn(seed)
    out = graph.outputs[0]
    of = [windows(graph, op) for op in graph.ops]
    assert all(w is not None for w in of), seed
    wide = graph.tensors[out].shape[2]
    found = stage_windows(graph, range(len(graph.ops)), frozenset({out}))
    assert (found is None) == (wide == 1), seed
    plain = [w for w in of if w is not None]
    return (
        draw,
        graph,
        [
            (width, stripes(graph, range(len(graph.ops)), plain, out, width))
            for width in range(1, wide + 2)
        ],
    )


@batches
def test_windows_are_what_the_definition_says(first: int) -> None:
    for seed in range(first, first + BATCH):
        draw, graph = drawn(seed)
        for op in graph.ops:
            of = windows(graph, op)
            assert of is not None
            assert [w.tensor for w in of] == [
                t for t in op.inputs if not graph.tensors[t].is_constant
            ]
            wide = graph.tensors[op.outputs[0]].shape[2]
            for w in of:
                whole = graph.tensors[w.tensor].shape[2]
                assert (w.stride, w.pad) == (draw.strides[op.id], draw.pads[op.id])
                assert w.size == max(draw.taps[op.id]) + 1
                for start in range(wide):
                    for stop in range(start + 1, min(wide, start + 4) + 1):
                        read = w.reads(range(start, stop), whole)
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
                    of = windows(graph, op)
                    assert of is not None
                    for w, read in zip(of, reads, strict=True):
                        whole = graph.tensors[w.tensor].shape[2]
                        held = strip.held[w.tensor]
                        assert set(read) <= set(held)
                        assert w.tensor in graph.inputs or held == made_here[w.tensor]
                        left, right = w.padding(made, whole)
                        assert min(left, right) >= 0
                        crop = len(read)
                        assert (crop + left + right - w.size) // w.stride + 1 == len(made)
                        for number, column in enumerate(made):
                            for tap in draw.taps[op.id]:
                                there = column * w.stride - w.pad + tap
                                here = number * w.stride - left + tap
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
                    for w in windows(graph, op) or ():
                        read = w.reads(held[op.outputs[0]], graph.tensors[w.tensor].shape[2])
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
                        elif op.type == BLOCK:
                            count += high * blocks.whole(op, "pixel_macs")
                    if op.type == BLOCK:  # what it reads, it expands
                        of = graph.tensors[op.inputs[0]].shape[2]
                        read = set().union(*(needed(draw, op.id, x, of) for x in made))
                        count += (
                            len(read)
                            * blocks.whole(op, "expanded_rows")
                            * blocks.whole(op, "expand_macs")
                        )
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
        for w, read in zip(windows(graph, op) or (), reads, strict=True):
            held = strip.held[w.tensor]
            form += [len(read), read.start - held.start]
            form.append(w.padding(made, graph.tensors[w.tensor].shape[2]))
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
            found = stage_windows(graph, operators, frozenset(later))
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
            at_once = weighed(graph, operators, of, output, tensors)
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
    window = Window(0, stride=2, size=3, pad=1)
    assert window.reads(range(1), 8) == range(2)
    assert window.reads(range(1, 3), 8) == range(1, 6)
    assert window.reads(range(3, 4), 8) == range(5, 8)
    assert window.padding(range(1), 8) == (1, 0)
    assert window.padding(range(4), 7) == (1, 1)
    assert not len(Window(0, size=1, pad=2).reads(range(2), 8))


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
        ("ADD", _maps((2, 4, 6, 3), (2, 4, 6, 3)), (0, 0), {}),
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
    assert windows(Graph("no", numbered, (op,), (0,), (op.outputs[0],)), op) is None


def test_an_operator_of_two_outputs_cannot_be_cut() -> None:
    graph = Graph("no", tuple(_maps(MAP, MAP, MAP)), (), (0,), (1,))
    assert windows(graph, Op(0, "RELU", (0,), (1, 2))) is None
    assert windows(graph, Op(0, "RELU", (0,), (1,))) == (Window(0),)


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
    found = stage_windows(graph, operators, frozenset(outside))
    assert (found is not None) == fits
    if found is not None:
        of, output = found
        assert output == operators[-1] + 1
        assert list(of) == [windows(graph, graph.ops[op]) for op in operators]


def test_widths_are_the_least_of_each_number_of_strips() -> None:
    for whole in range(1, 70):
        least: dict[int, int] = {}
        for width in range(whole, 0, -1):
            least[-(-whole // width)] = width
        assert widths(whole) == sorted(least[n] for n in least if n > 1)
