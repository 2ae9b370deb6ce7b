"""What programs read of flash, counted on the emulated board by the model of the part's cache."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lowtide.commands.checking import run
from lowtide.commands.options import Options
from lowtide.commands.profiling import Profile
from lowtide.machines.flash import FlashReads, load_flash, read_counts
from lowtide.machines.mcus import board_of, find_mcu, load_mcus
from lowtide.machines.parts import Board
from lowtide.report.profile import profile_fields, profile_text
from networks import compiled

RP2040 = board_of(find_mcu("RP2040"))
ROWS = Options(target=RP2040.target)
DESCRIBED = load_flash()["RP2040"]
SHARED = Path(__file__).parents[3] / "shared/data/flash.json"


def _profile(board: Board, options: Options = ROWS) -> Profile:
    program = compiled("ds-cnn-kws", options)
    ran = run(program, board, samples=1, profile=True)
    assert ran.bit_exact
    assert isinstance(ran.profile, Profile), ran.profile
    return ran.profile


def _flash(profile: Profile) -> FlashReads:
    assert profile.flash is not None
    return profile.flash


def test_every_mac_reads_one_byte_of_weights() -> None:
    profile = _profile(RP2040)
    flash = _flash(profile)
    code, weights, _ = flash.bytes
    assert weights == profile.macs
    assert 2 * profile.instructions <= code <= 4 * profile.instructions
    assert profile.cycles is not None
    least, most = flash.cycles(profile.cycles)
    missed = sum(flash.misses)
    assert (least - profile.cycles.least, most - profile.cycles.most) == (39 * missed, 69 * missed)

    text = profile_text(profile)
    assert f"{least:,} to {most:,} cycles by the manual, with this flash." in text
    document = profile_fields(profile)["profile"]["flash"]
    assert document["lines_missed"] == dict(
        zip(("code", "weights", "tables"), flash.misses, strict=True)
    )
    assert document["refilled_bytes"] == 8 * missed
    assert document["cycles_by_manual_with_flash"] == {"least": least, "most": most}


def test_a_cache_of_all_flash_misses_each_line_once() -> None:
    everything = replace(DESCRIBED, bytes=1 << 20)
    flash = _flash(_profile(replace(RP2040, xip=everything)))
    _, weights, _ = flash.misses
    assert 22_016 / 8 <= weights <= 22_016 / 8 + 8  # each array may begin within a line
    smaller = _flash(_profile(RP2040))
    assert flash.bytes == smaller.bytes
    assert flash.refilled_bytes < smaller.refilled_bytes


def test_rows_read_weights_again_where_operators_do_not() -> None:
    rows = _flash(_profile(RP2040))
    operators = _flash(_profile(RP2040, replace(ROWS, schedule="operators")))
    assert operators.bytes[1] == rows.bytes[1]
    assert 10 * operators.misses[1] < rows.misses[1]


def test_a_part_without_a_description_says_so() -> None:
    profile = _profile(replace(RP2040, xip=None))
    assert profile.flash is None
    assert "Flash: not described for this board" in profile_text(profile)
    assert profile_fields(profile)["profile"]["flash"] is None


def test_descriptions_are_of_parts_and_of_whole_sets() -> None:
    for name, described in load_flash().items():
        assert name in load_mcus()
        assert described.bytes % (described.ways * described.line_bytes) == 0
        assert described.hit_cycles <= described.miss_cycles[0] <= described.miss_cycles[1]
        assert described.source
    assert board_of(find_mcu("RP2350")).xip == load_flash()["RP2350"]
    assert board_of(find_mcu("STM32F405RG")).xip is None


def test_descriptions_agree_with_the_shared_ones() -> None:
    if not SHARED.exists():
        pytest.skip("no shared descriptions here")
    shared = json.loads(SHARED.read_text("utf-8"))
    for name, described in load_flash().items():
        given = shared[name.lower()]
        assert given["kind"] == "xip-cache"
        assert tuple(given["miss_cycles"]) == described.miss_cycles
        for field in ("source", "bytes", "ways", "line_bytes", "hit_cycles"):
            assert given[field] == getattr(described, field)


@pytest.mark.parametrize("lines", [[], ["flash 1 2"] * 2, ["flash 1"] * 3])
def test_counts_of_another_form(lines: list[str]) -> None:
    with pytest.raises(ValueError, match="another form"):
        read_counts(lines, DESCRIBED)
