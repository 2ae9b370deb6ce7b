"""What does not fit is refused, by the right number of bytes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from board_bundles import INCREMENT, bundle, stacking

from lowtide.machines.board import find_board
from lowtide.machines.failures import DoesNotFitError
from lowtide.machines.parts import Region
from lowtide.machines.qemu import run_on_board

SAMPLE = [[bytes([1, 2, 3, 4])]]
RAM = 16 * 1024


@pytest.mark.parametrize("name", ["microbit", "hifive1b"])
@pytest.mark.parametrize("extra", [4, 5000])
def test_an_arena_larger_than_ram(name: str, extra: int) -> None:
    # The instance of 4 bytes and the stack of INCREMENT come on top of the arena.
    roomy = run_on_board(find_board(name), bundle(INCREMENT), "tiny", SAMPLE)
    with pytest.raises(DoesNotFitError) as caught:
        run_on_board(find_board(name), bundle(INCREMENT, arena=RAM + extra), "tiny", SAMPLE)
    assert caught.value.memory == "RAM"
    assert caught.value.missing_bytes == extra + 4 + roomy.ram.stack_bytes
    assert caught.value.needed_bytes == RAM + caught.value.missing_bytes
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("name", ["microbit", "hifive1b"])
def test_a_stack_that_runs_into_the_arena(name: str) -> None:
    board = find_board(name)
    stack = run_on_board(board, stacking(3000), "tiny", SAMPLE).ram.stack_bytes
    with pytest.raises(DoesNotFitError) as caught:
        run_on_board(board, stacking(3000, arena=14000), "tiny", SAMPLE)
    assert caught.value.missing_bytes == 14000 + 4 + stack - RAM
    assert f"stack {stack:,} B" in str(caught.value)


def test_a_stack_that_overflows_everything() -> None:
    for name in ("microbit", "hifive1b", "nucleo-f412zg"):
        board = replace(find_board(name), ram=Region(0x20000000, RAM))
        with pytest.raises(DoesNotFitError) as caught:
            run_on_board(board, stacking(60_000), "tiny", SAMPLE)
        assert 60_000 + 64 + 4 - RAM <= caught.value.missing_bytes <= 60_000 + 128 - RAM


@pytest.mark.parametrize("name", ["microbit", "mps2-an386", "rv32-virt"])
def test_what_just_fits_runs_and_a_little_more_does_not(name: str) -> None:
    board = replace(find_board(name), ram=Region(0x20000000, RAM))
    run = run_on_board(board, bundle(INCREMENT, arena=RAM - 272), "tiny", SAMPLE)
    assert run.outputs == ((bytes([2, 3, 4, 5]),),)
    with pytest.raises(DoesNotFitError, match="for the code that measures it") as caught:
        run_on_board(board, bundle(INCREMENT, arena=RAM - 256), "tiny", SAMPLE)
    assert caught.value.missing_bytes == 4
    assert caught.value.needed_bytes < RAM


@pytest.mark.parametrize("name", ["microbit", "nucleo-f767zi", "hifive1b"])
def test_weights_larger_than_flash(name: str) -> None:
    board = find_board(name)

    def model(size: int) -> dict[str, bytes]:
        # Indexed by input, so that nothing of it can be left out.
        declared = f"static const uint8_t tiny_weights_a[{size}] = {{1, 2, 3}};"
        body = "out[0] = tiny_weights_a[in[0]]; out[1] = tiny_weights_a[in[1] * 2];"
        return bundle(body, globals_=declared)

    small = run_on_board(board, model(1000), "tiny", SAMPLE)
    with pytest.raises(DoesNotFitError) as caught:
        run_on_board(board, model(board.flash.length), "tiny", SAMPLE)
    assert caught.value.memory == "flash"
    assert caught.value.missing_bytes == small.flash.total_bytes - 1000
    assert caught.value.needed_bytes == board.flash.length + caught.value.missing_bytes


def test_too_little_of_both_is_told_of_both() -> None:
    board = find_board("microbit")
    size = board.flash.length
    declared = f"static const uint8_t tiny_weights_a[{size}] = {{1, 2, 3}};"
    body = "out[0] = tiny_weights_a[in[0]];"
    both = bundle(body, globals_=declared, arena=RAM + 4)
    with pytest.raises(DoesNotFitError) as alone:
        run_on_board(board, bundle(INCREMENT, arena=RAM + 4), "tiny", SAMPLE)
    with pytest.raises(DoesNotFitError) as caught:
        run_on_board(board, both, "tiny", SAMPLE)
    assert (caught.value.memory, caught.value.needed_bytes > size) == ("flash", True)
    assert " B more flash than the 256 KiB there are (" in caught.value.cause
    assert f"; it needs {alone.value.missing_bytes:,} B more RAM than the 16 KiB there are (" in (
        caught.value.cause
    )


def test_what_only_the_emulator_has_no_room_for_is_told_so() -> None:
    board = replace(find_board("microbit"), memory=(RAM, 16 << 20))
    size = board.flash.length
    declared = f"static const uint8_t tiny_weights_a[{size}] = {{1, 2, 3}};"
    with pytest.raises(DoesNotFitError, match="flash than the 256 KiB of its emulator") as caught:
        run_on_board(
            board, bundle("out[0] = tiny_weights_a[in[0]];", globals_=declared), "tiny", SAMPLE
        )
    assert caught.value.remedy.startswith("for the 16 MiB of microbit, predict it: ")


def test_the_message_says_what_is_needed_and_what_there_is() -> None:
    with pytest.raises(DoesNotFitError) as caught:
        run_on_board(find_board("hifive1b"), bundle(arena=20_000), "tiny", SAMPLE)
    assert str(caught.value) == (
        "the program does not fit hifive1b: it needs 3,620 B more RAM than the 16 KiB there are "
        "(arena 20,000 B, data 0 B, bss 4 B, stack 0 B)\n"
        "  remedy: choose a larger board, or a plan that needs less"
    )
