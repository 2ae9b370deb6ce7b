"""Which blocks there are, which of them are tried together, and what they compute.

Why by hand: an operator that is taken into a block though somebody else reads what it makes, or though
its rows are others, gives wrong bytes or none at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from strip_nets import (
    BLOCKS,
    all_edges,
    around,
    blocks_of,
    forms,
    graph_of,
    hurry,
    network_of,
    random_plan,
    ready,
    singles,
    space_of,
)

from assembled import assemble_rows
from bench.shared.built import count_macs
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.ir import Graph
from lowtide.ir.block import BlockOp
from lowtide.ir.macs import op_macs
from lowtide.machines.board import find_target
from lowtide.order import best_order
from lowtide.passes import fold_pads
from lowtide.plans.planner import default, plans_of
from lowtide.plans.search import choices_of, ladder
from lowtide.plans.space import without_blocks
from lowtide.prove.proof import ProofError
from lowtide.rows.blocks import MOST_AGAIN, selections
from lowtide.rows.columns import column_macs
from lowtide.rows.prepare import Prepared, prepare
from lowtide.rows.stages import Choice, Limit
from lowtide.target import ANY
from lowtide.tflite.read import parse
from lowtide.zoo.builder import Act
from networks import loaded
from proving import proved
from random_nets import RELU6, Maker

SEEDS = [(BLOCKS + n, small) for n in range(24) for small in (True, False)]
networks = pytest.mark.parametrize(("seed", "small"), SEEDS)

Found = set[tuple[tuple[int, ...], int]]
"""(operators, kept rows) of blocks."""

BOTH = (0, 1, 2)
ALL: Found = {((1, 2), 0), *(((0, 1), n) for n in (0, 2)), *((BOTH, n) for n in (0, 2))}
LAST: Found = {((1, 2), 0)}
FIRST: Found = {((0, 1), 0), ((0, 1), 2)}


def prepared(net: Maker, *outputs: Act) -> Prepared:
    """The network, its operators in the order of the file."""
    graph = fold_pads(parse(net.finish(*outputs)).graph)
    return prepare(graph, range(len(graph.ops)))


def chain(net: Maker, kernel: int = 3, stride: int = 1, *, same: bool = True) -> list[Act]:
    """What a pointwise, a depthwise and a pointwise convolution read and make."""
    x = net.input((1, 8, 10, 4))
    wide = net.conv(x, "expand", 8, 1, 1, RELU6)
    core = net.depthwise(wide, "depthwise", kernel, stride, RELU6, same=same)
    return [x, wide, core, net.conv(core, "project", 4, 1, 1, RELU6)]


def _other_reader(net: Maker, at: int) -> Prepared:
    maps = chain(net)
    other = net.max_pool(maps[at], "other", 2)
    return prepared(net, maps[-1], other)


def _padded(net: Maker, sides: tuple[int, int, int, int], kernel: int, stride: int) -> Prepared:
    wide = net.conv(net.input((1, 8, 1, 4)), "expand", 8, 1, 1, RELU6)
    x = net.pad(wide, "pad", sides)
    core = net.depthwise(x, "depthwise", (3, kernel), (1, stride), RELU6, same=False)
    return prepared(net, net.conv(core, "project", 4))


def _strided(net: Maker) -> Prepared:
    x = net.conv(net.input((1, 8, 10, 4)), "expand", 8, 1, 2, RELU6)
    return prepared(net, net.conv(net.depthwise(x, "depthwise"), "project", 4, 1, 2))


def _dense(net: Maker) -> Prepared:
    """A dense layer that reads a map as it is, and makes no map."""
    x = net.conv(net.input((1, 3, 3, 4)), "expand", 8, 1, 1, RELU6)
    core = net.depthwise(x, "depthwise", 3, 1, RELU6, same=False)
    graph = parse(net.finish(net.fully_connected(core, "dense", 5))).graph
    out = graph.outputs[0]
    flat = (replace(t, shape=(1, 5)) if t.id == out else t for t in graph.tensors)
    return prepare(replace(graph, tensors=tuple(flat)), range(3))


def _dilated(net: Maker) -> Prepared:
    x = net.conv(net.input((1, 8, 10, 4)), "expand", 8, 1, 1, RELU6)
    core = net.depthwise(x, "depthwise", 3, 1, RELU6)
    net.dilate(2)
    return prepared(net, net.conv(core, "project", 4))


def _viewed(net: Maker) -> Prepared:
    maps = chain(net)
    return prepared(net, maps[-1], net.reshape(maps[1], "view", (1, 8, 80)))


def _view_between(net: Maker) -> Prepared:
    """A view of the input, which is no code, comes between the operators of a block."""
    x = net.input((1, 8, 10, 4))
    wide = net.conv(x, "expand", 8, 1, 1, RELU6)
    seen = net.reshape(x, "view", (1, 4, 20, 4))
    core = net.depthwise(wide, "depthwise", 3, 1, RELU6)
    return prepared(net, core, net.max_pool(seen, "pool", 2))


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda net: prepared(net, chain(net)[-1]), ALL),
        (lambda net: prepared(net, chain(net)[-2]), FIRST),
        (lambda net: prepared(net, chain(net, 3, 2)[-2]), {((0, 1), 1), ((0, 1), 0)}),
        (lambda net: prepared(net, chain(net, 2, 2)[-2]), {((0, 1), 0)}),
        (lambda net: prepared(net, chain(net, 1)[-2]), {((0, 1), 0)}),
        (lambda net: prepared(net, chain(net, 8)[-2]), {((0, 1), 7), ((0, 1), 0)}),
        (lambda net: prepared(net, chain(net, 9)[-1]), set()),  # higher than LT_BLOCK_ROWS
        (lambda net: prepared(net, chain(net, 2, 3)[-1]), set()),  # leaves rows out
        # Leaves the last row out, which the first operator alone would read.
        (lambda net: prepared(net, chain(net, 3, 2, same=False)[-1]), LAST),
        (lambda net: _other_reader(net, 0), ALL),
        (lambda net: _other_reader(net, 1), LAST),
        (lambda net: _other_reader(net, 2), FIRST),
        (lambda net: _other_reader(net, 3), ALL),
        (lambda net: prepared(net, *chain(net)[1::2]), LAST),  # outputs of the network
        (lambda net: prepared(net, *chain(net)[2:]), FIRST),
        (_viewed, LAST),
        (_strided, set()),
        (_dense, FIRST),
        (_dilated, set()),
        (_view_between, {((0, 2), 0), ((0, 2), 2)}),
        (lambda net: _padded(net, (1, 1, 1, 1), 3, 1), ALL),
        (lambda net: _padded(net, (1, 1, 4, 0), 3, 3), set()),  # reads nothing but padding
    ],
)
def test_which_blocks_there_are(make: Callable[[Maker], Prepared], found: Found) -> None:
    of = make(Maker("which"))
    assert {(block.operators, block.kept) for block in of.blocks} == found
    for block in of.blocks:
        op = of.wide.ops[block.op]
        first, last = block.operators[0], block.operators[-1]
        assert op.inputs[0] == of.graph.ops[first].inputs[0]
        assert op.outputs == of.graph.ops[last].outputs
        assert block.kept == sum(of.wide.tensors[t].shape[1] for t in op.intermediates)
        assert of.members(block.op) == block.operators
    assert assemble_rows(of, singles(of, 0, len(of.groups))).plan is not None
    assert all_edges(space_of(of))


@networks
def test_which_blocks_are_tried_together(seed: int, small: bool) -> None:
    of = ready(seed, small=small)
    tried = selections(of.blocks)
    assert len(set(tried)) == len(tried) <= len(of.blocks) + 4
    assert bool(tried) == bool(of.blocks)
    for chosen in tried:
        inside = [op for block in chosen for op in block.operators]
        assert len(set(inside)) == len(inside)
        assert set(chosen) <= set(of.blocks)
    if not tried:
        return
    largest = {op for block in tried[0] for op in block.operators}
    assert all(largest & set(block.operators) for block in of.blocks)
    able = [block.operators for block in tried[0] if block.kept]
    twice = [
        [block.operators for block in chosen if block.again]
        for chosen in tried
        if any(block.again for block in chosen)
    ]
    counts = [n for n in range(1, len(able) + 1) if n <= MOST_AGAIN or n == len(able)]
    assert twice == [able[:n] for n in counts]
    for kind in ((True, False), (False, True)):
        some = [b for b in of.blocks if (b.expands, b.projects) == kind]
        alike = [chosen for chosen in tried if {(b.expands, b.projects) for b in chosen} == {kind}]
        assert bool(alike) == bool(some)


@networks
def test_what_blocks_compute(seed: int, small: bool) -> None:
    """What goes in is multiplied where the windows look, once or for each row; the rest as always."""
    of = ready(seed, small=small)
    graph = of.graph
    for block in of.blocks:
        core = next(n for n in block.operators if graph.ops[n].type == "DEPTHWISE_CONV_2D")
        (port,) = of.lowered[core].nodes[0].inputs
        fields = dict(of.lowered[core].nodes[0].params.fields)
        _, high, wide, _ = graph.tensors[graph.ops[core].inputs[0]].shape
        made = graph.tensors[graph.ops[core].outputs[0]].shape
        tops = [port.first + step * port.stride for step in range(made[1])]
        looks = [row for top in tops for row in range(top, top + port.count) if 0 <= row < high]
        left, stride, kernel = (fields[name] for name in ("pad_left", "stride_w", "kernel_w"))
        assert isinstance(left, int)
        assert isinstance(stride, int)
        assert isinstance(kernel, int)
        columns = {
            column
            for x in range(made[2])
            for column in range(x * stride - left, x * stride - left + kernel)
            if 0 <= column < wide
        }
        rows = len(looks) if block.again else len(set(looks))
        macs = sum(op_macs(graph, graph.ops[n]) for n in block.operators[block.expands :])
        if block.expands:
            pixel = op_macs(graph, graph.ops[block.operators[0]]) // (high * wide)
            macs += rows * len(columns) * pixel
        assert op_macs(of.wide, of.wide.ops[block.op]) == macs


@pytest.mark.parametrize(("seed", "small"), [(BLOCKS + 4, True), (BLOCKS + 10, False)])
def test_kernels_count_as_many_macs_as_the_plan(seed: int, small: bool) -> None:
    of = ready(seed, small=small)
    plans = (random_plan(of, number) for number in range(100))
    plan = next(p for p in plans if any(c.blocks and c.strip_width for c in p))
    model = parse(network_of(seed, small=small), path="macs")
    compiled = compile_model(model, Options(stages=plan))
    assert compiled.assembly.plan is not None
    assert count_macs(compiled) == compiled.assembly.plan.macs


@networks
def test_plans_name_their_blocks(seed: int, small: bool) -> None:
    """From the operators of the wide graph to a choice, and back."""
    of = ready(seed, small=small)
    for first in range(len(of.groups)):
        for last in range(first + 1, min(first + 5, len(of.groups)) + 1):
            for stage in forms(of, first, last):
                choice = of.choice(stage, 3, [Limit(op, 0) for op in stage])
                assert choice.operators == tuple(g.operator for g in of.groups[first:last])
                assert of.chosen(choice) == stage
                for op in stage:
                    assert choice.limits_of(of.members(op)) == (Limit(of.members(op)[0], 0),)
    for variant in (of.variant(b) for b in [frozenset[int](), *map(_ops, selections(of.blocks))]):
        assert variant.ends[0] == 0
        assert variant.ends[-1] == len(of.groups)
        for group, (first, last) in zip(variant.groups, pairwise(variant.ends), strict=True):
            assert of.members(group.operator) == tuple(g.operator for g in of.groups[first:last])


def _ops(blocks: object) -> frozenset[int]:
    assert isinstance(blocks, tuple)
    return frozenset(block.op for block in blocks)


def _two_ways() -> Graph:
    """A map that is read late, by a block that leaves out its last row; another block runs before."""
    net = Maker("unread")
    x = net.input((1, 8, 8, 4))
    late = net.conv(x, "late", 4, 3, 1, RELU6)
    core = net.depthwise(net.conv(x, "expand", 8, 1, 1, RELU6), "depthwise", 3, 1, RELU6)
    first = net.conv(core, "project", 4, 1, 1, RELU6)
    wide = net.conv(late, "late/expand", 8, 1, 1, RELU6)
    return parse(net.finish(first, net.depthwise(wide, "last", 3, 2, RELU6, same=False))).graph


def test_what_is_live_beside_a_block_does_not_depend_on_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hurry(monkeypatch)
    of = prepare(_two_ways(), range(6))
    for edge in all_edges(space_of(of)):
        program = assemble_rows(of, around(of, edge))
        assert program.plan is not None
        assert program.plan.stages[edge.first].peak_bytes <= edge.peak, edge


@pytest.mark.parametrize("wide", [7, 9, 11, 14])
def test_scratch_of_blocks_in_strips(wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A strip may have more pixels at a time than the whole map, whose width has no such divisor."""
    hurry(monkeypatch)
    net = Maker("pieces")
    core = net.depthwise(
        net.conv(net.input((1, 5, wide, 4)), "a", 24, 1, 1, RELU6), "b", 3, 1, RELU6
    )
    of = prepared(net, net.conv(core, "c", 4))
    exact = 0
    for edge in all_edges(space_of(of)):
        program = assemble_rows(of, around(of, edge))
        assert program.plan is not None
        stage = program.plan.stages[edge.first]
        assert stage.peak_bytes <= edge.peak, edge
        exact += bool(edge.width and edge.blocks) and stage.peak_bytes == edge.peak
    assert exact >= 10


