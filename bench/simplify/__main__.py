"""Prints what was asked of simplification beside what is measured now, on this machine.

    bench/run simplify                     programs before and after, files in TFLM, time
    bench/run simplify --only files        some groups of rows; --help lists them
    bench/run simplify --store             also write the documents' figures, docs/figures/simplify.json
    bench/run simplify --json              {"schema": "lowtide.bench.simplify/1", "rows": [...]}

Exit code 1 if a row is missed. Progress goes to stderr. Random networks, planted and not, are tried by
`make soak`.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable

from bench.shared.command import bench_parser, machine
from bench.shared.outside import NeedsError
from bench.shared.programs import failed_row
from bench.shared.stored import board_tools, store_rows
from bench.shared.tables import Row, print_report
from bench.simplify.files_and_time import file_rows, time_rows
from bench.simplify.saved_programs import program_rows
from bench.simplify.whole_way import whole_way_rows
from lowtide.errors import LowtideError

_WIDTH = 150
_COLUMNS = (("on", 32), ("asked", 26), ("measured", 56), ("peer", 18))
_GROUPS: dict[str, Callable[[], list[Row]]] = {
    "programs": program_rows,
    "files": file_rows,
    "whole-way": whole_way_rows,
    "time": time_rows,
}


def _measure(name: str) -> list[Row]:
    try:
        return _GROUPS[name]()
    except (NeedsError, LowtideError) as error:
        return [failed_row(name, error)]


def main() -> int:
    """Measure every row and print the table; the exit code."""
    parser = bench_parser(
        "bench/run simplify", "What was asked of simplification, and what it saves.", list(_GROUPS)
    )
    given = parser.parse_args()
    found = {name: _measure(name) for name in _GROUPS if name in given.only}
    rows = [row for of_group in found.values() for row in of_group]
    if given.store:
        store_rows("simplify", found, f"emulated Cortex-M4, {board_tools()}")
    if given.json:
        document = {
            "schema": "lowtide.bench.simplify/1",
            "rows": [dataclasses.asdict(row) for row in rows],
        }
        print(json.dumps(document, indent=2))
    else:
        print_report(f"lowtide, measured now ({machine()})", _WIDTH, _COLUMNS, rows)
    return 1 if any(row.status == "MISSED" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
