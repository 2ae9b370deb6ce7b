"""Prints what was asked of simplification beside what is measured now, on this machine.

    bench/run simplify                     programs before and after, files in TFLM, time
    bench/run simplify --only files        some groups of rows; --help lists them
    bench/run simplify --store             also write the documents' figures, docs/figures/simplify.json
    bench/run simplify --json              {"schema": "lowtide.bench.simplify/1", "rows": [...]}

Exit code 1 if a row is missed. Progress goes to stderr. Random networks, planted and not, are tried by
`make soak`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from bench.shared.command import bench_parser
from bench.shared.driver import Table, answered, rows_of
from bench.shared.stored import board_tools
from bench.shared.tables import Row
from bench.simplify.files_and_time import file_rows, time_rows
from bench.simplify.saved_programs import program_rows
from bench.simplify.whole_way import whole_way_rows

_TABLE = Table(
    150, (("on", 32), ("asked", 26), ("measured", 56), ("peer", 18)), figures_right=False
)
_GROUPS: dict[str, Callable[[], list[Row]]] = {
    "programs": program_rows,
    "files": file_rows,
    "whole-way": whole_way_rows,
    "time": time_rows,
}


def main() -> int:
    """Measure every row and print the table; the exit code."""
    parser = bench_parser(
        "bench/run simplify", "What was asked of simplification, and what it saves.", list(_GROUPS)
    )
    given = parser.parse_args()
    found = {name: rows_of(name, _GROUPS[name]) for name in _GROUPS if name in given.only}
    by = "emulated Cortex-M4"
    return answered("simplify", given, found, _TABLE, lambda: f"{by}, {board_tools()}")


if __name__ == "__main__":
    sys.exit(main())
