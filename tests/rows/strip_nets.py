"""Small networks whose stages can run in strips, and what of their plans is known to the search.

Why small: the searches are compared with all of their plans (`staged_nets`), assembled as programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any
from zlib import crc32

import pytest

from assembled import smallest_forms
from lowtide.ir import Graph
from lowtide.ir.block import BlockOp
from lowtide.lower.nodes import NORMAL, Node
from lowtide.machines.board import find_target
from lowtide.modes import InputMode, OutputMode
from lowtide.order import best_order
from lowtide.passes import fold_pads
from lowtide.plans import space as spaces
from lowtide.plans.cost import CostModel, FormCost, load_model
from lowtide.plans.edges import Edge
from lowtide.plans.space import Space
from lowtide.program.assemble import Assembly
from lowtide.rows.blocks import selections
from lowtide.rows.columns import stage_windows, stripes, widths
from lowtide.rows.prepare import Prepared, prepare
from lowtide.rows.stages import Choice, Limit
from lowtide.target import ANY, FlashCache
from lowtide.tflite.read import parse
from lowtide.zoo.builder import Act
from lowtide.zoo.quantise import Activation
from random_nets import RELU6, Maker, random_network


def sampled(seeds: Sequence[int], *more: Any) -> list[Any]:
    """Every second of `seeds`, with `more`, as parameters of a test, the others as some of the soak."""
    return [
        pytest.param(seed, *more, marks=[pytest.mark.soak] if at % 2 else [])
        for at, seed in enumerate(seeds)
    ]


MODES: tuple[tuple[InputMode, OutputMode, bool], ...] = (
    ("resident", "resident", False),
    ("resident", "resident", True),
    ("const", "resident", False),
    ("streamed", "resident", False),
    ("resident", "streamed", False),
    ("streamed", "streamed", False),
)
"""Where inputs and outputs can be: (inputs, outputs, whether inputs are preserved)."""


BLOCKS = 100
"""From this number on, small networks are of blocks."""


def small_network(seed: int) -> bytes:
    """3 to 5 operators: chains and branches of windows, views between them, one or two outputs.

    From `BLOCKS` on, operators that blocks can be made of: see `block_network`.
    """
    if seed >= BLOCKS:
        return block_network(seed, 5 if seed % 4 == 0 else 4)
    rng, net = Random(seed), Maker(f"small-{seed}")
    x = net.input((1, rng.randint(3, 7), rng.randint(4, 12), rng.randint(1, 3)))
    count = 0

    def name() -> str:
        return f"layer_{count}"

    def window(x: Act, *, keep: bool = False) -> Act:
        high, wide = x.shape[1:3]
        kernel = (rng.choice((1, 3)), rng.choice((1, 2, 3, 5)))
        stride = (1, 1) if keep else rng.choice([(1, 1), (1, 1), (1, 1), (2, 2), (1, 3)])
        same = keep or rng.random() < 0.7 or kernel[0] > high or kernel[1] > wide
        match rng.randrange(4):
            case 0 if not keep:
                kernel = (min(high, kernel[0]), min(wide, kernel[1]))
                return net.max_pool(x, name(), kernel, stride, same=same)
            case 1:
                return net.depthwise(x, name(), kernel, stride, RELU6, same=same)
            case _:
                channels = x.shape[3] if keep else rng.choice((1, 2, 4, 8))
                return net.conv(x, name(), channels, kernel, stride, RELU6, same=same)

    maps = [x]
    wanted = rng.randint(3, 4)
    while count < wanted:
        count += 1
        last = maps[-1]
        if count > 1 and count + 1 <= wanted and rng.random() < 0.4:
            branch = window(last, keep=True)
            count += 1
            if branch.quant == last.quant and rng.random() < 0.5:
                maps.append(net.concat([branch, last], name(), rng.choice((1, 3))))
            else:
                maps.append(net.add(last, branch, name(), RELU6))
        elif count > 1 and rng.random() < 0.1:
            high, wide, deep = last.shape[1:]
            shape = rng.choice(((1, high, wide, deep), (1, wide, high, deep)))
            maps.append(net.reshape(last, name(), shape))
            wanted += 1
        else:
            maps.append(window(last))
    outputs = [maps[-1]]
    count += 1
    if rng.random() < 0.3:
        outputs = [net.mean(maps[-1], name())]
    if rng.random() < 0.2:
        outputs.append(rng.choice(maps[1:]))
    return net.finish(*outputs)


def block_network(seed: int, most: int) -> bytes:
    """Up to `most` operators: pointwise and depthwise convolutions in turn, of any stride, kernel and
    padding, sums of what goes into a block and what comes out; sometimes maps of a single column."""
    rng, net = Random(seed), Maker(f"blocks-{seed}")
    wide = 1 if rng.random() < 0.1 else rng.randint(3, 9)
    x = net.input((1, rng.randint(3, 8), wide, rng.choice((2, 3, 4))))
    count = 0

    def name() -> str:
        nonlocal count
        count += 1
        return f"layer_{count}"

    def pointwise(x: Act, *channels: int) -> Act:
        activation = rng.choice((RELU6, Activation.NONE))
        return net.conv(x, name(), rng.choice(channels), 1, 1, activation)

    def depthwise(x: Act) -> Act:
        kernel = rng.choice((1, 2, 3, 3, 3, 5)), rng.choice((1, 2, 3, 3, 3, 4))
        stride = rng.choice((1, 1, 1, 2, 3)), rng.choice((1, 1, 1, 2, 3))
        if rng.random() < 0.9:  # else there may be no block
            stride = min(stride[0], kernel[0]), min(stride[1], kernel[1])
        padded = rng.random() < 0.25
        if padded:
            top, bottom, left, right = (rng.randint(0, 2) for _ in range(4))
            x = net.pad(x, f"{name()}/before", (top, bottom, left, right))
        fits = kernel[0] <= x.shape[1] and kernel[1] <= x.shape[2]
        same = not fits or not (padded or rng.random() < 0.5)
        return net.depthwise(x, name(), kernel, stride, RELU6, same=same)

    if rng.random() < 0.3:
        x = net.conv(x, name(), 4, 3, 1, RELU6)
    outputs, made = [], 0
    while count < most - 1 or not made:
        made += 1
        before = x
        if rng.random() < 0.8 or count == 0:
            x = pointwise(x, 4, 8, 12, 16)
        x = depthwise(x)
        if rng.random() < 0.1:
            outputs.append(x)
        if count < most and rng.random() < 0.8:
            x = pointwise(x, 2, 4, 5, before.shape[3])
        if before.shape == x.shape and count < most and rng.random() < 0.7:
            x = net.add(before, x, name(), RELU6)
    if count < most and rng.random() < 0.3:
        x = net.mean(x, name())
    return net.finish(*outputs, *([] if x in outputs else [x]))


@cache
def graph_of(seed: int, *, small: bool) -> Graph:
    """The small network of that number, or a larger one."""
    return fold_pads(parse(network_of(seed, small=small)).graph)


def network_of(seed: int, *, small: bool) -> bytes:
    """The small network of that number, or the one of `random_nets`, from `BLOCKS` on of blocks."""
    if small:
        return small_network(seed)
    return block_network(seed, 9) if seed >= BLOCKS else random_network(seed)


@cache
def ready(
    seed: int, *, small: bool, core: str = "any", flash: FlashCache | None = None
) -> Prepared:
    """The network prepared in one of the modes, which goes by the number; for a part with `flash`."""
    graph = graph_of(seed, small=small)
    given, left, preserve = MODES[seed % len(MODES)]
    order = best_order(graph).order
    target = ANY if core == "any" else find_target(core)
    return prepare(
        graph,
        order,
        input_mode=given,
        output_mode=left,
        preserve_input=preserve,
        target=replace(target, flash=flash),
    )


def hurry(patch: pytest.MonkeyPatch) -> None:
    """Let rows be placed in the first best order, for tests that do not look at places."""
    patch.setattr("lowtide.place.rows._PER_BOX", 0)


def space_of(
    of: Prepared,
    *,
    strips: bool = True,
    effort: float = 1.0,
    model: CostModel | None = None,
) -> Space:
    """All stages; they cost what the model of the target says, if no other is given."""
    model = model or load_model(of.target.priced_as)
    prices = spaces.prices_of(of, model)
    return spaces.space_of(of, prices, strips=strips, effort=effort, again=model.again)


def operators(of: Prepared, first: int, last: int) -> tuple[int, ...]:
    """The operators of groups [first, last)."""
    return tuple(g.operator for g in of.groups[first:last] if g.operator >= 0)


def singles(of: Prepared, first: int, last: int) -> list[Choice]:
    """A stage for each of the groups."""
    return [Choice(operators(of, n, n + 1)) for n in range(first, last)]


def around(of: Prepared, edge: Edge, room: int = 1 << 60) -> tuple[Choice, ...]:
    """A plan that has the edge, in the forms that there is room for, all else operator by operator."""
    stage = of.choice(edge.operators, edge.width, edge.limits(room, lean=False), edge.go)
    before = singles(of, 0, edge.first)
    return (*before, stage, *singles(of, edge.last, len(of.groups)))


_STRIPS: dict[int, tuple[Prepared, set[tuple[int, ...]]]] = {}
"""By the identity of a network prepared, which is kept with it."""


def in_strips(of: Prepared) -> set[tuple[int, ...]]:
    """The operators of all stages that may run in strips."""
    if id(of) not in _STRIPS:
        _STRIPS[id(of)] = (of, {e.operators for e in all_edges(space_of(of)) if e.width})
    return _STRIPS[id(of)][1]


def all_edges(space: Space) -> list[Edge]:
    return [edge for ending in space.edges for edge in ending]


def blocks_of(of: Prepared, program: Assembly | Sequence[Choice]) -> frozenset[int]:
    """The blocks of a program, or of a plan, as operators of the wider graph."""
    if isinstance(program, Assembly):
        assert program.plan is not None
        program = [stage.choice for stage in program.plan.stages]
    chosen = {op for choice in program for op in of.chosen(choice)}
    return frozenset(op for op in chosen if op >= len(of.graph.ops))


def forms(of: Prepared, first: int, last: int) -> list[tuple[int, ...]]:
    """What the operators of groups [first, last) can run as: themselves, or with blocks of a variant."""
    whole = operators(of, first, last)
    found = [whole]
    for blocks in selections(of.blocks):
        inside = [block for block in blocks if set(block.operators) & set(whole)]
        if all(set(block.operators) <= set(whole) for block in inside):
            block_of = {member: block.op for block in inside for member in block.operators}
            found.append(tuple(dict.fromkeys(block_of.get(op, op) for op in whole)))
    return list(dict.fromkeys(found))


def widths_of(of: Prepared, stage: Sequence[int]) -> list[int | None]:
    """The widths in which a stage may run; a single operator needs kept rows to gain anything."""
    if len(stage) < 2 and not any(of.wide.ops[op].intermediates for op in stage):
        return [None]
    shape = of.wide.tensors[of.wide.ops[stage[-1]].outputs[0]].shape
    return [None, *(widths(shape[2]) if len(shape) == 4 else [1])]


def all_read(of: Prepared, choices: Sequence[Choice], stage: Choice) -> bool:
    """Whether every row of what the stage makes last is read after it, or left to the caller."""
    variant = of.variant(blocks_of(of, choices))
    last = of.chosen(stage)[-1]
    output = of.wide.ops[last].outputs[0]
    behind = [
        n for n, node in enumerate(variant.nodes) if isinstance(node, Node) and node.op == last
    ][-1]
    rows = {
        row
        for cut in variant.table.cuts
        if cut.tensor == output
        for row in range(cut.first, cut.first + cut.count)
    }
    later = {row for reads in variant.table.reads[behind + 1 :] for step in reads for row in step}
    return rows <= later | variant.table.kept


def origin(of: Prepared, program: Assembly, number: int) -> int:
    """The operator of the wider graph that one of the program's is a strip of."""
    members, op = program.members[number], program.program_graph.ops[number]
    if not isinstance(op, BlockOp):
        return members[0]
    (found,) = {b.op for b in of.blocks if (b.operators, b.kept) == (members, op.kept)}
    return found


