"""Prints what was asked of networks with state beside what is measured now.

    bench/run state                       the table
    bench/run state --only ram            some groups of rows; --help lists them
    bench/run state --store               also write the documents' figures, docs/figures/state.json
    bench/run state --json                {"schema": "lowtide.bench.state/1", "rows": [...]}

Exit code 1 if a row is missed. Takes some minutes: `exact` verifies every network of the optional
folders ../shared/models and ../shared/world that compiles; those with state as sequences.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Sequence

from bench.shared.command import bench_parser, machine
from bench.shared.stored import board_tools, store_rows
from bench.shared.tables import Row, print_report
from bench.state.measured import exact_rows, ram_rows

_WIDTH = 150
_COLUMNS = (("on", 44), ("asked", 26), ("measured", 44), ("peer", 22))
_GROUPS: dict[str, Callable[[], list[Row]]] = {"ram": ram_rows, "exact": exact_rows}


def main() -> int:
    """Measure every row and print the table; the exit code."""
    given = bench_parser(
        "bench/run state",
        "What was asked of networks with state, and what is measured.",
        [*_GROUPS],
    ).parse_args()
    found: dict[str, Sequence[Row]] = {
        name: _GROUPS[name]() for name in _GROUPS if name in given.only
    }
    rows = [row for of_group in found.values() for row in of_group]
    if given.store:
        store_rows("state", {"ram": found["ram"]}, f"emulated boards, {board_tools()}")
    if given.json:
        document = {
            "schema": "lowtide.bench.state/1",
            "rows": [dataclasses.asdict(row) for row in rows],
        }
        print(json.dumps(document, indent=2))
    else:
        title = f"lowtide, measured now on this machine ({machine()})"
        print_report(title, _WIDTH, _COLUMNS, rows, figures_right=True)
    return 1 if any(row.status == "MISSED" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
