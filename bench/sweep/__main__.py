"""Prints what was asked of estimates and sweeps of thousands of networks beside what is measured now.

    bench/run sweep                            the table, then the figures behind its rows
    bench/run sweep --only orders start        some groups of rows; --help lists them
    bench/run sweep --only orders --limit 5    the peer gives up earlier
    bench/run sweep --store                    also write the documents' figures, docs/figures/sweep.json
    bench/run sweep --json                     {"schema": "lowtide.bench.sweep/1", "rows": [...]}

Exit code 1 if a row is missed. Progress goes to stderr. Rows that need an engine are "not measured"
where it is not installed. Seconds are of CPU time, but where two cores are compared with one: that needs
two idle cores, and the load is shown.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable

from bench.shared.command import bench_parser, machine
from bench.shared.outside import NeedsError
from bench.shared.programs import failed_row
from bench.shared.stored import store_rows
from bench.shared.tables import Row, print_report
from bench.sweep.orders import orders
from bench.sweep.start import start
from lowtide.errors import LowtideError

_WIDTH = 150
_COLUMNS = (("on", 34), ("asked", 30), ("measured", 42), ("peer", 26))
_PREVENTS = (
    NeedsError,
    LowtideError,
    RuntimeError,
    ValueError,
    OSError,
    subprocess.SubprocessError,
)

# Groups by name: what to name a group if it cannot be measured, and its function.
_GROUPS: dict[str, tuple[str, Callable[[argparse.Namespace], list[Row]]]] = {
    "orders": ("peak by order", lambda given: orders(given.candidates, given.limit)),
    "start": ("lowtide --help", lambda _: start()),
}


def _given() -> argparse.Namespace:
    parser = bench_parser(
        "bench/run sweep",
        "What was asked of thousands of networks, and what is measured.",
        [*_GROUPS],
    )
    parser.add_argument(
        "--candidates", type=int, default=200, metavar="N", help="networks to order (default: 200)"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=60,
        metavar="SECONDS",
        help="of CPU time, after which the peer gives up on one (default: 60)",
    )
    return parser.parse_args()


def main() -> int:
    """Measure every row and print the table; the exit code."""
    given = _given()
    found: dict[str, list[Row]] = {}
    for name, (what, group) in _GROUPS.items():
        if name in given.only:
            try:
                found[name] = group(given)
            except _PREVENTS as error:
                found[name] = [failed_row(what, error)]
    rows = [row for of_group in found.values() for row in of_group]
    if given.store:
        store_rows("sweep", found, f"{machine()}, load {os.getloadavg()[1]:.1f}")
    if given.json:
        document = {
            "schema": "lowtide.bench.sweep/1",
            "rows": [dataclasses.asdict(row) for row in rows],
        }
        print(json.dumps(document, indent=2))
    else:
        title = (
            f"lowtide, measured now on this machine ({machine()}, load {os.getloadavg()[1]:.1f})"
        )
        print_report(title, _WIDTH, _COLUMNS, rows)
    return 1 if any(row.status == "MISSED" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
