"""Any plan computes the same: whatever runs together, in strips of whatever width.

Why any: the search finds few plans, and a fault may be in others. Loops over strips are taken apart
here, and what is needed when is worked out from the steps as they really run; then labels are
followed through memory, and C is run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

import pytest
from strip_nets import (
    BLOCKS,
    MODES,
    all_edges,
    graph_of,
    network_of,
    random_plan,
    ready,
    scatter,
    space_of,
)

from assembled import assemble_rows
from lowtide.commands import checking
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.errors import UsageError
from lowtide.modes import InputMode, OutputMode
from lowtide.order import best_order
from lowtide.place.layout import RowLayout
from lowtide.plans import placed as placing
from lowtide.plans.changes import Worth
from lowtide.program.assemble import Assembly
from lowtide.program.tables import StripEntry
from lowtide.program.turns import Loop, Turn
from lowtide.prove.proof import ProofError
from lowtide.rows.prepare import Prepared, prepare
from lowtide.rows.scheduled import Scheduled
from lowtide.rows.stages import Choice, Segment, Step
from lowtide.rows.table import RowTable
from lowtide.tflite.read import parse
from lowtide.zoo.builder import NetBuilder
from lowtide.zoo.quantise import Activation
from proving import proved
from random_nets import random_network
from strip_programs import Program, run_all

PLANS = 4
SMALL = [*range(40), *range(BLOCKS, BLOCKS + 18)]
LARGE = [*range(25), *range(BLOCKS, BLOCKS + 10)]
NETWORKS = [(seed, True) for seed in SMALL] + [(seed, False) for seed in LARGE]
OTHER_ROWS = {8, 16}
"""Small networks with a view of another height, which strips read in the wrong rows."""

every = pytest.mark.parametrize(
    ("seed", "small"),
    NETWORKS,
    ids=[f"{'small' if small else 'large'}-{n}" for n, small in NETWORKS],
)


def plans(of: Prepared, seed: int, count: int = PLANS) -> list[tuple[Choice, ...]]:
    return [random_plan(of, 100 * seed + number) for number in range(count)]


@dataclass(slots=True)
class Rows:
    """What rows are placed with."""

    table: RowTable
    steps: Sequence[Step]
    lives: Mapping[int, tuple[int, int]]
    segments: Sequence[Segment]


@pytest.fixture
def placed(monkeypatch: pytest.MonkeyPatch) -> list[Rows]:
    """All that was placed, operators in the forms that found room."""
    found: list[Rows] = []
    own = vars(placing)["refitted"]

    def refitted(rows: Scheduled, layout: RowLayout, worth: Worth) -> tuple[Scheduled, RowLayout]:
        made, where = own(rows, layout, worth)
        found.append(Rows(made.table, made.plan.steps, made.lives, made.plan.segments))
        return made, where

    monkeypatch.setattr(placing, "refitted", refitted)
    return found


def unrolled(rows: Rows) -> list[int]:
    """The slots of all steps as they run, loops over strips taken apart."""
    counts = [sum(map(rows.table.steps, range(s.first, s.last))) for s in rows.segments]
    firsts = list(accumulate(counts, initial=1))
    return [
        slot
        for segment, first, count in zip(rows.segments, firsts, counts, strict=False)
        for _ in range(segment.times)
        for slot in range(first, first + count)
    ]


def check_lives(rows: Rows, whole: int) -> None:
    """Every row is live in all slots that pass while it is needed; tensors from `whole` on are of strips
    and blocks.

    Those live for a round. Another row holds what is written to it to its last reader, whatever round
    that is in: columns made in one round are needed in the next. What nobody reads is needed while it
    is made.
    """
    table, lives = rows.table, rows.lives
    run = unrolled(rows)
    at: dict[int, list[int]] = {}
    read: set[int] = set(table.kept)
    for time, slot in enumerate(run):
        node, step = rows.steps[slot - 1]
        read |= set(table.reads[node][step])
        for row in {*table.reads[node][step], *table.writes[node][step]}:
            at.setdefault(row, []).append(time)
    of_strips = {row for row in table.lasting if row >= 0} | {
        row for c in table.cuts if c.tensor >= whole for row in range(c.first, c.first + c.count)
    }
    for row in table.given - at.keys():
        assert lives[row][0] == 0
    for row, times in at.items():
        start, end = lives[row]
        if row in of_strips or row not in read:
            slots = {run[time] for time in times}
            needed = range(min(slots), max(slots) + 1) if row in of_strips else sorted(slots)
        else:
            first = 0 if row in table.given else times[0]
            last = len(run) - 1 if row in table.kept else times[-1]
            needed = sorted({0} & set(table.given and {0}) | set(run[first : last + 1]))
            if row in table.given:
                assert start == 0
        assert all(start <= slot < end for slot in needed if slot), row


def check_places(program: Assembly) -> None:
    """Blocks that are live at once lie apart, and none is outside."""
    blocks = [b for b in program.placement.rectangles if b.size and b.start < b.end]
    assert all(0 <= b.offset <= b.offset + b.size <= program.arena_bytes for b in blocks)
    for number, one in enumerate(blocks):
        for other in blocks[:number]:
            if one.start < other.end and other.start < one.end:
                assert one.offset + one.size <= other.offset or (
                    other.offset + other.size <= one.offset
                )


def _live(rows: Rows) -> list[int]:
    """Bytes of live rows and scratch per slot, counted anew."""
    totals = [0] * (len(rows.steps) + 1)
    for row, (start, end) in rows.lives.items():
        for slot in range(start, end):
            totals[slot] += rows.table.size[row]
    for slot, (node, _) in enumerate(rows.steps, start=1):
        totals[slot] += rows.table.scratch[node]
    return totals


@every
def test_every_row_is_live_and_where_its_reader_looks(
    seed: int, small: bool, placed: list[Rows], monkeypatch: pytest.MonkeyPatch
) -> None:
    scatter(monkeypatch, seed)
    of = ready(seed, small=small)
    for number, choices in enumerate(plans(of, seed)):
        program = assemble_rows(of, choices)
        assert program.plan is not None
        check_lives(placed[-1], len(of.graph.tensors))
        assert program.placement.arena_bytes >= program.plan.peak_bytes
        assert program.plan.peak_bytes >= program.plan.lower_bound_bytes
        assert program.plan.peak_bytes == max(_live(placed[-1]), default=0)
        if number == 0:
            check_places(program)
        proved(program)


@pytest.mark.parametrize("seed", sorted(OTHER_ROWS))
def test_strips_of_a_view_of_another_height(seed: int) -> None:
    graph = graph_of(seed, small=True)
    of = prepare(graph, best_order(graph).order)
    made = [g.operator for g in of.groups]
    with pytest.raises(UsageError, match="cannot run together in strips"):
        assemble_rows(of, [Choice((made[0],)), Choice(tuple(made[1:3]), 1), *_rest(made[3:])])


def test_a_view_of_what_the_same_strips_make() -> None:
    """A sum of a map, seen as another of its shape, and of a convolution of it."""
    net, relu6 = NetBuilder("view"), Activation.RELU6
    x = net.conv(net.input((1, 8, 12, 4)), "a", 8, 3, 1, relu6)
    seen = net.reshape(x, "same", (1, 8, 12, 8))
    graph = parse(net.finish(net.add(net.conv(x, "b", 8, 3, 1, relu6), seen, "sum", relu6))).graph
    of = prepare(graph, range(4))
    assert of.views == {seen.id: x.id}
    try:
        program = assemble_rows(of, [Choice((0, 2, 3), 4)])
    except UsageError:
        assert not [e for e in all_edges(space_of(of)) if e.width and e.last - e.first == 3]
    else:
        proved(program)


def _rest(operators: Sequence[int]) -> list[Choice]:
    return [Choice((operator,)) for operator in operators]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: f"{mode[0]}-{mode[1]}{'-kept' * mode[2]}")
def test_strips_in_every_mode(
    mode: tuple[InputMode, OutputMode, bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Maps from outside the arena have bases of their own, also for strips."""
    scatter(monkeypatch, 1)
    given, left, preserve = mode
    strips = 0
    some = [*range(20), *range(BLOCKS, BLOCKS + 10)]
    for seed, small in [(n, True) for n in some] + [(n, False) for n in (*range(8), BLOCKS)]:
        graph = graph_of(seed, small=small)
        order = best_order(graph).order
        of = prepare(graph, order, input_mode=given, output_mode=left, preserve_input=preserve)
        for choices in plans(of, seed, 2):
            strips += any(choice.strip_width for choice in choices)
            proved(assemble_rows(of, choices))
    assert strips >= 6


