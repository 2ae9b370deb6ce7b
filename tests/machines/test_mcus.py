"""The table of microcontrollers, and parts as boards."""

from __future__ import annotations

import pytest

from lowtide.errors import UsageError
from lowtide.machines.board import load_boards
from lowtide.machines.mcus import board_of, find_mcu, load_mcus


def test_there_are_parts_of_many_families() -> None:
    names = list(load_mcus())
    assert len(names) >= 60
    families = ("STM32F", "STM32G", "STM32L", "STM32U", "STM32H", "STM32N", "NRF52", "NRF53")
    more = ("NRF54", "RP2040", "RP2350", "ESP32-C3", "ESP32-C6", "R7FA", "MIMXRT", "ATSAMD")
    for family in (*families, *more, "GD32V", "CH32V"):
        assert any(name.startswith(family) for name in names), family


@pytest.mark.parametrize("name", load_mcus())
def test_every_part_is_a_board_of_its_core(name: str) -> None:
    mcu = load_mcus()[name]
    board = board_of(mcu)
    assert board.core.name == mcu.core
    assert board.core.name in board.machine.cores
    assert 0 < board.ram.length <= mcu.ram_bytes
    assert 0 < board.flash.length <= mcu.flash_bytes
    assert mcu.source


def test_a_part_that_is_a_board_too_has_the_same_memory() -> None:
    board, part = load_boards()["nucleo-f412zg"], load_mcus()["STM32F412ZG"]
    assert (board.ram.length, board.flash.length) == (part.ram_bytes, part.flash_bytes)


def test_parts_are_found_in_any_case_and_by_their_beginning() -> None:
    assert find_mcu("stm32l432kc") is find_mcu("STM32L432")
    assert find_mcu("rp2040").external


def test_a_wrong_name_is_answered_with_like_ones() -> None:
    with pytest.raises(UsageError) as error:
        find_mcu("stm32l423kc")
    assert str(error.value) == (
        "there is no microcontroller 'stm32l423kc'\n"
        "  remedy: did you mean STM32L432KC or STM32L452RE or STM32U083RC? "
        "`lowtide boards --mcus` lists all; a board file can describe any other"
    )
