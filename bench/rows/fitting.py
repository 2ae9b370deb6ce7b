"""Rows about what fits: attention of growing length, keyword spotting in 16 KiB, SwiftNet in 64."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.rows.asked_limits import as_values, limited
from bench.rows.rivals import SWIFTNET, rival_arena
from bench.rows.row_programs import RowJob, RowOutcomes
from bench.shared.programs import M4, Program, path_of, status
from bench.shared.stored import small_part
from bench.shared.tables import Detail, Row, amount, cells, verdict
from bench.shared.work import note
from lowtide.oracle.interpreters import tflm_arena
from lowtide.zoo.loading import load

# Tokens of each attention block; doubled from one to the next.
_ATTENTION = {
    64: Program("zoo:attention-block"),
    128: Program("zoo:attention-block-128"),
    256: Program("zoo:attention-block-256"),
}
_LINEAR = 2.0
_KWS = ("mlperf_kws_int8", "zoo:ds-cnn-kws")
_SMALL_BOARDS = ("microbit", "hifive1b")
_SMALL_RAM = 16_384

_BOARD = "cortex-m4-64k"
_BOARD_RAM, _BOARD_FLASH = 64 << 10, 512 << 10
_BOARD_FILE = f"""[board.{_BOARD}]
description = "a Cortex-M4 with 64 KiB of RAM and 512 KiB of flash"
core = "cortex-m4"
machine = "{M4}"
ram = {{ origin = 0x20000000, length = {_BOARD_RAM} }}
flash = {{ origin = 0x08000000, length = {_BOARD_FLASH} }}
"""
_SECONDS = 120


def attention_jobs() -> list[RowJob]:
    """The attention blocks on the M4."""
    return [RowJob(program) for program in _ATTENTION.values()]


def attention_rows(outcomes: RowOutcomes) -> list[Row]:
    """The arena must grow no faster than the tokens; TFLM's own arena head stands beside it."""
    heads, arenas = {}, {}
    lines: list[tuple[object, ...]] = []
    for tokens, program in _ATTENTION.items():
        outcome = outcomes[RowJob(program)]
        note(f"TFLM's arena of {program.network}")
        heads[tokens] = tflm_arena(load(program.network).source).head
        arenas[tokens] = outcome.figures.get("arena_bytes", 0)
        if outcome.state == "done":
            peak, bound = outcome.figures["peak_bytes"], outcome.figures["bound_bytes"]
            share = f"{heads[tokens] / arenas[tokens]:.2f}"
            sizes = (bound, peak, arenas[tokens], outcome.total_ram, heads[tokens], share)
            lines.append((tokens, *sizes, outcome.problem or "bit-exact"))
    rows = []
    columns = (
        *("tokens", "bound, any order", "peak, predicted", "arena", "RAM in all"),
        *("TFLM's head", "times ours", "outputs"),
    )
    detail = Detail(f"Attention, 4 heads, width 64, in bytes; {M4}", columns, cells(lines))
    for before, after in pairwise(_ATTENTION):
        pair = [outcomes[RowJob(_ATTENTION[tokens])] for tokens in (before, after)]
        found = pair[0].problem or pair[1].problem
        good, growth = False, arenas[after] / max(1, arenas[before])
        if all(outcome.exact for outcome in pair):
            found = f"{growth:.3f} times ({arenas[before]:,} -> {amount(arenas[after])})"
            good = growth <= _LINEAR
        rival = f"TFLM {heads[after] / heads[before]:.3f} times ({amount(heads[after])})"
        rows.append(
            Row(
                on=f"attention, {before} to {after} tokens: arena",
                asked=f"<= {_LINEAR:g} times",
                measured=found,
                status=status(good, *pair),
                peer=rival,
                values={"measured": growth, "arenas": dict(arenas), "tflm_heads": dict(heads)},
                details=(detail,) if lines and after == max(_ATTENTION) else (),
            )
        )
    return rows


def kws_jobs() -> list[RowJob]:
    """Keyword spotting on the smallest parts."""
    return [RowJob(Program(network), board) for network in _KWS for board in _SMALL_BOARDS]


def kws_rows(outcomes: RowOutcomes) -> list[Row]:
    """RAM in all, stack included."""
    rows = []
    for job in kws_jobs():
        on, network = f"{job.program.label}, {job.what}: RAM in all", job.program.network
        outcome = outcomes[job]
        total = outcome.total_ram
        record = small_part(network, job.program.input_mode, job.what, total, _SMALL_RAM)
        rows.append(limited(on, _SMALL_RAM, total, outcome, rival_arena(network), record))
        rows[-1].values.update(as_values(outcome))
    return rows


def swiftnet_rows() -> list[Row]:
    """`lowtide run` with a board file, as a user would."""
    path = path_of(SWIFTNET)
    note(f"lowtide run {SWIFTNET} --board {_BOARD}")
    options = ["--input", "streamed", "--samples", "4", "--json"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "boards.toml")
        file.write_text(_BOARD_FILE)
        command = [sys.executable, "-m", "lowtide", "run", path, "--board", _BOARD]
        command += ["--board-file", str(file), *options]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    document: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    found, good, record = f"exit {done.returncode}: {' '.join(done.stderr.split())}", False, None
    if done.returncode == 0:
        ram, flash = (document[memory]["total_bytes"] for memory in ("ram", "flash"))
        found = f"RAM {amount(ram)}, flash {amount(flash)}, bit-exact"
        good = ram <= _BOARD_RAM and flash <= _BOARD_FLASH and document["bit_exact"]
        if document["bit_exact"]:
            record = small_part(SWIFTNET, "streamed", _BOARD, ram, _BOARD_RAM)
    needs_tool = done.returncode == 4
    return [
        Row(
            on=f"{SWIFTNET}, streamed, 64 KiB of RAM",
            asked=f"RAM <= {amount(_BOARD_RAM)}, flash <= {amount(_BOARD_FLASH)}",
            measured=found,
            status="not measured" if needs_tool else verdict(good),
            peer="paper 1: 512 KB of RAM",
            values={"run": document},
            record=record,
        )
    ]
