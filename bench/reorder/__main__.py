"""Prints what was asked of the first slice of lowtide beside what is measured now, on this machine.

    bench/run reorder                      the table, then the figures behind its rows
    bench/run reorder --only wired speed   some groups of rows; --help lists them
    bench/run reorder --store              also write the documents' figures, docs/figures/reorder.json
    bench/run reorder --json               {"schema": "lowtide.bench.reorder/1", "rows": [...]}

Exit code 1 if a row is missed. Progress goes to stderr. Rows that need the shared models are "not
measured" where those are absent.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable

from bench.reorder.arena_heads import arena_heads
from bench.reorder.known_networks import analyze_speed, figure1, offline_heads, swiftnet
from bench.reorder.order_search import long_chain, nine_branches, random_dags, wired
from bench.shared.command import bench_parser, machine
from bench.shared.outside import NeedsError
from bench.shared.programs import failed_row
from bench.shared.stored import store_rows
from bench.shared.tables import Row, print_report
from lowtide.errors import LowtideError

_WIDTH = 136
_COLUMNS = (("on", 36), ("asked", 26), ("measured", 34), ("peer, published", 19))
_PREVENTS = (NeedsError, LowtideError, RuntimeError, ValueError, subprocess.SubprocessError)

# Groups by name: what to name a group if it cannot be measured, and its function.
_GROUPS: dict[str, tuple[str, Callable[[], list[Row]]]] = {
    "figure1": ("zoo:figure1", figure1),
    "swiftnet": ("swiftnet_cell_uint8", swiftnet),
    "heads": ("reorder --offline-plan", offline_heads),
    "arenas": ("tflm_greedy_arena_bytes", arena_heads),
    "dags": ("random DAGs", random_dags),
    "chain": ("chain", long_chain),
    "branches": ("parallel branches", nine_branches),
    "wired": ("randomly wired", wired),
    "speed": ("analyze(), models loaded", analyze_speed),
}


def _measure(name: str, group: Callable[[], list[Row]]) -> list[Row]:
    try:
        return group()
    except _PREVENTS as error:
        return [failed_row(name, error)]


def main() -> int:
    """Measure every row and print the table; the exit code."""
    parser = bench_parser(
        "bench/run reorder", "What was asked, what is measured, and rivals' figures.", list(_GROUPS)
    )
    given = parser.parse_args()
    found = {name: _measure(*group) for name, group in _GROUPS.items() if name in given.only}
    rows = [row for of_group in found.values() for row in of_group]
    if given.store:
        store_rows("reorder", found, f"{machine()}, load {os.getloadavg()[1]:.1f}")
    if given.json:
        document = {
            "schema": "lowtide.bench.reorder/1",
            "rows": [dataclasses.asdict(row) for row in rows],
        }
        print(json.dumps(document, indent=2))
    else:
        title = f"lowtide, measured now on this machine ({machine()})"
        print_report(title, _WIDTH, _COLUMNS, rows)
    return 1 if any(row.status == "MISSED" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
