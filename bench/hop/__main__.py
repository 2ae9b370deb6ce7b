"""Prints what was asked of windows that slide beside what is measured now.

    bench/run hop                       the table
    bench/run hop --store               also write the documents' figures, docs/figures/hop.json
    bench/run hop --json                {"schema": "lowtide.bench.hop/1", "rows": [...]}

Exit code 1 if a row is missed. Takes a minute.
"""

from __future__ import annotations

import sys

from bench.hop.measured import hop_rows
from bench.shared.command import bench_parser
from bench.shared.driver import Table, answered
from bench.shared.stored import board_tools

_TABLE = Table(170, (("on", 52), ("asked", 48), ("measured", 60)))


def main() -> int:
    """Measure every row and print the table; the exit code."""
    given = bench_parser(
        "bench/run hop", "What was asked of windows that slide, and what is measured.", ["hops"]
    ).parse_args()
    found = {"hops": hop_rows()}
    return answered("hop", given, found, _TABLE, lambda: f"an emulated Cortex-M4, {board_tools()}")


if __name__ == "__main__":
    sys.exit(main())
