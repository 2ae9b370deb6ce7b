"""The table of microcontrollers, and parts as boards."""

from __future__ import annotations

import pytest

from lowtide.commands.checking import run
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.errors import UsageError
from lowtide.machines.board import find_target, load_boards
from lowtide.machines.mcus import board_of, find_mcu, find_mcus, load_mcus
from networks import model_of


def test_there_are_parts_of_many_families() -> None:
    names = list(load_mcus())
    assert len(names) >= 60
    families = ("STM32F", "STM32G", "STM32L", "STM32U", "STM32H", "STM32N", "NRF52", "NRF53")
    more = (
        "NRF54",
        "RP2040",
        "RP2350",
        "ESP32-C3",
        "ESP32-C6",
        "ESP32-S3",
        "R7FA",
        "MIMXRT",
        "ATSAMD",
    )
    for family in (*families, *more, "GD32V", "CH32V"):
        assert any(name.startswith(family) for name in names), family


@pytest.mark.parametrize("name", load_mcus())
def test_every_part_has_a_source_and_is_a_board_of_its_core(name: str) -> None:
    mcu = load_mcus()[name]
    assert mcu.source
    assert mcu.source.startswith(("probe-rs ", "Zephyr ")) == mcu.confirmed
    if mcu.core == "any":
        return
    board = board_of(mcu)
    assert board.core.name == mcu.core
    assert board.core.name in board.machine.cores
    assert 0 < board.ram.length <= mcu.ram_bytes
    assert 0 < board.flash.length <= mcu.flash_bytes
    assert (board.ram_bytes, board.flash_bytes) == (mcu.ram_bytes, mcu.flash_bytes)


def test_nearly_all_were_looked_up() -> None:
    assert [mcu.name for mcu in load_mcus().values() if not mcu.confirmed] == ["ESP32-H2"]


def test_figures_that_are_easily_taken_wrong() -> None:
    """One piece of RAM, not all there is: these differ from the first page of the data sheet."""
    ram = {name: mcu.ram_bytes >> 10 for name, mcu in load_mcus().items()}
    assert (ram["STM32H743ZI"], ram["STM32L476RG"], ram["STM32L432KC"]) == (512, 96, 64)
    assert (ram["STM32N657X0"], ram["RP2350"], ram["ESP32-C3"]) == (3840, 520, 384)
    assert (ram["MIMXRT1011"], ram["MIMXRT1052"], ram["MIMXRT1062"]) == (64, 256, 768)
    assert load_mcus()["LPC55S69"].flash_bytes == 630 << 10


def test_a_part_that_nothing_emulates_says_so() -> None:
    with pytest.raises(UsageError) as error:
        board_of(find_mcu("ESP32-S3"))
    assert str(error.value) == (
        "there is no emulator for the core of ESP32-S3\n"
        "  remedy: predict its needs with `lowtide fit`; to compile for it, keep the default "
        "core (any)"
    )


def test_a_part_that_is_a_board_too_has_the_same_memory() -> None:
    board, part = load_boards()["nucleo-f412zg"], load_mcus()["STM32F412ZG"]
    assert (board.ram.length, board.flash.length) == (part.ram_bytes, part.flash_bytes)


def test_a_program_for_a_core_with_less_is_refused_before_it_is_built() -> None:
    program = compile_model(model_of("figure1"), Options(target=find_target("cortex-m3")))
    with pytest.raises(UsageError) as error:
        run(program, board_of(find_mcu("STM32L432KC")))
    assert str(error.value) == (
        "the program is for cortex-m3, but STM32L432KC has a cortex-m4\n"
        "  remedy: give --core cortex-m4, or --core any"
    )


def test_parts_are_found_in_any_case_and_by_their_beginning() -> None:
    assert find_mcu("stm32l432kc") is find_mcu("STM32L432")
    assert find_mcu("rp2040").external
    assert find_mcu("esp32s3") is find_mcu("ESP32-S3")
    assert find_mcu("STM32L432KCU6") is find_mcu("STM32L432KC")
    assert [mcu.name for mcu in find_mcus("esp32-c")] == ["ESP32-C3", "ESP32-C6"]
    assert [mcu.name for mcu in find_mcus("nRF52840_xxAA")] == ["NRF52840"]


def test_a_wrong_name_is_answered_with_like_ones() -> None:
    with pytest.raises(UsageError) as error:
        find_mcu("stm32l423kc")
    assert str(error.value) == (
        "there is no microcontroller 'stm32l423kc'\n"
        "  remedy: did you mean STM32L432KC or STM32L452RE or STM32WL55JC? "
        "`lowtide boards --mcus` lists all; a board file can describe any other"
    )


def test_the_start_of_many_names_is_none() -> None:
    with pytest.raises(UsageError) as error:
        find_mcu("esp32c")
    assert str(error.value) == (
        "'esp32c' matches 2 microcontrollers\n"
        "  remedy: give one full name, such as ESP32-C3 or ESP32-C6; `lowtide boards --mcus` lists all"
    )