def strips_of(program: Assembly) -> list[int]:
    """The numbers of the nodes that begin strips."""
    return [number for number, entry in enumerate(program.nodes) if isinstance(entry, StripEntry)]


def test_a_fault_in_strips_is_found() -> None:
    """The checks above can fail: a strip begins a byte beside, or is run once too often or too few."""
    of = ready(6, small=True)
    made = [g.operator for g in of.groups]
    program = assemble_rows(of, [Choice(tuple(made), 1)])
    proved(program)
    assert len(strips_of(program)) > 2
    for number in strips_of(program):
        strip = program.nodes[number]
        assert isinstance(strip, StripEntry)
        for at in range(len(strip.shifts)):
            base, source, offset = strip.shifts[at]
            moved = (*strip.shifts[:at], (base, source, offset + 1), *strip.shifts[at + 1 :])
            nodes = list(program.nodes)
            nodes[number] = StripEntry(moved, strip.counters)
            with pytest.raises(ProofError):
                proved(replace(program, nodes=tuple(nodes)))
    (at,) = (
        i
        for i, turn in enumerate(program.turns)
        if isinstance(turn, Loop)
        and isinstance(turn.body[0], Turn)
        and turn.body[0].node in strips_of(program)
    )
    loop = program.turns[at]
    assert isinstance(loop, Loop)
    for times in (loop.times - 1, loop.times + 1):
        turns = (*program.turns[:at], Loop(loop.body, times), *program.turns[at + 1 :])
        with pytest.raises(ProofError):
            proved(replace(program, turns=turns))


