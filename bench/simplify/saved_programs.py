"""Rows about programs: channels, MACs, flash, instructions and arenas on an M4, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.shared.outside import NeedsError
from bench.shared.programs import M4, Program, end_of, path_of, problem_of
from bench.shared.tables import Record, Row, verdict
from bench.shared.work import in_two_processes, note
from lowtide.commands import checking
from lowtide.commands.compiling import compile_model
from lowtide.errors import LowtideError
from lowtide.machines.board import load_boards
from lowtide.zoo.loading import load

VWW = "mlperf_vww_96_int8"

# Shared model, and its name in the documents.
NETWORKS = (
    (VWW, "MLPerf Tiny vww_96"),
    ("te_vww", "te_vww (MCUNet)"),
    ("tflm_person_detect_int8", "person_detect"),
    ("coral_mobilenet_v1_0.25_128_uint8", "Coral MobileNetV1 0.25"),
    ("mlperf_resnet8_int8", "MLPerf Tiny resnet8"),
    ("mlperf_kws_int8", "MLPerf Tiny kws"),
    ("mww_okay_nabu_v1", "okay_nabu v1"),
    ("mww_okay_nabu_v2", "okay_nabu v2"),
    ("mww_vad_v2", "vad v2"),
)
_MOST_MACS = {VWW: 3_980_000, "te_vww": 10_941_981}  # 94.5 % of te_vww's 11,578,816
_MOST_FLASH = {VWW: 58_500}
_MOST_INSTRUCTIONS = {VWW: 9_350_000}
_MOST_STREAMED = {VWW: 10_344}
_PROTOTYPE = {VWW: "3,980,000 MACs, 57,592 B, 9.33 M (prototype)"}


@dataclass(frozen=True, slots=True)
class Figures:
    """Of a program on an M4; sizes in bytes. `arena` is with state, `streamed` with a streamed input."""

    channels: int
    macs: int
    flash: int
    instructions: int
    arena: int
    streamed: int


@dataclass(frozen=True, slots=True)
class Pair:
    """A network without simplification and with it; `problem` is "" if both are bit-exact."""

    before: Figures | None
    after: Figures | None
    problem: str
    absent: bool = False


def program_rows() -> list[Row]:
    """A row per network; the first has the figures that were asked for."""
    found: dict[str, Pair] = {}
    names = [name for name, _ in NETWORKS]
    for progress, (name, pair) in in_two_processes(_measured, names):
        found[name] = pair
        note(f"{progress} networks done: {name}: {pair.problem or 'bit-exact'}")
    return [_row(name, title, found[name]) for name, title in NETWORKS]


def _measured(name: str) -> tuple[str, Pair]:
    try:
        before, one = _figures(name, simplify=False)
        after, other = _figures(name, simplify=True)
    except (NeedsError, LowtideError, ValueError) as error:
        state, problem = end_of(error)
        return name, Pair(None, None, problem, state == "absent")
    return name, Pair(before, after, one or other)


def _figures(name: str, *, simplify: bool) -> tuple[Figures, str]:
    board = load_boards()[M4]
    options = replace(Program(name).options, simplify=simplify, target=board.core.target)
    model = load(path_of(name))
    compiled = compile_model(model, options)
    ran = checking.run(compiled, board, samples=2)
    streamed = compile_model(model, replace(options, input_mode="streamed"))
    channels = compiled.savings.channels.after
    return (
        Figures(
            channels,
            ran.macs,
            ran.measured.flash.total_bytes,
            ran.measured.max_instructions,
            compiled.ram_bytes,
            streamed.ram_bytes,
        ),
        problem_of(ran),
    )


def _row(name: str, title: str, pair: Pair) -> Row:
    asked = _asked(name)
    if pair.before is None or pair.after is None:
        return Row(name, asked, pair.problem, "not measured" if pair.absent else "MISSED")
    before, after = pair.before, pair.after
    good = not pair.problem and all(
        value <= most.get(name, value)
        for value, most in (
            (after.macs, _MOST_MACS),
            (after.flash, _MOST_FLASH),
            (after.instructions, _MOST_INSTRUCTIONS),
            (after.streamed, _MOST_STREAMED),
        )
    )
    shown = (
        f"channels {before.channels:,} -> {after.channels:,}; MACs {before.macs:,} -> {after.macs:,}; "
        f"flash {before.flash:,} -> {after.flash:,} B; instructions {before.instructions:,} -> "
        f"{after.instructions:,}; arena and state {before.arena:,} -> {after.arena:,} B, streamed "
        f"{before.streamed:,} -> {after.streamed:,} B"
    )
    record: Record = {
        "network": title,
        **{f"{key}_before": value for key, value in _values(before).items()},
        **{f"{key}_after": value for key, value in _values(after).items()},
    }
    return Row(
        name,
        asked,
        pair.problem or shown,
        verdict(good),
        _PROTOTYPE.get(name, ""),
        dict(record),
        record=None if pair.problem else record,
    )


def _values(figures: Figures) -> dict[str, int]:
    return {
        "channels": figures.channels,
        "macs": figures.macs,
        "flash_bytes": figures.flash,
        "instructions": figures.instructions,
        "ram_bytes": figures.arena,
        "streamed_ram_bytes": figures.streamed,
    }


def _asked(name: str) -> str:
    limits: Sequence[tuple[str, dict[str, int], str]] = (
        ("MACs", _MOST_MACS, ""),
        ("flash", _MOST_FLASH, " B"),
        ("instructions", _MOST_INSTRUCTIONS, ""),
        ("streamed", _MOST_STREAMED, " B"),
    )
    parts = [f"{what} <= {most[name]:,}{unit}" for what, most, unit in limits if name in most]
    return ", ".join(["bit-exact", *parts])
