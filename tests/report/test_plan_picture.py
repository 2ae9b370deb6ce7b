"""The picture of a compiled program's memory: what it names, and that it is all on the paper.

Which boxes it shows is held in `test_plan_boxes`.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from drawn import inside, texts
from drawn_programs import compiled, every_way, nothing, with_variable

from effort import calls
from lowtide.commands.compiling import Compiled
from lowtide.place import Rectangle
from lowtide.program.assemble import ByRows
from lowtide.report.chart import best_place
from lowtide.report.picture import Boxes, png_bytes
from lowtide.report.plan_boxes import SCRATCH, plan_boxes
from lowtide.report.plan_picture import plan_picture
from networks import present


def svg(program: Compiled) -> list[str]:
    """The texts of the picture."""
    return texts(plan_picture(program))


@every_way
def test_every_box_is_drawn_and_all_is_on_the_paper(way: str) -> None:
    program = compiled("ds-cnn-kws", way)
    picture, shown = plan_picture(program), plan_boxes(program)
    drawn = sum(len(e.places) for e in picture.elements if isinstance(e, Boxes) and e.title)
    assert drawn == len(shown.boxes) + len(shown.variables)
    inside(picture)


@every_way
def test_peak_and_arena_are_labelled(way: str) -> None:
    program = compiled("ds-cnn-kws", way)
    shown, texts = plan_boxes(program), svg(program)
    assert any(text.startswith(f"peak {shown.peak_bytes:,} B live, step ") for text in texts)
    assert f"arena {shown.arena_bytes:,} B" in texts
    assert "scratch memory of the kernel that runs" in texts
    assert any(text.startswith("t3  0 CONV_2D  ") for text in texts)  # the legend


@pytest.mark.parametrize("way", ["rows", "operators"])
def test_a_program_without_memory(way: str) -> None:
    svg(nothing(compiled("figure1", way)))


def test_places_for_labels() -> None:
    """In the middle of the largest part; none if the label would stick out too far."""
    mine = np.zeros((20, 40), bool)
    mine[1:3, 1:5] = True
    mine[5:15, 10:30] = True
    assert best_place(mine, (2, 4), 1.0) == (9, 18)
    assert best_place(mine, (10, 20), 1.0) == (5, 10)
    assert best_place(mine, (10, 22), 1.0) is None
    assert best_place(mine, (10, 22), 0.9) is not None
    assert best_place(mine, (21, 2), 0.1) is None
    assert best_place(mine, (2, 41), 0.1) is None
    assert best_place(~mine & mine, (1, 1), 0.5) is None


def test_few_operators_are_named_below() -> None:
    texts = svg(compiled("ds-cnn-kws", "operators"))
    assert {"inputs given", "12 SOFTMAX", "operator, in the order it runs"} <= set(texts)
    if present("te_vww"):
        assert "12 CONV_2D" not in svg(compiled("te_vww", "operators"))


def test_only_large_tensors_are_named() -> None:
    program = compiled("branchy-cell")
    texts = svg(program)
    named = [text for text in texts if re.match(r"t\d+  ", text)]
    assert len(named) == 28
    tensors = {box.tensor for box in plan_boxes(program).boxes} - {SCRATCH}
    assert f"and {len(tensors) - 28} smaller tensors" in texts


def test_kept_rows_are_named_after_their_tensor() -> None:
    texts = svg(compiled("mbv2-w0.35-144-chain", "const"))
    assert any(re.match(r"t\d+ .*, kept rows  ", text) for text in texts)


def test_variables_are_labelled() -> None:
    program = with_variable("figure1")
    assert f"arena {program.arena_bytes:,} B + state 100 B" in svg(program)


@pytest.mark.parametrize("name", ["cost$x$", "$\\foo$", "a_b^c", "<&>", "\\", "$"])
def test_a_name_is_no_formula(name: str) -> None:
    """Names of custom operators and of files are other people's text."""
    program = compiled("figure1", "operators")
    graph = program.graph
    ops = tuple(replace(op, type="CUSTOM", custom=name) for op in graph.ops)
    assembly = replace(program.assembly, graph=replace(graph, ops=ops))
    svg(replace(program, model=replace(program.model, path=name), assembly=assembly))


def test_thousands_of_rows_are_drawn_soon() -> None:
    program = compiled("figure1")
    cut = replace(program.assembly.cuts[0], count=6000, size=8)
    plan = program.assembly.plan
    assert plan is not None
    blocks = tuple(Rectangle(row, row % 50 * 8, 8, row // 2, row // 2 + 25) for row in range(6000))
    placement = replace(program.assembly.placement, rectangles=blocks, arena_bytes=400)
    assembly = replace(program.assembly, placement=placement, schedule=ByRows(plan, (cut,), 0))
    drawn = replace(program, assembly=assembly)
    assert calls(lambda: png_bytes(plan_picture(drawn))) < 2_000_000