def test_a_life_that_is_too_short_is_found(placed: list[Rows]) -> None:
    of = ready(6, small=True)
    program = assemble_rows(of, [Choice(tuple(g.operator for g in of.groups), 1)])
    (rows,) = placed
    check_lives(rows, len(of.graph.tensors))
    assert any(segment.times > 1 for segment in rows.segments)
    assert program.plan is not None
    found = 0
    for row, (start, end) in rows.lives.items():
        for shorter in ((start + 1, end), (start, end - 1)):
            try:
                check_lives(
                    replace(rows, lives={**rows.lives, row: shorter}), len(of.graph.tensors)
                )
            except AssertionError:
                found += 1
    assert found == 2 * len(rows.lives)


def test_strips_that_are_equal_are_a_loop() -> None:
    """Twelve columns one by one: those at the sides have padding, the others are alike."""
    of = ready(44, small=True)
    made = [g.operator for g in of.groups]
    for width in range(1, 14):
        program = assemble_rows(of, [Choice(tuple(made), width)])
        assert program.plan is not None
        times = [segment.times for segment in program.plan.segments]
        assert sum(times) == -(-12 // width)
        assert max(times) >= sum(times) - 4
        assert len(strips_of(program)) == sum(1 + (n > 1) for n in times)
        for part in program.parts.values():
            assert len(part.columns) in times


@pytest.mark.parametrize("half", range(2))
def test_any_plan_gives_the_same_bytes(
    half: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C under sanitizers: every tensor, in every strip that makes some of it, is the oracle's."""
    programs = []
    for seed, small in [(n, False) for n in LARGE] + [(n, True) for n in SMALL if n % 3 == 0]:
        if seed % 2 != half:
            continue
        scatter(monkeypatch, seed)
        model = parse(network_of(seed, small=small), path=f"{'small' if small else 'large'}-{seed}")
        graph = graph_of(seed, small=small)
        modes = [mode for mode in MODES if "streamed" not in mode[:2]]
        given, left, preserve = modes[seed // 2 % len(modes)]
        order = best_order(graph).order
        of = prepare(graph, order, input_mode=given, output_mode=left, preserve_input=preserve)
        programs += [Program(model, assemble_rows(of, choices)) for choices in plans(of, seed, 2)]
    stages = [program.assembly.plan.stages for program in programs if program.assembly.plan]
    assert sum(any(stage.strip_width for stage in of) for of in stages) > len(programs) // 4
    assert sum(any(stage.blocks for stage in of) for of in stages) > len(programs) // 8
    assert run_all(programs, tmp_path, samples=2) == []


def test_streamed_rows_beside_strips() -> None:
    """Exchanges with the caller come between strips, which have bases of their own."""
    model = parse(random_network(3), path="random-3")
    graph = graph_of(3, small=False)
    order = best_order(graph).order
    of = prepare(graph, order, input_mode="streamed", output_mode="streamed")
    choices = next(
        choices
        for choices in plans(of, 3, 40)
        if sum(choice.strip_width is not None for choice in choices) > 1
    )
    options = Options(input_mode="streamed", output_mode="streamed", stages=choices)
    compiled = compile_model(
        model, replace(options, simplify=False)
    )  # the stages name its operators
    assert compiled.assembly.parts
    assert checking.verify(compiled, samples=2).bit_exact
