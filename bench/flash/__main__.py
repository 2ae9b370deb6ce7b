"""Prints what was asked of programs for parts with slow flash beside what is measured now.

    bench/run flash                       the table
    bench/run flash --store               also write the documents' figures, docs/figures/flash.json
    bench/run flash --json                {"schema": "lowtide.bench.flash/1", "rows": [...]}

Exit code 1 if a row is missed. Takes some minutes.
"""

from __future__ import annotations

import dataclasses
import json
import sys

from bench.flash.measured import flash_rows
from bench.shared.command import bench_parser, machine
from bench.shared.stored import board_tools, store_rows
from bench.shared.tables import print_report

_WIDTH = 180
_COLUMNS = (("on", 62), ("asked", 34), ("measured", 70))


def main() -> int:
    """Measure every row and print the table; the exit code."""
    given = bench_parser(
        "bench/run flash",
        "What was asked of parts with slow flash, and what is measured.",
        ["parts"],
    ).parse_args()
    rows = flash_rows()
    if given.store:
        store_rows("flash", {"parts": rows}, f"emulated cores, {board_tools()}")
    if given.json:
        document = {
            "schema": "lowtide.bench.flash/1",
            "rows": [dataclasses.asdict(row) for row in rows],
        }
        print(json.dumps(document, indent=2))
    else:
        title = f"lowtide, measured now on this machine ({machine()})"
        print_report(title, _WIDTH, _COLUMNS, rows, figures_right=True)
    return 1 if any(row.status == "MISSED" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
