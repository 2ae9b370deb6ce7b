"""Prints what was asked of windows that slide beside what is measured now.

    bench/run hop                       the table
    bench/run hop --store               also write the documents' figures, docs/figures/hop.json
    bench/run hop --json                {"schema": "lowtide.bench.hop/1", "rows": [...]}

Exit code 1 if a row is missed. Takes a minute.
"""

from __future__ import annotations

import dataclasses
import json
import sys

from bench.hop.measured import hop_rows
from bench.shared.command import bench_parser, machine
from bench.shared.stored import board_tools, store_rows
from bench.shared.tables import print_report

_WIDTH = 170
_COLUMNS = (("on", 52), ("asked", 48), ("measured", 60))


def main() -> int:
    """Measure every row and print the table; the exit code."""
    given = bench_parser(
        "bench/run hop", "What was asked of windows that slide, and what is measured.", ["hops"]
    ).parse_args()
    rows = hop_rows()
    if given.store:
        store_rows("hop", {"hops": rows}, f"an emulated Cortex-M4, {board_tools()}")
    if given.json:
        document = {
            "schema": "lowtide.bench.hop/1",
            "rows": [dataclasses.asdict(row) for row in rows],
        }
        print(json.dumps(document, indent=2))
    else:
        title = f"lowtide, measured now on this machine ({machine()})"
        print_report(title, _WIDTH, _COLUMNS, rows, figures_right=True)
    return 1 if any(row.status == "MISSED" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
