"""Networks by microcontrollers: what fits, which way, and by how much it does not."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import lowtide
from lowtide.advice.fitting import Fit, fits
from lowtide.commands.compiling import compile_model
from lowtide.commands.estimating import INSTANCE
from lowtide.commands.options import Options
from lowtide.emit.footprint import STACK
from lowtide.machines.mcus import Mcu, find_mcu
from lowtide.report.data import to_json
from lowtide.report.fitting import fit_csv, fit_document, fit_html, fit_text
from lowtide.tflite.read import parse
from variable_nets import variable_network

M4 = find_mcu("STM32L432KC")


def part(ram: int, flash: int = 1 << 20, like: Mcu = M4) -> Mcu:
    return replace(like, name=f"PART{ram}", ram_bytes=ram, flash_bytes=flash)


def test_each_way_in_its_turn() -> None:
    model = lowtide.load("zoo:mobilenet-v1-0.25-96")
    needs = lowtide.estimate(model, target=M4.target).needs
    whole, streamed = needs["resident"].total_ram_bytes, needs["streamed"].total_ram_bytes
    assert whole is not None
    assert streamed is not None
    parts = [part(whole), part(whole - 1), part(streamed), part(streamed - 300), part(1500)]
    found = fits(model, parts)
    assert [fit.way for fit in found] == ["as is", "streamed", "streamed", "more work", "not"]
    assert [fit.spare_ram_bytes for fit in found[:3]] == [0, whole - 1 - streamed, 0]
    assert found[3].overhead >= 1
    assert found[3].spare_ram_bytes >= 0
    assert found[4].spare_ram_bytes < 0


def test_portable_kernels_are_tried_with_the_input_resident_first() -> None:
    """Where flash is short, kernels that need less of it may be all that is asked for."""
    model = lowtide.load("zoo:mobilenet-v1-0.25-96")
    own = lowtide.estimate(model, target=M4.target, simplify=True).needs["resident"]
    assert own.flash_bytes is not None
    (found,) = fits(model, [part(1 << 20, own.flash_bytes - 1000)])
    assert (found.way, found.streamed) == ("other kernels", False)
    assert found.spare_flash_bytes >= 0
    (tight,) = fits(model, [part(found.ram_bytes - 1, own.flash_bytes - 1000)])
    assert (tight.way, tight.streamed) == ("other kernels", True)
    assert tight.spare_ram_bytes >= 0
    assert tight.spare_flash_bytes >= 0
    assert "with its input streamed, with portable kernels, with" in tight.sentence


def test_a_plan_with_more_work_fits_in_flash_too() -> None:
    model = lowtide.load("zoo:mobilenet-v1-0.25-96")
    portable = lowtide.estimate(model, simplify=True)
    ram, flash = portable.needs["streamed"].total_ram_bytes, portable.needs["streamed"].flash_bytes
    assert ram is not None
    assert flash is not None
    (found,) = fits(model, [part(ram - 600, flash + 1000)])
    assert found.way == "more work"
    assert found.spare_ram_bytes >= 0
    assert found.spare_flash_bytes >= 0


def test_state_counts_too() -> None:
    model = parse(variable_network(2), path="net")
    usual = compile_model(model, Options(input_mode="streamed", target=M4.target))
    assert usual.state_bytes > 100
    ram = usual.ram_bytes + INSTANCE + STACK
    (found,) = fits(model, [part(2 * ram)])
    assert found.ram_bytes >= ram
    (found,) = fits(model, [part(ram - usual.state_bytes)])
    assert found.way == "not"


def test_what_is_missing_is_the_least_of_all_ways() -> None:
    (found,) = fits(lowtide.load("zoo:mobilenet-v1-0.25-96"), [part(14 << 10, 10_000)])
    assert found.way == "not"
    assert found.streamed
    assert found.spare_ram_bytes >= 0 > found.spare_flash_bytes
    assert "does not fit PART14336, even with its input streamed: " in found.sentence
    assert fit_text([found]).splitlines()[2].split()[1:4] == ["no,", "even", "streamed"]
    assert "<b>no, even streamed</b>" in fit_html([found])


def test_work_is_done_twice_only_if_it_may_be() -> None:
    model = lowtide.load("zoo:ds-cnn-kws")
    ram = lowtide.estimate(model, target=M4.target).needs["streamed"].total_ram_bytes
    (found,) = fits(model, [part((ram or 0) - 600)], max_overhead=1)
    assert found.way in ("other kernels", "not")


def test_flash_that_is_missing_is_told() -> None:
    (found,) = fits(lowtide.load("zoo:ds-cnn-kws"), [part(1 << 20, 20_000)])
    assert found.way == "not"
    assert found.spare_ram_bytes > 0
    assert found.spare_flash_bytes == 20_000 - found.flash_bytes < 0
    assert found.sentence == (
        f"does not fit PART1048576: {-found.spare_flash_bytes / 1024:.0f} KiB of flash missing"
    )


def test_sentences() -> None:
    fit = Fit("net", M4, "as is", 30 << 10, 1000)
    assert fit.sentence == "fits STM32L432KC with 34 KiB of RAM to spare"
    assert replace(fit, way="streamed", streamed=True).sentence == (
        "fits STM32L432KC, with its input streamed, with 34 KiB of RAM to spare"
    )
    assert replace(fit, way="more work", overhead=1.122, streamed=True).sentence == (
        "fits STM32L432KC, with its input streamed, at +13 % work, with 34 KiB of RAM to spare"
    )
    assert replace(fit, way="more work", streamed=True).sentence == (
        "fits STM32L432KC, with its input streamed, with lean kernels, with 34 KiB of RAM to spare"
    )
    assert replace(fit, way="other kernels").sentence == (
        "fits STM32L432KC, with portable kernels, with 34 KiB of RAM to spare"
    )
    short = replace(fit, way="not", ram_bytes=(64 << 10) + 500, flash_bytes=(256 << 10) + 20_480)
    assert short.sentence == (
        "does not fit STM32L432KC: 500 bytes of RAM and 20 KiB of flash missing"
    )
    lacks = "500 bytes of RAM and 20 KiB of flash missing"
    assert replace(short, streamed=True).sentence == (
        f"does not fit STM32L432KC, even with its input streamed: {lacks}"
    )
    assert replace(short, streamed=True, overhead=1.122).sentence == (
        f"does not fit STM32L432KC, even with its input streamed and at +13 % work: {lacks}"
    )
    assert replace(short, overhead=1.122).sentence == (
        f"does not fit STM32L432KC, even at +13 % work: {lacks}"
    )


def test_all_forms_say_the_same() -> None:
    found = fits(lowtide.load("zoo:figure1"), [M4, part(1300)])
    document = json.loads(to_json(fit_document(found)))
    assert document["schema"] == "lowtide.fit/1"
    lines = list(csv.DictReader(io.StringIO(fit_csv(found))))
    assert [{k: str(v) for k, v in row.items()} for row in document["fits"]] == lines
    assert lines[0]["mcu"] == "STM32L432KC"
    text, page = fit_text(found), fit_html(found)
    first = text.splitlines()[2].split()
    assert first[:2] == ["STM32L432KC", "fits"]
    assert first[-5:] == ["64", "KiB", "256", "KiB", "cortex-m4"]
    assert page.count("<td class=") == 2
    assert "fits 1 of 2 parts: 1 as is" in text
    assert '<th scope="col" title="zoo:figure1">zoo:figure1</th>' in page
    assert found[1].sentence in page


def test_a_row_has_each_figure_under_its_name() -> None:
    fit = Fit("net", part(70_000, 300_000), "streamed", 1000, 2000, overhead=1.23456, streamed=True)
    (row,) = fit_document([fit])["fits"]
    assert row == {
        "network": "net",
        "mcu": "PART70000",
        "core": M4.core,
        "ram": 70_000,
        "flash": 300_000,
        "way": "streamed",
        "streamed": True,
        "overhead": 1.2346,
        "ram_bytes": 1000,
        "flash_bytes": 2000,
        "spare_ram_bytes": 69_000,
        "spare_flash_bytes": 298_000,
        "source": M4.source,
        "confirmed": M4.confirmed,
    }


def test_all_parts_are_looked_at_by_default() -> None:
    found = fits(lowtide.load("zoo:figure1"), max_overhead=1)
    assert len(found) >= 60
    assert found[0].network == "zoo:figure1"
