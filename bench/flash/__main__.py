"""Prints what was asked of programs for parts with slow flash beside what is measured now.

    bench/run flash                       the table
    bench/run flash --store               also write the documents' figures, docs/figures/flash.json
    bench/run flash --json                {"schema": "lowtide.bench.flash/1", "rows": [...]}

Exit code 1 if a row is missed. Takes some minutes.
"""

from __future__ import annotations

import sys

from bench.flash.measured import flash_rows
from bench.shared.command import bench_parser
from bench.shared.driver import Table, answered
from bench.shared.stored import board_tools

_TABLE = Table(180, (("on", 62), ("asked", 34), ("measured", 70)))


def main() -> int:
    """Measure every row and print the table; the exit code."""
    given = bench_parser(
        "bench/run flash",
        "What was asked of parts with slow flash, and what is measured.",
        ["parts"],
    ).parse_args()
    found = {"parts": flash_rows()}
    return answered("flash", given, found, _TABLE, lambda: f"emulated cores, {board_tools()}")


if __name__ == "__main__":
    sys.exit(main())
