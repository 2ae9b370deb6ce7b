"""Prints what was asked of programs' speed beside what is measured now, core by core, and beside peers.

    bench/run speed                       a table per core
    bench/run speed --only m4 m55         some groups of rows; --help lists them
    bench/run speed --network mlperf_kws_int8    some networks alone
    bench/run speed --store               also write the documents' figures, docs/figures/speed.json
    bench/run speed --json                {"schema": "lowtide.bench.speed/1", "rows": [...]}

Exit code 1 if a row is missed. Programs are those of the default plan, for the board's core, input and
output resident, -O2; all outputs are compared with the reference kernels. Instructions are those of the
inference that took most. Cycles are by the core's manual at zero wait states, from counted instructions
and taken branches: the usual figure, and the least and the most that the manual leaves open. They are no
time, and cores without such a manual have none. Rows that need the shared networks say so where these
are absent.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict

from bench.shared.command import bench_parser, machine
from bench.shared.driver import exit_code, flat, print_document
from bench.shared.stored import board_tools, store_rows
from bench.shared.tables import Row, counted, plain_console, print_missed, print_rows
from bench.speed.asked_figures import GROUPS
from bench.speed.measured_programs import SpeedJob, do_all

_WIDTH = 168
_COLUMNS = (("on", 74), ("asked", 26), ("measured", 32), ("peer", 24))


def _given() -> argparse.Namespace:
    parser = bench_parser(
        "bench/run speed", "What was asked of programs' speed, and what is measured.", [*GROUPS]
    )
    parser.add_argument(
        "--network", metavar="NETWORK", nargs="+", help="only rows of these networks"
    )
    given = parser.parse_args()
    if given.network and given.store:
        parser.error("--store needs all networks")
    return given


def measure(groups: Sequence[str], networks: Sequence[str] | None) -> dict[str, list[Row]]:
    """The rows of each group; of some networks, where they are named."""

    def chosen(job: SpeedJob) -> bool:
        return networks is None or job.network in networks

    jobs = [job for group in groups for job in GROUPS[group].jobs()]
    outcomes = do_all(job for job in jobs if chosen(job))
    return {g: GROUPS[g].rows(outcomes) for g in groups}


def main() -> int:
    """Measure every row and print the tables; the exit code."""
    given = _given()
    found = measure([group for group in GROUPS if group in given.only], given.network)
    rows = flat(found)
    if given.store:
        store_rows("speed", found, f"emulated boards, {board_tools()}")
    if given.json:
        rows_by_group = ((g, row) for g in found for row in found[g])
        print_document("speed", ({"group": g, **asdict(row)} for g, row in rows_by_group))
    else:
        _print(found, rows)
    return exit_code(rows)


def _print(found: dict[str, list[Row]], rows: Sequence[Row]) -> None:
    console = plain_console(_WIDTH)
    console.print(f"lowtide's speed, measured now on this machine ({machine()})")
    for group, of_group in found.items():
        if of_group:
            console.print(f"\n{GROUPS[group].title}\n")
            print_rows(console, _COLUMNS, of_group)
    console.print(f"\n{counted(rows)}.")
    print_missed(console, rows)


if __name__ == "__main__":
    sys.exit(main())