def test_blocks_are_taken_where_they_save_more_than_they_take() -> None:
    net = Maker("worth")
    core = net.depthwise(
        net.conv(net.input((1, 12, 48, 4)), "a", 64, 1, 1, RELU6), "b", 3, 1, RELU6
    )
    of = prepared(net, net.conv(core, "c", 4))
    point = default(plans_of(of, strips=False))
    *_, plain = ladder(without_blocks(space_of(of, strips=False)))
    assert point.arena_bytes <= assemble_rows(of, choices_of(plain, of)).arena_bytes - 512
    assert [choice.blocks[0].operators for choice in point.choices] == [BOTH]


@pytest.mark.parametrize("batch", [1, 2])
def test_blocks_are_of_one_image(batch: int) -> None:
    """A depthwise convolution whose windows stay in their rows needs no care in a batch; blocks do."""
    net = Maker("images")
    net.batch = batch
    x = net.input((batch, 2, 5, 3))
    out = net.conv(net.depthwise(x, "depthwise", 1, 1, RELU6), "project", 1, 1, 1, RELU6)
    of = prepared(net, out)
    assert bool(of.blocks) == (batch == 1)


@pytest.mark.parametrize("width", [None, 4])
def test_a_fault_in_kept_rows_is_found(width: int | None) -> None:
    """So that the proof cannot come to say nothing of blocks."""
    net = Maker("fault")
    of = prepared(net, net.conv(chain(net)[-1], "last", 2, 3, 1, RELU6))
    (block,) = [b for b in of.blocks if b.operators == BOTH and b.kept]
    program = assemble_rows(of, [of.choice((block.op, 3), width)])
    assert blocks_of(of, program) == {block.op}
    proved(program)
    kept = {t for op in program.program_graph.ops for t in op.intermediates}
    lines = [n for n, rows in enumerate(program.rows) if rows.tensor in kept]
    assert lines
    for number in lines:
        rows = program.rows[number]
        places = rows.places or tuple(rows.offset + n * rows.pitch for n in range(rows.count))
        for wrong in ((places[1], places[1]), (places[0] + 1, places[1])):
            same = replace(rows, offset=0, pitch=0, places=wrong)
            changed = (*program.rows[:number], same, *program.rows[number + 1 :])
            with pytest.raises(ProofError):
                proved(replace(program, rows=changed))
    entries = [e for e in program.kernels if program.members.get(e.node.op) == BOTH]
    for entry in entries:
        for shift in (-1, 1):  # other rows of the input
            port = program.ports[entry.ports]
            moved = replace(port, first=port.first + shift)
            ports = (*program.ports[: entry.ports], moved, *program.ports[entry.ports + 1 :])
            with pytest.raises(ProofError):
                proved(replace(program, ports=ports))