def scratch_changes(of: Prepared, program: Assembly, chosen: Mapping[int, FormCost]) -> bool:
    """Whether strips need other scratch memory than is known of the operators as a whole, in the forms
    that are `chosen`, or of so many columns of them: a block's pieces may be narrower at the sides. Of
    forms that a limit picks, that is what they need in the widest strip."""
    made: dict[int, dict[int, int]] = {}
    for entry in program.kernels:
        if entry.node.op >= len(of.wide.ops):
            (output,) = program.program_graph.ops[entry.node.op].outputs
            columns = program.program_graph.tensors[output].shape[2]
            made.setdefault(origin(of, program, entry.node.op), {})[entry.node.op] = columns
    for entry in program.kernels:
        if entry.node.op < len(of.wide.ops):
            continue
        number = origin(of, program, entry.node.op)
        known = [(node.scratch, node.scratch_lasts) for node in of.lowered[number].nodes]
        if number in chosen:
            form, strips = chosen[number], made[number]
            needs = {
                op: form.narrow[n] if form.narrow else form.scratch for op, n in strips.items()
            }
            scratch = needs[entry.node.op] if form.normal else max(needs.values())
            known = [(scratch, lasts) for _, lasts in known]
        if (entry.node.scratch, entry.node.scratch_lasts) not in known:
            return True
    return False


