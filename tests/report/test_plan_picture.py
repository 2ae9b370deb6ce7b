"""The picture of a compiled program's memory: what is drawn is the placement, and files come out.

Why without matplotlib, mostly: what a picture looks like no test can judge, but which boxes it has,
where its peak is and where its stages end are plain values.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
import warnings
import xml.etree.ElementTree as Xml
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowtide.compiler import Compiled, Options, compile_model
from lowtide.emit.assemble import Variable
from lowtide.errors import UsageError
from lowtide.place import Block
from lowtide.report.plan_picture import (
    SCRATCH,
    Box,
    _best_place,
    colours_of,
    plan_boxes,
    plan_picture,
    write_plan_picture,
)
from networks import loaded, present

WAYS: dict[str, dict[str, Any]] = {
    "rows": {},
    "preserved": {"preserve_input": True},
    "const": {"input_mode": "const"},
    "streamed": {"input_mode": "streamed", "output_mode": "streamed"},
    "operators": {"schedule": "operators"},
    "greedy": {"schedule": "operators", "allocator": "greedy"},
    "compacting": {"schedule": "operators", "allocator": "compacting"},
}
NAMES = [
    "figure1",
    "ds-cnn-kws",
    "resnet8",
    "attention-block",
    "branchy-cell",
    *present("te_vww", "mlperf_kws_int8"),
]

every_way = pytest.mark.parametrize("way", WAYS)
every_name = pytest.mark.parametrize("name", NAMES)


@cache
def compiled(name: str, way: str = "rows") -> Compiled:
    return compile_model(loaded(name), Options(**WAYS[way]))


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
    blocks = (b for b in placement.blocks if b.size and b.start < b.end)
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
    assembly, graph = program.assembly, program.graph
    shown = plan_boxes(program)
    tensors = {box.tensor for box in shown.boxes} - {SCRATCH}
    ports = {
        assembly.views.get(p.tensor, p.tensor)
        for entry in assembly.nodes
        for p in (*entry.node.inputs, *entry.node.outputs)
        if p.tensor < len(graph.tensors)  # not the allocator's moves
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
        needs = {e.node.op for e in assembly.nodes if e.node.op >= 0 and e.node.scratch}
    else:
        needs = {e.node.op for e in assembly.nodes if e.node.scratch}
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
        node = assembly.nodes[number].node
        for port in node.outputs:
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
    again = replace(program.assembly, plan=replace(plan, steps=steps))
    runs = plan_boxes(replace(program, assembly=again)).runs
    assert [(run.stage, run.start, run.end) for run in runs] == [(0, 1, 2), (1, 2, 4), (0, 4, 5)]


def test_operators_have_no_stages() -> None:
    shown = plan_boxes(compiled("figure1", "operators"))
    assert shown.runs == ()
    assert shown.slots == len(compiled("figure1").graph.ops) + 1


def with_variable(name: str) -> Compiled:
    """The program with a variable of 100 bytes past all else."""
    program = compiled(name)
    at = program.assembly.placement.arena_bytes
    variables = (Variable(0, at, 100, 0),)
    return replace(program, assembly=replace(program.assembly, variables=variables))


def test_variables_are_held_all_the_time() -> None:
    program = with_variable("figure1")
    shown, without = plan_boxes(program), plan_boxes(compiled("figure1"))
    at = program.assembly.placement.arena_bytes
    assert shown.variables == (Box(0, 0, shown.slots, at, 100),)
    assert shown.arena_bytes == at + 100
    assert (shown.boxes, shown.live) == (without.boxes, without.live)


def nothing(program: Compiled) -> Compiled:
    """The program as if it needed no memory."""
    placement = replace(program.assembly.placement, arena_bytes=0, blocks=(Block(0, 0, 0, 0, 2),))
    return replace(program, assembly=replace(program.assembly, placement=placement))


@pytest.mark.parametrize("way", ["rows", "operators"])
def test_a_program_without_memory(way: str) -> None:
    program = nothing(compiled("figure1", way))
    shown = plan_boxes(program)
    assert (shown.boxes, shown.peak_bytes, shown.peak_slot, shown.arena_bytes) == ((), 0, 0, 0)
    svg(program)


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


def svg(program: Compiled) -> list[str]:
    """The texts of the picture, which must be well-formed and come without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = plan_picture(program, "svg").decode()
    Xml.fromstring(picture)
    return re.findall(r"<!-- (.*?) -->", picture)