def test_networks_of_blocks_have_many() -> None:
    """So that all this cannot come to say nothing."""
    blocks = [block for seed, small in SEEDS for block in ready(seed, small=small).blocks]
    assert {(b.expands, b.projects) for b in blocks} == {(True, True), (True, False), (False, True)}
    assert len({b.kept for b in blocks}) >= 4
    assert sum(b.again for b in blocks) > 40
    chained = [graph_of(seed, small=False) for seed, small in SEEDS if not small]
    orders = [prepare(graph, best_order(graph).order) for graph in chained]
    assert sum(len(selections(of.blocks)[0]) > 2 for of in orders if of.blocks) >= 4
    assert Choice((0,)).blocks == ()


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4", "cortex-m55"])
def test_every_core_has_the_same_blocks(core: str) -> None:
    """Also one whose own kernels are no parts of blocks."""
    graph = loaded("mbv2-w0.35-144-chain").graph
    order = best_order(graph).order
    wanted, found = (prepare(graph, order, target=t).blocks for t in (ANY, find_target(core)))
    assert wanted
    assert [(b.operators, b.kept) for b in found] == [(b.operators, b.kept) for b in wanted]


@networks
def test_macs_of_a_block_are_those_of_its_columns(seed: int, small: bool) -> None:
    """Of the columns that it makes and of those that it expands, in a strip that is the whole image."""
    of = ready(seed, small=small)
    for op in of.wide.ops[len(of.graph.ops) :]:
        made, read = column_macs(of.wide, op)
        assert isinstance(op, BlockOp)
        columns = of.wide.tensors[op.outputs[0]].shape[2]
        assert made * columns + read * op.expanded_columns == op_macs(of.wide, op)
