"""What the report says in words: the verdict, why RAM became less, which lines are drawn."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from lowtide.advice.fitting import Fit, Way
from lowtide.advice.reporting import Reported, report_on
from lowtide.commands.options import Options
from lowtide.commands.profiling import Profile
from lowtide.errors import MissingToolError
from lowtide.ir import Model
from lowtide.machines.board import find_target
from lowtide.machines.mcus import board_of, find_mcu
from lowtide.report import data
from lowtide.report.memory_views import views_of
from lowtide.report.page import report_document
from lowtide.report.page_words import verdict_sentence
from lowtide.report.part_lines import PartLine, part_lines, spaced
from lowtide.tflite.read import parse
from networks import model_of
from schema_models import Net

SHAPE = (1, 4, 3, 2)


@cache
def reported(name: str = "figure1") -> Reported:
    return report_on(model_of(name))


def fit(part: str, way: Way, ram: int, streamed: bool = False, overhead: float = 1.0) -> Fit:
    return Fit("net", find_mcu(part), way, ram, 1000, streamed=streamed, overhead=overhead)


def verdict(*fits: Fit, mcu: Fit | None = None) -> str:
    return verdict_sentence(replace(reported(), fits=fits, mcu=mcu)).partition(". Tensor")[0]


def test_the_verdict_names_the_smallest_part_and_what_smaller_ones_take() -> None:
    big, small = fit("STM32L432KC", "as is", 30 << 10), fit("NRF52840", "as is", 30 << 10)
    assert verdict(small, big) == "Fits STM32L432KC with 34 KiB of RAM to spare"
    worked = fit("STM32F072RB", "more work", 15 << 10, overhead=1.12)
    assert verdict(big, worked) == (
        "Fits STM32L432KC with 34 KiB of RAM to spare; also a 16 KiB part (STM32F072RB) at 1.1 times "
        "the work"
    )
    given = fit("STM32C071RB", "streamed", 20 << 10, streamed=True)
    assert verdict(big, worked, given) == (
        "Fits STM32L432KC with 34 KiB of RAM to spare; also a 24 KiB part (STM32C071RB) with its input "
        "given row by row, and a 16 KiB part (STM32F072RB) at 1.1 times the work"
    )


def test_the_verdict_on_a_part_that_was_asked_about() -> None:
    big = fit("STM32L432KC", "as is", 30 << 10)
    short = fit("STM32F072RB", "not", 30 << 10)
    assert verdict(big, mcu=big) == "Fits STM32L432KC with 34 KiB of RAM to spare"
    assert verdict(big, short, mcu=short) == (
        "Does not fit STM32F072RB: 14 KiB of RAM missing; it fits a 64 KiB part (STM32L432KC)"
    )
    streamed = fit("STM32F072RB", "not", 20 << 10, streamed=True)
    assert verdict(big, streamed, mcu=streamed) == (
        "Does not fit STM32F072RB, even with its input streamed: 4,096 bytes of RAM missing; it fits a "
        "64 KiB part (STM32L432KC)"
    )
    figures = reported().figures
    assert verdict(short) == (
        f"Needs {figures.ram_bytes:,} B of RAM and {figures.flash_bytes:,} B of flash, more than any "
        "part in the table has"
    )


def test_the_parts_are_judged_by_the_figures_that_are_shown() -> None:
    shown = reported()
    (found,) = [each for each in shown.fits if each.mcu.name == "STM32L432KC"]
    assert found.way == "as is"
    assert found.ram_bytes == shown.figures.ram_bytes
    assert found.flash_bytes == shown.figures.flash_bytes
    document = report_document(shown)["networks"][0]
    assert [row["part"] for row in document["fits"]] == [each.mcu.name for each in shown.fits]
    assert document["verdict"] == verdict_sentence(shown)


def test_a_part_of_another_core_is_not_judged() -> None:
    m4 = find_mcu("STM32L432KC")
    shown = report_on(model_of("figure1"), Options(target=m4.target), mcu=m4)
    assert {each.mcu.core for each in shown.fits} == {"cortex-m4"}
    assert shown.mcu is not None
    assert shown.mcu.mcu is m4
    labels = [line["name"] for line in report_document(shown)["networks"][0]["parts"]]
    assert "64 KiB: STM32L432KC" in labels


def test_without_the_tools_a_part_is_predicted_and_a_board_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(*_: object, **__: object) -> None:
        raise MissingToolError("there is no QEMU", "install it")

    monkeypatch.setattr("lowtide.advice.reporting.run", missing)
    mcu = find_mcu("STM32L432KC")
    options = Options(target=mcu.target)
    shown = report_on(model_of("figure1"), options, board_of(mcu), mcu=mcu)
    assert shown.ran is None
    assert not shown.figures.measured
    with pytest.raises(MissingToolError):
        report_on(model_of("figure1"), options, board_of(mcu))


def test_all_plans_are_shown_where_they_are_asked_for() -> None:
    sketched, whole = reported(), report_on(model_of("figure1"), front=True)
    assert sketched.compiled.files == whole.compiled.files
    least = [min(p.ram_bytes for p in each.planned.points or ()) for each in (sketched, whole)]
    assert least[1] <= least[0]
    assert all(len(each.planned.points or ()) > 1 for each in (sketched, whole))
    notes = [report_document(each)["networks"][0]["fronts_note"] for each in (sketched, whole)]
    assert notes == [
        "Each mark is a plan that computes nothing twice. Except for the program's own plan, rows were "
        "placed quickly: a plan can need a little less RAM. With --front, a report shows all plans, "
        "including those that recompute some columns.",
        "Going lower means recomputing some rows and columns. Each mark is a plan.",
    ]


def test_a_part_that_is_too_small_is_tried_with_all_plans() -> None:
    mcu = find_mcu("STM32L432KC")
    options = Options(target=mcu.target)
    enough = report_on(model_of("streaming-wake-word"), options, mcu=mcu)
    assert not enough.front
    scarce = replace(mcu, ram_bytes=enough.figures.ram_bytes // 2)
    short = report_on(model_of("streaming-wake-word"), options, mcu=scarce)
    assert short.front
    assert short.mcu is not None
    assert short.mcu.way == "not"
    assert short.compiled.files == enough.compiled.files


def test_what_takes_no_code_is_drawn_before_what_reads_it() -> None:
    drawn = report_document(reported("streaming-wake-word"))["networks"][0]["graph"]
    at = {row["id"]: number for number, row in enumerate(drawn)}
    for row in drawn:
        if row["stage"] is not None:
            assert all(at[source] < at[row["id"]] for source in row["sources"])
    stages = [row["stage"] for row in drawn if row["stage"] is not None]
    assert stages == sorted(stages)


def test_every_way_says_what_became_of_the_largest_tensors() -> None:
    first, *others = views_of(reported("branchy-cell"))
    assert first.why == ""
    assert others[0].key == "order"
    step = first.steps[first.shown.peak_slot]
    assert others[0].why.startswith(
        f"TensorFlow Lite Micro peaks while {step} runs, with {first.shown.peak_bytes:,} B in memory"
    )
    for view in others[1:]:
        assert view.why.startswith("TensorFlow Lite Micro has ")
        assert " in memory at its peak; lowtide " in view.why
    rows = next(view for view in others if view.key == "rows")
    assert all(0 < held.bytes <= held.of for held in rows.peak if held.of)


def small(kind: str) -> Model:
    net = Net()
    if kind == "one operator":
        net.op("RELU", [net.input(SHAPE)], SHAPE)
        return parse(net.build(), path="net")
    import ai_edge_litert.schema_py_generated as schema

    limit, x = net.input((1,), np.int32), net.input(SHAPE)
    some = net.const([3], np.int32)
    condition = net.op("LESS", [limit, some], (1,), dtype=np.bool_, output=False)
    options = schema.IfOptionsT(thenSubgraphIndex=1, elseSubgraphIndex=2)
    net.op("IF", [condition, x], SHAPE, options=options)
    yes, no = net.branch(), net.branch()
    yes.op("RELU6", [yes.input(SHAPE)], SHAPE)
    no.op("RELU", [no.input(SHAPE)], SHAPE)
    return parse(net.build(yes, no), path="net")


@pytest.mark.parametrize("kind", ["one operator", "control flow"])
def test_small_and_odd_networks_have_a_report(kind: str) -> None:
    document = report_document(report_on(small(kind)))["networks"][0]
    assert document["verdict"].startswith("Fits STM32G031K8 with ")
    assert document["views"][0]["key"] == "tflm"
    assert len(document["operators"]) == (1 if kind == "one operator" else 4)


@pytest.mark.parametrize("name", ["streaming-wake-word", "audio-front-end"])
def test_networks_with_state_have_a_report(name: str) -> None:
    """Some of their operators make nothing that anybody reads: they assign a variable."""
    document = report_document(reported(name))["networks"][0]
    assert sum(each["bytes"] for each in document["state"]) > 0
    assert all(view["state_bytes"] for view in document["views"][1:])
    caption = document["views"][0]["caption"]
    assert ("signal operators keep" in caption) == (name == "audio-front-end")


def test_lines_are_common_sizes_and_keep_their_distance() -> None:
    lines = part_lines()
    sizes = [line.ram_bytes for line in lines]
    assert sizes == sorted(set(sizes))
    assert {16 << 10, 64 << 10, 256 << 10} <= set(sizes)
    assert all(line.parts > 1 for line in lines)
    some = [
        PartLine(100, 3, "a"),
        PartLine(104, 9, "b"),
        PartLine(200, 1, "c"),
        PartLine(900, 9, "d"),
    ]
    assert [line.label for line in spaced(some, 50, 500, 10)] == ["b", "c"]


@pytest.mark.parametrize(
    "options",
    [
        Options(),
        Options(input_mode="const"),
        Options(input_mode="streamed", output_mode="streamed"),
        Options(target=find_target("cortex-m0")),
        Options(target=find_target("cortex-m4"), quantized_io=True),
        Options(max_overhead=1.25),
        Options(simplify=False),
    ],
    ids=("usual", "const", "streamed", "m0", "m4", "more work", "as it is"),
)
def test_the_document_is_as_its_schema_says(options: Options) -> None:
    """Also where a saving is of no core that can be compared."""
    document = report_document(report_on(model_of("figure1"), options))
    data.to_json(document)
    (network,) = document["networks"]
    assert network["core"] == options.target.core
    numbers = {row["number"] for row in network["graph"]}
    assert {row["first"] for row in network["operators"]} <= numbers


def test_a_part_with_slow_flash_shows_what_a_run_reads_of_it() -> None:
    mcu = find_mcu("RP2040")
    options = Options(target=mcu.target)
    shown = report_on(model_of("figure1"), options, board_of(mcu), mcu=mcu)
    assert shown.ran is not None
    profile = shown.ran.profile
    assert isinstance(profile, Profile)
    assert profile.flash is not None
    (network,) = report_document(shown)["networks"]
    assert (
        f"A run reads {profile.flash.refilled_bytes:,} B of it into the" in network["flash"]["note"]
    )
    plain = replace(shown, ran=replace(shown.ran, profile=replace(profile, flash=None)))
    assert "A run reads" not in report_document(plain)["networks"][0]["flash"]["note"]
