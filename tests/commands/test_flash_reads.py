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
STM32F405 = board_of(find_mcu("STM32F405RG"))
M4 = Options(target=STM32F405.target)
F405 = load_flash()["STM32F405RG"]
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
    everything = replace(DESCRIBED, cache=replace(DESCRIBED.cache, bytes=1 << 20))
    flash = _flash(_profile(replace(RP2040, reads=everything)))
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
    profile = _profile(replace(RP2040, reads=None))
    assert profile.flash is None
    assert "Flash: not described for this board" in profile_text(profile)
    assert profile_fields(profile)["profile"]["flash"] is None


def test_instructions_and_data_have_caches_of_their_own() -> None:
    one = replace(F405, data_cache=None)
    flash, shared = (_flash(_profile(replace(STM32F405, reads=reads), M4)) for reads in (F405, one))
    assert flash.bytes == shared.bytes
    assert flash.misses != shared.misses
    # The loop of a kernel fits into 1 KB of its own, and weights are read once in 128 bytes or in 1 KB.
    assert flash.misses[0] < shared.misses[0]
    lines = (16 * flash.misses[0], 16 * sum(flash.misses[1:]))
    assert flash.refilled_bytes == sum(lines)


def test_lines_read_ahead_are_code_and_may_cost_nothing() -> None:
    flash = _flash(profile := _profile(STM32F405, M4))
    without = _flash(_profile(replace(STM32F405, reads=replace(F405, prefetch=False)), M4))
    assert without.ahead == (0, 0, 0)
    assert without.misses[1:] == flash.misses[1:]
    assert 0 < flash.ahead[0] <= flash.misses[0]
    assert flash.ahead[1:] == (0, 0)
    assert flash.waits == (5 * (sum(flash.misses) - flash.ahead[0]), 5 * sum(flash.misses))
    assert without.waits == (5 * sum(without.misses),) * 2
    text = profile_text(profile)
    assert (
        "a cache of 1,024 bytes (64 ways, lines of 16 bytes) for instructions and one of 128 bytes "
        "(8 ways, lines of 16 bytes) for data, empty at the start:"
    ) in text
    assert f"lines missed, {flash.ahead[0]:,} of them read ahead" in text
    document = profile_fields(profile)["profile"]["flash"]
    assert document["data_cache"] == {"bytes": 128, "ways": 8, "line_bytes": 16}
    assert document["prefetch"] is True
    assert document["lines_read_ahead"] == {"code": flash.ahead[0], "weights": 0, "tables": 0}


def test_descriptions_are_of_parts_and_of_whole_sets() -> None:
    for name, described in load_flash().items():
        assert name in load_mcus()
        for cache in (described.cache, described.data_cache or described.cache):
            assert cache.bytes % (cache.ways * cache.line_bytes) == 0
            assert cache.line_bytes == described.cache.line_bytes
        assert described.hit_cycles <= described.miss_cycles[0] <= described.miss_cycles[1]
        assert described.source
        assert board_of(find_mcu(name)).reads == described
    assert board_of(find_mcu("STM32F411RE")).reads is None


def test_descriptions_agree_with_the_shared_ones() -> None:
    if not SHARED.exists():
        pytest.skip("no shared descriptions here")
    shared = json.loads(SHARED.read_text("utf-8"))
    given = {
        name: shared[key] for name in load_flash() for key in shared if name.lower().startswith(key)
    }
    assert len(given) == len(load_flash())
    for name, described in load_flash().items():
        fields, cache = given[name], described.cache
        assert fields["source"] == described.source
        if fields["kind"] == "xip-cache":
            assert tuple(fields["miss_cycles"]) == described.miss_cycles
            assert (described.data_cache, described.prefetch) == (None, False)
            assert fields["hit_cycles"] == described.hit_cycles
            expected = tuple(fields[field] for field in ("bytes", "ways", "line_bytes"))
            assert expected == (cache.bytes, cache.ways, cache.line_bytes)
        else:
            assert fields["kind"] == "wait-states"
            assert described.prefetch is fields["prefetch"]
            assert (described.hit_cycles, described.miss_cycles[0]) == (
                1,
                1 + fields["wait_states"],
            )
            data = described.data_cache
            assert data is not None
            assert (cache.ways, data.ways) == (fields["instruction_lines"], fields["data_lines"])
            line, data_line = (
                fields.get(f"{kind}_line_bytes", fields.get("line_bytes"))
                for kind in ("instruction", "data")
            )
            assert (cache.line_bytes, data.line_bytes) == (line, data_line)
            assert (cache.bytes, data.bytes) == (line * cache.ways, data_line * data.ways)


@pytest.mark.parametrize("lines", [[], ["flash 1 2 0"] * 2, ["flash 1 2"] * 3])
def test_counts_of_another_form(lines: list[str]) -> None:
    with pytest.raises(ValueError, match="another form"):
        read_counts(lines, DESCRIBED)
