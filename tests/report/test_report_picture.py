"""Pictures of networks: what they name, on networks of every kind, and the highest stack."""

from __future__ import annotations

from dataclasses import replace

import pytest
from drawn import inside, texts
from hand_made import chain, peak_at_start

from lowtide.commands.analysis import analyze
from lowtide.ir import Graph
from lowtide.report.analysis_picture import analysis_picture, stacked
from lowtide.report.chart import side_of
from lowtide.report.plan_boxes import colours_in
from networks import loaded


def svg(graph: Graph) -> list[str]:
    """The texts of the picture of `graph`."""
    return texts(analysis_picture(analyze(graph)))


def test_both_orders_are_drawn_with_their_peaks() -> None:
    picture = analysis_picture(analyze(loaded("figure1").graph))
    inside(picture)
    shown = texts(picture)
    for text in (
        "file order: a box is a tensor, as high as its bytes; stacked boxes are in RAM together",
        "peak 5,216 B, step 2: 2 DEPTHWISE_CONV_2D",
        "peak 4,960 B, step 3: 1 CONV_2D",
    ):
        assert text in shown
    assert any(text.startswith("best order, proved optimal: ") for text in shown)
    assert "2 DEPTHWISE_CONV_2D" in shown  # below the steps
    assert any(text.startswith("t3  0 CONV_2D, ") for text in shown)  # in the legend


def test_a_best_file_order_is_drawn_once() -> None:
    shown = svg(chain("a", "b", "c"))
    assert any(text.startswith("file order: ") for text in shown)
    assert not any(text.startswith("best order") for text in shown)


def test_of_very_many_operators_some_are_named() -> None:
    names = [f"tensor{number}" for number in range(152)]
    shown = svg(chain(*names))
    assert "operator, in the order it runs; one in 2 is named" in shown
    assert "150 ADD" in shown and "149 ADD" not in shown


def test_a_peak_before_the_first_step() -> None:
    assert "peak 2,000 B, before the first step" in svg(peak_at_start())


@pytest.mark.parametrize("name", ["figure1", "branchy-cell", "streaming-wake-word"])
def test_the_highest_stack_is_the_peak_that_is_told(name: str) -> None:
    """In both orders; boxes of one step lie upon each other, without a gap, on the state."""
    found = analyze(loaded(name).graph)
    for line in (found.file, found.best):
        shown = stacked(found, line)
        assert max(box.offset + box.size for box in shown.boxes) == (
            line.peak_bytes + found.variables_bytes
        )
        assert (shown.peak_slot, shown.peak_bytes) == (line.peak_step, line.peak_bytes)
        for number, step in enumerate(line.steps):
            live = sorted(
                (b.offset, b.size, b.tensor) for b in shown.boxes if b.start <= number < b.end
            )
            assert {tensor for _, _, tensor in live} == set(step.working_set)
            ends = [found.variables_bytes, *(offset + size for offset, size, _ in live)]
            assert [offset for offset, _, _ in live] == ends[:-1]
            assert ends[-1] == found.variables_bytes + step.bytes


def test_a_tensor_has_one_colour_in_both_orders_and_no_neighbour_has_it() -> None:
    found = analyze(loaded("branchy-cell").graph)
    pictures = [stacked(found, line).boxes for line in (found.file, found.best)]
    colours = colours_in(pictures, 18)
    for boxes in pictures:
        for one in boxes:
            for other in boxes:
                if one.tensor != other.tensor and one.start < other.end and other.start < one.end:
                    assert colours[one.tensor] != colours[other.tensor]


def test_a_network_without_memory() -> None:
    graph = chain("a", "b")
    svg(replace(graph, tensors=tuple(replace(t, shape=(0,)) for t in graph.tensors)))


@pytest.mark.parametrize("name", ["cost$x$", "$\\foo$", "a_b^c", "<&>", "\\", "$"])
def test_a_name_is_no_formula(name: str) -> None:
    """Names of custom operators and of files are other people's text."""
    graph = chain("a", "b")
    named = replace(graph, ops=(replace(graph.ops[0], type="CUSTOM", custom=name),))
    svg(named)
    svg(replace(graph, name=name))


@pytest.mark.parametrize(
    ("step", "side"),
    [(0, "start"), (2, "start"), (3, "middle"), (6, "middle"), (7, "end"), (9, "end")],
)
def test_labels_stay_inside(step: int, side: str) -> None:
    assert side_of(step, 9) == side
