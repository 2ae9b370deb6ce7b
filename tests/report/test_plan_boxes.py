"""The boxes of a compiled program's memory are its placement, its peak and its stages."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from drawn_programs import compiled, every_way, nothing, with_variable

from lowtide.program.assemble import ByRows
from lowtide.report.plan_boxes import SCRATCH, Box, colours_of, plan_boxes
from networks import present

NAMES = [
    "figure1",
    "ds-cnn-kws",
    "resnet8",
    "attention-block",
    "branchy-cell",
    *present("te_vww", "mlperf_kws_int8"),
]


every_name = pytest.mark.parametrize("name", NAMES)


def held(boxes: tuple[Box, ...], align: int) -> list[int]:
    """Per slot, the bytes of the boxes that are live, each rounded up to `align`."""
    sums = [0] * max(box.end for box in boxes)
    for box in boxes:
        for slot in range(box.start, box.end):
            sums[slot] += -(-box.size // align) * align
    return sums


@every_way
@every_name
def test_the_boxes_are_the_blocks(name: str, way: str) -> None:
    shown, placement = plan_boxes(compiled(name, way)), compiled(name, way).assembly.placement
    drawn = Counter((b.start, b.end, b.offset, b.size) for b in shown.boxes)
    blocks = (b for b in placement.rectangles if b.size and b.start < b.end)
    assert drawn == Counter((b.start, b.end, b.offset, b.size) for b in blocks)
    assert shown.variables == ()
    assert shown.arena_bytes == compiled(name, way).arena_bytes


@every_way
@every_name
def test_the_peak_is_the_placements(name: str, way: str) -> None:
    shown, placement = plan_boxes(compiled(name, way)), compiled(name, way).assembly.placement
    sums = held(shown.boxes, placement.align)
    assert list(shown.live) == sums + [0] * (shown.slots - len(sums))
    assert shown.peak_bytes == max(shown.live) == shown.live[shown.peak_slot]
    assert shown.peak_bytes not in shown.live[: shown.peak_slot]
    assert shown.peak_bytes == placement.lower_bound_bytes <= shown.arena_bytes


@pytest.mark.parametrize("way", ["rows", "streamed"])
@every_name
def test_the_peak_is_the_plans(name: str, way: str) -> None:
    """Or above, where rows that could be free must stay, being in one piece with others."""
    shown, assembly = plan_boxes(compiled(name, way)), compiled(name, way).assembly
    assert assembly.plan is not None
    rows = {cut.tensor: cut.size for cut in assembly.cuts}
    single = all(box.size <= rows.get(box.tensor, box.size) for box in shown.boxes)
    aligned = all(box.size % assembly.placement.align == 0 for box in shown.boxes)
    if single and aligned:
        assert shown.peak_bytes == assembly.plan.peak_bytes
    else:
        assert shown.peak_bytes >= assembly.plan.peak_bytes


def test_the_peak_of_a_plan_without_pieces() -> None:
    """So that the one before cannot come to say nothing."""
    program = compiled("branchy-cell")
    assert program.assembly.plan is not None
    assert plan_boxes(program).peak_bytes == program.assembly.plan.peak_bytes


@every_way
@every_name
def test_every_box_is_of_the_right_tensor(name: str, way: str) -> None:
    """A tensor's boxes are as large as the tensor; it is drawn if it lies in the arena at all."""
    program = compiled(name, way)
    assembly, graph = program.assembly, program.assembly.program_graph
    shown = plan_boxes(program)
    tensors = {box.tensor for box in shown.boxes} - {SCRATCH}
    ports = {
        assembly.views.get(p.tensor, p.tensor)
        for entry in assembly.kernels
        for p in (*entry.node.inputs, *entry.node.outputs)
    }
    outside = {t.id for t in graph.tensors if t.is_constant}
    outside |= set(graph.inputs) if assembly.input_mode == "const" else set()
    assert tensors >= ports - outside
    for tensor in tensors:
        sizes = {(b.offset, b.start): b.size for b in shown.boxes if b.tensor == tensor}
        if way == "compacting":  # a block per stay
            assert set(sizes.values()) == {graph.tensors[tensor].bytes}
        else:
            assert sum(sizes.values()) == graph.tensors[tensor].bytes
    if assembly.plan is None:
        needs = {e.node.op for e in assembly.kernels if e.node.scratch}
    else:
        needs = {e.node.op for e in assembly.kernels if e.node.scratch}
    assert (SCRATCH in {box.tensor for box in shown.boxes}) == bool(needs)