def scatter(patch: pytest.MonkeyPatch, seed: int) -> None:
    """Let rows be placed in any order: what may lie in one place will do so in some network."""
    hurry(patch)
    keys = [lambda box: (crc32(b"%d %d" % (seed, box)),)]
    patch.setattr("lowtide.place.anytime._keys", lambda *_: list(keys))


LIMITS = (0, 40, 100, 250, 700, 10_000)
"""Bytes of scratch memory."""


def random_plan(of: Prepared, seed: int) -> tuple[Choice, ...]:
    """Any cut of the operators, any blocks; strips of any width, also wider than the map, where they
    can be; elsewhere any number of rows in a go."""
    rng, goes, steps, count = Random(seed), Random(seed), Random(seed), len(of.groups)
    strips = in_strips(of)
    cut = [0, *(n for n in range(1, count) if rng.random() < 0.4), count]
    choices = []
    for first, last in pairwise(cut):
        stage = rng.choice(forms(of, first, last))
        width = None
        if stage in strips and rng.random() < 0.9:
            output = of.wide.ops[stage[-1]].outputs[0]
            wide = of.wide.tensors[output].shape[2]
            width = rng.randint(1, wide + 1 if rng.random() < 0.1 else max(1, wide // 2))
            found = stage_windows(
                of.wide, stage, frozenset({output}), lambda op: of.lowered[op].columns
            )
            if found is None or stripes(of.wide, stage, *found, width) is None:
                width = None  # a strip would read nothing
        choice = of.choice(stage, width)
        smallest = rng.random() < 0.4
        least = smallest_forms(choice.operators) if smallest else ()
        limits = {limit.operator: limit for limit in least}
        limits |= {
            op: Limit(op, rng.choice(LIMITS)) for op in choice.operators if rng.random() < 0.2
        }
        later = [
            Limit(op, steps.choice((NORMAL, *LIMITS)), steps.randint(1, 12))
            for op in limits
            for _ in range(steps.choice((0, 0, 1, 2)))
        ]
        every = {limit.place: limit for limit in (*limits.values(), *later)}
        go = goes.choice((1, 1, 2, 3, 5, 100))
        choice = replace(choice, go=1 if width else go)
        choices.append(replace(choice, limits=tuple(every[at] for at in sorted(every))))
    return tuple(choices)
