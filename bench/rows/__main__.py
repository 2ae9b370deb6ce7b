"""Prints what was asked of row plans beside what is measured now, and beside rivals.

    bench/run rows                   a table per group of rows, then the figures behind it
    bench/run rows --only ram flash  some groups of rows; --help lists them
    bench/run rows --store           also write the documents' figures, docs/figures/rows.json
    bench/run rows --json            {"schema": "lowtide.bench.rows/1", "rows": [...]}

Exit code 1 if a row is missed. Progress goes to stderr. Programs are compiled, run on an emulated
Cortex-M4 and compared with the reference kernels, in two processes; then the planner is timed, alone.
Rows that need the shared models are left out where those are absent. Instructions are repeatable; they
are not cycles. KB = 1000 B.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

from rich.console import Console

from bench.rows.asked_limits import (
    chain_jobs,
    chain_rows,
    flash_jobs,
    flash_rows,
    instruction_jobs,
    instruction_rows,
    mac_jobs,
    mac_rows,
    ram_jobs,
    ram_rows,
)
from bench.rows.beside_tflm import tflm_jobs, tflm_rows
from bench.rows.fitting import attention_jobs, attention_rows, kws_jobs, kws_rows, swiftnet_rows
from bench.rows.planning_time import planning_rows, random_rows
from bench.rows.published import published_rows
from bench.rows.row_programs import RowJob, RowOutcomes, do_all
from bench.shared.command import bench_parser, machine
from bench.shared.driver import exit_code, flat, print_document, rows_of
from bench.shared.stored import board_tools, store_rows
from bench.shared.tables import Row, counted, plain_console, print_details, print_missed, print_rows

_WIDTH = 178
_COLUMNS = (("", 49), ("asked", 37), ("measured", 44), ("peer", 28))
_NEEDS_SHARED = "needs the shared"


@dataclasses.dataclass(frozen=True, slots=True)
class _Group:
    """Rows made of the outcomes of jobs; without jobs, rows that measure by themselves."""

    title: str
    rows: Callable[[RowOutcomes], list[Row]]
    jobs: Callable[[], list[RowJob]] = list


_GROUPS = {
    "tflm": _Group("Beside TensorFlow Lite Micro, on a Cortex-M4", tflm_rows, tflm_jobs),
    "published": _Group("Activation memory as published for MLPerf Tiny", published_rows),
    "ram": _Group("RAM on a Cortex-M4, outputs bit-exact and resident", ram_rows, ram_jobs),
    "macs": _Group("MACs of one inference, counted by the kernels", mac_rows, mac_jobs),
    "chains": _Group("Paper 2's chains, input and output included", chain_rows, chain_jobs),
    "instructions": _Group(
        "Instructions on a Cortex-M4, by rows against layer by layer",
        instruction_rows,
        instruction_jobs,
    ),
    "flash": _Group(
        "Flash without weights, by rows against layer by layer", flash_rows, flash_jobs
    ),
    "attention": _Group("Attention without its T x T matrix", attention_rows, attention_jobs),
    "kws": _Group("Keyword spotting within 16 KiB", kws_rows, kws_jobs),
    "swiftnet": _Group("Paper 1's network on a board file", lambda _: swiftnet_rows()),
    "planning": _Group("Planning time, median of three", lambda _: planning_rows()),
    "random": _Group("Planning time of a large network", lambda _: random_rows()),
}


def _measure(groups: Sequence[str]) -> dict[str, list[Row]]:
    jobs = [job for group in groups for job in _GROUPS[group].jobs()]
    outcomes = do_all(jobs) if jobs else {}
    return {group: rows_of(group, partial(_GROUPS[group].rows, outcomes)) for group in groups}


def _print(found: dict[str, list[Row]], seconds: float) -> None:
    console = plain_console(_WIDTH)
    where = f"{machine()}, load {os.getloadavg()[1]:.1f}; {seconds:.0f} s"
    console.print(f"lowtide's row plans, measured now on this machine ({where})")
    for group, rows in found.items():
        shown = [row for row in rows if not _is_left_out(row)]
        if not shown:
            continue
        console.print(f"\n{_GROUPS[group].title}\n")
        print_rows(console, _COLUMNS, map(_without_absent_rival, shown))
        print_details(console, shown, figures_right=True)
    _print_counts(console, flat(found))


def _without_absent_rival(row: Row) -> Row:
    return dataclasses.replace(row, peer="") if row.peer.startswith(_NEEDS_SHARED) else row


def _print_counts(console: Console, rows: Sequence[Row]) -> None:
    console.print(f"\n{counted(rows)}.")
    print_missed(console, rows)
    left_out = [row for row in rows if _is_left_out(row)]
    missing = [f"rows not measured ({len(left_out)})"] if left_out else []
    missing += dict.fromkeys(_file(row.measured) for row in left_out)
    if any(row.peer.startswith(_NEEDS_SHARED) for row in rows):
        missing.append("rivals' figures")
    if missing:
        console.print(f"Left out for want of ../shared: {', '.join(missing)}.", soft_wrap=True)


def _file(text: str) -> str:
    return text.partition("(")[2].rstrip(")")


def _is_left_out(row: Row) -> bool:
    return row.status == "not measured" and row.measured.startswith(_NEEDS_SHARED)


def main() -> int:
    """Measure every row and print the tables; the exit code."""
    parser = bench_parser(
        "bench/run rows",
        "What was asked of row plans, what is measured, and rivals.",
        list(_GROUPS),
    )
    given = parser.parse_args()
    begin = time.perf_counter()
    found = _measure([group for group in _GROUPS if group in given.only])
    if given.store:
        store_rows("rows", found, f"emulated boards, {board_tools()}")
    if given.json:
        by_group = ((group, row) for group, rows in found.items() for row in rows)
        print_document("rows", ({"group": g, **dataclasses.asdict(row)} for g, row in by_group))
    else:
        _print(found, time.perf_counter() - begin)
    return exit_code(flat(found))


if __name__ == "__main__":
    sys.exit(main())
