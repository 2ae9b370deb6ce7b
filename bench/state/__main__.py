"""Prints what was asked of networks with state beside what is measured now.

    bench/run state                       the table
    bench/run state --only ram            some groups of rows; --help lists them
    bench/run state --store               also write the documents' figures, docs/figures/state.json
    bench/run state --json                {"schema": "lowtide.bench.state/1", "rows": [...]}

Exit code 1 if a row is missed. Takes some minutes: `exact` verifies every network of the optional
folders ../shared/models and ../shared/world that compiles; those with state as sequences.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from bench.shared.command import bench_parser
from bench.shared.driver import Table, answered
from bench.shared.stored import board_tools
from bench.shared.tables import Row
from bench.state.measured import exact_rows, ram_rows

_TABLE = Table(150, (("on", 44), ("asked", 26), ("measured", 44), ("peer", 22)))
_GROUPS: dict[str, Callable[[], list[Row]]] = {"ram": ram_rows, "exact": exact_rows}


def main() -> int:
    """Measure every row and print the table; the exit code."""
    given = bench_parser(
        "bench/run state",
        "What was asked of networks with state, and what is measured.",
        [*_GROUPS],
    ).parse_args()
    found = {name: _GROUPS[name]() for name in _GROUPS if name in given.only}
    return answered("state", given, found, _TABLE, lambda: f"emulated boards, {board_tools()}")


if __name__ == "__main__":
    sys.exit(main())