@every_way
def test_peak_and_arena_are_labelled(way: str) -> None:
    program = compiled("ds-cnn-kws", way)
    shown, texts = plan_boxes(program), svg(program)
    assert any(text.startswith(f"peak {shown.peak_bytes:,} B live, step ") for text in texts)
    assert f"arena {shown.arena_bytes:,} B" in texts
    assert "scratch" in texts
    assert any(text.startswith("t3  0 CONV_2D  ") for text in texts)  # the legend


def test_places_for_labels() -> None:
    """In the middle of the largest part; none if the label would stick out too far."""
    mine = np.zeros((20, 40), bool)
    mine[1:3, 1:5] = True
    mine[5:15, 10:30] = True
    assert _best_place(mine, (2, 4), 1.0) == (9, 18)
    assert _best_place(mine, (10, 20), 1.0) == (5, 10)
    assert _best_place(mine, (10, 22), 1.0) is None
    assert _best_place(mine, (10, 22), 0.9) is not None
    assert _best_place(mine, (21, 2), 0.1) is None
    assert _best_place(mine, (2, 41), 0.1) is None
    assert _best_place(~mine & mine, (1, 1), 0.5) is None


def test_few_operators_are_named_below() -> None:
    texts = svg(compiled("ds-cnn-kws", "operators"))
    assert {"inputs given", "12 SOFTMAX", "operator, in the order it runs"} <= set(texts)
    if present("te_vww"):
        assert "12 CONV_2D" not in svg(compiled("te_vww", "operators"))


def test_only_large_tensors_are_named() -> None:
    texts = svg(compiled("branchy-cell"))
    assert "and 13 smaller tensors" in texts
    assert len([text for text in texts if re.match(r"t\d+  ", text)]) == 28


def test_variables_are_labelled() -> None:
    program = with_variable("figure1")
    assert f"arena {program.arena_bytes:,} B (100 B variables)" in svg(program)


@pytest.mark.parametrize("name", ["cost$x$", "$\\foo$", "a_b^c", "<&>", "\\", "$"])
def test_a_name_is_no_formula(name: str) -> None:
    """Names of custom operators and of files are other people's text."""
    program = compiled("figure1", "operators")
    graph = program.graph
    ops = tuple(replace(op, type="CUSTOM", custom=name) for op in graph.ops)
    assembly = replace(program.assembly, graph=replace(graph, ops=ops))
    svg(replace(program, model=replace(program.model, path=name), assembly=assembly))


@pytest.mark.parametrize("ending", ["png", "svg", "PNG"])
def test_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"plan.{ending}"
    write_plan_picture(compiled("figure1"), path)
    first = path.read_bytes()
    start = b"\x89PNG\r\n\x1a\n" if ending.lower() == "png" else b"<?xml"
    assert first.startswith(start)
    write_plan_picture(compiled("figure1"), path)
    assert path.read_bytes() == first
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["plan", "plan.pdf", "plan.jpeg", "png"])
def test_an_unknown_ending(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as info:
        write_plan_picture(compiled("figure1"), tmp_path / name)
    assert info.value.cause == f"cannot tell the picture format of {name!r}"
    assert info.value.remedy == "end the file name in .png or .svg"
    assert not list(tmp_path.iterdir())


def test_a_missing_folder(tmp_path: Path) -> None:
    path = tmp_path / "none" / "plan.png"
    with pytest.raises(UsageError, match="does not exist"):
        write_plan_picture(compiled("figure1"), path)


def test_thousands_of_rows_are_drawn_soon() -> None:
    program = compiled("figure1")
    cut = replace(program.assembly.cuts[0], count=6000, size=8)
    blocks = tuple(Block(row, row % 50 * 8, 8, row // 2, row // 2 + 25) for row in range(6000))
    placement = replace(program.assembly.placement, blocks=blocks, arena_bytes=400)
    assembly = replace(program.assembly, placement=placement, cuts=(cut,))
    start = time.process_time()
    plan_picture(replace(program, assembly=assembly), "png")
    assert time.process_time() - start < 6  # about 1 s; the rest for slow machines


def test_matplotlib_is_imported_only_to_draw() -> None:
    code = "import sys, lowtide.report.plan_picture; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