def test_a_tensor_is_live_in_the_steps_that_use_it() -> None:
    program = compiled("branchy-cell")
    assembly = program.assembly
    assert assembly.plan is not None
    spans: dict[int, tuple[int, int]] = {}
    for box in plan_boxes(program).boxes:
        start, end = spans.get(box.tensor, (box.start, box.end))
        spans[box.tensor] = min(start, box.start), max(end, box.end)
    used: dict[int, list[int]] = {}
    for slot, (number, _) in enumerate(assembly.plan.steps, start=1):
        for port in assembly.kernels[number].node.outputs:
            used.setdefault(assembly.views.get(port.tensor, port.tensor), []).append(slot)
    for tensor, slots in used.items():
        assert slots[0] <= spans[tensor][0] <= slots[-1] < spans[tensor][1]


@pytest.mark.parametrize("way", ["rows", "streamed"])
@every_name
def test_runs_of_stages(name: str, way: str) -> None:
    """They follow each other from the first step to the last, and each runs nodes of its stage."""
    shown, plan = plan_boxes(compiled(name, way)), compiled(name, way).assembly.plan
    assert plan is not None
    assert [run.stage for run in shown.runs] == list(range(len(plan.stages)))
    ends = [1, *(run.end for run in shown.runs)]
    assert [run.start for run in shown.runs] == ends[:-1]
    assert ends[-1] == len(plan.steps) + 1 == shown.slots
    for run in shown.runs:
        stage = plan.stages[run.stage]
        nodes = {node for node, _ in plan.steps[run.start - 1 : run.end - 1]}
        assert nodes == set(range(stage.first, stage.last))


def test_a_stage_that_runs_again() -> None:
    """Parts of a stage count as runs of their own if others run between them."""
    program = compiled("ds-cnn-kws")
    plan = program.assembly.plan
    assert plan is not None
    a, b = plan.stages[0], plan.stages[1]
    steps = ((a.first, 0), (b.first, 0), (b.first, 1), (a.first, 1))
    schedule = ByRows(replace(plan, steps=steps), program.assembly.cuts, 0)
    again = replace(program.assembly, schedule=schedule)
    runs = plan_boxes(replace(program, assembly=again)).runs
    assert [(run.stage, run.start, run.end) for run in runs] == [(0, 1, 2), (1, 2, 4), (0, 4, 5)]


def test_operators_have_no_stages() -> None:
    shown = plan_boxes(compiled("figure1", "operators"))
    assert shown.runs == ()
    assert shown.slots == len(compiled("figure1").graph.ops) + 1


def test_variables_are_held_all_the_time() -> None:
    program = with_variable("figure1")
    shown, without = plan_boxes(program), plan_boxes(compiled("figure1"))
    at = program.assembly.placement.arena_bytes
    assert shown.variables == (Box(0, 0, shown.slots, at, 100),)
    assert (shown.arena_bytes, shown.state_bytes) == (at, 100)
    assert (shown.boxes, shown.live) == (without.boxes, without.live)


@pytest.mark.parametrize("way", ["rows", "operators"])
def test_a_program_without_memory(way: str) -> None:
    shown = plan_boxes(nothing(compiled("figure1", way)))
    assert (shown.boxes, shown.peak_bytes, shown.peak_slot, shown.arena_bytes) == ((), 0, 0, 0)


@every_way
@every_name
def test_colours_tell_apart_what_is_live_together(name: str, way: str) -> None:
    boxes = plan_boxes(compiled(name, way)).boxes
    colours = colours_of(boxes, 1000)
    assert colours.keys() == {box.tensor for box in boxes} - {SCRATCH}
    alive: list[set[int]] = [set() for _ in range(max(box.end for box in boxes))]
    for box in boxes:
        if box.tensor != SCRATCH:
            for slot in range(box.start, box.end):
                alive[slot].add(box.tensor)
    for tensors in alive:
        assert len({colours[t] for t in tensors}) == len(tensors)


def test_more_tensors_than_colours() -> None:
    boxes = [Box(tensor, 0, 4, 10 * tensor, 10) for tensor in range(5)]
    assert colours_of(boxes, 2) == {0: 0, 1: 1, 2: 0, 3: 1, 4: 0}
    assert colours_of([Box(SCRATCH, 0, 1, 0, 4)], 2) == {}


def test_a_colour_is_used_again_when_it_is_free() -> None:
    held_long, short = Box(0, 0, 9, 0, 4), [Box(t, 2 * t, 2 * t + 1, 4, 4) for t in range(1, 5)]
    assert colours_of([held_long, *short], 3) == {0: 0, 1: 1, 2: 2, 3: 1, 4: 2}
