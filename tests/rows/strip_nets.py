"""Small networks whose stages can run in strips, and every plan that they have.

Why small: the searches are compared with all of their plans, each assembled as a program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise, product
from random import Random
from zlib import crc32

import pytest

from lowtide.emit.assemble import Assembly, InputMode, OutputMode, Prepared, assemble_rows, prepare
from lowtide.errors import UsageError
from lowtide.ir import Graph
from lowtide.ir.passes import fold_pads
from lowtide.planning import Planner
from lowtide.rows.columns import widths
from lowtide.rows.search import Choice, Edge, Space
from lowtide.schedule import best_order
from lowtide.tflite.read import parse
from lowtide.zoo.builder import Act
from random_nets import RELU6, Maker, random_network

MODES: tuple[tuple[InputMode, OutputMode, bool], ...] = (
    ("resident", "resident", False),
    ("resident", "resident", True),
    ("const", "resident", False),
    ("streamed", "resident", False),
    ("resident", "streamed", False),
    ("streamed", "streamed", False),
)
"""Where inputs and outputs can be: (inputs, outputs, whether inputs are preserved)."""


def small_network(seed: int) -> bytes:
    """3 to 5 operators: chains and branches of windows, views between them, one or two outputs."""
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


@cache
def graph_of(seed: int, *, small: bool) -> Graph:
    """The small network of that number, or the one of `random_nets`."""
    return fold_pads(parse(small_network(seed) if small else random_network(seed)).graph)


def ready(seed: int, *, small: bool) -> Prepared:
    """The network prepared in one of the modes, which goes by the number."""
    graph = graph_of(seed, small=small)
    given, left, preserve = MODES[seed % len(MODES)]
    order = best_order(graph).order
    return prepare(graph, order, input_mode=given, output_mode=left, preserve_input=preserve)


def hurry(patch: pytest.MonkeyPatch) -> None:
    """Let rows be placed in the first best order, for tests that do not look at places."""
    for effort in ("_EFFORT", "_SEGMENT_EFFORT"):
        patch.setattr(f"lowtide.rows.place.{effort}", 0, raising=False)


def space_of(of: Prepared) -> Space:
    """All stages, strips among them."""
    return Planner(of, strips=True)._space(strips=True)


def operators(of: Prepared, first: int, last: int) -> tuple[int, ...]:
    """The operators of groups [first, last)."""
    return tuple(g.operator for g in of.groups[first:last] if g.operator >= 0)


def singles(of: Prepared, first: int, last: int) -> list[Choice]:
    """A stage for each of the groups."""
    return [Choice(operators(of, n, n + 1)) for n in range(first, last)]


def around(of: Prepared, edge: Edge) -> tuple[Choice, ...]:
    """A plan that has the edge, and all else operator by operator."""
    stage = Choice(operators(of, edge.first, edge.last), edge.width, edge.lean)
    before = singles(of, 0, edge.first)
    return (*before, stage, *singles(of, edge.last, len(of.groups)))


def all_edges(space: Space) -> list[Edge]:
    return [edge for ending in space.edges for edge in ending]


def every_plan(of: Prepared, *, lean: bool) -> Iterator[tuple[tuple[Choice, ...], Assembly]]:
    """Every cut of the operators into stages, each in every form that it can have, assembled."""
    count = len(of.groups)
    for bits in range(1 << max(0, count - 1)):
        edges = [0, *(n for n in range(1, count) if bits >> (n - 1) & 1), count]
        forms = []
        for first, last in pairwise(edges):
            ops = operators(of, first, last)
            wide: list[int | None] = [None]
            if len(ops) > 1:
                shape = of.graph.tensors[of.graph.ops[ops[-1]].outputs[0]].shape
                wide += widths(shape[2]) if len(shape) == 4 else [1]
            forms.append([Choice(ops, w, slow) for w in wide for slow in (False, True)[: 1 + lean]])
        for choices in product(*forms):
            try:
                assembly = assemble_rows(of, choices)
            except UsageError:
                continue
            yield choices, assembly


def all_read(of: Prepared, stage: Sequence[int]) -> bool:
    """Whether every row of what the stage makes last is read after it, or left to the caller."""
    output = of.graph.ops[stage[-1]].outputs[0]
    behind = [n for n, node in enumerate(of.nodes) if node.op == stage[-1]][-1]
    rows = {
        row
        for cut in of.table.cuts
        if cut.tensor == output
        for row in range(cut.first, cut.first + cut.count)
    }
    later = {row for reads in of.table.reads[behind + 1 :] for step in reads for row in step}
    return rows <= later | of.table.kept


def scratch_changes(of: Prepared, program: Assembly) -> bool:
    """Whether strips need other scratch memory than their operators do as a whole."""
    assert program.plan is not None
    lean = {op: stage.lean for stage in program.plan.stages for op in stage.operators}
    whole: dict[int, list[tuple[int, bool]]] = {}
    for node in of.nodes:
        form = node.leaner if lean.get(node.op) else node
        whole.setdefault(node.op, []).append((form.scratch, form.scratch_lasts))
    cropped = [entry.node for entry in program.nodes if entry.node.op in program.origin]
    return any((n.scratch, n.scratch_lasts) not in whole[program.origin[n.op]] for n in cropped)


def scatter(patch: pytest.MonkeyPatch, seed: int) -> None:
    """Let rows be placed in any order: what may lie in one place will do so in some network."""
    hurry(patch)
    keys = [lambda box: (crc32(b"%d %d" % (seed, box)),)]
    patch.setattr("lowtide.rows.place._keys", lambda *_: list(keys), raising=False)


def random_plan(of: Prepared, seed: int) -> tuple[Choice, ...]:
    """Any cut of the operators; strips of any width, also wider than the map, where they can be."""
    rng, count = Random(seed), len(of.groups)
    strips = {operators(of, e.first, e.last) for e in all_edges(space_of(of)) if e.width}
    cut = [0, *(n for n in range(1, count) if rng.random() < 0.4), count]
    choices = []
    for first, last in pairwise(cut):
        stage = operators(of, first, last)
        width = None
        if stage in strips and rng.random() < 0.9:
            wide = of.graph.tensors[of.graph.ops[stage[-1]].outputs[0]].shape[2]
            width = rng.randint(1, wide + 1 if rng.random() < 0.1 else max(1, wide // 2))
        choices.append(Choice(stage, width, rng.random() < 0.4))
    return tuple(choices)
